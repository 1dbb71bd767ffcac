"""Simulated annealing that ends at the temperature asked for."""

from dataclasses import dataclass
from typing import Any, ClassVar

from isingsample import _validation as check
from isingsample.blocks import Block
from isingsample.errors import MissingExtraError
from isingsample.problem import IsingProblem
from isingsample.samplers._children import (
    lowest_states,
    reads_at_unit_temperature,
    refuse_three_body,
)
from isingsample.samplers._schedules import SCHEDULE_TYPES, annealing_betas, check_beta_range
from isingsample.samplers.base import Minimizer, Solution
from isingsample.streams import Streams


@dataclass(frozen=True)
class SimulatedAnnealing(Minimizer):
    """Heat-bath sweeps while the system cools to beta, then at beta; run by dwave-samplers.

    Every read is an anneal of its own, so reads are independent. They follow exp(-beta E) once
    the hold at beta is long enough to equilibrate; strongly coupled problems with several
    deep valleys need more sweeps than any schedule shows.

    Attributes:
        num_reads: anneals of each problem.
        num_sweeps: sweeps over all spins in each anneal.
        beta_range: (hot, cold) inverse temperatures; cold must be the beta given to sample().
            None starts at 0.1 beta.
        beta_schedule_type: "geometric" or "linear".
        hold: the share of the sweeps spent at cold, in [0, 1].

    Source: Kirkpatrick, Gelatt & Vecchi, Science 220, 671 (1983).
    """

    num_reads: int = 1000
    num_sweeps: int = 100
    beta_range: tuple[float, float] | None = None
    beta_schedule_type: str = "geometric"
    hold: float = 0.5

    name: ClassVar[str] = "sa"

    def __post_init__(self) -> None:
        check.check_count("num_reads", self.num_reads)
        check.check_count("num_sweeps", self.num_sweeps)
        check.check_choice("beta_schedule_type", self.beta_schedule_type, SCHEDULE_TYPES)
        if not 0 <= check.check_number("hold", self.hold) <= 1:
            raise ValueError(f"hold must be between 0 and 1, not {self.hold}")

    def _check(self, problem: IsingProblem) -> None:
        refuse_three_body(self, problem)

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        hot, cold = check_beta_range(self.beta_range, beta, self.beta_schedule_type)
        # The child sees beta E, so its schedule is in units of beta; at beta = 0 any will do.
        start, end = (hot / cold, 1.0) if cold else (0.1, 1.0)
        betas = annealing_betas(start, end, self.num_sweeps, self.beta_schedule_type, self.hold)
        parameters = {"beta_schedule_type": "custom", "beta_schedule": betas}
        reads = reads_at_unit_temperature(
            _annealer(), block, beta, self.num_reads, parameters, streams
        )
        return Solution.from_samples(reads, thermal=True)

    def _lowest(self, block: Block, streams: Streams) -> Any:
        # Without a schedule, dwave-samplers scales its own to each problem's energies.
        parameters = {"num_sweeps": self.num_sweeps}
        return lowest_states(_annealer(), block, self.num_reads, parameters, streams)


def _annealer() -> Any:
    try:
        from dwave.samplers import SimulatedAnnealingSampler
    except ImportError:
        raise MissingExtraError("the sampler 'sa'", "dimod") from None
    return SimulatedAnnealingSampler()
