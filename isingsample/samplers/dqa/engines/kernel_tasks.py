"""What the compiled anneals are given: steps, and tasks of some queries each."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from isingsample._core.progress import progress
from isingsample.samplers._shared.threads import num_threads, run_tasks
from isingsample.samplers.dqa.engines.qubits import first_amplitudes

# Entries of each of the tables of a task, unless a single query has more, and its queries at most.
_TABLE_ENTRIES = 2**17
_MOST_COLUMNS = 32
# Entries of each table that are worked on at once.
_PART_ENTRIES = 2**12
# Taylor coefficients of sin(x) / y and cos(x) in y**2, for x = y pi/2: good to double precision
# for abs(y) up to 1/2.
_SINE = [(-1) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(8)]
_COSINE = [(-1) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k) for k in range(9)]


class Steps(NamedTuple):
    """The steps of an anneal in the form of the kernels, in the precision of their tables.

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


class Layout(NamedTuple):
    """How queries are shared out.

    Attributes:
        tasks: how many.
        columns: queries of each task; the last one has what is left.
        together: states that are worked on at once, a power of 2.
    """

    tasks: int
    columns: int
    together: int

    @classmethod
    def of(cls, states: int, queries: int) -> "Layout":
        """For tables (states, queries), with something to do for every thread."""
        fit, share = max(1, _TABLE_ENTRIES // states), -(-queries // num_threads())
        columns = min(fit, _MOST_COLUMNS, share)
        together = 1 << (_PART_ENTRIES // columns).bit_length() - 1
        return cls(-(-queries // columns), columns, together)


def run(
    kernel: Callable[..., None],
    energies: np.ndarray,
    problem: np.ndarray,
    driver: np.ndarray,
    *arrays: np.ndarray,
) -> None:
    """A kernel with the arguments of `run_forwards`, of which arrays are the last, on all threads.

    Args:
        kernel: what to run.
        energies, problem, driver: as for `outcome_weights`.
        arrays: (2**n, queries) each, in the precision of energies.
    """
    states, queries = energies.shape
    layout = Layout.of(states, queries)
    steps = Steps.of(problem, driver, states.bit_length() - 1, energies.dtype)
    start = first_amplitudes(states)
    parts = np.stack([start.real, start.imag]).astype(energies.dtype)
    with progress(False):  # the engine shows its own
        run_tasks(
            kernel,
            layout.tasks,
            "dqa",
            layout,
            steps,
            parts,
            np.ascontiguousarray(energies),
            *arrays,
        )
