"""Exact solution by enumeration, factorised over two halves of the spins."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import (
    Array,
    concat,
    detach,
    in_own_precision,
    is_torch,
    like,
    namespace,
    records_gradient,
    slices,
    to_numpy,
)
from isingsample._core.blocks import Block, Blocks, split
from isingsample._core.memory import available_memory, readable_bytes
from isingsample._core.prefix_blocks import PrefixBlock, prefixes
from isingsample._core.problem import IsingProblem
from isingsample._core.states import spin_states
from isingsample._core.streams import Streams
from isingsample.errors import TooLargeError
from isingsample.samplers._shared.reads import check_reads_fit
from isingsample.samplers.base import check_beta, check_is_problem
from isingsample.samplers.block_sampler import BlockMinimizer
from isingsample.samplers.exact import halves as _halves
from isingsample.samplers.exact import prefix_moments
from isingsample.samplers.exact.chunk import Chunk
from isingsample.samplers.exact.compiled import dispatch
from isingsample.samplers.exact.halves import Halves, table_bytes
from isingsample.samplers.exact.marginals import draw_states, products, single_spins
from isingsample.samplers.solution import Solution

_DISTRIBUTION_LIMIT = 20
# What a query's arrays over one half's states come to, in the widest dtype.
_ARRAYS_PER_QUERY, _WIDEST_ENTRY = 8, 8
_SMALL_BYTES = 2.0**24
_FOR_GRADIENTS = (
    "gradients keep a table of all states: raise max_memory too, or use torch.no_grad()"
)


@dataclass(frozen=True)
class Exact(BlockMinimizer):
    """All moments exactly, from sums over all 2**n states; the reference of every other sampler.

    A batch that shares J costs two matrix products, 4 Q 2**n flops for Q queries. In PyTorch the
    result is differentiable in h, J, K and beta, twice and on any device.

    Attributes:
        num_reads: independent samples to draw for each problem besides the moments; None for no
            samples. Moments are exact either way.
        max_spins: problems with more spins are refused: each further spin doubles the cost. With
            28 a query takes about a second, with 32 a quarter of a minute.
        max_memory: bytes to work in, at least 256 MiB. Not counted are the results and, where
            gradients are wanted, what PyTorch keeps for each query.

    Raises:
        TooLargeError: a problem has more than max_spins spins, or needs more than max_memory or
            than there is.
    """

    num_reads: int | None = None
    max_spins: int = 28
    max_memory: int = 2**30

    name: ClassVar[str] = "exact"
    runs_on_host: ClassVar[bool] = False
    differentiable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.num_reads is not None:
            check.check_count("num_reads", self.num_reads)
        check.check_count("max_spins", self.max_spins)
        check.check_count("max_memory", self.max_memory, minimum=2**28)

    def distribution(self, problem: IsingProblem, *, beta: Any = 1.0) -> Array:
        """P(s) of every state, in the order of `isingsample._core.states.spin_table`.

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

        blocks = split(problem.to_dense())
        if blocks[0].index.size == 0:
            return like(np.zeros((*problem.batch_shape, 2**problem.num_spins)), problem.h)

        with in_own_precision(problem.h):
            parts = [self._over_chunks(block, beta, Chunk.distribution)[0] for block in blocks]
        return blocks.join(parts, 0)

    def _check(self, problem: IsingProblem) -> None:
        check_reads_fit(problem, self.num_reads)
        largest = problem.num_spins
        if problem.present is not None and problem.present.size:
            largest = int(problem.present.sum(axis=-1).max())
        needed = table_bytes(largest)
        learned = any(map(records_gradient, (problem.h, problem.J, problem.K)))
        if learned:
            needed += _WIDEST_ENTRY * 2.0 ** min(largest, 1000)  # W stays for the backward pass
        # Asking the system takes longer than a small problem does.
        available = available_memory() if needed > _SMALL_BYTES else float(self.max_memory)
        if largest > self.max_spins or needed > min(self.max_memory, available):
            work = 4.0 * np.prod(problem.batch_shape) * 2.0 ** min(largest, 900)
            raise TooLargeError(
                f"exact solution of {largest} spins sums over 2**{largest} states: about "
                f"{readable_bytes(needed)} of memory, where max_memory={self.max_memory} and "
                f"{readable_bytes(available)} are available, and {work:.1e} floating-point "
                f"operations. The limit is max_spins={self.max_spins}; "
                f"{_FOR_GRADIENTS if learned else 'raise it if you can wait'}, "
                f"or use a Monte Carlo sampler such as 'sa'"
            )

    def _split(self, problem: IsingProblem) -> Blocks:
        together = None
        if (
            problem.K is None
            and problem.num_spins <= prefix_moments.MAX_SPINS
            and not self.num_reads
        ):
            together = prefixes(problem)
        return split(problem) if together is None else together

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        magnetization, probability, log_partition = self._moments(block, beta)
        return Solution(
            magnetization,
            probability,
            namespace(block.h).zeros_like(magnetization),
            correlation=lambda: self._by_chunk(block, beta, Chunk.correlation, (2,))[0],
            entropy=lambda: self._by_chunk(block, beta, Chunk.entropy, (0,))[0],
            samples=None if self.num_reads is None else self._draw(block, beta, streams),
            log_partition=log_partition,
        )

    def _moments(self, block: Block, beta: Any) -> tuple[Array, ...]:
        fits = block.K is None and block.num_spins <= prefix_moments.MAX_SPINS
        by_hand = is_torch(block.h) or dispatch.takes(block.h, block.num_spins)
        if isinstance(block, PrefixBlock) or (fits and by_hand):
            found = []
            for groups in self._chunks(block)[0]:
                part = replace(
                    block, h=block.h[groups], J=block.J[groups], index=block.index[groups]
                ).times(beta)
                found.append(_by_prefixes(part, self._formula))
            together = [moments for moments in found if moments is not None]
            if len(together) == len(found):
                return tuple(concat(list(column), axis=0) for column in zip(*together, strict=True))
        return self._by_chunk(block, beta, Chunk.moments, (1, 1, 0))

    def _formula(self, block: Block) -> tuple[Array, ...]:
        """Moments of a block at beta = 1 by operations that can all be differentiated again."""
        return self._by_chunk(block, 1.0, Chunk.moments, (1, 1, 0))

    def _by_chunk(
        self,
        block: Block,
        beta: Any,
        compute: Callable[[Chunk], tuple[Array, ...]],
        spin_axes: tuple[int, ...],
    ) -> tuple[Array, ...]:
        """compute for all queries of a block; each output's last axes run over its spins."""
        if not isinstance(block, PrefixBlock):
            return self._over_chunks(block, beta, compute)
        parts = [self._over_chunks(part, beta, compute) for part in block.by_length()]
        columns = zip(zip(*parts, strict=True), spin_axes, strict=True)
        return tuple(block.together(column, axes) for column, axes in columns)

    def _draw(self, block: Block, beta: Any, streams: Streams) -> Array:
        reads = self.num_reads or 0

        def draw(chunk: Chunk) -> tuple[np.ndarray]:
            index = block.index[chunk.at]

            def uniforms(some: slice) -> np.ndarray:
                num = some.stop - some.start
                numbers = streams.uniforms(index, 2 * num, skip=2 * some.start)
                return numbers.reshape(*index.shape, num, 2)

            return (draw_states(chunk.h, chunk.J, chunk.K, chunk.halves, reads, uniforms),)

        samples = self._over_chunks(block.to_numpy(), float(detach(beta)), draw)[0]
        return like(samples, block.h, keep_dtype=True)

    def _lowest(self, block: Block, streams: Streams) -> Array:
        rows = to_numpy(self._over_chunks(block, 1.0, Chunk.likeliest)[0])
        return like(spin_states(rows, block.num_spins), block.h)

    @np.errstate(over="ignore", invalid="ignore")  # the sums themselves show what was lost
    def _over_chunks(
        self, block: Block, beta: Any, compute: Callable[[Chunk], tuple[Array, ...]]
    ) -> tuple[Array, ...]:
        """compute for all queries of a block, chunk by chunk; outputs (groups, queries, ...)."""
        rows = []
        group_slices, query_slices = self._chunks(block)
        for groups in group_slices:
            J = beta * block.J[groups]
            K = None if block.K is None else beta * block.K[groups]
            halves = Halves.of(J, K)
            parts = [
                compute(Chunk(beta * block.h[groups, queries], J, K, halves, (groups, queries)))
                for queries in query_slices
            ]
            rows.append([concat(list(column), axis=1) for column in zip(*parts, strict=True)])
        return tuple(concat(list(column), axis=0) for column in zip(*rows, strict=True))

    def _chunks(self, block: Block) -> tuple[list[slice], list[slice]]:
        """Slices of groups and of queries that keep temporary arrays within bounds.

        Small tables of couplings are made once, and queries then come in such numbers that their
        arrays stay in a cache. Large ones are made anew for each slice of queries, which is
        therefore as large as memory allows.
        """
        groups, queries = block.index.shape
        states = 2**block.num_spins
        group_step = min(groups, max(1, _halves.CHUNK_ENTRIES // states))
        entries: float = _halves.CHUNK_ENTRIES
        if states > _halves.CHUNK_ENTRIES:
            free = self.max_memory - table_bytes(block.num_spins)
            entries = free // (_ARRAYS_PER_QUERY * _WIDEST_ENTRY)
        half = 2 ** (block.num_spins - block.num_spins // 2)
        return slices(groups, group_step), slices(queries, int(entries // (half * group_step)))


def _by_prefixes(
    block: Block, formula: Callable[[Block], tuple[Array, ...]]
) -> tuple[Array, ...] | None:
    """Magnetization, P(s = +1) and ln Z of a block, its fields and couplings times beta.

    Args:
        block: without K, of at most prefix_moments.MAX_SPINS spins.
        formula: the same by operations that autograd can follow, for higher derivatives.

    Returns:
        None where sums may have left the range of their dtype, or forward-mode differentiation
        wants the formula.
    """
    h, J = block.h, block.J
    lengths = np.full(h.shape[1], block.num_spins)
    if isinstance(block, PrefixBlock):
        lengths = block.lengths
    if is_torch(h):
        from isingsample._core.autograd import has_tangent

        if has_tangent(h, J):
            return None
    learned = records_gradient(h) or records_gradient(J)

    def again(h: Array, J: Array) -> tuple[Array, ...]:
        return formula(replace(block, h=h, J=J))

    if dispatch.takes(h, block.num_spins):
        kept = dispatch.solve(detach(h), detach(J), lengths, keep=learned)
        if kept is None:
            return None
        if not learned:
            found = kept.magnetization, kept.probability, kept.log_partition
            return tuple(like(moment, h) for moment in found)
        from isingsample.samplers.exact.compiled import gradients

        return gradients.differentiable(kept, again, h, J)
    solved = prefix_moments.solve(detach(h), detach(J), lengths, keep=learned)
    if solved is None:
        return None
    if learned:
        from isingsample.samplers.exact.prefix_gradients import differentiable

        return differentiable(solved, lengths, again, h, J)
    return solved.magnetization, solved.probability, solved.log_partition


def moments_unchecked(h: Array, J: Array, K: Array | None = None) -> tuple[Array, Array, Array]:
    """Magnetization, P(s = +1) and ln Z at beta = 1, without any check: for inner loops.

    What `Exact` does once everything is known to be right. It is one graph for torch.compile.
    Where fields fight couplings so strongly that a query's sum underflows, its results are wrong
    without a warning; `Exact` notices and computes them again.

    Args:
        h: (..., n) floats; all queries at once.
        J: (n, n) of the same dtype, symmetric with zero diagonal.
        K: (n, n, n) likewise, or None.

    Returns:
        (..., n), (..., n) and (...).
    """
    xp = namespace(h)
    batch, num_spins = h.shape[:-1], h.shape[-1]
    triples = None if K is None else K[None]
    halves = Halves.of(J[None], triples)
    solved = products(xp.reshape(h, (1, -1, num_spins)), halves, cross=False)
    magnetization, up = single_spins(solved, halves)
    return (
        xp.reshape(magnetization, (*batch, num_spins)),
        xp.reshape(up, (*batch, num_spins)),
        xp.reshape(solved.log_partition, batch),
    )
