"""The gradient of `compiled.py` by energies: the anneal forwards again, and then backwards.

As in `adjoint.py`, states on the way are found again from the last one, here of all steps for a
few queries at a time, so nothing is kept from the forward pass.
"""

import math
from typing import Any

import numpy as np

from isingsample.samplers._shared.compiling import compiled
from isingsample.samplers.dqa.engines.kernel_tasks import run
from isingsample.samplers.dqa.engines.kernels import evolve, fill, turn_phases, turn_qubits


def by_energies(
    energies: np.ndarray, grad: np.ndarray, problem: np.ndarray, driver: np.ndarray
) -> np.ndarray:
    """The derivative by energies, (2**n, queries), from that by outcome weights.

    Args:
        energies, problem, driver: as for `compiled.outcome_weights`.
        grad: (2**n, queries), in the precision of energies.
    """
    found = np.empty(energies.shape, energies.dtype)
    # By whole turns, and a step multiplies an amplitude by exp(2 pi i turns E).
    run(run_backwards, energies, problem, driver, np.ascontiguousarray(grad), found)
    found *= -2 * math.pi
    return found


@compiled
def add_slopes(
    real: Any, imaginary: Any, adjoint_real: Any, adjoint_imaginary: Any, factor: Any, total: Any
) -> None:
    """Add factor Im(conj(adjoint) psi) to total. All arrays are (entries,)."""
    for at in range(len(total)):
        slope = adjoint_real[at] * imaginary[at] - adjoint_imaginary[at] * real[at]
        total[at] += factor * slope


@compiled
def devolve(
    stop: Any,
    psi: Any,
    adjoint: Any,
    energies: Any,
    total: Any,
    steps: Any,
    below: int,
    part: int,
) -> None:
    """Undo all steps, in psi and its adjoint, and sum up what each step has to do with energies.

    Args:
        stop: as for `compiled.evolve`.
        psi: (2, entries) real and imaginary parts, changed.
        adjoint: (2, entries) derivatives by these, changed.
        energies: (entries,).
        total: (entries,), changed: the sum over steps of turns Im(conj(adjoint) psi).
        steps: Steps.
        below: the number of queries.
        part: entries that are worked on at once.
    """
    for undone in range(len(steps.turns)):
        if stop[0] != 0:
            return
        step = len(steps.turns) - 1 - undone
        turns, tangent, scale = steps.turns[step], steps.tangents[step], steps.scales[step]
        for side in range(2):
            turn_qubits(psi[side], part, -tangent)
            turn_qubits(adjoint[side], part, -tangent)
        for low in range(0, len(total), part):
            x, y = psi[0, low : low + part], psi[1, low : low + part]
            u, v = adjoint[0, low : low + part], adjoint[1, low : low + part]
            turn_qubits(x, below, -tangent)
            turn_qubits(y, below, -tangent)
            turn_qubits(u, below, -tangent)
            turn_qubits(v, below, -tangent)
            # The scale of the rotation has yet to come, in both.
            add_slopes(x, y, u, v, turns * scale * scale, total[low : low + part])
            turn_phases(x, y, energies[low : low + part], -turns, scale, steps.series)
            turn_phases(u, v, energies[low : low + part], -turns, scale, steps.series)


@compiled
def run_backwards(
    first: int,
    last: int,
    stop: Any,
    layout: Any,
    steps: Any,
    start: Any,
    energies: Any,
    grad: Any,
    found: Any,
) -> None:
    """Anneal the queries of some tasks, and return.

    Args:
        first, last, stop, layout, steps, start, energies: as for `compiled.run_forwards`.
        grad: (2**n, queries) derivatives by the absolute squares.
        found: (2**n, queries), the result: those by energies, over -2 pi.
    """
    states, queries = energies.shape
    for task in range(first, last):
        begin = task * layout.columns
        columns = min(layout.columns, queries - begin)
        psi = np.empty((2, states * columns), energies.dtype)
        adjoint, own = np.empty_like(psi), np.empty(states * columns, energies.dtype)
        total = np.zeros(states * columns, energies.dtype)
        fill(psi[0], psi[1], own, start, energies, begin, columns)
        part = min(states, layout.together) * columns
        evolve(stop, psi[0], psi[1], own, steps, columns, part)
        for state in range(states):
            for column in range(columns):
                at = state * columns + column
                by_square = grad[state, begin + column] + grad[state, begin + column]
                adjoint[0, at], adjoint[1, at] = by_square * psi[0, at], by_square * psi[1, at]
        devolve(stop, psi, adjoint, own, total, steps, columns, part)
        for state in range(states):
            for column in range(columns):
                found[state, begin + column] = total[state * columns + column]
