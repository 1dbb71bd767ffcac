"""How an anneal goes from the driver to the problem, and its angles step by step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from isingsample import _validation as check
from isingsample.calibration import check_duration, tabulate


@dataclass(frozen=True)
class Schedule:
    """Strengths of driver and problem along the anneal: H = -A(s) sum X + B(s) E(Z).

    Attributes:
        A: driver, a function of s = t / total_time in [0, 1] that returns a finite number.
        B: problem, likewise.
    """

    A: Callable[[float], float]
    B: Callable[[float], float]

    @classmethod
    def of(cls, given: "ScheduleLike") -> "Schedule":
        """A schedule by name, from a pair of functions (A, B), or as it is.

        Raises:
            TypeError: given is none of these.
            ValueError: no schedule has this name.
        """
        if isinstance(given, Schedule):
            return given
        if isinstance(given, str):
            return SCHEDULES[check.check_choice("schedule", given, SCHEDULES)]
        if isinstance(given, Sequence) and len(given) == 2 and all(map(callable, given)):
            return cls(*given)
        raise TypeError(
            f"schedule must be one of {', '.join(SCHEDULES)}, a Schedule or a pair of functions "
            f"(A, B), not {given!r}"
        )


def _falling(s: float) -> float:
    return 1.0 - s


def _rising(s: float) -> float:
    return s


SCHEDULES = {"linear": Schedule(_falling, _rising)}
ScheduleLike: TypeAlias = str | Schedule | Sequence[Callable[[float], float]]


@dataclass(frozen=True)
class Anneal:
    """An anneal in num_steps Trotter steps, each with A and B from its midpoint.

    Attributes:
        total_time: duration, in 1/energy (hbar = 1), above 0.
        num_steps: Trotter steps.
        trotter_order: 1: each step is the problem, then the driver. 2: half of the driver, the
            problem, half of the driver.
        schedule: "linear" (A = 1 - s, B = s), a Schedule, or a pair of functions (A, B).

    Raises:
        TypeError: an option of the wrong kind, or a schedule that does not return numbers.
        ValueError: an option out of its range, or a schedule that returns NaN or infinity.

    Source: Suzuki, Comm. Math. Phys. 51, 183 (1976), for the product formulas.
    """

    total_time: float
    num_steps: int
    trotter_order: int
    schedule: ScheduleLike

    def __post_init__(self) -> None:
        check_duration("total_time", self.total_time)
        check.check_count("num_steps", self.num_steps)
        if check.check_count("trotter_order", self.trotter_order) > 2:
            raise ValueError(f"trotter_order must be 1 or 2, not {self.trotter_order}")
        _ = self.driver_angles, self.problem_angles  # refuses a schedule that is not finite

    @cached_property
    def curves(self) -> Schedule:
        """The schedule as functions."""
        return Schedule.of(self.schedule)

    @cached_property
    def problem_angles(self) -> np.ndarray:
        """Rotation about Z...Z in each step for a coefficient of 1: (num_steps,), in radians."""
        return self._rotations("B", self.curves.B)

    @cached_property
    def driver_angles(self) -> np.ndarray:
        """Rotation of every spin about X after each step's problem part: (num_steps,).

        In second order the two half rotations between problem parts are one. The very first is
        left out: it only turns the phase of the initial state.
        """
        angles = self._rotations("A", self.curves.A)
        return angles if self.trotter_order == 1 else 0.5 * (angles + np.append(angles[1:], 0.0))

    def _rotations(self, name: str, strength: Callable[[float], Any]) -> np.ndarray:
        # exp(-i H dt) with H = -g P, for a product of Paulis P, is a rotation by -2 g dt.
        midpoints = (np.arange(self.num_steps) + 0.5) / self.num_steps
        return -2.0 * self.total_time / self.num_steps * tabulate(name, strength, midpoints)
