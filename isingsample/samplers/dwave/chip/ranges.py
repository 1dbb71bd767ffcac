"""What a solver accepts, checked before anything is sent and paid for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample.interop.convert import flip_sign
from isingsample.samplers.dwave.chip.layout import Layout

# At this strength and unit temperature, a chain of two free qubits breaks in 2 % of the reads.
_HOLDING_STRENGTH = 2.0
# The factor of D-Wave's uniform torque compensation (dwave.embedding.chain_strength).
_TORQUE_FACTOR = 1.414


@dataclass(frozen=True)
class Ranges:
    """The ranges of a solver, infinite where it names none; biases are in dimod's sign.

    Attributes:
        solver: its name, for messages.
        properties: all that it says of itself.
    """

    solver: str
    properties: Mapping[str, Any]

    def check_call(self, arguments: Mapping[str, Any]) -> None:
        """Refuse arguments of a submission that the solver would refuse.

        Args:
            arguments: of the child's sample(); times are in microseconds.

        Raises:
            ValueError: naming the argument, the property and its value.
        """

        def time(name: str) -> float:
            given = arguments.get(name)
            return float(self.properties.get(f"default_{name}", 0.0) if given is None else given)

        num_reads, schedule = arguments["num_reads"], arguments.get("anneal_schedule")
        for name, value in arguments.items():
            if name != "anneal_offsets":  # NaN is what unused qubits have there
                check_finite(name, value)
            # The range of annealing_time is that of the protocol in use, below.
            if isinstance(value, (int, float)) and name != "annealing_time":
                self._check(f"{name}={value:g}", value, f"{name}_range")
        most = self.properties.get("max_anneal_schedule_points", math.inf)
        if schedule is not None and schedule[0][1] == 1:
            most += 1  # a reverse anneal's first point
        if schedule is not None and len(schedule) > most:
            raise ValueError(
                f"anneal_schedule has {len(schedule)} points, and max_anneal_schedule_points of "
                f"{self.solver} is {most}"
            )
        anneal = time("annealing_time") if schedule is None else float(schedule[-1][0])
        if schedule is not None or "annealing_time" in arguments:
            name = "annealing_time" if schedule is None else "the end of anneal_schedule"
            fast = "fast_anneal_time_range" if arguments.get("fast_anneal") else None
            what = f"{name}={anneal:g} (microseconds)"
            self._check(what, anneal, fast or "annealing_time_range")
        pause, programming = time("readout_thermalization"), time("programming_thermalization")
        duration = num_reads * (anneal + pause) + programming
        what = f"num_reads={num_reads} of {anneal:g} microseconds, {duration:g} in all,"
        self._check(what, duration, "problem_run_duration_range")

    def chain_strength(self, chosen: float | None, torque: float) -> float:
        """The ferromagnetic coupling within chains, in submitted units; always positive.

        Args:
            chosen: the caller's own, or None.
            torque: what the problem's couplings call for, from `torque`.

        Raises:
            ValueError: the solver's couplers do not go that far.
        """
        name = self._couplings_name
        if chosen is None:
            return min(-self._range(name)[0], max(_HOLDING_STRENGTH, torque))
        self._check(f"chain_strength={chosen:g}, a coupling of {-chosen:g},", -chosen, name)
        return chosen

    def largest_scale(
        self, layout: Layout, fields: np.ndarray, couplings: np.ndarray, links: np.ndarray
    ) -> float:
        """The factor on a submission's biases that fills the ranges; infinite if all are zero.

        Args:
            layout: of the submission.
            fields: (m,) of qubits, in this package's sign like the others.
            couplings: (E,) of couplers between chains.
            links: (C,) of couplers inside chains; they are not scaled.

        Raises:
            ValueError: the chains alone are more than the solver takes.
        """
        fields, couplings, links = map(flip_sign, (fields, couplings, links))
        sums = layout.sums(couplings, np.zeros_like(links))
        chains = layout.sums(np.zeros_like(couplings), links)
        low, high = self._range(self._sums_name)
        if links.any():
            what = f"chain_strength={-links.min():g}, adding up to {chains.min():g} in one place,"
            self._check(what, chains.min(), self._sums_name)
        return min(
            _factor(fields, *self._range("h_range")),
            _factor(couplings, *self._range(self._couplings_name)),
            _factor(sums, low - chains, high - chains),
        )

    @property
    def _couplings_name(self) -> str:
        return "extended_j_range" if "extended_j_range" in self.properties else "j_range"

    @property
    def _sums_name(self) -> str:
        by_group = "per_group_coupling_range"
        return by_group if by_group in self.properties else "per_qubit_coupling_range"

    def _range(self, name: str) -> tuple[float, float]:
        low, high = self.properties.get(name, (-math.inf, math.inf))
        return float(low), float(high)

    def _check(self, what: str, value: float, name: str) -> None:
        low, high = self._range(name)
        if not low <= value <= high:
            raise ValueError(f"{what} is outside {name} [{low:g}, {high:g}] of {self.solver}")


def check_finite(name: str, value: Any) -> None:
    """ValueError for a number, or a list of numbers, that JSON cannot hold."""
    if isinstance(value, list):
        for place, entry in enumerate(value):
            check_finite(f"{name}[{place}]", entry)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be finite, not {value}")


def torque(J: np.ndarray) -> float:
    """How strongly couplings (groups, n, n) pull a chain apart: D-Wave's rule, largest group.

    1.414 times the root mean square coupling times the root of the mean number of neighbours.
    """
    peak = np.abs(J).max(initial=0.0)
    if peak == 0:
        return 0.0
    rows = ((J / peak) ** 2).sum(axis=-1)  # (groups, n); scaled, for squares overflow early
    return float(_TORQUE_FACTOR * peak * np.sqrt(rows.mean(axis=-1).max()))


def _factor(values: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> float:
    """The largest factor that keeps all values within low <= 0 <= high."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factors = np.where(values > 0, high, np.negative(low)) / np.abs(values)
    return float(factors[values != 0].min(initial=math.inf))
