"""What a solver accepts, checked before anything is sent and paid for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample.interop import flip_sign
from isingsample.samplers._embedding import Embedding

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

    def check_call(self, num_reads: int, annealing_time: float | None) -> None:
        """Refuse arguments of a submission that the solver would refuse.

        Args:
            num_reads: reads of each problem.
            annealing_time: of each read, in microseconds; None for the solver's default.

        Raises:
            ValueError: naming the argument, the property and its value.
        """
        self._check(f"num_reads={num_reads}", num_reads, "num_reads_range")
        if annealing_time is None:
            annealing_time = float(self.properties.get("default_annealing_time", 0.0))
        else:
            what = f"annealing_time={annealing_time:g} (microseconds)"
            self._check(what, annealing_time, "annealing_time_range")
        pause = float(self.properties.get("default_readout_thermalization", 0.0))
        programming = float(self.properties.get("default_programming_thermalization", 0.0))
        duration = num_reads * (annealing_time + pause) + programming
        what = f"num_reads={num_reads} of {annealing_time:g} microseconds, {duration:g} in all,"
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
        self, embedding: Embedding, h: np.ndarray, J: np.ndarray, chain_strength: float
    ) -> float:
        """The factor on a block's biases that fills the ranges; infinite if all are zero.

        Args:
            embedding: of the block.
            h: (groups, queries, n), in this package's sign like J.
            J: (groups, n, n).
            chain_strength: from `chain_strength`; it is not scaled.

        Raises:
            ValueError: the chains alone are more than the solver takes.
        """
        extremes = np.stack([h.min(axis=(0, 1)), h.max(axis=(0, 1))])
        fields = flip_sign(embedding.fields(extremes))
        couplings = flip_sign(embedding.couplings(J))
        no_couplings, no_links = np.zeros(couplings.shape[1]), np.zeros(embedding.links.shape[1])
        sums = np.stack([embedding.sums(np.append(row, no_links)) for row in couplings])
        chains = embedding.sums(np.append(no_couplings, no_links - chain_strength))
        low, high = self._range(self._sums_name)
        if len(chains):
            what = f"chain_strength={chain_strength:g}, adding up to {chains.min():g} in one place,"
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
