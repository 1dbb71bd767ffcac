"""The template of a sampler: everything but the idea.

Such a sampler is its options and one method. Validation, batching, masks, seeds, timing and the
conversion between libraries are done here, so this is a complete sampler::

    from dataclasses import dataclass
    from typing import ClassVar

    import numpy as np

    from isingsample import BlockSampler, Solution

    @dataclass(frozen=True)
    class Independent(BlockSampler):
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
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from isingsample._core.arrays import Array, in_own_precision, like, namespace
from isingsample._core.blocks import Block, Blocks, split
from isingsample._core.info import Info
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.sparse import check_dense_size
from isingsample._core.streams import Seed, Streams
from isingsample.samplers.assembly import Assembly
from isingsample.samplers.base import Minimizer, Sampler, check_beta, check_is_problem
from isingsample.samplers.solution import Solution, nothing_to_solve


class BlockSampler(Sampler):
    """A sampler that solves rectangular blocks: subclasses implement `_solve`."""

    @property
    def runs_on_host(self) -> bool:
        """Whether `_solve` wants NumPy arrays whatever the problem's library."""
        return True

    @property
    def takes_sparse(self) -> bool:
        """Whether `_solve` takes blocks with SparseCouplings; else they are made dense first."""
        return False

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; see `Sampler.sample`."""
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
            assembly = Assembly(problem, blocks, solutions, on_host=self.runs_on_host)
            result = assembly.result(
                beta, thermal=self.thermal, sampler=self.name, options=self.options
            )
        timing = {
            "preprocessing_ns": prepared - started,
            "sampling_ns": sampled - prepared,
            "postprocessing_ns": time.perf_counter_ns() - sampled,
        }
        return dataclasses.replace(result, info=Info(result.info).also(timing=timing))

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

    def _check(self, problem: IsingProblem) -> None:
        """Refuse problems that do not suit this sampler, before any work."""

    def _split(self, problem: IsingProblem) -> Blocks:
        """The problem as the blocks that `_solve` takes."""
        return split(problem)

    def _solve_all(
        self, blocks: Sequence[Block], beta: Any, streams: Streams
    ) -> list[Solution | None]:
        """Solve the blocks of one call, in order; None for those that are empty.

        Overridden where the blocks of a call have something to share, such as one queue.
        """
        return [None if b.is_empty else self._solve(b, beta, streams) for b in blocks]

    @abstractmethod
    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        """Solve one block that has at least one query and one spin."""


class BlockMinimizer(BlockSampler, Minimizer):
    """A block sampler that can also look for ground states: subclasses implement `_lowest` too."""

    def minimize(self, problem: IsingProblem, *, seed: Seed = None) -> tuple[Array, Array]:
        """As for every minimizer; see `Minimizer.minimize`."""
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
            state = blocks.join([namespace(s).astype(s, namespace(s).int8) for s in states], 1)
            if self.runs_on_host:
                state = like(state, problem.h, keep_dtype=True)
            return state, problem.energy(state)

    @abstractmethod
    def _lowest(self, block: Block, streams: Streams) -> Array:
        """The best state found for each query of a block: (groups, queries, n) of -1 and +1."""


def _num_reads(sampler: Sampler, solved: list[Solution | None]) -> int | None:
    """How many samples the solved blocks have; without such blocks, what the option says."""
    for solution in solved:
        if solution is not None:
            return None if solution.samples is None else int(solution.samples.shape[-2])
    return getattr(sampler, "num_reads", None)
