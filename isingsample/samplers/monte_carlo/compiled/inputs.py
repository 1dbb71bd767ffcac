"""Blocks of problems in the form that the compiled kernels take."""

import numpy as np

from isingsample._core.blocks import Block
from isingsample._core.sparse import Entries
from isingsample._core.states import pair_indices
from isingsample._core.streams import Streams
from isingsample.samplers.monte_carlo.compiled.kernels import GROUP
from isingsample.samplers.monte_carlo.compiled.records import CouplingLists, Problems

_SMALLEST, _LARGEST = -1000, 1000  # exponents whose powers of 2 are ordinary numbers


def kernel_inputs(block: Block, streams: Streams) -> tuple[Problems, CouplingLists]:
    """The queries of a block and their couplings, for the kernels.

    Numbers are divided by powers of 2, each problem's fields by its own: that loses nothing, and
    coefficients of any size fit into float32.

    Args:
        block: in NumPy.
        streams: whose key the kernels' random streams use.
    """
    groups, queries, num_spins = block.h.shape
    # The one pass over all of J, which may be large and nearly empty.
    entries = block.entries()
    largest = np.zeros(groups)
    np.maximum.at(largest, entries.row // num_spins, np.abs(entries.value))
    if block.K is not None:
        largest = np.maximum(largest, np.abs(block.K).max(axis=(1, 2, 3)))
    group_exponent = _exponent(largest)
    own = _exponent(np.abs(block.h).max(axis=2))
    exponent = np.maximum(own, group_exponent[:, None])
    problems = Problems(
        h=np.ldexp(block.h, -exponent[..., None]).astype(np.float32).reshape(-1, num_spins),
        group=np.repeat(np.arange(groups), queries),
        share=np.ldexp(1.0, group_exponent[:, None] - exponent).astype(np.float32).ravel(),
        unit=np.ldexp(1.0, exponent).ravel(),
        place=block.index.ravel().astype(np.int64),
        key=np.array(streams.key, np.uint64),
    )
    return problems, _couplings(block, entries, group_exponent)


def _exponent(largest: np.ndarray) -> np.ndarray:
    """The exponent e with largest < 2**e, near enough at the ends of the range; lowest for 0."""
    exponent: np.ndarray = np.where(largest > 0, np.frexp(largest)[1], _SMALLEST)
    exponent = np.clip(exponent, _SMALLEST, _LARGEST)
    return exponent


def _couplings(block: Block, entries: Entries, exponent: np.ndarray) -> CouplingLists:
    """CouplingLists from the entries of a block's J."""
    groups, num_spins = len(block.index), block.num_spins
    row, neighbours, values = entries
    weights = np.ldexp(values, -exponent[row // num_spins])
    counts = np.bincount(row, minlength=groups * num_spins)
    padded = -(-counts // GROUP) * GROUP
    ends = np.cumsum(padded)
    # Where each neighbour goes: its place in the list, moved on by the gaps of the rows before.
    place = np.arange(len(row)) + np.repeat(
        ends - padded - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts
    )
    total = int(padded.sum())
    filled = np.zeros(total, np.uint32), np.zeros(total, np.float32)
    filled[0][place], filled[1][place] = neighbours, weights
    if block.K is None:
        none = np.zeros(0, np.uint32)
        pair_counts = np.zeros(groups * num_spins, np.int64)
        triples = (none, none, np.zeros(0, np.float32))
    else:
        first, second = pair_indices(block.J)
        K = block.K[:, :, first, second]  # (groups, n, pairs)
        group, spin, pair = np.nonzero(K)
        pair_counts = np.bincount(group * num_spins + spin, minlength=groups * num_spins)
        third = np.ldexp(K[group, spin, pair], -exponent[group]).astype(np.float32)
        triples = (first[pair].astype(np.uint32), second[pair].astype(np.uint32), third)
    return CouplingLists(
        _row_pointers(padded, groups), *filled, _row_pointers(pair_counts, groups), *triples
    )


def _row_pointers(counts: np.ndarray, groups: int) -> np.ndarray:
    """Where rows of these lengths begin and the last one ends: (groups, n + 1)."""
    ends = np.cumsum(counts, dtype=np.int64).reshape(groups, -1)
    starts = ends - counts.reshape(groups, -1)
    return np.concatenate([starts, ends[:, -1:]], axis=1)
