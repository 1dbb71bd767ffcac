"""Simulated annealing that ends at the temperature asked for."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from isingsample._core import checks as check
from isingsample._core.blocks import Block
from isingsample._core.streams import Streams
from isingsample.samplers.monte_carlo.chains import Chains, ChainSampler
from isingsample.samplers.monte_carlo.diagnostics import chain_diagnostics
from isingsample.samplers.monte_carlo.schedules import (
    SCHEDULE_TYPES,
    annealing_betas,
    check_beta_range,
    check_betas,
    check_last,
)
from isingsample.samplers.solution import Solution


@dataclass(frozen=True)
class SimulatedAnnealing(ChainSampler):
    """Heat-bath sweeps while the system cools to beta, then at beta.

    Every read is an anneal of its own, so reads are independent and std_error is their shot
    noise. They follow exp(-beta E) once the hold at beta is long enough to equilibrate; strongly
    coupled problems with several deep valleys need more sweeps than any schedule shows.
    info["r_hat"] and info["converged"] are as for `gibbs`, over the sweeps at beta: where anneals
    end in different valleys and stay there, the shares of these valleys are not to be trusted.

    Attributes:
        num_reads: anneals of each problem.
        num_sweeps: sweeps over all spins in each anneal.
        beta_range: (hot, cold) inverse temperatures; cold must be the beta given to sample().
            None starts at 0.1 beta.
        beta_schedule_type: "geometric", "linear", or "custom" with a beta_schedule.
        hold: the share of the sweeps spent at cold, in [0, 1].
        beta_schedule: one inverse temperature per sweep, ending at the beta given to sample();
            it takes the place of num_sweeps and hold when sampling, and excludes beta_range.
        random_order: draw spins in a new random order in each sweep, not one after the other.
        initial_states: (n,), (num_reads, n) or (..., num_reads, n) of -1 and +1 to start from;
            None for random ones.

    Warns:
        UserWarning: there are problems that did not converge.

    Source: Kirkpatrick, Gelatt & Vecchi, Science 220, 671 (1983).
    """

    num_reads: int = 1000
    num_sweeps: int = 100
    beta_range: tuple[float, float] | None = None
    beta_schedule_type: str = "geometric"
    hold: float = 0.5
    beta_schedule: Any = None
    random_order: bool = False
    initial_states: Any = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "sa"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.check_choice("beta_schedule_type", self.beta_schedule_type, SCHEDULE_TYPES)
        if not 0 <= check.check_number("hold", self.hold) <= 1:
            raise ValueError(f"hold must be between 0 and 1, not {self.hold}")
        if (self.beta_schedule_type == "custom") != (self.beta_schedule is not None):
            raise ValueError("beta_schedule goes with beta_schedule_type='custom', and only there")
        if self.beta_schedule is not None:
            self._own("beta_schedule", check_betas("beta_schedule", self.beta_schedule))
        if self.beta_range is not None:
            if self.beta_schedule is not None:
                raise ValueError("beta_range and beta_schedule exclude each other; pass one")
            self._own("beta_range", check_beta_range(self.beta_range, self.beta_schedule_type))

    @property
    def _remedy(self) -> str:
        if self.beta_schedule is not None:
            return "let beta_schedule stay at its last value for longer, or use 'tempering'"
        return "raise num_sweeps or hold, or use 'tempering'"

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        plan = self._plan(beta)
        samples, tally = self._run(block, plan.betas[None], plan.kept, streams)
        reads = samples.reshape(*block.index.shape, *samples.shape[1:])
        return dataclasses.replace(
            Solution.from_samples(reads, thermal=True),
            per_query=chain_diagnostics(tally.series, self.num_reads, block.index.shape),
        )

    def _plan(self, beta: float) -> Chains:
        betas = self._betas(beta)
        held = len(betas) - max((int(at) + 1 for at in np.flatnonzero(betas != beta)), default=0)
        return Chains(betas, held, self.num_reads, self.random_order, True)

    def _betas(self, beta: float) -> np.ndarray:
        if self.beta_schedule is not None:
            check_last("beta_schedule", self.beta_schedule[-1], beta)
            return np.array(self.beta_schedule)
        hot, cold = self.beta_range or (0.1 * beta, beta)
        check_last("beta_range", cold, beta)
        if cold == 0:  # no geometric ramp ends there, and none is needed
            return np.zeros(self.num_sweeps)
        return annealing_betas(hot, cold, self.num_sweeps, self.beta_schedule_type, self.hold)
