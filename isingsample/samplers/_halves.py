r"""Exact marginals of many queries at the speed of matrix products.

The n spins are split into a left and a right half. With x and y the halves' states,

.. math::

    e^{-E(x, y)} = A_q[x] \; W[x, y] \; B_q[y]

where W holds all couplings and is shared by the queries, and A_q, B_q hold query q's fields.
Summing out y for all queries at once is the product B W^T, summing out x is A W: two products of
2 Q 2^n flops, and memory for Q (2^a + 2^b) numbers instead of Q 2^n.

Each factor is scaled to a largest entry of 1. A query whose sum Z is too small in these units
(its fields work against strong couplings) may have lost its leading terms to underflow; those
few are computed again in the log domain, in float64.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from isingsample._arrays import Array, detach, like, namespace, to_numpy
from isingsample.energies import interactions, pair_indices, pair_products, spin_table
from isingsample.samplers._inverse_cdf import invert

# Below these sums, terms that mattered may have underflowed (float32: 1e-38, float64: 1e-308).
_SAFE_SUM = {"float32": 1e-25, "float64": 1e-280}
# Entries of the largest temporary array: 2**22 doubles are 32 MiB, of the order of a cache.
_CHUNK_ENTRIES = 2**22


@dataclass(frozen=True)
class Halves:
    """The couplings of some groups of queries, tabulated over both halves' states.

    Attributes:
        left: (2**a, a) states of the first a = n // 2 spins.
        right: (2**b, b) states of the other b spins.
        log_weights: (groups, 2**a, 2**b), minus beta times the couplings' energy.
    """

    left: Array
    right: Array
    log_weights: Array

    @classmethod
    def of(cls, J: Array, K: Array | None) -> "Halves":
        """Tables for couplings (groups, n, n), already multiplied by beta."""
        num_spins = J.shape[-1]
        a = num_spins // 2
        left, right = (like(spin_table(k), J) for k in (a, num_spins - a))
        across = left @ J[:, :a, a:]
        inner_left = inner_right = None
        if K is not None:
            inner_left, inner_right = K[:, :a, :a, :a], K[:, a:, a:, a:]
            first, second = pair_indices(left)
            across = across + pair_products(left) @ K[:, first, second, a:]
        log_weights = across @ right.T
        if K is not None:
            first, second = pair_indices(right)
            by_pair = left @ K[:, :a, a + first, a + second]
            log_weights = log_weights + by_pair @ pair_products(right).T
        log_weights = log_weights + interactions(left, J[:, :a, :a], inner_left)[:, :, None]
        log_weights = log_weights + interactions(right, J[:, a:, a:], inner_right)[:, None, :]
        return cls(left, right, log_weights)

    def fields(self, h: Array) -> tuple[Array, Array, Array]:
        """h.s of each half's states, relative to the largest possible.

        A sum over the spins that oppose their field: free of the cancellation that would drown
        ordinary fields beside a huge one (-1e9 is a customary mask).

        Returns:
            (..., 2**a) and (..., 2**b), none above 0, and what to add to both: sum |h_j|, (...).
        """
        xp = namespace(h)
        up = xp.where(h > 0, h, xp.zeros_like(h))
        down = up - h  # |h| = up + down; its derivative at 0 is right only together with theirs

        def opposed(part: slice, states: Array) -> Array:
            sizes = xp.concat([up[..., part], down[..., part]], axis=-1)
            return sizes @ xp.concat([states - 1, -1 - states], axis=-1).T

        a = self.left.shape[-1]
        halves = opposed(slice(None, a), self.left), opposed(slice(a, None), self.right)
        return *halves, xp.sum(up + down, axis=-1)


@dataclass(frozen=True)
class Marginals:
    """Exact distributions of both halves, for queries (groups, queries).

    Attributes:
        left: (groups, queries, 2**a) probabilities, each row summing to 1.
        right: (groups, queries, 2**b).
        log_partition: (groups, queries).
        cross: <s_j s_k> between the halves, (groups, queries, a, b); None if not asked for.
    """

    left: Array
    right: Array
    log_partition: Array
    cross: Array


def chunks(groups: int, queries: int, num_spins: int) -> Iterator[tuple[slice, list[slice]]]:
    """Slices of groups, each with slices of queries, that keep temporary arrays small."""
    half = 2 ** (num_spins - num_spins // 2)
    group_step = max(1, _CHUNK_ENTRIES >> num_spins)
    query_step = max(1, _CHUNK_ENTRIES // (half * min(group_step, groups)))
    for g in range(0, groups, group_step):
        starts = range(0, queries, query_step)
        yield slice(g, g + group_step), [slice(q, q + query_step) for q in starts]


def row_slices(rows: int, num_spins: int) -> list[slice]:
    """Slices of rows that each hold 2**num_spins numbers."""
    step = max(1, _CHUNK_ENTRIES >> num_spins)
    return [slice(start, start + step) for start in range(0, rows, step)]


def marginals(h: Array, J: Array, K: Array | None, halves: Halves, cross: bool) -> Marginals:
    """Marginals of queries h (groups, queries, n); fields and couplings are times beta."""
    xp = namespace(h)
    fast, total = _products(h, halves, cross)
    safe = to_numpy(total) > _SAFE_SUM[str(total.dtype).removeprefix("torch.")]
    if safe.all():
        return fast
    _check_range(h, halves.log_weights)
    # Without fields Z is at least 1, so the substitutes below are finite, and so are gradients.
    keep = like(safe, h, keep_dtype=True)
    fast, _ = _products(xp.where(keep[..., None], h, xp.zeros_like(h)), halves, cross)
    group, query = (like(i, h, keep_dtype=True) for i in np.nonzero(~safe))
    wide = xp.float64
    precise = Halves.of(xp.astype(J, wide), None if K is None else xp.astype(K, wide))
    slow = _log_domain(xp.astype(h[group, query], wide), precise, group, cross)
    place = np.zeros(safe.shape, dtype=np.int64)
    place[~safe] = np.arange(np.count_nonzero(~safe))
    slot = like(place, h, keep_dtype=True)

    def choose(quick: Array, careful: Array) -> Array:
        chosen = xp.reshape(keep, (*keep.shape, *[1] * (quick.ndim - 2)))
        return xp.where(chosen, quick, xp.astype(careful, h.dtype)[slot])

    return Marginals(
        choose(fast.left, slow.left),
        choose(fast.right, slow.right),
        choose(fast.log_partition, slow.log_partition),
        None if fast.cross is None or slow.cross is None else choose(fast.cross, slow.cross),
    )


def _products(h: Array, halves: Halves, cross: bool) -> tuple[Marginals, Array]:
    """Marginals by matrix products, and each query's sum in scaled units.

    Where the sum is 0 in these units the marginals are meaningless, but finite.
    """
    xp = namespace(h)
    a = halves.left.shape[-1]
    shift = detach(xp.max(xp.max(halves.log_weights, axis=-1), axis=-1))
    weights = xp.exp(halves.log_weights - shift[:, None, None])
    left_field, right_field, largest_field = halves.fields(h)
    left, right = xp.exp(left_field), xp.exp(right_field)
    onto_left = left * (right @ weights.mT)
    onto_right = right * (left @ weights)
    total = xp.sum(onto_right, axis=-1)
    scale = xp.where(total > 0, total, xp.ones_like(total))
    between = None
    if cross:
        columns = [((left * halves.left[:, i]) @ weights * right) @ halves.right for i in range(a)]
        between = _stacked(columns, h, halves) / scale[..., None, None]
    log_partition = xp.log(scale) + largest_field + shift[:, None]
    by_query = scale[..., None]
    return Marginals(onto_left / by_query, onto_right / by_query, log_partition, between), total


def _check_range(*arrays: Array) -> None:
    for array in arrays:
        if not np.isfinite(to_numpy(array)).all():
            raise ValueError(
                f"beta times the fields or couplings leaves the range of "
                f"{str(array.dtype).removeprefix('torch.')}; scale the problem down"
            )


def _stacked(columns: list[Array], h: Array, halves: Halves) -> Array:
    xp = namespace(h)
    if columns:
        return xp.stack(columns, axis=-2)
    return xp.zeros((*h.shape[:-1], 0, halves.right.shape[-1]), dtype=h.dtype, device=h.device)


def _log_domain(h: Array, halves: Halves, group: Array, cross: bool) -> Marginals:
    """Marginals of single queries h (rows, n) with their groups (rows,), safe at any range."""
    xp = namespace(h)
    parts = []
    for rows in row_slices(h.shape[0], h.shape[-1]):
        joint, log_partition = joint_distribution(h[rows], halves, group[rows])
        between = halves.left.T @ joint @ halves.right if cross else log_partition
        parts.append((xp.sum(joint, axis=-1), xp.sum(joint, axis=-2), log_partition, between))
    left, right, log_partition, between = (
        xp.concat(list(column), axis=0) for column in zip(*parts, strict=True)
    )
    return Marginals(left, right, log_partition, between if cross else None)


def joint_distribution(h: Array, halves: Halves, group: Array) -> tuple[Array, Array]:
    """P(x, y) of single queries (rows, 2**a, 2**b) and ln Z (rows,), in the log domain."""
    xp = namespace(h)
    logs, largest_field = log_joint(h, halves, group)
    peak = detach(xp.max(xp.max(logs, axis=-1), axis=-1))
    joint = xp.exp(logs - peak[:, None, None])
    total = xp.sum(xp.sum(joint, axis=-1), axis=-1)
    _check_range(total)
    return joint / total[:, None, None], xp.log(total) + peak + largest_field


def log_joint(h: Array, halves: Halves, group: Array) -> tuple[Array, Array]:
    """ln of the unnormalised P(x, y) of queries h (rows, n), relative to the largest field energy.

    Returns:
        (rows, 2**a, 2**b), and what to add to it: (rows,).
    """
    left, right, largest = halves.fields(h)
    return left[:, :, None] + right[:, None, :] + halves.log_weights[group], largest


def draw_states(
    h: np.ndarray, J: np.ndarray, K: np.ndarray | None, halves: Halves, uniforms: np.ndarray
) -> np.ndarray:
    """Independent exact samples: the left half from its marginal, the right half given the left.

    Args:
        h: (groups, queries, n), and J, K and halves as for `marginals`, in float64.
        uniforms: (groups, queries, num_reads, 2) in [0, 1).

    Returns:
        (groups, queries, num_reads, n) int8.
    """
    groups, queries, reads, _ = uniforms.shape
    left = marginals(h, J, K, halves, cross=False).left
    x = invert(np.cumsum(left, axis=-1), uniforms[..., 0]).reshape(-1)
    _, right_field, _ = halves.fields(h)
    query = np.repeat(np.arange(groups * queries), reads)
    fields = right_field.reshape(groups * queries, -1)
    threshold = uniforms[..., 1].reshape(-1, 1)
    y = np.empty_like(x)
    for rows in row_slices(len(x), halves.right.shape[-1]):
        logs = fields[query[rows]] + halves.log_weights[query[rows] // queries, x[rows]]
        given_left = np.exp(logs - logs.max(axis=-1, keepdims=True))
        y[rows] = invert(np.cumsum(given_left, axis=-1), threshold[rows])[:, 0]
    states = np.concatenate([halves.left[x], halves.right[y]], axis=-1).astype(np.int8)
    return states.reshape(groups, queries, reads, -1)
