"""The anneal of `statevector.py` compiled. Imports numba, from the `numba` extra.

A few queries go together, each a column of tables of all 2**n states, and no more than a core's
own cache holds. All inner loops are over neighbours in memory, so that they fill the vector
registers. What else makes it faster than matrix products:

- exp(-i dt B E) comes from polynomials of our own, afresh in each step: no schedule is a special
  case, and nothing is carried from step to step.
- R over its cosine, [[1, -t], [t, 1]], takes half of R's operations. The phases take up the
  cosines of all qubits.
- Phases and the rotations of the lower qubits are done part by part: a large table passes through
  the nearest cache once for all of these.

numba's cache on disk goes by the date of this file: touch it after a change of `compiled`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from isingsample._progress import progress
from isingsample.samplers._compiling import compiled
from isingsample.samplers._threads import num_threads, run_tasks
from isingsample.samplers.dqa.statevector import first_amplitudes

# Entries of each of a task's three tables, unless a single query has more, and its queries at most.
_TABLE_ENTRIES = 2**17
_MOST_COLUMNS = 32
# Entries of each table that are worked on at once.
_PART_ENTRIES = 2**12
# Taylor coefficients of sin(x) / y and cos(x) in y**2, for x = y pi/2: good to double precision
# for abs(y) up to 1/2.
_SINE = [(-1) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(8)]
_COSINE = [(-1) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k) for k in range(9)]


class Steps(NamedTuple):
    """The steps of an anneal in the form of the kernel, in the precision of its tables.

    Attributes:
        turns: (steps,) whole turns of the phase of a state of energy 1.
        tangents: (steps,) of the angle by which every qubit turns after that, in the plane of
            bit 0 and bit 1.
        scales: (steps,) the cosine of that angle, to the power of the number of qubits.
        series: (17,) the coefficients of sine and cosine.
    """

    turns: np.ndarray
    tangents: np.ndarray
    scales: np.ndarray
    series: np.ndarray

    @classmethod
    def of(cls, problem: np.ndarray, driver: np.ndarray, num_qubits: int, dtype: Any) -> "Steps":
        """Those of rotations by angles in radians, (num_steps,) each, in float64."""
        # A turn by pi is a sign. What is left is at most pi/2, and goes in two halves where its
        # tangent is above 1, so that numbers keep their size.
        angles = driver / 2 - np.pi * np.rint(driver / (2 * np.pi))
        in_halves = np.abs(angles) > np.pi / 4
        times = 1 + in_halves
        angles = np.repeat(angles / times, times)
        turns = np.zeros(len(angles))
        turns[np.cumsum(times) - times] = problem / (4 * np.pi)
        values = turns, np.tan(angles), np.cos(angles) ** num_qubits, _SINE + _COSINE
        return cls(*(np.asarray(value, dtype) for value in values))


def outcome_weights(energies: np.ndarray, problem: np.ndarray, driver: np.ndarray) -> np.ndarray:
    """What outcome probabilities are proportional to, for each query: (2**n, queries).

    Args:
        energies: (2**n, queries), float32 or float64.
        problem: (num_steps,) angles of each step's problem part, in radians, float64.
        driver: (num_steps,) those of its driver part.
    """
    states, queries = energies.shape
    steps = Steps.of(problem, driver, states.bit_length() - 1, energies.dtype)
    columns = min(max(1, _TABLE_ENTRIES // states), _MOST_COLUMNS, -(-queries // num_threads()))
    together = 1 << (_PART_ENTRIES // columns).bit_length() - 1
    weights = np.empty(energies.shape, energies.dtype)
    start = first_amplitudes(states)
    parts = np.stack([start.real, start.imag]).astype(energies.dtype)
    arrays = np.ascontiguousarray(energies), parts, steps, columns, together, weights
    with progress(False):  # the engine shows its own
        run_tasks(run_columns, -(-queries // columns), "dqa", *arrays)
    return weights


@compiled
def turn_phases(
    real: Any, imaginary: Any, energies: Any, turns: Any, scale: Any, series: Any
) -> None:
    """Multiply by scale exp(2 pi i turns E).

    Args:
        real: (entries,) real parts, changed.
        imaginary: (entries,) imaginary parts, changed.
        energies: (entries,).
        turns: as in Steps, as are the following.
        scale: a real factor.
        series: the coefficients.
    """
    s0, s1, s2, s3 = series[0], series[1], series[2], series[3]
    s4, s5, s6, s7 = series[4], series[5], series[6], series[7]
    one, c1, c2, c3 = series[8], series[9], series[10], series[11]
    c4, c5, c6, c7, c8 = series[12], series[13], series[14], series[15], series[16]
    for at in range(len(energies)):
        turned = energies[at] * turns
        y = turned - np.rint(turned)
        z = y * y
        # Of a quarter of the angle, and then doubled twice.
        sine = y * (s0 + z * (s1 + z * (s2 + z * (s3 + z * (s4 + z * (s5 + z * (s6 + z * s7)))))))
        cosine = one + z * (
            c1 + z * (c2 + z * (c3 + z * (c4 + z * (c5 + z * (c6 + z * (c7 + z * c8))))))
        )
        twice = sine + sine
        sine, cosine = twice * cosine, one - twice * sine
        twice = scale * (sine + sine)
        sine, cosine = twice * cosine, scale - twice * sine
        x, y = real[at], imaginary[at]
        real[at] = x * cosine - y * sine
        imaginary[at] = x * sine + y * cosine


@compiled
def turn_qubits(table: Any, below: int, tangent: Any) -> None:
    """Apply [[1, -t], [t, 1]] to each qubit from one on, in their order, two at a time.

    Args:
        table: (entries,), changed.
        below: how far apart the two values of the first qubit are.
        tangent: t.
    """
    while 4 * below <= len(table):
        for first in range(0, len(table), 4 * below):
            second, third, fourth = first + below, first + 2 * below, first + 3 * below
            a, b = table[first:second], table[second:third]
            c, d = table[third:fourth], table[fourth : fourth + below]
            for at in range(below):
                w, x = a[at] - tangent * b[at], b[at] + tangent * a[at]
                y, z = c[at] - tangent * d[at], d[at] + tangent * c[at]
                a[at], b[at] = w - tangent * y, x - tangent * z
                c[at], d[at] = y + tangent * w, z + tangent * x
        below *= 4
    if 2 * below <= len(table):
        a, b = table[:below], table[below:]
        for at in range(below):
            a[at], b[at] = a[at] - tangent * b[at], b[at] + tangent * a[at]


@compiled
def run_columns(
    first: int,
    last: int,
    stop: Any,
    energies: Any,
    start: Any,
    steps: Any,
    most_columns: int,
    together: int,
    weights: Any,
) -> None:
    """Anneal tasks of most_columns queries each, or what is left of them.

    Args:
        first: of the tasks to run.
        last: the one after them.
        stop: (1,) uint8; once it is not 0, no further step is begun.
        energies: (2**n, queries).
        start: (2, 2**n) real and imaginary parts of every query's first state.
        steps: Steps.
        most_columns: queries of a task.
        together: states that are worked on at once, a power of 2.
        weights: (2**n, queries), the result: absolute squares.
    """
    states, queries = energies.shape
    for task in range(first, last):
        begin = task * most_columns
        columns = min(most_columns, queries - begin)
        entries = states * columns
        own, real = np.empty(entries, energies.dtype), np.empty(entries, energies.dtype)
        imaginary = np.empty(entries, energies.dtype)
        for state in range(states):
            for column in range(columns):
                at = state * columns + column
                own[at] = energies[state, begin + column]
                real[at], imaginary[at] = start[0, state], start[1, state]
        part = min(states, together) * columns
        for step in range(len(steps.turns)):
            if stop[0] != 0:
                return
            turns, tangent, scale = steps.turns[step], steps.tangents[step], steps.scales[step]
            for low in range(0, entries, part):
                x, y = real[low : low + part], imaginary[low : low + part]
                turn_phases(x, y, own[low : low + part], turns, scale, steps.series)
                turn_qubits(x, columns, tangent)
                turn_qubits(y, columns, tangent)
            turn_qubits(real, part, tangent)
            turn_qubits(imaginary, part, tangent)
        for state in range(states):
            for column in range(columns):
                at = state * columns + column
                weights[state, begin + column] = real[at] * real[at] + imaginary[at] * imaginary[at]
