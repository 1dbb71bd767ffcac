r"""The couplings of a problem, tabulated over the states of its two halves.

The n spins are split into a left and a right half of a and b spins. With x and y their states,

.. math::

    e^{-E(x, y)} = A_q[x] \; W[x, y] \; B_q[y]

where W holds the couplings across the halves and is shared by the queries; A_q and B_q hold query
q's fields and the couplings inside each half. W is never needed as a whole: it comes in blocks of
rows. Without three-body couplings the left half splits once more, x = (u, v), and

.. math::

    W[(u, v), y] = U[u, y] \; V[v, y],

so that an entry costs one multiplication and 2**(a/2 + 1) rows of exponentials make all 2**a.
Each column of U and V is scaled to a largest entry of 1; so, then, is each column of W.
A_q and B_q are outer products in the same way, but for the couplings inside.
"""

from dataclasses import dataclass

from isingsample._core.arrays import Array, detach, like, namespace, slices
from isingsample._core.states import interactions, pair_indices, pair_products, spin_table

# Entries of the largest temporary array: 2**22 doubles are 32 MiB, of the order of a cache.
CHUNK_ENTRIES = 2**22
# A half's fields on its last spins, up to this number, and on the others make an outer product.
_INNER_SPINS = 6


def table_bytes(num_spins: int) -> float:
    """Memory of the tables of n spins in float64 without K, one block of rows included."""
    a = num_spins // 2
    columns = 2.0 ** min(num_spins - a, 1000)
    rows = 2.0 ** min(a // 2, 1000) + 2.0 ** min(a - a // 2, 1000) + a + 4
    return 8 * (min(rows * columns, 1e300) + 2 * min(CHUNK_ENTRIES, 2.0 ** min(num_spins, 1000)))


@dataclass(frozen=True)
class Halves:
    """Tables for some groups of queries, each with its couplings; all times beta.

    Attributes:
        left: (2**a, a) states of the first a = n // 2 spins.
        right: (2**b, b) states of the other b spins.
        left_inner: (groups, 2**a) minus the energy of the couplings inside the left half, less
            their largest value.
        right_inner: (groups, 2**b) likewise for the right half plus `peak`.
        offset: (groups,) both largest values.
        forces: (groups, 2**b, a) fields that a right state puts on the left spins.
        pair_forces: (groups, 2**b, a(a-1)/2) likewise on the left pairs, or None without K.
        peak: (groups, 2**b) the largest log-weight of each column.
        factors: U (groups, 2**(a//2), 2**b) and V (groups, 2**(a - a//2), 2**b), or None with K.
    """

    left: Array
    right: Array
    left_inner: Array
    right_inner: Array
    offset: Array
    forces: Array
    pair_forces: Array | None
    peak: Array
    factors: tuple[Array, Array] | None

    @classmethod
    def of(cls, J: Array, K: Array | None) -> "Halves":
        """Tables for J (groups, n, n) and K (groups, n, n, n), already multiplied by beta."""
        num_spins = J.shape[-1]
        a = num_spins // 2
        left, right = (like(spin_table(k), J) for k in (a, num_spins - a))
        forces = right @ J[:, a:, :a]
        pair_forces = inner_left = inner_right = None
        if K is not None:
            inner_left, inner_right = K[:, :a, :a, :a], K[:, a:, a:, a:]
            first, second = pair_indices(right)
            forces = forces + pair_products(right) @ K[:, a + first, a + second, :a]
            first, second = pair_indices(left)
            pair_forces = right @ K[:, first, second, a:].mT
        if pair_forces is None:
            peak, factors = _factorised(forces)
        else:
            peak, factors = _largest_of_columns(left, forces, pair_forces), None
        left_inner, left_peak = _below_zero(interactions(left, J[:, :a, :a], inner_left))
        right_energy = interactions(right, J[:, a:, a:], inner_right) + peak
        right_inner, right_peak = _below_zero(right_energy)
        return cls(
            left,
            right,
            left_inner,
            right_inner,
            left_peak + right_peak,
            forces,
            pair_forces,
            peak,
            factors,
        )

    @property
    def row_blocks(self) -> list[slice]:
        """Slices of left states whose weights make arrays of a bounded size."""
        inner = 1 if self.factors is None else self.factors[1].shape[1]
        widest = len(self.forces) * len(self.right)
        return slices(len(self.left), inner * max(1, CHUNK_ENTRIES // (widest * inner)))

    @property
    def queries_at_once(self) -> int:
        """How many single queries a block of rows can be worked out for, each with its own."""
        return max(1, CHUNK_ENTRIES // int(self.row_blocks[0].stop * len(self.right)))

    def log_weights(self, states: Array) -> Array:
        """ln W for some left states, ([groups,] rows, a): (groups, rows, 2**b)."""
        return _log_weights(states, self.forces, self.pair_forces)

    def weights(self, rows: slice) -> Array:
        """W of one of the row blocks, each whole column scaled to 1: (groups, rows, 2**b)."""
        xp = namespace(self.forces)
        if self.factors is None:
            return xp.exp(self.log_weights(self.left[rows]) - self.peak[:, None, :])
        outer, inner = self.factors
        size = inner.shape[1]
        part = outer[:, rows.start // size : rows.stop // size]
        product = part[:, :, None, :] * inner[:, None, :, :]
        return xp.reshape(product, (len(inner), -1, inner.shape[-1]))

    def fields(self, h: Array) -> tuple[Array, Array, Array]:
        """h.s of each half's states, relative to the largest possible.

        Returns:
            (..., 2**a) and (..., 2**b), none above 0, and what to add to both: sum |h_j|, (...).
        """
        sizes, a = by_sign(h), self.left.shape[-1]
        left, right = _opposed(sizes[..., :a], self.left), _opposed(sizes[..., a:], self.right)
        return left, right, namespace(h).sum(sizes, axis=(-2, -1))

    def query_factors(self, h: Array) -> tuple[Array, Array, Array]:
        """The factors A and B of queries h (groups, queries, n).

        Returns:
            (groups, queries, 2**a) and (groups, queries, 2**b), none above 1, and the logarithm
            of what was taken off both.
        """
        sizes, a = by_sign(h), self.left.shape[-1]
        left = _exponentials(sizes[..., :a], self.left, self.left_inner[:, None, :])
        right = _exponentials(sizes[..., a:], self.right, self.right_inner[:, None, :])
        return left, right, namespace(h).sum(sizes, axis=(-2, -1)) + self.offset[:, None]


def by_sign(h: Array) -> Array:
    """h's positive part, and minus its negative part: (..., n) to (..., 2, n)."""
    xp = namespace(h)
    up = xp.where(h > 0, h, xp.zeros_like(h))
    return xp.stack([up, up - h], axis=-2)  # at 0 only the derivative of their sum is right


def opposing(states: Array) -> Array:
    """What multiplies fields by sign, flattened to (..., 2 k), for h.s less sum |h_j|.

    A sum over the spins that oppose their field: free of the cancellation that would drown
    ordinary fields beside a huge one (-1e9 is a customary mask).

    Args:
        states: (rows, k).

    Returns:
        (rows, 2 k).
    """
    return namespace(states).concat([states - 1, -1 - states], axis=-1)


def _opposed(sizes: Array, states: Array) -> Array:
    """h.s less sum |h_j|, of fields by sign (..., 2, k) on states (rows, k): (..., rows)."""
    flat = namespace(sizes).reshape(sizes, (*sizes.shape[:-2], 2 * sizes.shape[-1]))
    return flat @ opposing(states).T


def _exponentials(sizes: Array, states: Array, logs: Array) -> Array:
    """exp(`_opposed` + logs) for all states of k spins, where k is large by few exponentials."""
    xp = namespace(sizes)
    outer, inner = states.shape[-1] - _INNER_SPINS, 2**_INNER_SPINS
    if outer <= 0:
        return xp.exp(_opposed(sizes, states) + logs)
    slow = xp.exp(_opposed(sizes[..., :outer], states[::inner, :outer]))
    fast = xp.exp(_opposed(sizes[..., outer:], states[:inner, outer:]))
    product = xp.reshape(slow[..., None] * fast[..., None, :], (*slow.shape[:-1], len(states)))
    return product * xp.exp(logs)


def _log_weights(states: Array, forces: Array, pair_forces: Array | None) -> Array:
    logs = states @ forces.mT
    return logs if pair_forces is None else logs + pair_products(states) @ pair_forces.mT


def _factorised(forces: Array) -> tuple[Array, tuple[Array, Array]]:
    """The largest log-weight of each column, and U and V without it."""
    xp = namespace(forces)
    outer = forces.shape[-1] // 2
    peaks, factors = [], []
    for part in (forces[..., :outer], forces[..., outer:]):
        logs = like(spin_table(part.shape[-1]), part) @ part.mT
        peaks.append(detach(xp.max(logs, axis=1)))
        factors.append(xp.exp(logs - peaks[-1][:, None, :]))
    return peaks[0] + peaks[1], (factors[0], factors[1])


def _largest_of_columns(left: Array, forces: Array, pair_forces: Array) -> Array:
    """The largest log-weight of each column, where W does not factorise: by looking at all."""
    xp = namespace(forces)
    step = CHUNK_ENTRIES // (len(forces) * forces.shape[1])
    peaks = [
        xp.max(detach(_log_weights(left[rows], forces, pair_forces)), axis=1)
        for rows in slices(len(left), step)
    ]
    return xp.max(xp.stack(peaks), axis=0)


def _below_zero(logs: Array) -> tuple[Array, Array]:
    """logs less the largest of each row, and that."""
    largest = detach(namespace(logs).max(logs, axis=-1))
    return logs - largest[:, None], largest
