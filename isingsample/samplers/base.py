"""The contract of a sampler, and all that samplers have in common.

A sampler is its options and one method. Validation, batching, masks, seeds, timing and the
conversion between libraries are done here, so this is a complete sampler::

    @dataclass(frozen=True)
    class Independent(Sampler):
        '''Every spin by itself: right when there are no couplings.'''

        name: ClassVar[str] = "independent"

        def _solve(self, block, beta, streams):
            m = np.tanh(beta * block.h)                       # (groups, queries, n)
            return Solution(m, (1 + m) / 2, np.full_like(m, np.nan))

`Independent().sample(problem)` then works for any batch, mask and library. Register it under the
entry point group "isingsample.samplers" and `get_sampler("independent")` finds it.
"""

import dataclasses
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from isingsample import _validation as check
from isingsample._arrays import Array, in_own_precision, is_torch, like, namespace
from isingsample._info import Info, Later
from isingsample.blocks import Block, join, joiner, split
from isingsample.couplings import check_dense_size
from isingsample.problem import IsingProblem
from isingsample.result import SampleResult
from isingsample.samplers.solution import Solution, correlation_error_of, edges_of, nothing_to_solve
from isingsample.streams import Seed, Streams


@dataclass(frozen=True)
class Sampler(ABC):
    """A way to get the moments of Ising problems: a frozen dataclass of its options.

    Attributes:
        name: the name it is registered under.
    """

    name: ClassVar[str]

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Refuse unknown options with the nearest right name."""
        known = [f.name for f in dataclasses.fields(cls)]
        for option in options:
            if option not in known:
                raise TypeError(
                    f"{cls.__name__} has no option {option!r}{check.suggestion(option, known)}; "
                    f"it has {', '.join(known) or 'none'}"
                )
        return super().__new__(cls)

    @property
    def thermal(self) -> bool:
        """Whether results target exp(-beta E) without a bias of unknown size."""
        return True

    @property
    def runs_on_host(self) -> bool:
        """Whether `_solve` wants NumPy arrays whatever the problem's library."""
        return True

    @property
    def differentiable(self) -> bool:
        """Whether PyTorch can differentiate the moments, tensors having gone in."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether `_solve` takes blocks with SparseCouplings; else they are made dense first."""
        return False

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """Moments, and samples where the sampler draws any, of every problem of a batch.

        Args:
            problem: the batch.
            beta: inverse temperature, in units of 1/energy: one finite number, at least 0.
            seed: an integer of any size, a numpy.random.Generator or None. Equal integers give
                equal results, whatever else is in the batch.

        Raises:
            TypeError: problem is not an IsingProblem, or beta or seed is of the wrong kind.
            ValueError: beta is not finite or negative, or the problem does not suit the sampler.
            TooLargeError: the problem's couplings are sparse, the sampler takes only dense ones,
                and they would be too large.
            MissingExtraError: an optional dependency is not installed.
        """
        started = time.perf_counter_ns()
        check_is_problem(problem)
        beta = check_beta(beta, problem, on_host=self.runs_on_host)
        with in_own_precision(problem.h):
            local = self._local(problem)
            streams = Streams.from_seed(seed)
            blocks = self._split(local)
            prepared = time.perf_counter_ns()
            solved = self._solve_all(blocks, beta, streams)
            reads = _num_reads(self, solved)
            solutions = [
                solution or nothing_to_solve(block, reads)
                for solution, block in zip(solved, blocks, strict=True)
            ]
            sampled = time.perf_counter_ns()
            result = self._assemble(problem, local, beta, blocks, solutions)
        timing = {
            "preprocessing_ns": prepared - started,
            "sampling_ns": sampled - prepared,
            "postprocessing_ns": time.perf_counter_ns() - sampled,
        }
        return dataclasses.replace(result, info=Info(result.info).also(timing=timing))

    def close(self) -> None:  # noqa: B027  (most samplers hold nothing)
        """Release connections, where the sampler holds any."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def options(self) -> dict[str, Any]:
        """The options by name, secrets left out."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.repr}

    def _local(self, problem: IsingProblem) -> IsingProblem:
        """The problem, checked, in the form that `_solve` takes."""
        if problem.is_sparse and not self.takes_sparse:
            remedy = (
                f"{self.name!r} takes dense couplings only; 'gibbs', 'sa', 'tempering', "
                f"'transfer', 'mean_field' and 'dimod' take sparse ones"
            )
            check_dense_size("J", problem.num_spins, remedy)
            problem = problem.to_dense()
        self._check(problem)
        return problem.to_numpy() if self.runs_on_host else problem

    def _check(self, problem: IsingProblem) -> None:  # noqa: B027  (nothing to check by default)
        """Refuse problems that do not suit this sampler, before any work."""

    def _split(self, problem: IsingProblem) -> list[Block]:
        """The problem as the blocks that `_solve` takes."""
        return split(problem)

    def _solve_all(self, blocks: list[Block], beta: Any, streams: Streams) -> list[Solution | None]:
        """Solve the blocks of one call, in order; None for those that are empty.

        Overridden where the blocks of a call have something to share, such as one queue.
        """
        return [None if b.is_empty else self._solve(b, beta, streams) for b in blocks]

    @abstractmethod
    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        """Solve one block that has at least one query and one spin."""

    def _assemble(
        self,
        problem: IsingProblem,
        local: IsingProblem,
        beta: Any,
        blocks: list[Block],
        solutions: list[Solution],
    ) -> SampleResult:
        together = joiner(blocks, local)

        def gather(values: list[Array], spin_axes: int, keep_dtype: bool = False) -> Array:
            joined = together(values, spin_axes)
            return like(joined, problem.h, keep_dtype=keep_dtype) if self.runs_on_host else joined

        def correlation() -> Array:
            return gather([s.correlation() for s in solutions if s.correlation], 2)

        def correlation_error() -> Array:
            return gather([correlation_error_of(s) for s in solutions], 2)

        def edges() -> tuple[Array, Array]:
            both = [edges_of(s, b, problem.edges) for s, b in zip(solutions, blocks, strict=True)]
            mean, error = (gather(list(parts), 0) for parts in zip(*both, strict=True))
            return mean, error

        def entropy() -> Array:
            return gather([s.entropy() for s in solutions if s.entropy], 0)

        info: dict[str, Any] = {"sampler": self.name, "options": self.options}
        for solution in solutions:
            info.update(solution.info)

        def figure(key: str) -> Array:
            found = [s.per_query.get(key) for s in solutions]
            known = [value() if callable(value) else value for value in found]
            some = next(value for value in known if value is not None)
            return together([
                _idle(some, (*b.index.shape, *some.shape[2:])) if value is None else value
                for value, b in zip(known, blocks, strict=True)
            ], 0)  # fmt: skip

        for key in {key for solution in solutions for key in solution.per_query}:
            put_off = any(callable(s.per_query.get(key)) for s in solutions)
            info[key] = Later(partial(figure, key)) if put_off else figure(key)
        log_partition = None
        if all(s.log_partition is not None for s in solutions):
            log_partition = gather([s.log_partition for s in solutions], 0) - beta * problem.offset
        has_pairs = all(s.correlation for s in solutions)
        drew_samples = all(s.samples is not None for s in solutions)
        return SampleResult(
            problem=problem,
            beta=beta,
            thermal=self.thermal,
            magnetization=gather([s.magnetization for s in solutions], 1),
            probability=gather([s.probability for s in solutions], 1),
            std_error=gather([s.std_error for s in solutions], 1),
            samples=gather([s.samples for s in solutions], 1, keep_dtype=True)
            if drew_samples
            else None,
            log_partition=log_partition,
            info=Info(info),
            _correlation=correlation if has_pairs else None,
            _correlation_error=correlation_error if has_pairs else None,
            _edges=edges if has_pairs and problem.is_sparse else None,
            _entropy=entropy if all(s.entropy for s in solutions) else None,
        )


