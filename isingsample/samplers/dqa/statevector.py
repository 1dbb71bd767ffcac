r"""The anneal of a whole batch as one array of amplitudes, in NumPy or PyTorch.

The circuit is that of `circuit.py`, step by step. What makes it fast:

- A step's diagonal part is exp(-i dt B E). Where B is linear in time, each step's phases are the
  last ones times a constant: one product, no exponentials.
- With D = diag(1, -i), the rotation of a qubit about X is D R D^+ with a *real* rotation R, and D
  commutes with the diagonal part. So D^+ psi needs real matrix products only, four qubits at a
  time, and has the same probabilities.
- As many queries go together as a cache holds, and they share a few arrays throughout.

Larger batches on the host run compiled where numba is installed: see `compiled.py`, for which this
is the reference.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np

from isingsample._arrays import Array, is_torch, like, namespace, records_gradient, to_numpy
from isingsample._progress import track
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.qubits import Group, kron_powers, on_every_qubit, walsh

# Amplitudes at a time: four complex arrays of them stay within a large cache.
_CHUNK_ENTRIES = 2**16
# The compiled form has tables of its own for each thread; these are for an even load.
_COMPILED_CHUNK_ENTRIES = 2**20
# Amplitudes times steps from which the compiled form is used. NumPy takes some 6 ms for them; the
# first use in a process takes most of a second, later ones are ten times as fast.
_WORTH_LOADING = 2**19
# State, spare, phases and their ratio; energies, probabilities and what the readout needs.
_BYTES_PER_STATE = 128
# For gradients: of the state, its adjoint and what turns them; and of each query until then, its
# state, energies, and the sums that its moments come from.
_BYTES_BACKWARD, _BYTES_KEPT = 256, 128
# Phases are made anew after so many products, before their rounding shows: by bytes of a number.
_LONGEST_RUN = {4: 8, 8: 64}
# Angles that differ by less than this share of the largest are equal but for rounding.
_ROUNDING = 1e-14
# Steps whose rotations are tabulated at once.
_STEPS_AT_ONCE = 256


@dataclass(frozen=True)
class StatevectorEngine:
    """Exact outcome probabilities, by this package itself, in the precision of the arrays."""

    def bytes_needed(self, num_spins: int, *, learned: int = 0) -> float:
        """For one query, in double precision; and to go back through those that are learned from,
        of which all are kept."""
        per_state = _BYTES_PER_STATE
        if learned:
            per_state = _BYTES_BACKWARD + _BYTES_KEPT * learned
        return per_state * 2.0 ** min(num_spins, 1000)  # beyond 1023 a float overflows

    def probabilities(self, h: Array, J: Array, K: Array | None, anneal: Anneal) -> Iterator[Array]:
        """Those of all outcomes, for slices of the queries in order: (slice, 2**n) each.

        Args:
            h: (groups, queries, n) of NumPy or PyTorch.
            J: (groups, n, n).
            K: (groups, n, n, n) or None.
            anneal: the steps.
        """
        xp, (groups, queries, num_spins) = namespace(h), h.shape
        h, group = xp.reshape(h, (-1, num_spins)), np.repeat(np.arange(groups), queries)
        work = h.shape[0] * anneal.num_steps << num_spins
        compiled = kernels_for(work, h)
        entries = _CHUNK_ENTRIES if compiled is None else _COMPILED_CHUNK_ENTRIES
        step = max(1, entries >> num_spins)
        for first in track(range(0, len(group), step), "dqa"):
            rows = slice(first, first + step)
            found = outcome_probabilities(energy_table(h[rows], J, K, group[rows]), anneal)
            yield xp.permute_dims(found, (1, 0))


def energy_table(h: Array, J: Array, K: Array | None, group: np.ndarray) -> Array:
    """The energy of every state: (2**n, queries), in h's library and dtype.

    Args:
        h: (queries, n).
        J: (groups, n, n).
        K: (groups, n, n, n) or None.
        group: (queries,) integers, which J and K each query has.
    """
    xp, (queries, num_spins) = namespace(h), h.shape
    table = like(np.zeros((2**num_spins, queries)), h)
    members = like(group, h, keep_dtype=True)
    for order, array in enumerate((h, J, K), start=1):
        products = np.array(list(combinations(range(num_spins), order))).reshape(-1, order).T
        if array is None or not products.size:
            continue
        spins = [like(row, h, keep_dtype=True) for row in products]
        values = array[:, *spins]  # (queries or groups, products)
        rows = like((1 << products).sum(axis=0), h, keep_dtype=True)
        table[rows] = -xp.permute_dims(values if order == 1 else values[members], (1, 0))
    return walsh(table)


def outcome_probabilities(energies: Array, anneal: Anneal) -> Array:
    """The probability of every outcome, (2**n, queries), for energies of that shape.

    PyTorch can differentiate it once: the circuit is then run backwards, so that memory does not
    grow with the number of steps.
    """
    return probabilities_after(energies, anneal.problem_angles, anneal.driver_angles)


def probabilities_after(energies: Array, problem: Array, driver: Array) -> Array:
    """The same after steps of any angles, in which PyTorch can differentiate it too.

    Args:
        energies: (2**n, queries).
        problem: (num_steps,) rotation about Z...Z for a coefficient of 1 in each step, in radians,
            float64; NumPy, or a tensor if energies is one.
        driver: (num_steps,) rotation about X of every spin after that.
    """
    if any(map(records_gradient, (energies, problem, driver))):
        from isingsample.samplers.dqa.adjoint import differentiable_probabilities

        found = differentiable_probabilities(energies, problem, driver)
    else:
        angles = to_numpy(problem), to_numpy(driver)
        states, queries = energies.shape
        compiled = kernels_for(states * queries * len(angles[0]), energies)
        if compiled is None:
            found = squares(evolved(energies, *angles))
        else:
            found = like(compiled.outcome_weights(to_numpy(energies), *angles), energies)
    # Rounded rotations are not quite unitary, which shows in single precision. So would a sum that
    # runs over all states in one go.
    xp, (states, queries) = namespace(found), found.shape
    half = 2 ** (int(states).bit_length() // 2)
    return found / xp.sum(xp.sum(xp.reshape(found, (half, -1, queries)), axis=0), axis=0)


def kernels_for(work: int, reference: Array) -> ModuleType | None:
    """The compiled form of this file, if it is there, of use and worth its loading.

    Args:
        work: amplitudes, those of all queries, times steps.
        reference: on the device of all arrays.
    """
    elsewhere = is_torch(reference) and reference.device.type != "cpu"
    if elsewhere or work < _WORTH_LOADING:
        return None
    try:
        from isingsample.samplers.dqa import compiled
    except ImportError:
        return None
    return compiled


def evolved(energies: Array, problem: np.ndarray, driver: np.ndarray) -> Array:
    """D^+ psi after the steps: (2**n, 2 queries) real, the two parts of each number together."""
    state, spare = _empty_pairs(energies), _empty_pairs(energies)
    start = first_amplitudes(len(energies))
    state[:, 0::2] = like(start.real, energies)[:, None]
    state[:, 1::2] = like(start.imag, energies)[:, None]
    rotations = driver_rotations(driver, state)
    for phase, rotation in zip(phases(energies, problem), rotations, strict=True):
        as_complex(state)[...] *= phase
        state, spare = on_every_qubit(rotation, state, spare)
    return state


def first_amplitudes(states: int) -> np.ndarray:
    """D^+ on equal amplitudes: (states,) complex."""
    ones = np.bitwise_count(np.arange(states, dtype=np.uint64))
    start: np.ndarray = states**-0.5 * 1j**ones
    return start


def phases(energies: Array, angles: np.ndarray) -> Iterator[Array]:
    """exp(i angle/2 E) for each angle in turn, (2**n, queries) complex, in an array that is reused.

    A rotation by angle about a product of spins with coefficient 1 is one by -angle about its
    energy.
    """
    phase, ratio = _empty_pairs(energies), _empty_pairs(energies)
    known, rounding = math.inf, _ROUNDING * np.abs(angles).max()
    for first, length in runs(angles, _LONGEST_RUN[energies.dtype.itemsize]):
        _turn(phase, energies, angles[first])
        yield as_complex(phase)
        if length > 1:
            increment = angles[first + 1] - angles[first]
            if abs(increment - known) > rounding:
                known = increment
                _turn(ratio, energies, increment)
        for _ in range(length - 1):
            as_complex(phase)[...] *= as_complex(ratio)
            yield as_complex(phase)


def runs(angles: np.ndarray, longest: int) -> Iterator[tuple[int, int]]:
    """First place and length of stretches along which angles change evenly, at most so long."""
    bends = np.abs(np.diff(angles, 2)) > _ROUNDING * np.abs(angles).max()
    first = 0
    while first < len(angles):
        # Two angles always change evenly; bends[i] is between i and i + 2.
        bent = np.flatnonzero(bends[first : first + longest - 2])
        length = min(bent[0] + 2 if bent.size else longest, len(angles) - first)
        yield first, length
        first += length


def driver_rotations(angles: np.ndarray, state: Array) -> Iterator[dict[Group, Array]]:
    """What R does to the groups of qubits of state, for rotations by angles in radians."""
    cosine, sine = np.cos(angles / 2), np.sin(angles / 2)
    matrices = np.stack([np.stack([cosine, -sine], -1), np.stack([sine, cosine], -1)], -2)
    for first in range(0, len(angles), _STEPS_AT_ONCE):
        powers = kron_powers(matrices[first : first + _STEPS_AT_ONCE], state)
        for step in range(min(_STEPS_AT_ONCE, len(angles) - first)):
            yield {group: power[step] for group, power in powers.items()}


def squares(state: Array) -> Array:
    """Absolute squares: (2**n, 2 queries) to (2**n, queries)."""
    return state[:, 0::2] ** 2 + state[:, 1::2] ** 2


def as_complex(pairs: Array) -> Array:
    """The same memory as complex numbers: (2**n, 2 queries) to (2**n, queries)."""
    if is_torch(pairs):
        return namespace(pairs).view_as_complex(pairs.reshape(len(pairs), -1, 2))
    return pairs.view(np.complex64 if pairs.dtype == np.float32 else np.complex128)


def _turn(pairs: Array, energies: Array, angle: Any) -> None:
    """exp(i angle/2 E), written to pairs."""
    xp, turned = namespace(energies), energies * float(angle / 2)
    pairs[:, 0::2] = xp.cos(turned)
    pairs[:, 1::2] = xp.sin(turned)


def _empty_pairs(energies: Array) -> Array:
    states, queries = energies.shape
    device = {"device": energies.device} if is_torch(energies) else {}
    return namespace(energies).empty((states, 2 * queries), dtype=energies.dtype, **device)
