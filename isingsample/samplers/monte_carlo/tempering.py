"""Parallel tempering: replicas at several temperatures, which they exchange."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from isingsample._core import checks as check
from isingsample._core.blocks import Block
from isingsample._core.streams import Streams
from isingsample.samplers._shared.threads import LANES, run_tasks
from isingsample.samplers.base import Minimizer
from isingsample.samplers.monte_carlo.chain_moments import (
    NO_PAIRS,
    Pairs,
    blank_tally,
    chain_solution,
)
from isingsample.samplers.monte_carlo.chains import ChainSampler, import_kernels, lowest
from isingsample.samplers.monte_carlo.ladders import (
    acceptance,
    adapted,
    first_ladder,
    optimising_ladder,
    pilot_streams,
)
from isingsample.samplers.monte_carlo.schedules import check_betas, check_last
from isingsample.samplers.solution import Solution

# Pilot runs that adapt the ladder, before burn_in; each draws from streams of its own.
_PILOTS = 3
_SHORTEST_PILOT = 10  # sweeps; fewer tell nothing of exchanges
# (rungs (queries, rungs), number of the run, states to start from) to (shares of accepted
# exchanges (queries, rungs - 1), last states).
Pilot = Callable[[np.ndarray, int, Any], tuple[np.ndarray, Any]]


@dataclass(frozen=True)
class ParallelTempering(ChainSampler):
    """Ladders of replicas from hot to beta; after each sweep neighbours may exchange temperatures.

    A replica that is stuck in a valley at beta climbs to where it can leave, so chains mix where
    those of `gibbs` do not. Rungs r and r+1 exchange with probability min(1, exp((beta_r+1 -
    beta_r)(E_r+1 - E_r))), E being the energies of their whole states, which leaves each rung's
    distribution as it is; even and odd pairs take turns.

    num_reads ladders run side by side, independent of each other. Moments are averages over the
    sweeps after burn_in of the replicas at beta, samples are their last states; std_error, r_hat,
    ess and converged are as for `gibbs`, a ladder in the place of a chain. info["betas"] and
    info["swap_acceptance"] hold each problem's rungs and the shares of accepted exchanges between
    them: below a few percent anywhere, raise num_replicas.

    minimize() runs the same ladders from hot to freezing, scaled to the problem, and returns the
    lowest state that any replica was in.

    Attributes:
        num_reads: ladders of each problem, and samples.
        num_replicas: rungs of each ladder, at most 128.
        num_sweeps: sweeps of each replica that count.
        burn_in: sweeps before them that do not.
        betas: the rungs, ascending and ending at the beta given to sample(); they take the place
            of num_replicas. None for rungs from 0 to beta, geometric at first.
        adapt: move the rungs in between until exchanges are accepted alike, in three pilot runs
            of burn_in sweeps each (none if that is below 10). Never those given as betas.
        random_order: draw spins in a new random order in each sweep, not one after the other.
        initial_states: (n,), (num_reads, n) or (..., num_reads, n) of -1 and +1 where all
            replicas of a ladder start; None for random ones.

    Warns:
        UserWarning: there are problems that did not converge.

    Source: Hukushima & Nemoto, J. Phys. Soc. Jpn. 65, 1604 (1996).
    """

    num_reads: int = 100
    num_replicas: int = 8
    num_sweeps: int = 200
    burn_in: int = 100
    betas: Any = None
    adapt: bool = True
    random_order: bool = False
    initial_states: Any = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "tempering"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.check_count("burn_in", self.burn_in, minimum=0)
        check.check_flag("adapt", self.adapt)
        rungs = check.check_count("num_replicas", self.num_replicas)
        if self.betas is not None:
            betas = check_betas("betas", self.betas)
            if (np.diff(betas) < 0).any():
                raise ValueError("betas must ascend, from hot to cold")
            self._own("betas", betas)
            rungs = len(betas)
        if rungs > LANES:
            raise ValueError(f"a ladder has at most {LANES} replicas, not {rungs}")

    @property
    def _remedy(self) -> str:
        if self.betas is not None:
            return "raise num_sweeps or burn_in, or give more betas"
        return "raise num_sweeps, burn_in or num_replicas"

    def _idle(self, batch: tuple[int, ...]) -> dict[str, np.ndarray]:
        rungs = self.num_replicas if self.betas is None else len(self.betas)
        betas, shares = (np.full((*batch, count), np.nan) for count in (rungs, rungs - 1))
        return {**super()._idle(batch), "betas": betas, "swap_acceptance": shares}

    def _on_device(self) -> Minimizer:
        from isingsample.samplers.monte_carlo.device.ladders import LaddersOnDevice

        return LaddersOnDevice(self)

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        def pilot(betas: np.ndarray, number: int, states: Any) -> tuple[np.ndarray, Any]:
            done = self._ladders(
                block, betas, self.burn_in, 1, pilot_streams(streams, number), states
            )
            return done.acceptance, done.rungs

        betas, states = self._prepared(block, beta, pilot)
        sweeps = self.burn_in + self.num_sweeps
        run = self._ladders(block, betas, sweeps, self.num_sweeps, streams, states)

        def again(pairs: Pairs) -> Any:
            return self._ladders(
                block, betas, sweeps, self.num_sweeps, streams, states, pairs
            ).tally

        samples = np.ascontiguousarray(run.rungs[:, :, -1])
        together = LANES // betas.shape[1]
        solution = chain_solution(block, samples, run.tally, self.num_sweeps, again, together)
        shape = block.index.shape
        per_query = {
            "betas": betas.reshape(*shape, betas.shape[1]),
            "swap_acceptance": run.acceptance.reshape(*shape, betas.shape[1] - 1),
        }
        return dataclasses.replace(solution, per_query={**solution.per_query, **per_query})

    def _prepared(self, block: Block, beta: float, pilot: Pilot) -> tuple[np.ndarray, Any]:
        """Rungs (queries, rungs) and states to start from, after the pilot runs."""
        if self.betas is not None:
            check_last("betas", self.betas[-1], beta)
            return np.tile(self.betas, (block.index.size, 1)), None
        betas = first_ladder(block, beta, self.num_replicas)
        states = None
        if self.adapt and self.num_replicas > 2 and self.burn_in >= _SHORTEST_PILOT:
            for number in range(_PILOTS):
                accepted, states = pilot(betas, number, states)
                betas = adapted(betas, accepted)
        return betas, states

    def _ladders(
        self,
        block: Block,
        betas: np.ndarray,
        sweeps: int,
        kept: int,
        streams: Streams,
        states: np.ndarray | None,
        pairs: Pairs = NO_PAIRS,
    ) -> "_Run":
        """Run all ladders of a block, from states (queries, ladders, rungs, n) or afresh."""
        import_kernels(self.name)
        from isingsample.samplers.monte_carlo.compiled.inputs import kernel_inputs
        from isingsample.samplers.monte_carlo.compiled.ladder_runs import run_tempering

        problems, couplings = kernel_inputs(block, streams)
        shape = (len(betas), self.num_reads, betas.shape[1], block.num_spins)
        if states is None and (first := self._first_states(block)) is not None:
            states = np.broadcast_to(first[:, :, None], shape)
        rungs = np.empty(shape, np.int8) if states is None else states.copy()
        together = LANES // shape[2]
        tasks = len(betas) * -(-self.num_reads // together)
        accepted = np.zeros((tasks, shape[2] - 1), np.int64)
        best = np.empty((tasks, block.num_spins), np.int8)
        tally = blank_tally(tasks, rungs[:, :, -1], kept, pairs, together)
        run_tasks(
            run_tempering, tasks, self.name, problems, couplings, betas, sweeps,
            kept, self.random_order, states is None, rungs, accepted, best, tally,
        )  # fmt: skip
        swaps = accepted.reshape(len(betas), tasks // len(betas), shape[2] - 1).sum(axis=1)
        return _Run(rungs, acceptance(swaps, sweeps, self.num_reads), best, tally)

    def _lowest(self, block: Block, streams: Streams) -> np.ndarray:
        betas = optimising_ladder(block, self.num_replicas)
        run = self._ladders(block, betas, self.burn_in + self.num_sweeps, 1, streams, None)
        return lowest(block, run.best.reshape(len(betas), -1, block.num_spins))


@dataclass(frozen=True)
class _Run:
    """What ladders end with.

    Attributes:
        rungs: (queries, ladders, rungs, n) int8, the last state at each temperature.
        acceptance: (queries, rungs - 1) shares of accepted exchanges.
        best: (tasks, n) int8, the lowest state that was visited.
        tally: Tally of the coldest rungs.
    """

    rungs: np.ndarray
    acceptance: np.ndarray
    best: np.ndarray
    tally: Any
