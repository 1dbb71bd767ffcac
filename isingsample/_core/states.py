"""The energy of spin states: the one place where pairs and triples are counted."""

import numpy as np

from isingsample._core.arrays import Array, concat, like, namespace
from isingsample._core.sparse import SparseCouplings

_ENTRIES = 2**22  # of temporary arrays


def spin_table(num_spins: int) -> np.ndarray:
    """All states of num_spins spins: (2**num_spins, num_spins) float64 of -1 and +1.

    The first spin varies slowest, and state 0 has every spin at -1.
    """
    return spin_states(np.arange(2**num_spins), num_spins)


def spin_states(rows: np.ndarray, num_spins: int) -> np.ndarray:
    """Rows of `spin_table`, without making the table: (...) integers to (..., num_spins)."""
    bits = (rows[..., None] >> np.arange(num_spins)[::-1]) & 1
    return 2.0 * bits - 1.0


def state_energies(states: Array, h: Array, J: Array, K: Array | None = None) -> Array:
    """Energies without offset, a few reads at a time: those of int8 states in h's dtype take
    several times the memory.

    Args:
        states: (..., reads, n) of -1 and +1, in h's library.
        h: (..., n), whose dtype the energies have.
        J: as for `interactions`, and K.

    Returns:
        (..., reads).
    """
    xp, reads = namespace(h), states.shape[-2]
    batch = np.broadcast_shapes(states.shape[:-2], h.shape[:-1])
    step = max(1, _ENTRIES // max(1, int(np.prod(batch)) * h.shape[-1]))
    parts = []
    for start in range(0, max(1, reads), step):
        part = xp.astype(states[..., start : start + step, :], h.dtype)
        fields = xp.sum(part * h[..., None, :], axis=-1)
        parts.append(-fields - interactions(part, J, K))
    return concat(parts, axis=-1)


def interactions(states: Array, J: Array, K: Array | None = None) -> Array:
    """sum_{j<k} J_jk s_j s_k + sum_{j<k<l} K_jkl s_j s_k s_l, each pair and triple once.

    Args:
        states: (..., reads, n) of -1 and +1, in J's library and dtype.
        J: (..., n, n), symmetric with zero diagonal; or SparseCouplings, for all states.
        K: (..., n, n, n), symmetric, zero where an index repeats; or None.

    Returns:
        (..., reads), in units of energy with the sign of J: minus the energy of the couplings.
    """
    if isinstance(J, SparseCouplings):
        return J.products(states)
    xp = namespace(J)
    total = 0.5 * xp.sum(xp.matmul(states, J) * states, axis=-1)
    if K is None:
        return total
    forces = xp.matmul(pair_products(states), triples_by_pair(K))
    return total + xp.sum(forces * states, axis=-1)


def pair_products(states: Array) -> Array:
    """The products s_j s_k of all pairs j < k: (..., n) to (..., n(n-1)/2)."""
    first, second = pair_indices(states)
    return states[..., first] * states[..., second]


def triples_by_pair(K: Array) -> Array:
    """K as a matrix from pairs j < k to spins l > k: (..., n(n-1)/2, n), zero where l <= k."""
    first, second = pair_indices(K)
    num_spins = K.shape[-1]
    later = np.arange(num_spins) > np.triu_indices(num_spins, 1)[1][:, None]
    return K[..., first, second, :] * like(later, K)


def pair_indices(reference: Array) -> tuple[Array, Array]:
    """j and k of all pairs j < k over reference's last axis, as indices for its library."""
    first, second = np.triu_indices(reference.shape[-1], 1)
    return like(first, reference, keep_dtype=True), like(second, reference, keep_dtype=True)
