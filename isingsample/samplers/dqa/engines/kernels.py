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

numba's cache on disk goes by the date of the file a kernel stands in: after a change here, touch
compiled_adjoint.py too.
"""

from typing import Any

import numpy as np

from isingsample.samplers._shared.compiling import compiled
from isingsample.samplers.dqa.engines.kernel_tasks import run


def outcome_weights(energies: np.ndarray, problem: np.ndarray, driver: np.ndarray) -> np.ndarray:
    """What outcome probabilities are proportional to, for each query: (2**n, queries).

    Args:
        energies: (2**n, queries), float32 or float64.
        problem: (num_steps,) angles of each step's problem part, in radians, float64.
        driver: (num_steps,) those of its driver part.
    """
    weights = np.empty(energies.shape, energies.dtype)
    run(run_forwards, energies, problem, driver, weights)
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
def fill(
    real: Any, imaginary: Any, own: Any, start: Any, energies: Any, begin: int, columns: int
) -> None:
    """The first states and the energies of some queries.

    Args:
        real: (2**n * columns,) real parts, the result.
        imaginary: (2**n * columns,) imaginary parts, the result.
        own: (2**n * columns,) the queries' energies, the result.
        start: (2, 2**n) real and imaginary parts of every query's first state.
        energies: (2**n, queries).
        begin: the first of the queries.
        columns: how many.
    """
    for state in range(len(energies)):
        for column in range(columns):
            at = state * columns + column
            real[at], imaginary[at] = start[0, state], start[1, state]
            own[at] = energies[state, begin + column]


@compiled
def evolve(
    stop: Any, real: Any, imaginary: Any, energies: Any, steps: Any, below: int, part: int
) -> None:
    """All steps of some queries.

    Args:
        stop: (1,) uint8; once it is not 0, no further step is begun.
        real: (entries,) real parts, changed.
        imaginary: (entries,) imaginary parts, changed.
        energies: (entries,).
        steps: Steps.
        below: the number of queries.
        part: entries that are worked on at once.
    """
    for step in range(len(steps.turns)):
        if stop[0] != 0:
            return
        turns, tangent, scale = steps.turns[step], steps.tangents[step], steps.scales[step]
        for low in range(0, len(real), part):
            x, y = real[low : low + part], imaginary[low : low + part]
            turn_phases(x, y, energies[low : low + part], turns, scale, steps.series)
            turn_qubits(x, below, tangent)
            turn_qubits(y, below, tangent)
        turn_qubits(real, part, tangent)
        turn_qubits(imaginary, part, tangent)


@compiled
def run_forwards(
    first: int,
    last: int,
    stop: Any,
    layout: Any,
    steps: Any,
    start: Any,
    energies: Any,
    weights: Any,
) -> None:
    """Anneal the queries of some tasks.

    Args:
        first: of the tasks to run.
        last: the one after them.
        stop: as for `evolve`.
        layout: Layout.
        steps: Steps.
        start: (2, 2**n) real and imaginary parts of every query's first state.
        energies: (2**n, queries).
        weights: (2**n, queries), the result: absolute squares.
    """
    states, queries = energies.shape
    for task in range(first, last):
        begin = task * layout.columns
        columns = min(layout.columns, queries - begin)
        tables = np.empty((3, states * columns), energies.dtype)
        real, imaginary, own = tables[0], tables[1], tables[2]
        fill(real, imaginary, own, start, energies, begin, columns)
        part = min(states, layout.together) * columns
        evolve(stop, real, imaginary, own, steps, columns, part)
        for state in range(states):
            for column in range(columns):
                at = state * columns + column
                weights[state, begin + column] = real[at] * real[at] + imaginary[at] * imaginary[at]
