"""How strong driver and problem are along the anneal.

Any pair of functions of s in [0, 1] will do. Here are those with a name, and those from a table.
All of them pickle, which lambdas do not.
"""

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from isingsample._core import checks as check
from isingsample.samplers.dqa.schedule_file import read_columns
from isingsample.samplers.dqa.trained_curves import MONOTONE, TIMES, TRAINED

# What A and B of a schedule are multiplied by to be strengths of H in 1/time, hbar = 1.
CONVENTIONS = {"unit": 1.0, "half": 0.5, "GHz": math.pi}


@dataclass(frozen=True)
class Schedule:
    """Strengths of driver and problem along the anneal: H = -A(s) sum X + B(s) E(Z).

    Attributes:
        A: driver, a function of s = t / total_time in [0, 1] that returns a finite number.
        B: problem, likewise.

    Raises:
        TypeError: A or B cannot be called.
    """

    A: Callable[[float], float]
    B: Callable[[float], float]

    def __post_init__(self) -> None:
        for name, strength in (("A", self.A), ("B", self.B)):
            if not callable(strength):
                raise TypeError(
                    f"{name} of a schedule must be a function of s, not {strength!r}; from the "
                    f"rows of a table make one with Schedule.table"
                )

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

    @classmethod
    def power(cls, exponent: float) -> "Schedule":
        """A = 1 - s**exponent, B = s**exponent; 1 is linear.

        Raises:
            TypeError, ValueError: exponent is not a number above 0.
        """
        if check.check_number("exponent", exponent) <= 0:
            raise ValueError(f"exponent must be above 0, not {exponent:g}")
        return cls(Power(exponent, falling=True), Power(exponent))

    @classmethod
    def table(cls, s: Sequence[float], A: Sequence[float], B: Sequence[float]) -> "Schedule":
        """Straight lines between the rows of a table.

        Args:
            s: times from 0 to 1, rising.
            A: driver at these times.
            B: problem at these times.

        Raises:
            TypeError, ValueError: columns of different lengths, entries that are not finite
                numbers, or an s that does not rise from 0 to 1.
        """
        columns = {"s": s, "A": A, "B": B}
        times, driver, problem = (
            tuple(check.check_number(f"{name}[{i}]", x) for i, x in enumerate(column))
            for name, column in columns.items()
        )
        if not len(times) == len(driver) == len(problem):
            raise ValueError(
                f"s, A and B must have equal lengths, not {len(times)}, {len(driver)} and "
                f"{len(problem)}"
            )
        if len(times) < 2 or times[0] != 0 or times[-1] != 1 or (np.diff(times) <= 0).any():
            raise ValueError("the times s of a schedule must rise from 0 to 1")
        return cls(Lines(times, driver), Lines(times, problem))

    @classmethod
    def from_csv(cls, path: str | Path) -> "Schedule":
        """A table in a file of comma-separated values with columns s, A and B.

        A header may name them, in any order and among others, as in "s,A(s) (GHz),B(s) (GHz),C";
        without one they are the only three. Annealers' makers publish A and B in GHz: such a file
        goes with convention="GHz", and total_time in ns.

        Raises:
            OSError: the file cannot be read.
            ValueError: a header without these names, a row that is not of numbers, or a table
                that `table` refuses.
        """
        columns = read_columns(path)
        try:
            return cls.table(*columns)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def scaled(self, factor: float) -> "Schedule":
        """A and B multiplied by a number."""
        if factor == 1:
            return self
        return Schedule(Multiple(self.A, factor), Multiple(self.B, factor))


@dataclass(frozen=True)
class Power:
    """s**exponent, or 1 - s**exponent."""

    exponent: float = 1.0
    falling: bool = False

    def __call__(self, s: float) -> float:
        """The strength at s."""
        value = float(s**self.exponent)
        return 1.0 - value if self.falling else value


@dataclass(frozen=True)
class Lines:
    """Straight lines between points, the first at 0 and the last at 1."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, s: float) -> float:
        """The strength at s."""
        right = min(max(bisect.bisect_right(self.times, s), 1), len(self.times) - 1)
        start, end = self.times[right - 1], self.times[right]
        share = (s - start) / (end - start)
        return (1 - share) * self.values[right - 1] + share * self.values[right]


@dataclass(frozen=True)
class Multiple:
    """A function times a number."""

    function: Callable[[float], Any]
    factor: float

    def __call__(self, s: float) -> Any:
        """The strength at s."""
        return self.factor * self.function(s)


SCHEDULES = {
    "linear": Schedule.power(1.0),
    "monotone": Schedule.table(TIMES, *MONOTONE),
    "trained": Schedule.table(TIMES, *TRAINED),
}
ScheduleLike: TypeAlias = str | Schedule | Sequence[Callable[[float], float]]
