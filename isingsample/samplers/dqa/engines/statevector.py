"""Exact outcome probabilities of a batch of anneals, by this package itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from isingsample._core.arrays import Array, like, namespace, records_gradient, to_numpy
from isingsample._core.progress import track
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.engines.amplitudes import evolved, kernels_for, squares
from isingsample.samplers.dqa.engines.qubits import walsh

# Amplitudes at a time: four complex arrays of them stay within a large cache.
_CHUNK_ENTRIES = 2**16
# The compiled form has tables of its own for each thread; these are for an even load.
_COMPILED_CHUNK_ENTRIES = 2**20
# State, spare, phases and their ratio; energies, probabilities and what the readout needs.
_BYTES_PER_STATE = 128
# For gradients: of the state, its adjoint and what turns them; and of each query until then, its
# state, energies, and the sums that its moments come from.
_BYTES_BACKWARD, _BYTES_KEPT = 256, 128


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
        from isingsample.samplers.dqa.engines.adjoint import differentiable_probabilities

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
