"""Chains of heat-bath sweeps on blocks: what the Monte Carlo samplers have in common."""

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import Array, is_torch
from isingsample._core.blocks import Block
from isingsample._core.info import Info
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.states import interactions
from isingsample._core.streams import Seed, Streams
from isingsample.errors import MissingExtraError
from isingsample.samplers._shared.reads import check_reads_fit, check_sweeps_fit
from isingsample.samplers._shared.threads import LANES, run_tasks
from isingsample.samplers.base import Minimizer
from isingsample.samplers.block_sampler import BlockMinimizer
from isingsample.samplers.monte_carlo.chain_moments import NO_PAIRS, Pairs, blank_tally
from isingsample.samplers.monte_carlo.diagnostics import warn_unless_converged
from isingsample.samplers.monte_carlo.initial_states import check_initial_states, own_states
from isingsample.samplers.monte_carlo.schedules import optimising_betas


@dataclass(frozen=True)
class Chains:
    """What a chain sampler wants done.

    Attributes:
        betas: one inverse temperature per sweep.
        kept: how many of the last sweeps count.
        reads: chains of each query.
        random_order: whether each sweep has an order of its own.
        moments_of_reads: whether moments are those of the last states alone.
    """

    betas: np.ndarray
    kept: int
    reads: int
    random_order: bool
    moments_of_reads: bool


