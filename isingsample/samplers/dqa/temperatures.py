r"""The temperature at which an anneal samples, from its schedule alone.

A system that starts in the uniform superposition and evolves for a time tau under

.. math::

    H(t) = -A \sum_j X_j - B \Big( \sum_j h_j Z_j + \sum_{j<k} J_{jk} Z_j Z_k
           + \sum_{j<k<l} K_{jkl} Z_j Z_k Z_l \Big), \qquad s = t / \tau,

ends, to first order in the problem's energies, in a Boltzmann distribution with another inverse
temperature for each body order:

.. math::

    \beta_k = 2 \int_0^\tau B \, \sin(2 k \Phi) \, dt, \qquad \Phi(t) = \int_t^\tau A \, dt',

k = 1 for h, 2 for J, 3 for K. This is linear response: seen from the end, the driver turns each Z
by the angle 2 Phi about X, so that ``<+| Z(t) Z |+>`` = exp(2i Phi); k spins multiply to
exp(2ik Phi), of which the commutator in Kubo's formula keeps the sine.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from isingsample._core import checks as check
from isingsample.errors import MissingExtraError

# Grid of the quadrature: enough for a slow schedule, for the oscillation of sin(6 Phi) in a long
# anneal, and no more than takes a moment.
_FEWEST_INTERVALS, _INTERVALS_PER_TIME, _MOST_INTERVALS = 4000, 64, 10**5


class ScheduleBetas(NamedTuple):
    """Inverse temperatures of fields, couplings and three-body couplings, in 1/energy."""

    h: float
    J: float
    K: float


def schedule_betas(
    A: Callable[[float], float], B: Callable[[float], float], total_time: float
) -> ScheduleBetas:
    """The inverse temperatures at which an anneal samples weak fields and couplings.

    To sample at beta, anneal h beta / betas.h, J beta / betas.J and K beta / betas.K.
    The quadrature's error is below 1e-6 for smooth schedules and total times up to 1000.

    Args:
        A: strength of the driver at s = t / total_time in [0, 1].
        B: strength of the problem there.
        total_time: duration of the anneal, in 1/energy (hbar = 1), above 0.

    Raises:
        TypeError: A or B does not return numbers.
        ValueError: A, B or total_time is not finite, or total_time is not above 0.
        MissingExtraError: scipy is not installed.
    """
    try:
        from scipy.integrate import cumulative_simpson, simpson
    except ImportError:
        raise MissingExtraError("calibration", "qiskit") from None
    check_duration("total_time", total_time)
    wanted = _INTERVALS_PER_TIME * math.ceil(min(total_time, _MOST_INTERVALS))
    grid = np.linspace(0.0, 1.0, 1 + min(max(wanted, _FEWEST_INTERVALS), _MOST_INTERVALS))
    driver, problem = tabulate("A", A, grid), tabulate("B", B, grid)
    turned = total_time * cumulative_simpson(driver, x=grid, initial=0.0)
    remaining = turned[-1] - turned
    betas = (
        2 * total_time * simpson(problem * np.sin(2 * order * remaining), x=grid)
        for order in (1, 2, 3)
    )
    return ScheduleBetas(*map(float, betas))


def tabulate(name: str, function: Callable[[float], Any], s: np.ndarray) -> np.ndarray:
    """function at each s, one number at a time, refused where it is not a finite number."""
    if not callable(function):
        raise TypeError(f"schedule {name} must be a function of s, not {function!r}")
    values = [function(x) for x in s.tolist()]
    if not (all(type(value) is float for value in values) and np.isfinite(values).all()):
        values = [
            check.check_number(f"schedule {name} at s = {x:g}", value)
            for x, value in zip(s.tolist(), values, strict=True)
        ]
    return np.array(values)


def check_duration(name: str, value: Any) -> float:
    """value as a finite float above 0; TypeError or ValueError name the option."""
    number = check.check_number(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be above 0, not {number:g}")
    return number
