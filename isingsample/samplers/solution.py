"""What a sampler finds for a block of problems."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isingsample._core.arrays import Array, like, namespace
from isingsample._core.blocks import Block, spread
from isingsample._core.sparse import check_dense_size
from isingsample.samplers._shared.pairs import sample_correlation, sample_pairs, shot_noise


@dataclass(frozen=True)
class Solution:
    """What a sampler finds for one block; the fields mean what they mean in SampleResult.

    Attributes:
        magnetization: (groups, queries, n).
        probability: (groups, queries, n).
        std_error: (groups, queries, n).
        correlation: a function giving (groups, queries, n, n), called only when asked for.
        correlation_error: the same for its standard error; None where that is 0 or not known,
            as std_error is.
        pairs: a function giving <s_j s_k> and its standard error, (groups, queries, pairs) each,
            of spins j (pairs,) and k (pairs,) alone; None to take them out of correlation.
        samples: (groups, queries, num_reads, n) int8.
        log_partition: (groups, queries), for the block's couplings and fields without offset.
        entropy: a function giving (groups, queries), called only when asked for.
        per_query: further arrays (groups, queries, ...), reported in info in batch order; or
            functions giving them, called only when somebody reads them.
        info: further facts about the whole call.
    """

    magnetization: Array
    probability: Array
    std_error: Array
    correlation: Callable[[], Array] | None = None
    correlation_error: Callable[[], Array] | None = None
    pairs: Callable[[np.ndarray, np.ndarray], tuple[Array, Array]] | None = None
    samples: Array | None = None
    log_partition: Array | None = None
    entropy: Callable[[], Array] | None = None
    per_query: Mapping[str, Array | Callable[[], Array]] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_samples(cls, samples: np.ndarray, *, thermal: bool, **rest: Any) -> "Solution":
        """Moments of independent reads (groups, queries, num_reads, n), with shot noise.

        Standard errors, of m and of correlations, are about sqrt((1 - m^2) / num_reads), and about
        2 / num_reads where all reads agree, for that does not make m certain. They are NaN for a
        single read, and throughout when the samples are not thermal, since their bias is not known.
        """
        probability = (samples > 0).mean(axis=-2)
        magnetization = 2 * probability - 1

        def error(mean: np.ndarray) -> np.ndarray:
            return np.asarray(shot_noise(mean, samples.shape[-2] if thermal else 1))

        def pairs(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            mean = sample_pairs(samples, first, second)
            return mean, error(mean)

        return cls(
            magnetization,
            probability,
            error(magnetization),
            correlation=lambda: sample_correlation(samples),
            correlation_error=lambda: error(sample_correlation(samples)),
            pairs=pairs,
            samples=samples,
            **rest,
        )


def correlation_error_of(solution: Solution) -> Array:
    """Standard errors of correlations, (groups, queries, n, n), 0 on the diagonal."""
    std_error = solution.std_error
    xp, eye = namespace(std_error), np.eye(std_error.shape[-1])
    if solution.correlation_error is not None:
        error = solution.correlation_error()
    else:
        unknown = xp.where(std_error == 0, 0 * std_error, np.nan * std_error)
        error = unknown[..., :, None] + unknown[..., None, :]
    return xp.where(like(eye > 0, error, keep_dtype=True), xp.zeros_like(error), error)


def edges_of(solution: Solution, block: Block, edges: np.ndarray) -> tuple[Array, Array]:
    """<s_j s_k> and its standard error for edges (edges, 2) of the problem: (groups, queries,
    edges) each, 0 where a spin is absent."""
    place = np.full(int(edges.max(initial=-1)) + 1, -1)
    inside = block.spins[block.spins < len(place)]
    place[inside] = np.arange(len(inside))
    kept = np.flatnonzero((place[edges] >= 0).all(axis=1))
    first, second = place[edges[kept]].T
    if solution.pairs is not None:
        both = solution.pairs(first, second)
    else:
        assert solution.correlation is not None
        check_dense_size("the correlations", block.num_spins, "This sampler gives them only as one")
        matrices = solution.correlation(), correlation_error_of(solution)
        at = [like(spins, matrices[0], keep_dtype=True) for spins in (first, second)]
        both = matrices[0][..., *at], matrices[1][..., *at]
    mean, error = (spread(values, values.ndim - 1, kept, len(edges)) for values in both)
    return mean, error


def nothing_to_solve(block: Block, reads: int | None) -> Solution:
    """The solution of a block without spins or without queries: one empty state, Z = 1."""
    zeros = block.h
    groups, queries, num_spins = zeros.shape

    def blank(*axes: int, dtype: Any = float) -> Array:
        array = np.zeros((groups, queries, *axes), dtype)
        return like(array, zeros, keep_dtype=dtype is not float)

    return Solution(
        zeros,
        zeros,
        zeros,
        correlation=lambda: blank(num_spins, num_spins),
        samples=None if reads is None else blank(reads, num_spins, dtype=np.int8),
        log_partition=blank(),
        entropy=blank,
    )
