"""Blocks of problems through an engine."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import (
    Array,
    concat,
    is_torch,
    like,
    namespace,
    records_gradient,
    to_numpy,
)
from isingsample._core.blocks import Block
from isingsample._core.memory import available_memory, readable_bytes
from isingsample._core.problem import IsingProblem
from isingsample._core.streams import Streams
from isingsample.errors import TooLargeError
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.engines.choose import Engine
from isingsample.samplers.dqa.engines.primitive import PrimitiveEngine
from isingsample.samplers.dqa.engines.statevector import StatevectorEngine
from isingsample.samplers.dqa.readout import draw, moments
from isingsample.samplers.dqa.temperatures import ScheduleBetas
from isingsample.samplers.solution import Solution

# Of a uniform number, a state's number and the bisection's temporaries.
_BYTES_PER_READ = 64
_CHUNK_BYTES = 2**28


def check_size(
    problem: IsingProblem, engine: Engine, max_spins: int, *, differentiable: bool
) -> None:
    """TooLargeError for more spins than max_spins, or than memory has room for."""
    largest = problem.num_spins
    if problem.present is not None:
        largest = int(problem.present.sum(axis=-1).max(initial=0))
    if isinstance(engine, PrimitiveEngine):
        if largest > max_spins:
            raise TooLargeError(
                f"{largest} spins are above max_spins={max_spins}; raise it if the primitive can "
                f"take so many qubits"
            )
        return
    needed, available, what = engine.bytes_needed(largest), available_memory(), "needs"
    given = (problem.h, problem.J, problem.K)
    if (
        isinstance(engine, StatevectorEngine)
        and differentiable
        and any(map(records_gradient, given))
    ):
        queries = math.prod(problem.batch_shape)
        needed = engine.bytes_needed(largest, learned=queries)
        what = f"with those of all {queries} queries, for their gradients, needs"
    if largest > max_spins or needed > available:
        raise TooLargeError(
            f"the quantum state of {largest} spins has 2**{largest} outcomes and {what} about "
            f"{readable_bytes(needed)} of memory; the limit is max_spins={max_spins} and "
            f"{readable_bytes(available)} are available. Use a Monte Carlo sampler such as 'sa'"
        )


def scaled(block: Block, beta: Any, betas: ScheduleBetas, precision: str | None) -> Block:
    """What the circuit is made of: each body order times beta over its own inverse temperature.

    Raises:
        ValueError: a product leaves the range of its floats.
    """
    xp = namespace(block.h)
    dtype = {"single": xp.float32, "double": xp.float64, None: block.h.dtype}[precision]

    def times(coefficients: Array, own: float) -> Array:
        with np.errstate(over="ignore"):
            product = xp.astype(coefficients, dtype, copy=False) * (beta / own)
        check.check_in_range(product)
        return product

    h, J = times(block.h, betas.h), times(block.J, betas.J)
    K = None if block.K is None else times(block.K, betas.K)
    return replace(block, h=h, J=J, K=K)


def probabilities(engine: Engine, block: Block, anneal: Anneal) -> Iterator[Array]:
    """Those of all outcomes, for slices of the queries in order: (slice, 2**n) each.

    Raises:
        TypeError: the engine is a primitive.
    """
    if isinstance(engine, PrimitiveEngine):
        raise TypeError("a primitive gives reads, not probabilities; use another engine")
    return engine.probabilities(block.h, block.J, block.K, anneal)


def solutions(
    engine: Engine,
    blocks: Sequence[Block],
    anneal: Anneal,
    num_reads: int | None,
    streams: Streams,
) -> list[Solution]:
    """For each block, expectations, or reads and their averages."""
    if num_reads is None:
        return [_expectations(engine, block, anneal) for block in blocks]
    if isinstance(engine, PrimitiveEngine):
        samples = engine.reads(blocks, anneal, num_reads)
    else:
        samples = [_drawn(engine, block, anneal, num_reads, streams) for block in blocks]
    return [
        Solution.from_samples(_in_batch(rows, block), thermal=False)
        for rows, block in zip(samples, blocks, strict=True)
    ]


def _expectations(engine: Engine, block: Block, anneal: Anneal) -> Solution:
    parts = [moments(part) for part in probabilities(engine, block, anneal)]
    magnetization, probability, correlation = (
        _in_batch(concat(list(column), axis=0), block) for column in zip(*parts, strict=True)
    )
    unknown = like(np.full(magnetization.shape, np.nan), magnetization)
    return Solution(magnetization, probability, unknown, correlation=lambda: correlation)


def _drawn(
    engine: Engine, block: Block, anneal: Anneal, num_reads: int, streams: Streams
) -> np.ndarray:
    """Reads of each query from its probabilities: (groups * queries, num_reads, n)."""
    index, first, parts = block.index.reshape(-1), 0, []
    for found in probabilities(engine, block, anneal):
        table = to_numpy(found)
        step = max(1, _CHUNK_BYTES // (_BYTES_PER_READ * num_reads))
        for start in range(0, len(table), step):
            part = table[start : start + step]
            at = index[first : first + len(part)]
            parts.append(draw(part, streams.uniforms(at, num_reads)))
            first += len(part)
    return np.concatenate(parts)


def in_kind_of(found: Solution, reference: Array) -> Solution:
    """The same in the library, on the device and in the dtype of reference."""
    correlation = found.correlation
    assert correlation is not None
    return replace(
        found,
        magnetization=converted(found.magnetization, reference),
        probability=converted(found.probability, reference),
        std_error=converted(found.std_error, reference),
        correlation=lambda: converted(correlation(), reference),
        samples=None if found.samples is None else like(found.samples, reference, keep_dtype=True),
    )


def converted(array: Array, reference: Array) -> Array:
    """array in the library, on the device and in the dtype of reference; differentiable."""
    if is_torch(array):
        return namespace(array).astype(array, reference.dtype, copy=False)
    return like(array, reference)


def _in_batch(rows: Array, block: Block) -> Array:
    """Values of all queries in order, as (groups, queries, ...)."""
    return namespace(rows).reshape(rows, (*block.index.shape, *rows.shape[1:]))
