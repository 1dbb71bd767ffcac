"""Solutions of blocks put together into the result of a batch."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from isingsample._core.arrays import Array, like, namespace
from isingsample._core.blocks import Blocks
from isingsample._core.info import Info, Later
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample.samplers.solution import Solution, correlation_error_of, edges_of


@dataclass(frozen=True)
class Assembly:
    """The solutions of one call, on their way to the order and library of its problem.

    Attributes:
        problem: as the caller gave it.
        blocks: what was solved.
        solutions: one for each block.
        on_host: whether solutions are in NumPy whatever the problem's library.
    """

    problem: IsingProblem
    blocks: Blocks
    solutions: list[Solution]
    on_host: bool

    def result(self, beta: Any, *, thermal: bool, **facts: Any) -> SampleResult:
        """The result at beta.

        Args:
            beta: as in SampleResult, like thermal.
            thermal: likewise.
            facts: what info says besides the solutions' own facts.
        """
        solutions, problem = self.solutions, self.problem
        has_pairs = all(s.correlation for s in solutions)
        return SampleResult(
            problem=problem,
            beta=beta,
            thermal=thermal,
            magnetization=self._gather([s.magnetization for s in solutions], 1),
            probability=self._gather([s.probability for s in solutions], 1),
            std_error=self._gather([s.std_error for s in solutions], 1),
            samples=self._samples(),
            log_partition=self._log_partition(beta),
            info=self._info(facts),
            _correlation=self._correlation if has_pairs else None,
            _correlation_error=self._correlation_error if has_pairs else None,
            _edges=self._edges if has_pairs and problem.is_sparse else None,
            _entropy=self._entropy if all(s.entropy for s in solutions) else None,
        )

    def _gather(self, values: list[Array], spin_axes: int, keep_dtype: bool = False) -> Array:
        joined = self.blocks.join(values, spin_axes)
        return like(joined, self.problem.h, keep_dtype=keep_dtype) if self.on_host else joined

    def _samples(self) -> Array | None:
        drawn = [s.samples for s in self.solutions if s.samples is not None]
        if len(drawn) < len(self.solutions):
            return None
        return self._gather(drawn, 1, keep_dtype=True)

    def _log_partition(self, beta: Any) -> Array | None:
        known = [s.log_partition for s in self.solutions if s.log_partition is not None]
        if len(known) < len(self.solutions):
            return None
        return self._gather(known, 0) - beta * self.problem.offset

    def _correlation(self) -> Array:
        return self._gather([s.correlation() for s in self.solutions if s.correlation], 2)

    def _correlation_error(self) -> Array:
        return self._gather([correlation_error_of(s) for s in self.solutions], 2)

    def _edges(self) -> tuple[Array, Array]:
        pairs = zip(self.solutions, self.blocks, strict=True)
        both = [edges_of(solution, block, self.problem.edges) for solution, block in pairs]
        mean, error = (self._gather(list(parts), 0) for parts in zip(*both, strict=True))
        return mean, error

    def _entropy(self) -> Array:
        return self._gather([s.entropy() for s in self.solutions if s.entropy], 0)

    def _info(self, facts: dict[str, Any]) -> Info:
        """The facts of the call, those of the solutions, and the figures of each query."""
        info = dict(facts)
        for solution in self.solutions:
            info.update(solution.info)
        for key in {key for solution in self.solutions for key in solution.per_query}:
            put_off = any(callable(s.per_query.get(key)) for s in self.solutions)
            info[key] = Later(partial(self._figure, key)) if put_off else self._figure(key)
        return Info(info)

    def _figure(self, key: str) -> Array:
        """A figure that solutions have for each query, in batch order."""
        found = [s.per_query.get(key) for s in self.solutions]
        known = [value() if callable(value) else value for value in found]
        some = next(value for value in known if value is not None)
        filled = [
            _idle(some, (*block.index.shape, *some.shape[2:])) if value is None else value
            for value, block in zip(known, self.blocks, strict=True)
        ]
        return self.blocks.join(filled, 0)


def _idle(known: Array, shape: tuple[int, ...]) -> Array:
    """A figure per query like known, where there was nothing to solve: a flag is True, a count 0,
    a measurement NaN."""
    counts = namespace(known).isdtype(known.dtype, "integral")
    return like(np.full(shape, 0 if counts else np.nan), known)