class Minimizer(Sampler):
    """A sampler that can also look for ground states."""

    def minimize(self, problem: IsingProblem, *, seed: Seed = None) -> tuple[Array, Array]:
        """The state of lowest energy found for each problem.

        The schedule is scaled to the problem and ignores beta.

        Args:
            problem: the batch.
            seed: as for `sample`.

        Returns:
            state (..., n) int8 and its energy (...), in the problem's library.
        """
        check_is_problem(problem)
        with in_own_precision(problem.h):
            local = self._local(problem)
            streams = Streams.from_seed(seed)
            blocks = split(local)
            states = [
                nothing_to_solve(block, None).magnetization
                if block.is_empty
                else self._lowest(block, streams)
                for block in blocks
            ]
            state = join(
                [namespace(s).astype(s, namespace(s).int8) for s in states], blocks, local, 1
            )
            if self.runs_on_host:
                state = like(state, problem.h, keep_dtype=True)
            return state, problem.energy(state)

    @abstractmethod
    def _lowest(self, block: Block, streams: Streams) -> Array:
        """The best state found for each query of a block: (groups, queries, n) of -1 and +1."""


def check_is_problem(problem: object) -> None:
    """TypeError for anything but an IsingProblem."""
    if not isinstance(problem, IsingProblem):
        raise TypeError(
            f"a sampler takes an IsingProblem, not {type(problem).__name__}; "
            f"build one with IsingProblem(h, J)"
        )


def check_has_distribution(sampler: object) -> None:
    """TypeError for a sampler that does not know the probability of every state."""
    if not callable(getattr(sampler, "distribution", None)):
        raise TypeError(
            f"this takes a sampler that has a distribution, such as Exact or simulated DQA, not "
            f"{sampler!r}"
        )


def check_beta(beta: Any, problem: IsingProblem, *, on_host: bool) -> Any:
    """beta as a float; a 0-d tensor stays one where gradients can reach it through problem."""
    if not is_torch(beta) or beta.ndim > 0:
        return check.check_number("beta", beta, minimum=0.0)
    value = check.check_number("beta", beta.item(), minimum=0.0)
    return beta if is_torch(problem.h) and not on_host else value


def _num_reads(sampler: Sampler, solved: list[Solution | None]) -> int | None:
    """How many samples the solved blocks have; without such blocks, what the option says."""
    for solution in solved:
        if solution is not None:
            return None if solution.samples is None else int(solution.samples.shape[-2])
    return getattr(sampler, "num_reads", None)


def _idle(known: Array, shape: tuple[int, ...]) -> Array:
    """A figure per query like known, where there was nothing to solve: a flag is True, a count 0,
    a measurement NaN."""
    counts = namespace(known).isdtype(known.dtype, "integral")
    return like(np.full(shape, 0 if counts else np.nan), known)
