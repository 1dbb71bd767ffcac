"""Exact solution by enumeration, factorised over two halves of the spins."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isingsample import _validation as check
from isingsample._arrays import Array, detach, like, namespace, to_numpy
from isingsample._memory import available_memory, readable_bytes
from isingsample.blocks import Block, join, split
from isingsample.energies import pair_products, spin_states
from isingsample.errors import TooLargeError
from isingsample.problem import IsingProblem
from isingsample.samplers._halves import (
    Halves,
    chunks,
    draw_states,
    joint_distribution,
    log_joint,
    marginals,
    row_slices,
)
from isingsample.samplers.base import Minimizer, Solution, check_beta, check_is_problem
from isingsample.streams import Streams

_DISTRIBUTION_LIMIT = 20
# Tables of 2**n numbers alive at once: log-weights, weights and two temporaries.
_TABLES = 4


@dataclass(frozen=True)
class Exact(Minimizer):
    """All moments exactly, from sums over all 2**n states; the reference of every other sampler.

    A batch that shares J costs two matrix products, 4 Q 2**n flops for Q queries. In PyTorch the
    result is differentiable in h, J, K and beta, twice and on any device.

    Attributes:
        num_reads: independent samples to draw for each problem besides the moments; None for no
            samples. Moments are exact either way.
        max_spins: problems with more spins are refused: each further spin doubles the cost.

    Raises:
        TooLargeError: a problem has more than max_spins spins, or needs more memory than there is.
    """

    num_reads: int | None = None
    max_spins: int = 24

    name: ClassVar[str] = "exact"
    runs_on_host: ClassVar[bool] = False
    differentiable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.num_reads is not None:
            check.check_count("num_reads", self.num_reads)
        check.check_count("max_spins", self.max_spins)

    def distribution(self, problem: IsingProblem, *, beta: Any = 1.0) -> Array:
        """P(s) of every state, in the order of `isingsample.energies.spin_table`.

        Args:
            problem: a batch without absent spins.
            beta: inverse temperature.

        Returns:
            (..., 2**n).

        Raises:
            TypeError: problem is not an IsingProblem, or beta is not a number.
            ValueError: beta is not finite or negative, n is above 20, or spins are absent
                (problems would differ in length).
        """
        check_is_problem(problem)
        beta = check_beta(beta, problem, on_host=False)
        if problem.num_spins > _DISTRIBUTION_LIMIT:
            raise TooLargeError(
                f"the distribution of {problem.num_spins} spins has 2**{problem.num_spins} entries "
                f"for each problem; the limit is {_DISTRIBUTION_LIMIT} spins"
            )
        if problem.present is not None and not problem.present.all():
            raise ValueError(
                "the distribution of problems with absent spins is not defined: "
                "they have different numbers of states"
            )

        def flat_joint(h: Array, halves: Halves, group: Array) -> Array:
            joint, _ = joint_distribution(h, halves, group)
            return namespace(h).reshape(joint, (len(h), -1))

        def distribution(problem: Scaled, _: object) -> tuple[Array]:
            return (problem.by_rows(flat_joint),)

        blocks = split(problem)
        if blocks[0].index.size == 0:
            return like(np.zeros((*problem.batch_shape, 2**problem.num_spins)), problem.h)
        parts = [_over_chunks(block, beta, distribution)[0] for block in blocks]
        return join(parts, blocks, problem, 0)

    def _check(self, problem: IsingProblem) -> None:
        largest = problem.num_spins
        if problem.present is not None and problem.present.size:
            largest = int(problem.present.sum(axis=-1).max())
        itemsize = 8 if "64" in str(problem.h.dtype) else 4
        needed = float(_TABLES * itemsize) * 2.0 ** min(largest, 1000)
        available = available_memory()
        if largest > self.max_spins or needed > available:
            raise TooLargeError(
                f"exact solution of {largest} spins needs 2**{largest} states and about "
                f"{readable_bytes(needed)} of memory; the limit is max_spins={self.max_spins} and "
                f"{readable_bytes(available)} are available. Use a Monte Carlo sampler such as 'sa'"
            )

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        magnetization, probability, log_partition = _over_chunks(block, beta, _moments)
        return Solution(
            magnetization,
            probability,
            namespace(block.h).zeros_like(magnetization),
            correlation=lambda: _over_chunks(block, beta, _correlation)[0],
            samples=None if self.num_reads is None else self._draw(block, beta, streams),
            log_partition=log_partition,
        )

    def _draw(self, block: Block, beta: Any, streams: Streams) -> Array:
        reads = self.num_reads or 0
        uniforms = streams.uniforms(block.index, 2 * reads)
        uniforms = uniforms.reshape(*block.index.shape, reads, 2)

        def draw(problem: Scaled, at: tuple[slice, slice]) -> tuple[np.ndarray]:
            return (draw_states(problem.h, problem.J, problem.K, problem.halves, uniforms[at]),)

        samples = _over_chunks(block.to_numpy(), float(detach(beta)), draw)[0]
        return like(samples, block.h, keep_dtype=True)

    def _lowest(self, block: Block, streams: Streams) -> Array:
        def lowest(problem: Scaled, at: tuple[slice, slice]) -> tuple[Array]:
            return (problem.by_rows(lambda *rows: _peak(log_joint(*rows)[0])),)

        rows = to_numpy(_over_chunks(block, 1.0, lowest)[0])
        return like(spin_states(rows, block.num_spins), block.h)


@dataclass(frozen=True)
class Scaled:
    """Some queries of a block with fields and couplings times beta, and their tables."""

    h: Array
    J: Array
    K: Array | None
    halves: Halves

    def by_rows(self, compute: Callable[[Array, Halves, Array], Array]) -> Array:
        """compute(h, halves, group) for single queries (rows, n), as (groups, queries, ...).

        For work that costs 2**n per query, a bounded number of queries at a time.
        """
        xp = namespace(self.h)
        groups, queries, num_spins = self.h.shape
        flat = xp.reshape(self.h, (groups * queries, num_spins))
        group = like(np.repeat(np.arange(groups), queries), self.h, keep_dtype=True)
        parts = [compute(flat[r], self.halves, group[r]) for r in row_slices(len(flat), num_spins)]
        joined = xp.concat(parts, axis=0)
        return xp.reshape(joined, (groups, queries, *joined.shape[1:]))


@np.errstate(over="ignore", invalid="ignore")  # the sums themselves show what was lost
def _over_chunks(
    block: Block, beta: Any, compute: Callable[[Scaled, tuple[slice, slice]], tuple[Array, ...]]
) -> tuple[Array, ...]:
    """compute for all queries of a block, chunk by chunk; each output (groups, queries, ...)."""
    xp = namespace(block.h)
    rows = []
    num_groups, num_queries = block.index.shape
    for groups, query_slices in chunks(num_groups, num_queries, block.num_spins):
        J = beta * block.J[groups]
        K = None if block.K is None else beta * block.K[groups]
        halves = Halves.of(J, K)
        parts = [
            compute(Scaled(beta * block.h[groups, queries], J, K, halves), (groups, queries))
            for queries in query_slices
        ]
        rows.append([xp.concat(list(column), axis=1) for column in zip(*parts, strict=True)])
    return tuple(xp.concat(list(column), axis=0) for column in zip(*rows, strict=True))


def _moments(problem: Scaled, _: object) -> tuple[Array, Array, Array]:
    """Magnetization, P(s = +1) and ln Z.

    P(+1) is summed by itself: (m + 1)/2 would lose it to cancellation where it is small.
    """
    xp = namespace(problem.h)
    solved = marginals(problem.h, problem.J, problem.K, problem.halves, cross=False)
    sides = ((solved.left, problem.halves.left), (solved.right, problem.halves.right))
    up = xp.concat([weights @ (0.5 + 0.5 * states) for weights, states in sides], axis=-1)
    down = xp.concat([weights @ (0.5 - 0.5 * states) for weights, states in sides], axis=-1)
    total = up + down  # 1 but for rounding, which must not push a probability beyond it
    return (up - down) / total, up / total, solved.log_partition


def _correlation(problem: Scaled, _: object) -> tuple[Array]:
    xp = namespace(problem.h)
    halves = problem.halves
    solved = marginals(problem.h, problem.J, problem.K, halves, cross=True)
    inner_left, inner_right = (
        _symmetric(weights @ pair_products(states), states)
        for weights, states in ((solved.left, halves.left), (solved.right, halves.right))
    )
    top = xp.concat([inner_left, solved.cross], axis=-1)
    bottom = xp.concat([solved.cross.mT, inner_right], axis=-1)
    return (xp.concat([top, bottom], axis=-2),)


def _symmetric(pairs: Array, states: Array) -> Array:
    """Values of pairs j < k (..., n(n-1)/2) as symmetric matrices with ones on the diagonal."""
    xp = namespace(pairs)
    num_spins = states.shape[-1]
    first, second = np.triu_indices(num_spins, 1)
    place = np.full((num_spins, num_spins), len(first))  # the diagonal: one entry past the pairs
    place[first, second] = place[second, first] = np.arange(len(first))
    padded = (
        xp.concat([pairs, xp.ones_like(pairs[..., :1])], axis=-1)
        if len(first)
        else (xp.ones((*pairs.shape[:-1], 1), dtype=pairs.dtype, device=pairs.device))
    )
    return padded[..., like(place, pairs, keep_dtype=True)]


def _peak(logs: Array) -> Array:
    xp = namespace(logs)
    return xp.argmax(xp.reshape(logs, (logs.shape[0], -1)), axis=-1)
