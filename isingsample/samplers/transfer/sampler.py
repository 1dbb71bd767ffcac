"""Exact solution of banded problems at any length, window by window."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import (
    Array,
    concat,
    detach,
    like,
    namespace,
    records_gradient,
    slices,
)
from isingsample._core.blocks import Block, Blocks, split
from isingsample._core.memory import available_memory, readable_bytes
from isingsample._core.prefix_blocks import prefixes
from isingsample._core.problem import IsingProblem
from isingsample._core.streams import Streams
from isingsample.errors import TooLargeError
from isingsample.samplers._shared.reads import check_reads_fit
from isingsample.samplers.block_sampler import BlockMinimizer
from isingsample.samplers.solution import Solution
from isingsample.samplers.transfer.band import Band, Outermost, outermost
from isingsample.samplers.transfer.windows import (
    best,
    conditionals,
    correlations,
    entropies,
    moments,
    neighbour_correlations,
    walk,
)

# The conditionals of a chunk of queries: those of one spin should fit into a cache, beside a few
# temporaries, and those of all spins into memory. 2**24 doubles are 128 MiB.
_STEP_ENTRIES = 2**16
_CHUNK_ENTRIES = 2**24
# Numbers of a batch's windows up to which its gradient keeps what it needs, some ten for each;
# beyond, it computes so many again at a time.
_KEPT_ENTRIES = 2**22
_KEPT_PER_ENTRY = 10
# Random numbers at a time, each with some ten more on its way.
_READ_ENTRIES = 2**20
# Arrays of n 2**(w+1) numbers alive at once: costs, conditionals and temporaries.
_TABLES = 4


@dataclass(frozen=True)
class Transfer(BlockMinimizer):
    """All moments exactly where no coupling reaches further than w spins, at any length.

    J and K must be 0 between spins whose places differ by more than w. A query costs n 2**w
    operations and as many numbers, its correlations n**2 2**w operations. In PyTorch the result
    is differentiable in h, J, K and beta, twice and on any device. The gradient keeps some ten
    numbers for each of the n 2**w windows of a query; those of large batches it computes again,
    some queries at a time. Where J or K requires a gradient, zeros
    count as couplings, for their gradient is not zero, unless reach says that they stay so.

    Attributes:
        num_reads: independent samples to draw for each problem besides the moments; None for no
            samples. Moments are exact either way.
        max_reach: problems with a larger w are refused: each step up doubles the cost.
        reach: w, beyond which J and K must be zero, and get gradient zero; None to find it
            from J and K.

    Raises:
        ValueError: a coupling reaches further than reach.
        TooLargeError: a coupling reaches further than max_reach, or a problem needs more memory
            than there is.
    """

    num_reads: int | None = None
    max_reach: int = 16
    reach: int | None = None

    name: ClassVar[str] = "transfer"
    runs_on_host: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = True
    differentiable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.num_reads is not None:
            check.check_count("num_reads", self.num_reads)
        check.check_count("max_reach", self.max_reach)
        if self.reach is not None:
            check.check_count("reach", self.reach, minimum=0)
            if self.reach > self.max_reach:
                raise ValueError(
                    f"reach={self.reach} is beyond max_reach={self.max_reach}; raise "
                    f"max_reach too: the cost of a query is n 2**reach"
                )

    def _check(self, problem: IsingProblem) -> None:
        check_reads_fit(problem, self.num_reads)
        for block in self._split(problem):
            if not block.is_empty:
                self._check_term(self._outermost(block), block, problem)

    def _check_term(self, term: Outermost, block: Block, problem: IsingProblem) -> None:
        batched = getattr(problem, term.name).ndim > len(term.spins)
        entry = f"{term.name}[{', '.join([*['...'] * batched, *map(str, term.spins)])}]"
        if self.reach is not None and term.distance > self.reach:
            raise ValueError(
                f"{entry} is a coupling of spins {term.distance} apart: a band wider than "
                f"declared, reach={self.reach}"
            )
        width = self._width(term, block)
        itemsize = 8 if "64" in str(problem.h.dtype) else 4
        learned = any(map(records_gradient, (problem.h, problem.J, problem.K)))
        numbers = _TABLES + (_KEPT_PER_ENTRY if learned else 0)
        needed = float(numbers * itemsize * block.num_spins) * 2.0 ** min(width + 1, 1000)
        available = available_memory()
        if width > self.max_reach or needed > available:
            remedy = "Order the spins so that those that couple are near each other"
            if term.learned:
                remedy = (
                    f"As {term.name} requires a gradient, its zeros count as couplings: declare "
                    f"by reach how far it will reach"
                )
            raise TooLargeError(
                f"{entry} couples spins {term.distance} apart; the transfer of {block.num_spins} "
                f"spins with a half width of {width} needs 2**{width} states for each and about "
                f"{readable_bytes(needed)} of memory; the limit is max_reach={self.max_reach} and "
                f"{readable_bytes(available)} are available. {remedy}, or use a Monte Carlo "
                f"sampler such as 'sa'"
            )

    def _outermost(self, block: Block) -> Outermost:
        return outermost(block, learned=self.reach is None)

    def _width(self, term: Outermost, block: Block) -> int:
        width = term.distance if self.reach is None else self.reach
        return min(width, block.num_spins - 1)

    def _split(self, problem: IsingProblem) -> Blocks:
        # (Reads of a problem must not depend on how long others are.)
        together = None if self.num_reads else prefixes(problem)
        return split(problem) if together is None else together

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        band = self._band(block)
        scaled = band.scaled(beta)
        magnetization, probability, log_partition = _over_chunks(scaled, lambda b, _: moments(b))

        def pairs(first: np.ndarray, second: np.ndarray) -> tuple[Array, Array]:
            near = _over_chunks(scaled, lambda b, _: neighbour_correlations(b))[0]
            places = (second, band.width - (second - first))
            values = near[..., *(like(place, near, keep_dtype=True) for place in places)]
            return values, namespace(values).zeros_like(values)

        return Solution(
            magnetization,
            probability,
            namespace(block.h).zeros_like(magnetization),
            pairs=pairs,
            correlation=lambda: _over_chunks(scaled, lambda b, _: correlations(b))[0],
            samples=None if self.num_reads is None else self._draw(band, beta, block, streams),
            log_partition=log_partition,
            entropy=lambda: _over_chunks(scaled, lambda b, _: entropies(b))[0],
        )

    def _band(self, block: Block) -> Band:
        return Band.cut(block, self._width(self._outermost(block), block))

    def _draw(self, band: Band, beta: Any, block: Block, streams: Streams) -> Array:
        reads, num_spins = self.num_reads or 0, block.num_spins

        def draw(part: Band, at: tuple[slice, slice]) -> tuple[np.ndarray]:
            index = block.index[at]
            ups = [conditional[1] for conditional in conditionals(part)[0]]
            samples = np.empty((*index.shape, reads, num_spins), np.int8)
            for some in slices(reads, _READ_ENTRIES // (index.size * num_spins)):
                num = some.stop - some.start
                uniforms = streams.uniforms(index, num * num_spins, skip=some.start * num_spins)
                samples[:, :, some] = walk(ups, uniforms.reshape(*index.shape, num, num_spins))
            return (samples,)

        scaled = band.to_numpy().scaled(float(detach(beta)))
        samples = _over_chunks(scaled, draw)[0]
        return like(samples, block.h, keep_dtype=True)

    def _lowest(self, block: Block, streams: Streams) -> Array:
        def lowest(part: Band, _: object) -> tuple[np.ndarray]:
            ups = [is_best[1] for is_best in conditionals(part, best)[0]]
            return (walk(ups, np.zeros((*part.h.shape[:2], 1, block.num_spins)))[:, :, 0],)

        states = _over_chunks(self._band(block).to_numpy().scaled(1.0), lowest)[0]
        return like(states, block.h, keep_dtype=True)


def _over_chunks(
    band: Band, compute: Callable[[Band, tuple[slice, slice]], tuple[Array, ...]]
) -> tuple[Array, ...]:
    """compute for all queries of a band, chunk by chunk; each output (groups, queries, ...).

    Args:
        band: fields and couplings already times beta.
        compute: from some queries and their slices of groups and queries, (groups, queries, ...).
    """
    groups, queries, num_spins = band.h.shape
    step = 2 ** (band.width + 1)
    in_portions = _recomputes(band)
    largest = _KEPT_ENTRIES if in_portions else _CHUNK_ENTRIES
    chunk = min(_STEP_ENTRIES // step, largest // (num_spins * step))
    group_step = max(1, min(chunk, groups))
    query_step = max(1, chunk // group_step)
    rows = []
    for g in range(0, groups, group_step):
        starts = range(0, queries, query_step)
        cells = [(slice(g, g + group_step), slice(q, q + query_step)) for q in starts]
        one = partial(_again_for_gradients, compute) if in_portions else compute
        parts = [one(band.at(*cell), cell) for cell in cells]
        rows.append([concat(list(column), axis=1) for column in zip(*parts, strict=True)])
    return tuple(concat(list(column), axis=0) for column in zip(*rows, strict=True))


def _recomputes(band: Band) -> bool:
    """Whether the gradients of all queries would keep too much at once."""
    if not (records_gradient(band.h) or records_gradient(band.couplings)):
        return False
    groups, queries, num_spins = band.h.shape
    if groups * queries * num_spins * 2 ** (band.width + 1) <= _KEPT_ENTRIES:
        return False
    from isingsample._core.autograd import has_tangent

    return not has_tangent(band.h, band.couplings)


def _again_for_gradients(
    compute: Callable[[Band, tuple[slice, slice]], tuple[Array, ...]],
    part: Band,
    at: tuple[slice, slice],
) -> tuple[Array, ...]:
    """compute(part, at), of which the backward pass keeps the band alone."""
    from isingsample._core.autograd import recomputed

    def formula(h: Array, couplings: Array) -> tuple[Array, ...]:
        return compute(replace(part, h=h, couplings=couplings), at)

    found: tuple[Array, ...] = recomputed(formula, part.h, part.couplings)
    return found
