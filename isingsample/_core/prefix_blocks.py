"""Blocks of queries that differ in length alone, as causal masks and padding leave them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isingsample._core.arrays import Array, concat, like, namespace
from isingsample._core.blocks import Block, Blocks, restrict, spread, whole_batch
from isingsample._core.problem import IsingProblem
from isingsample._core.sparse import SparseCouplings


@dataclass(frozen=True)
class PrefixBlock(Block):
    """Queries that each have the first few of the block's spins, as causal masks leave them.

    Attributes:
        lengths: (queries,) NumPy integers, how many, in rising order and the same in all groups.
    """

    lengths: np.ndarray

    def by_length(self) -> list[Block]:
        """The same queries in the same order, as blocks without absent spins."""
        groups = len(self.index)
        return [
            part
            for length in np.unique(self.lengths)
            for part in restrict(
                self,
                np.arange(self.num_spins) < length,
                np.broadcast_to(self.lengths == length, (groups, len(self.lengths))),
            )
        ]

    def together(self, values: Sequence[Array], spin_axes: int) -> Array:
        """Values of the blocks of `by_length` as one array (groups, queries, ...).

        Args:
            values: for each (groups, its queries, ...), the last spin_axes axes over its spins.
            spin_axes: how many; absent spins are filled with 0.
        """
        wide = []
        for value, spins in zip(values, map(np.arange, np.unique(self.lengths)), strict=True):
            rows = value
            for axis in range(value.ndim - spin_axes, value.ndim):
                rows = spread(rows, axis, spins, self.num_spins)
            wide.append(rows)
        return concat(wide, axis=1)


def prefixes(problem: IsingProblem) -> Blocks | None:
    """A problem whose queries each have a run of neighbouring spins, by the first of the run.

    Causal masks leave such runs, and padding on either side. None where all spins are present,
    those of a query are no run, or groups lack different ones.

    Returns:
        a PrefixBlock for each first spin, and a block of the queries without any spins.
    """
    if problem.present is None or not _is_run(problem.present).all():
        return None
    whole, present = whole_batch(problem)
    if present is None or (present != present[:1]).any():
        return None
    first, lengths = present[0].argmax(axis=-1), present[0].sum(axis=-1)  # (queries,)
    blocks: list[Block] = []
    for start in np.unique(first[lengths > 0]):
        queries = np.flatnonzero((first == start) & (lengths > 0))
        queries = queries[np.argsort(lengths[queries], kind="stable")]
        blocks.append(_prefix_block(whole, int(start), queries, lengths[queries]))
    nobody = np.broadcast_to(lengths == 0, present.shape[:2])
    blocks += restrict(whole, np.zeros(problem.num_spins, bool), nobody)
    return Blocks(blocks, problem)


def _is_run(present: np.ndarray) -> np.ndarray:
    """Whether the spins that are present, (..., n) to (...), are neighbours."""
    begins = present.copy()
    begins[..., 1:] &= ~present[..., :-1]
    return np.asarray(begins.sum(axis=-1) <= 1)


def _prefix_block(
    whole: Block, start: int, queries: np.ndarray, lengths: np.ndarray
) -> PrefixBlock:
    """Queries, in rising order of length, that have that many spins from start on."""
    run = slice(start, start + int(lengths[-1]))
    h, J = whole.h[..., run], whole.J
    return PrefixBlock(
        h=namespace(h).take(h, like(queries, h, keep_dtype=True), axis=1),
        J=J.among(whole.spins[run]) if isinstance(J, SparseCouplings) else J[:, run, run],
        K=None if whole.K is None else whole.K[:, run, run, run],
        index=whole.index[:, queries],
        spins=whole.spins[run],
        labels=whole.labels[run],
        lengths=lengths,
    )