class ChainSampler(BlockMinimizer):
    """A sampler whose reads are the last states of Markov chains.

    Tensors on a GPU are sampled there by `_on_device()`, others, and those with a sparse J, on the
    host.
    """

    takes_sparse: ClassVar[bool] = True

    num_reads: int
    num_sweeps: int
    random_order: bool
    initial_states: Any

    def __post_init__(self) -> None:
        check.check_count("num_reads", self.num_reads)
        check.check_count("num_sweeps", self.num_sweeps)
        check.check_flag("random_order", self.random_order)
        if self.initial_states is not None:
            object.__setattr__(self, "initial_states", own_states(self.initial_states))

    def _own(self, name: str, numbers: Sequence[float] | np.ndarray) -> None:
        """Keep an option as a tuple: what happens to the caller's list later does not matter."""
        object.__setattr__(self, name, tuple(float(number) for number in numbers))

    @property
    @abstractmethod
    def _remedy(self) -> str:
        """What to raise when chains have not converged."""

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; warns of problems that have not converged."""
        run = self._on_device().sample if on_accelerator(problem) else super().sample
        result = run(problem, beta=beta, seed=seed)
        if "converged" not in result.info:
            idle = Info(result.info).also(**self._idle(problem.batch_shape))
            return dataclasses.replace(result, info=idle)
        warn_unless_converged(self.name, result.info, self._remedy)
        return result

    def _idle(self, batch: tuple[int, ...]) -> dict[str, np.ndarray]:
        """What info says of each problem where none has a spin: chains of nothing agree."""
        unknown = np.full(batch, np.nan)
        return {"r_hat": unknown, "ess": unknown.copy(), "converged": np.ones(batch, bool)}

    def minimize(self, problem: IsingProblem, *, seed: Seed = None) -> tuple[Array, Array]:
        """As for every Minimizer."""
        run = self._on_device().minimize if on_accelerator(problem) else super().minimize
        return run(problem, seed=seed)

    @property
    def _anneal_sweeps(self) -> int:
        """The sweeps of an anneal that minimizes."""
        return self.num_sweeps

    def _plan(self, beta: float) -> Chains:
        """The Chains that sampling at beta takes."""
        raise NotImplementedError

    def _on_device(self) -> Minimizer:
        from isingsample.samplers.monte_carlo.device.chains import ChainsOnDevice

        return ChainsOnDevice(self)

    def _check(self, problem: IsingProblem) -> None:
        check_reads_fit(problem, self.num_reads)
        check_sweeps_fit(self.num_sweeps + getattr(self, "burn_in", 0))
        if self.initial_states is not None:
            check_initial_states(self.initial_states, self.num_reads, problem)

    def _first_states(self, block: Block) -> np.ndarray | None:
        """(queries, reads, n) int8 of a block's spins, or None to start at random."""
        if self.initial_states is None:
            return None
        states = self.initial_states
        if states.ndim == 1:
            states = np.broadcast_to(states, (self.num_reads, len(states)))
        flat = states.reshape(-1, *states.shape[-2:])
        which = block.index.ravel() if states.ndim > 2 else np.zeros(block.index.size, int)
        return np.ascontiguousarray(flat[which][..., block.spins])

    def _run(
        self,
        block: Block,
        betas: np.ndarray,
        kept: int,
        streams: Streams,
        pairs: Pairs = NO_PAIRS,
    ) -> tuple[np.ndarray, Any]:
        """Chains along betas (queries or 1, sweeps): their last states and their Tally."""
        chain_runs = import_kernels(self.name)
        from isingsample.samplers.monte_carlo.compiled.inputs import kernel_inputs

        problems, couplings = kernel_inputs(block, streams)
        queries, num_spins = problems.h.shape
        first = self._first_states(block)
        shape = (queries, self.num_reads, num_spins)
        samples = np.empty(shape, np.int8) if first is None else first
        tasks = queries * -(-self.num_reads // LANES)
        tally = blank_tally(tasks, samples, kept, pairs)
        run_tasks(
            chain_runs.run_chains, tasks, self.name, problems, couplings,
            np.ascontiguousarray(betas, float), kept, self.random_order, first is None,
            samples, tally,
        )  # fmt: skip
        return samples, tally

    def _lowest(self, block: Block, streams: Streams) -> np.ndarray:
        return lowest(block, self._annealed(block, self._anneal_sweeps, streams))

    def _annealed(self, block: Block, num_sweeps: int, streams: Streams) -> np.ndarray:
        """The last states of anneals that are scaled to each query: (queries, reads, n) int8."""
        import_kernels(self.name)
        from isingsample.samplers.monte_carlo.compiled.anneal_runs import run_anneals
        from isingsample.samplers.monte_carlo.compiled.inputs import kernel_inputs

        problems, couplings = kernel_inputs(block, streams)
        first = self._first_states(block)
        shape = (len(problems.h), self.num_reads, block.num_spins)
        samples = np.empty(shape, np.int8) if first is None else first
        check_sweeps_fit(num_sweeps, len(problems.h))
        betas = optimising_betas(block, num_sweeps).reshape(-1, num_sweeps)
        tasks = len(betas) * -(-self.num_reads // LANES)
        run_tasks(
            run_anneals, tasks, self.name, problems, couplings, betas, self.random_order,
            first is None, samples,
        )  # fmt: skip
        return samples


def on_accelerator(problem: IsingProblem) -> bool:
    """Whether a problem's arrays, all of them, are tensors on another device than the CPU."""
    return is_torch(problem.h) and problem.h.device.type != "cpu" and not problem.is_sparse


def import_kernels(name: str) -> Any:
    """The compiled kernels, or MissingExtraError saying that a sampler needs them."""
    try:
        from isingsample.samplers.monte_carlo.compiled import chain_runs
    except ImportError:
        raise MissingExtraError(f"the sampler {name!r}", "numba") from None
    return chain_runs


def lowest(block: Block, samples: np.ndarray) -> np.ndarray:
    """The state of lowest energy of each query: (queries, reads, n) to (groups, queries, n)."""
    states = samples.reshape(*block.index.shape, *samples.shape[1:])
    best = np.empty((*block.index.shape, block.num_spins), np.int8)
    for group, found in enumerate(states):  # one group at a time: states become floats
        K = None if block.K is None else block.K[group]
        spins = found.astype(float)
        gain = interactions(spins, block.couplings(group), K)
        gain += (spins @ block.h[group][..., None])[..., 0]
        best[group] = found[np.arange(len(found)), gain.argmax(axis=-1)]
    return best
