r"""The evolution of a batch as one array of amplitudes, in NumPy or PyTorch.

The circuit is that of `circuit.py`, step by step. What makes it fast:

- A step's diagonal part is exp(-i dt B E). Where B is linear in time, each step's phases are the
  last ones times a constant: one product, no exponentials.
- With D = diag(1, -i), the rotation of a qubit about X is D R D^+ with a *real* rotation R, and D
  commutes with the diagonal part. So D^+ psi needs real matrix products only, four qubits at a
  time, and has the same probabilities.
- As many queries go together as a cache holds, and they share a few arrays throughout.

Larger batches on the host run compiled where numba is installed: see `kernels.py`, for which this
is the reference.
"""

import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from isingsample._core.arrays import Array, is_torch, like, namespace
from isingsample.samplers.dqa.engines.qubits import (
    Group,
    first_amplitudes,
    kron_powers,
    on_every_qubit,
)

# Amplitudes times steps from which the compiled form is used. NumPy takes some 6 ms for them; the
# first use in a process takes most of a second, later ones are ten times as fast.
_WORTH_LOADING = 2**19
# Phases are made anew after so many products, before their rounding shows: by bytes of a number.
_LONGEST_RUN = {4: 8, 8: 64}
# Angles that differ by less than this share of the largest are equal but for rounding.
_ROUNDING = 1e-14
# Steps whose rotations are tabulated at once.
_STEPS_AT_ONCE = 256


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
        from isingsample.samplers.dqa.engines import kernels as compiled
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
