"""Chains of heat-bath sweeps on blocks: what the Monte Carlo samplers have in common."""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from isingsample import _validation as check
from isingsample._arrays import Array, is_torch, to_numpy
from isingsample._info import Info
from isingsample.blocks import Block
from isingsample.energies import interactions
from isingsample.errors import MissingExtraError
from isingsample.problem import IsingProblem
from isingsample.result import SampleResult
from isingsample.samplers._diagnostics import chain_diagnostics, warn_unless_converged
from isingsample.samplers._pairs import SUBSETS, chain_pairs, matrix
from isingsample.samplers._schedules import optimising_betas
from isingsample.samplers._threads import LANES, run_tasks
from isingsample.samplers.base import Minimizer, Solution
from isingsample.streams import Seed, Streams

_WATCHED, _DRAWS = 32, 32  # chains of each problem that are diagnosed, and draws of each
# Numbers that the diagnosis keeps at a time; above some 20000 spins it watches fewer chains.
_HISTORY = 2**25
_ROUNDING = 2.0**-24  # of a probability in the kernels, which a spread of 0 would hide


# Spins j and k of the pairs whose products a run counts: (pairs,) both.
Pairs: TypeAlias = tuple[np.ndarray, np.ndarray]
NO_PAIRS: Pairs = (np.zeros(0, np.int64), np.zeros(0, np.int64))


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


class ChainSampler(Minimizer):
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
        from isingsample.samplers._on_device import ChainsOnDevice

        return ChainsOnDevice(self)

    def _check(self, problem: IsingProblem) -> None:
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
        kernel_runs = import_kernels(self.name)
        from isingsample.samplers._kernel_inputs import kernel_inputs

        problems, couplings = kernel_inputs(block, streams)
        queries, num_spins = problems.h.shape
        first = self._first_states(block)
        shape = (queries, self.num_reads, num_spins)
        samples = np.empty(shape, np.int8) if first is None else first
        tasks = queries * -(-self.num_reads // LANES)
        tally = blank_tally(kernel_runs, tasks, samples, kept, pairs)
        run_tasks(
            kernel_runs.run_chains, tasks, self.name, problems, couplings,
            np.ascontiguousarray(betas, float), kept, self.random_order, first is None,
            samples, tally,
        )  # fmt: skip
        return samples, tally

    def _lowest(self, block: Block, streams: Streams) -> np.ndarray:
        return lowest(block, self._annealed(block, self._anneal_sweeps, streams))

    def _annealed(self, block: Block, num_sweeps: int, streams: Streams) -> np.ndarray:
        """The last states of anneals that are scaled to each query: (queries, reads, n) int8."""
        import_kernels(self.name)
        from isingsample.samplers._anneal_runs import run_anneals
        from isingsample.samplers._kernel_inputs import kernel_inputs

        problems, couplings = kernel_inputs(block, streams)
        first = self._first_states(block)
        shape = (len(problems.h), self.num_reads, block.num_spins)
        samples = np.empty(shape, np.int8) if first is None else first
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
        from isingsample.samplers import _kernel_runs
    except ImportError:
        raise MissingExtraError(f"the sampler {name!r}", "numba") from None
    return _kernel_runs


def blank_tally(
    kernel_runs: Any, tasks: int, samples: np.ndarray, kept: int, pairs: Pairs, watched: int = LANES
) -> Any:
    """A Tally of zeros for samples (queries, reads, n), diagnosing at most `watched` chains."""
    queries, reads, num_spins = samples.shape
    stride = max(1, kept // _DRAWS)
    fitting = max(4, _HISTORY // max(1, num_spins * (kept // stride)))
    first, second = (np.ascontiguousarray(spins, np.int64) for spins in pairs)
    return kernel_runs.Tally(
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
    standard error, whatever the correlation along each of them; that of a single one is NaN. Those
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


def own_states(states: Any) -> np.ndarray:
    """States to start from as int8 of our own, which stay as they are whatever the caller does.

    Raises:
        TypeError: not numbers.
        ValueError: entries other than -1 and +1, or 0 for spins that may be absent.
    """
    values = to_numpy(check.real_array("initial_states", states))
    check.check_spins("initial_states", values, values != 0)
    owned = values.astype(np.int8)
    owned.flags.writeable = False
    return owned


def check_initial_states(values: np.ndarray, num_reads: int, problem: IsingProblem) -> None:
    """Refuse states to start from that do not fit the problem and the number of reads.

    Raises:
        ValueError: a shape other than (n,), (num_reads, n) or (..., num_reads, n), or entries
            other than -1 and +1 at spins that are present.
    """
    n = problem.num_spins
    shapes = ((n,), (num_reads, n), (*problem.batch_shape, num_reads, n))
    if values.shape not in shapes:
        listed = ", ".join(str(shape) for shape in dict.fromkeys(shapes))
        raise ValueError(
            f"initial_states must have one of the shapes {listed}: a state for all reads, for "
            f"each read or for each read of each problem; it has shape {values.shape}"
        )
    present: Any = True
    if problem.present is not None:
        present = problem.present[..., None, :]
        if values.ndim < 3:  # the same states for all problems
            present = problem.present.reshape(-1, n).any(axis=0)
    exists = np.broadcast_to(present, values.shape)
    check.check_spins("initial_states", np.where(exists, values, 0), exists)
