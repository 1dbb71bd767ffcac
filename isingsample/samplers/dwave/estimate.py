"""What a batch would cost on a D-Wave annealer, before it is sent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from isingsample.samplers.dwave.chip.plan import Plan

_MICROSECONDS = 1e-6
_TIME = "QPU access time"
# What of a submission's arguments Ocean's estimator takes besides the number of qubits.
_COUNTED = (
    "num_reads",
    "annealing_time",
    "anneal_schedule",
    "initial_state",
    "reinitialize_state",
    "programming_thermalization",
    "readout_thermalization",
    "reduce_intersample_correlation",
)


@dataclass(frozen=True)
class DWaveEstimate:
    """How a batch would be submitted, and for how long it would have the annealer.

    Attributes:
        solver: the annealer's name.
        num_problems: problems with spins.
        num_submissions: submissions that they make.
        num_tiles: problems that fit into a full submission; the largest number, where masks
            make tiles of several sizes.
        num_qubits: of the largest submission.
        max_chain_length: qubits of the longest chain.
        scale: the factor on all fields and couplings.
        chain_strength: in submitted units.
        qpu_seconds: access time of all submissions, by Ocean's own estimator; None where the
            solver gives no timing data.
    """

    solver: str
    num_problems: int
    num_submissions: int
    num_tiles: int
    num_qubits: int
    max_chain_length: int
    scale: float
    chain_strength: float
    qpu_seconds: float | None

    @classmethod
    def of(cls, plan: Plan, solver: str, qpu_seconds: float | None) -> "DWaveEstimate":
        """The estimate of a plan."""
        chunks = plan.chunks()
        return cls(
            solver=solver,
            num_problems=sum(map(len, plan.groups)),
            num_submissions=len(chunks),
            num_tiles=plan.capacity,
            num_qubits=max(len(chunk.qubits) for chunk in chunks),
            max_chain_length=plan.max_chain_length,
            scale=plan.scale,
            chain_strength=plan.chain_strength,
            qpu_seconds=qpu_seconds,
        )

    @property
    def seconds_per_1000(self) -> float | None:
        """Access time of a thousand problems at this rate, in seconds."""
        if self.qpu_seconds is None or self.num_problems == 0:
            return None
        return 1000 * self.qpu_seconds / self.num_problems

    def __str__(self) -> str:
        time, rate = f"no timing data for an estimate of {_TIME}", self.seconds_per_1000
        if self.qpu_seconds is not None:
            time = f"about {self.qpu_seconds:.3g} s of {_TIME}"
        if rate is not None:
            time += f", {rate:.3g} s for 1000 problems"
        return (
            f"{self.num_problems} problems in {self.num_submissions} submissions to {self.solver}, "
            f"{self.num_tiles} problems in a full one; up to {self.num_qubits} qubits in chains "
            f"of up to {self.max_chain_length}; scale {self.scale:.3g}, chain strength "
            f"{self.chain_strength:.3g}; {time}"
        )


def estimate_access_time(
    properties: Mapping[str, Any], num_qubits: Iterable[int], arguments: Mapping[str, Any]
) -> float | None:
    """QPU access time of submissions in seconds, by Ocean's estimator; None without timing data.

    Args:
        properties: of the solver.
        num_qubits: of each submission.
        arguments: of the child's sample(), the same for all.
    """
    if not properties.get("problem_timing_data"):
        return None
    try:
        from dwave.cloud.solver import StructuredSolver
    except ImportError:
        return None
    # The estimator needs no more of a solver than its properties, which stand-ins have as well.
    solver = SimpleNamespace(properties=properties)
    counted = {name: arguments[name] for name in _COUNTED if name in arguments}
    try:
        times = [
            StructuredSolver.estimate_qpu_access_time(solver, qubits, **counted)
            for qubits in num_qubits
        ]
    except (KeyError, ValueError):  # data of a kind that this version of Ocean does not know
        return None
    return _MICROSECONDS * float(sum(times))


def check_affordable(limit: float | None, seconds: float | None, solver: str) -> None:
    """ValueError where an estimate is above the limit, or cannot be made to compare with it.

    Args:
        limit: of QPU access time in seconds; None for none.
        seconds: the estimate, or None.
        solver: its name.
    """
    if limit is None:
        return
    if seconds is None:
        raise ValueError(
            f"max_qpu_seconds={limit:g} cannot be checked: {solver} gives no timing data "
            f"(problem_timing_data) for an estimate; leave the limit out"
        )
    if seconds > limit:
        raise ValueError(
            f"the batch would take about {seconds:.3g} s of QPU access time on {solver}, more "
            f"than max_qpu_seconds={limit:g}; ask for fewer reads or problems"
        )
