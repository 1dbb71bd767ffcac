"""Parallel tempering: replicas at several temperatures, which they exchange."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from isingsample import _validation as check
from isingsample.blocks import Block
from isingsample.samplers._chains import (
    ChainSampler,
    blank_tally,
    chain_solution,
    import_kernels,
    lowest,
)
from isingsample.samplers._ladders import adapted, first_ladder
from isingsample.samplers._schedules import check_betas, check_last, optimising_range
from isingsample.samplers._threads import LANES, run_tasks
from isingsample.samplers.base import Solution
from isingsample.streams import Streams

# Pilot runs that adapt the ladder, before burn_in; each draws from streams of its own.
_PILOTS = 3
_SHORTEST_PILOT = 10  # sweeps; fewer tell nothing of exchanges


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
    betas: Any = field(default=None, compare=False)
    adapt: bool = True
    random_order: bool = False
    initial_states: Any = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "tempering"

    def __post_init__(self) -> None:
        check.check_count("num_reads", self.num_reads)
        check.check_count("num_sweeps", self.num_sweeps)
        check.check_count("burn_in", self.burn_in, minimum=0)
        rungs = check.check_count("num_replicas", self.num_replicas)
        if self.betas is not None:
            betas = check_betas("betas", self.betas)
            if (np.diff(betas) < 0).any():
                raise ValueError("betas must ascend, from hot to cold")
            rungs = len(betas)
        if rungs > LANES:
            raise ValueError(f"a ladder has at most {LANES} replicas, not {rungs}")

    @property
    def _remedy(self) -> str:
        return "raise num_sweeps, burn_in or num_replicas"

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        betas, states = self._prepared(block, beta, streams)
        sweeps = self.burn_in + self.num_sweeps
        run = self._ladders(block, betas, sweeps, self.num_sweeps, streams, states)

        def correlation() -> Any:
            again = self._ladders(
                block, betas, sweeps, self.num_sweeps, streams, states, pairs=True
            )
            return again.tally

        samples = np.ascontiguousarray(run.rungs[:, :, -1])
        solution = chain_solution(block, samples, run.tally, self.num_sweeps, correlation)
        shape = block.index.shape
        per_query = {
            "betas": betas.reshape(*shape, betas.shape[1]),
            "swap_acceptance": run.acceptance.reshape(*shape, betas.shape[1] - 1),
        }
        return dataclasses.replace(solution, per_query={**solution.per_query, **per_query})

    def _prepared(
        self, block: Block, beta: float, streams: Streams
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Rungs (queries, rungs) and states to start from, after the pilot runs."""
        if self.betas is not None:
            given = check_betas("betas", self.betas)
            check_last("betas", given[-1], beta)
            return np.tile(given, (block.index.size, 1)), None
        betas = first_ladder(block, beta, self.num_replicas)
        if not self.adapt or self.num_replicas < 3 or self.burn_in < _SHORTEST_PILOT:
            return betas, None
        states = None
        for pilot in range(_PILOTS):
            run = self._ladders(block, betas, self.burn_in, 1, _stream(streams, pilot), states)
            betas, states = adapted(betas, run.acceptance), run.rungs
        return betas, states

    def _ladders(
        self,
        block: Block,
        betas: np.ndarray,
        sweeps: int,
        kept: int,
        streams: Streams,
        states: np.ndarray | None,
        *,
        pairs: bool = False,
    ) -> "_Run":
        """Run all ladders of a block, from states (queries, ladders, rungs, n) or afresh."""
        kernel_runs = import_kernels(self.name)
        from isingsample.samplers._kernel_inputs import kernel_inputs

        problems, couplings = kernel_inputs(block, streams)
        shape = (len(betas), self.num_reads, betas.shape[1], block.num_spins)
        if states is None and (first := self._first_states(block)) is not None:
            states = np.broadcast_to(first[:, :, None], shape)
        rungs = np.empty(shape, np.int8) if states is None else states.copy()
        together = LANES // shape[2]
        tasks = len(betas) * -(-self.num_reads // together)
        accepted = np.zeros((tasks, shape[2] - 1), np.int64)
        best = np.empty((tasks, block.num_spins), np.int8)
        tally = blank_tally(kernel_runs, tasks, rungs[:, :, -1], kept, pairs, together)
        run_tasks(
            kernel_runs.run_tempering, tasks, self.name, problems, couplings, betas, sweeps,
            kept, self.random_order, states is None, rungs, accepted, best, tally,
        )  # fmt: skip
        swaps = accepted.reshape(len(betas), tasks // len(betas), shape[2] - 1).sum(axis=1)
        # Pairs 0, 2, ... try after sweeps 0, 2, ...; there is no exchange after the last sweep.
        tries = np.where(np.arange(shape[2] - 1) % 2 == 0, sweeps // 2, (sweeps - 1) // 2)
        return _Run(rungs, swaps / np.maximum(tries * self.num_reads, 1), best, tally)

    def _lowest(self, block: Block, streams: Streams) -> np.ndarray:
        hot, cold = optimising_range(block)
        ramp = np.linspace(1.0, 0.0, self.num_replicas)[::-1]  # a single rung is the cold one
        betas = (hot[..., None] * (cold / hot)[..., None] ** ramp).reshape(-1, self.num_replicas)
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


def _stream(streams: Streams, pilot: int) -> Streams:
    """Other streams than the main run's, for a pilot run: a key of their own."""
    first, second = streams.key
    return Streams((first ^ (pilot + 1), second ^ 0x5EED))
