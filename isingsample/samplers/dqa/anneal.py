"""The steps of an anneal: its angles."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isingsample._core import checks as check
from isingsample.samplers.dqa.schedule import CONVENTIONS, Schedule, ScheduleLike
from isingsample.samplers.dqa.temperatures import (
    ScheduleBetas,
    check_duration,
    schedule_betas,
    tabulate,
)


@dataclass(frozen=True)
class Anneal:
    """An anneal in num_steps Trotter steps, each with A and B from its midpoint.

    Attributes:
        total_time: duration, in 1/energy (hbar = 1), above 0; in ns with convention "GHz".
        num_steps: Trotter steps.
        trotter_order: 1: each step is the problem, then the driver. 2: half of the driver, the
            problem, half of the driver.
        schedule: "linear" (A = 1 - s, B = s), "monotone", "trained", a Schedule, or a pair
            of functions (A, B).
        convention: "unit": H = -A sum X + B E. "half": half of that, as D-Wave writes it. "GHz":
            half of that, A and B being frequencies in GHz.

    Raises:
        TypeError: an option of the wrong kind, or a schedule that does not return numbers.
        ValueError: an option out of its range, or a schedule that returns NaN or infinity.

    Source: Suzuki, Comm. Math. Phys. 51, 183 (1976), for the product formulas.
    """

    total_time: float
    num_steps: int
    trotter_order: int
    schedule: ScheduleLike
    convention: str = "unit"

    def __post_init__(self) -> None:
        check_duration("total_time", self.total_time)
        check.check_count("num_steps", self.num_steps)
        if check.check_count("trotter_order", self.trotter_order) > 2:
            raise ValueError(f"trotter_order must be 1 or 2, not {self.trotter_order}")
        check.check_choice("convention", self.convention, CONVENTIONS)
        _ = self.driver_angles, self.problem_angles  # refuses a schedule that is not finite

    @cached_property
    def curves(self) -> Schedule:
        """The schedule as functions, in units of H = -A sum X + B E."""
        return Schedule.of(self.schedule).scaled(CONVENTIONS[self.convention])

    @cached_property
    def betas(self) -> ScheduleBetas:
        """The inverse temperatures at which it samples weak problems."""
        return schedule_betas(self.curves.A, self.curves.B, self.total_time)

    @cached_property
    def circuit_betas(self) -> ScheduleBetas:
        """The same of its circuit: sums over the steps in place of integrals over time.

        They differ from `betas` where steps are few, and by less than what is left of them where
        they are many.
        """
        strength, turned = -self.problem_angles, -self.driver_angles
        remaining = np.cumsum(turned[::-1])[::-1]  # by how much the driver still turns a spin
        sums = (strength @ np.sin(order * remaining) for order in (1, 2, 3))
        return ScheduleBetas(*map(float, sums))

    def betas_by(self, calibration: str) -> ScheduleBetas:
        """What h, J and K are divided by at beta = 1, before any fit to a batch."""
        if calibration == "none":
            return ScheduleBetas(1.0, 1.0, 1.0)
        return self.circuit_betas if calibration == "circuit" else self.betas

    def check_calibration(self, calibration: str, names: Iterable[str]) -> None:
        """ValueError unless h, J or K, as named, can be divided by its inverse temperature."""
        for name in names:
            beta = getattr(self.betas_by(calibration), name)
            if not beta > 0:
                raise ValueError(
                    f"this anneal cannot be calibrated: the inverse temperature that its schedule "
                    f"and total_time={self.total_time:g} give to {name} is {beta:.3g}, not above "
                    f"0. Use another schedule or time, or calibration='none'"
                )

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
