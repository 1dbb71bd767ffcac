"""Moments of chains, their errors and what is diagnosed, from the sums that runs leave behind."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from isingsample._core.blocks import Block
from isingsample.samplers._shared.pairs import SUBSETS, chain_pairs, matrix, unseen_error
from isingsample.samplers._shared.threads import LANES
from isingsample.samplers.monte_carlo.compiled.records import Tally
from isingsample.samplers.monte_carlo.diagnostics import chain_diagnostics
from isingsample.samplers.solution import Solution

_WATCHED, _DRAWS = 32, 32  # chains of each problem that are diagnosed, and draws of each
# Numbers that the diagnosis keeps at a time; above some 20000 spins it watches fewer chains.
_HISTORY = 2**25
_ROUNDING = 2.0**-24  # of a probability in the kernels, which a spread of 0 would hide


# Spins j and k of the pairs whose products a run counts: (pairs,) both.
Pairs: TypeAlias = tuple[np.ndarray, np.ndarray]
NO_PAIRS: Pairs = (np.zeros(0, np.int64), np.zeros(0, np.int64))


def blank_tally(
    tasks: int, samples: np.ndarray, kept: int, pairs: Pairs, watched: int = LANES
) -> Tally:
    """A Tally of zeros for samples (queries, reads, n), diagnosing at most `watched` chains."""
    queries, reads, num_spins = samples.shape
    stride = max(1, kept // _DRAWS)
    fitting = max(4, _HISTORY // max(1, num_spins * (kept // stride)))
    first, second = (np.ascontiguousarray(spins, np.int64) for spins in pairs)
    return Tally(
        up=np.zeros((tasks, num_spins)),
        squares=np.zeros((tasks, num_spins)),
        series=np.zeros(
            (queries, min(reads, watched, fitting, _WATCHED), kept // stride), np.float32
        ),
        first=first,
        second=second,
        pairs=np.zeros((tasks, len(first))),
        pair_squares=np.zeros((tasks, len(first))),
    )


def chain_solution(
    block: Block,
    samples: np.ndarray,
    tally: Any,
    kept: int,
    again: Callable[[Pairs], Any],
    together: int = LANES,
    **info: Any,
) -> Solution:
    """Moments of chains, averaged over the sweeps that were kept.

    A spin counts in each sweep with the probability it was drawn with (Rao-Blackwell), which has
    the same mean as the spin and varies less. Chains are independent, so their spread gives the
    standard error, whatever the correlation along each of them; that of a single one is NaN. For
    spins that (nearly) all chains agree about, it is at least `unseen_error`. Those
    of correlations come from the spread between subsets of the chains, 16 of each task.

    Args:
        block: what was sampled.
        samples: (queries, reads, n), the last states.
        tally: Tally.
        kept: sweeps that were kept.
        again: gives the Tally of the same run, with the products of these pairs.
        together: chains of a task.
        info: facts about the call.
    """
    reads = samples.shape[1]
    shape = (*block.index.shape, block.num_spins)
    up, squares = (_per_query(sums, samples) for sums in (tally.up, tally.squares))
    probability = up / (reads * kept)
    spread = np.full_like(probability, np.nan)
    if reads > 1:
        variance = np.maximum(squares / reads - probability**2, 0.0) / (reads - 1)
        spread = 2 * np.hypot(np.sqrt(variance), _ROUNDING)
        spread = np.maximum(spread, unseen_error(np.minimum(probability, 1 - probability), reads))
    # Chains of each task, and the subsets of them that are counted.
    full, rest = divmod(reads, together)
    subsets = full * min(together, SUBSETS) + min(rest, SUBSETS)

    def pairs(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counted = again((first, second))
        total, squares = (
            _per_query(sums, samples) for sums in (counted.pairs, counted.pair_squares)
        )
        mean, error = chain_pairs(total, squares, subsets, reads, kept)
        by_query = (*shape[:2], len(first))
        return mean.reshape(by_query), error.reshape(by_query)

    @cache
    def matrices() -> tuple[np.ndarray, np.ndarray]:
        n = block.num_spins
        mean, error = pairs(*np.triu_indices(n, 1))
        return matrix(mean, n, 1.0), matrix(error, n, 0.0)

    return Solution(
        magnetization=(2 * probability - 1).reshape(shape),
        probability=probability.reshape(shape),
        std_error=spread.reshape(shape),
        correlation=lambda: matrices()[0],
        correlation_error=lambda: matrices()[1],
        pairs=pairs,
        samples=samples.reshape(*block.index.shape, *samples.shape[1:]),
        per_query=chain_diagnostics(tally.series, reads, block.index.shape),
        info=info,
    )


def _per_query(sums: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Sums of tasks (tasks, ...) added up for each query."""
    queries = len(samples)
    total: np.ndarray = sums.reshape(queries, len(sums) // queries, *sums.shape[1:]).sum(axis=1)
    return total
