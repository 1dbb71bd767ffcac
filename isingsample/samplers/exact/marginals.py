"""Exact marginals of many queries at the speed of matrix products.

With the factors A_q[x] W[x, y] B_q[y] of `isingsample.samplers.exact.halves`, summing out y for all
queries at once is the product B W^T, summing out x is A W: two products of 2 Q 2^n flops, and
memory for Q (2^a + 2^b) numbers instead of Q 2^n.

Each factor is scaled to a largest entry of 1. A query whose sum Z is too small in these units
(its fields work against strong couplings) may have lost its leading terms to underflow; those
few are computed again in the log domain, in float64.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import Array, concat, detach, like, namespace, slices, to_numpy
from isingsample._core.progress import track
from isingsample.samplers._shared.inverse_cdf import invert
from isingsample.samplers.exact import halves as _halves
from isingsample.samplers.exact.halves import Halves

# Below these sums, terms that mattered may have underflowed (float32: 1e-38, float64: 1e-308).
_SAFE_SUM = {"float32": 1e-25, "float64": 1e-280}
# Temporary numbers of a read besides those of its states, those of its random numbers included.
_PER_READ = 64


@dataclass(frozen=True)
class Marginals:
    """Exact distributions of both halves, for queries (groups, queries), times a factor of each.

    Attributes:
        left: (groups, queries, 2**a) weights, each row summing to total.
        right: (groups, queries, 2**b) likewise.
        total: (groups, queries).
        log_partition: (groups, queries).
        cross: sum of s_j s_k between the halves, (groups, queries, a, b), to be divided by total
            like all else; None if not asked for.
    """

    left: Array
    right: Array
    total: Array
    log_partition: Array
    cross: Array


@dataclass(frozen=True)
class Fields:
    """The factors of a query that are its own, as logarithms.

    Attributes:
        left: (..., 2**a) fields on, and couplings within, each state of the left half; none
            above 0.
        right: (..., 2**b) likewise, with the largest log-weight of each column.
        offset: (...) what was taken off both.
    """

    left: Array
    right: Array
    offset: Array

    @classmethod
    def of(cls, h: Array, halves: Halves, group: Array | slice = slice(None)) -> "Fields":
        """For h (groups, queries, n), or with group (rows,) for single queries (rows, n)."""
        left, right, largest = halves.fields(h)
        inner = halves.left_inner[group], halves.right_inner[group], halves.offset[group]
        if h.ndim == 3:
            inner = inner[0][:, None, :], inner[1][:, None, :], inner[2][:, None]
        return cls(left + inner[0], right + inner[1], largest + inner[2])


def marginals(h: Array, J: Array, K: Array | None, halves: Halves, *, cross: bool) -> Marginals:
    """Marginals of queries h (groups, queries, n); fields and couplings are times beta."""
    xp = namespace(h)
    fast = products(h, halves, cross=cross)
    safe = to_numpy(is_safe(fast.total))
    if safe.all():
        return fast
    check.check_in_range(h, halves.left_inner, halves.right_inner, halves.offset)
    # Without fields Z is at least 1, so the substitutes below are finite, and so are gradients.
    keep = like(safe, h, keep_dtype=True)
    fast = products(xp.where(keep[..., None], h, xp.zeros_like(h)), halves, cross=cross)
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
        choose(fast.total, slow.total),
        choose(fast.log_partition, slow.log_partition),
        choose(fast.cross, slow.cross) if cross else None,
    )


def products(h: Array, halves: Halves, *, cross: bool) -> Marginals:
    """Marginals by matrix products, in units where no factor is above 1.

    Where the total is 0 in these units the rest is meaningless, but finite.
    """
    xp = namespace(h)
    left, right, offset = halves.query_factors(h)
    onto_left: list[Array] = []
    onto_right: list[Array] = []
    between: list[Array] = []
    for rows in _watched(halves.row_blocks):
        weights = halves.weights(rows)
        part, sums = left[..., rows], right @ weights.mT
        sums *= part  # in place: new memory is dear
        onto_left.append(sums)
        _add(onto_right, part @ weights)
        if cross:
            _add(between, _between(part, right, weights, halves.left[rows], halves.right))
    (right_sums,) = onto_right
    right_sums *= right
    total = xp.sum(right_sums, axis=-1)
    positive = xp.where(total > 0, total, xp.ones_like(total))
    log_partition = xp.log(positive) + offset
    cross_sum = between[0] if cross else None
    return Marginals(concat(onto_left, axis=-1), right_sums, total, log_partition, cross_sum)


def single_spins(solved: Marginals, halves: Halves) -> tuple[Array, Array]:
    """Magnetization and P(s = +1): (groups, queries, n).

    P(+1) is summed by itself: (m + 1)/2 would lose it to cancellation where it is small.
    """
    xp = namespace(solved.left)
    sides = []
    for weights, states in ((solved.left, halves.left), (solved.right, halves.right)):
        both = weights @ xp.concat([0.5 + 0.5 * states, 0.5 - 0.5 * states], axis=-1)
        sides.append(xp.reshape(both, (*both.shape[:-1], 2, states.shape[-1])))
    joined = xp.concat(sides, axis=-1)
    up, down = joined[..., 0, :], joined[..., 1, :]
    total = up + down  # not solved.total: rounding must not push a probability beyond 1
    return (up - down) / total, up / total


def is_safe(total: Array) -> Array:
    """Where no term that mattered to a sum may have underflowed, its factors being at most 1."""
    return total > _SAFE_SUM[str(total.dtype).removeprefix("torch.")]


def joint_distribution(h: Array, halves: Halves, group: Array) -> Array:
    """P(x, y) of single queries h (rows, n): (rows, 2**a, 2**b), in the log domain."""
    xp = namespace(h)
    logs = log_joint(Fields.of(h, halves, group), halves, group, slice(0, len(halves.left)))
    joint, log_sums = _log_normalised(xp.reshape(logs, (len(h), -1)))
    check.check_in_range(log_sums)
    return xp.reshape(joint, logs.shape)


def log_joint(fields: Fields, halves: Halves, group: Array, rows: slice) -> Array:
    """ln of the unnormalised P(x, y) of single queries, without the offset of their fields.

    Args:
        fields: of queries (rows,).
        halves: the tables.
        group: (rows,) whose couplings each query has.
        rows: the left states x.

    Returns:
        (rows, x, 2**b).
    """
    across = (halves.log_weights(halves.left[rows]) - halves.peak[:, None, :])[group]
    return fields.left[:, rows, None] + fields.right[:, None, :] + across


def draw_states(
    h: np.ndarray,
    J: np.ndarray,
    K: np.ndarray | None,
    halves: Halves,
    num_reads: int,
    uniforms: Callable[[slice], np.ndarray],
) -> np.ndarray:
    """Independent exact samples: the left half from its marginal, the right half given the left.

    Args:
        h: (groups, queries, n), and J, K and halves as for `marginals`, in float64.
        num_reads: how many for each query.
        uniforms: for a slice of the reads, (groups, queries, reads, 2) numbers in [0, 1).

    Returns:
        (groups, queries, num_reads, n) int8.
    """
    groups, queries, num_spins = h.shape
    solved = marginals(h, J, K, halves, cross=False)
    cumulative = np.cumsum(solved.left, axis=-1)
    fields = Fields.of(h, halves).right  # (groups, queries, 2**b)
    samples = np.empty((groups, queries, num_reads, num_spins), np.int8)
    at_once = _halves.CHUNK_ENTRIES // (groups * queries * max(len(halves.right), _PER_READ))
    for reads in slices(num_reads, at_once):
        numbers = uniforms(reads)
        x = invert(cumulative, numbers[..., 0]).reshape(groups, -1)
        query = np.repeat(np.arange(queries), reads.stop - reads.start)
        threshold = numbers[..., 1].reshape(groups, -1, 1)
        drawn = np.empty((*x.shape, num_spins), np.int8)
        for some in slices(
            x.shape[1], _halves.CHUNK_ENTRIES // (groups * max(len(halves.right), _PER_READ))
        ):
            states = halves.left[x[:, some]]
            logs = fields[:, query[some]] + halves.log_weights(states) - halves.peak[:, None, :]
            given_left = np.exp(logs - logs.max(axis=-1, keepdims=True))
            y = invert(np.cumsum(given_left, axis=-1), threshold[:, some])[..., 0]
            drawn[:, some] = np.concatenate([states, halves.right[y]], axis=-1)
        samples[:, :, reads] = drawn.reshape(groups, queries, -1, num_spins)
    return samples


def _add(so_far: list[Array], term: Array) -> None:
    """Add a term to the one sum in a list, or begin it."""
    so_far[:] = [so_far[0] + term] if so_far else [term]


def _between(left: Array, right: Array, weights: Array, x: Array, y: Array) -> Array:
    """sum_xy A[x] x W[x, y] y B[y], the halves' correlations times Z: (groups, queries, a, b)."""
    xp = namespace(left)
    columns = [((right * y[:, k]) @ weights.mT * left) @ x for k in range(y.shape[-1])]
    return xp.stack(columns, axis=-1)


def _log_domain(h: Array, halves: Halves, group: Array, cross: bool) -> Marginals:
    """Marginals of single queries h (rows, n) with their groups (rows,), safe at any range."""
    parts = [
        _log_domain_of(h[rows], halves, group[rows], cross)
        for rows in slices(len(h), halves.queries_at_once)
    ]
    check.check_in_range(*(part.log_partition for part in parts))

    def joined(name: str) -> Array:
        return concat([getattr(part, name) for part in parts], axis=0)

    between = joined("cross") if cross else None
    sides = joined("left"), joined("right")
    return Marginals(*sides, joined("total"), joined("log_partition"), between)


def _log_domain_of(h: Array, halves: Halves, group: Array, cross: bool) -> Marginals:
    xp = namespace(h)
    fields = Fields.of(h, halves, group)
    left, means = [], []
    right = None
    for rows in halves.row_blocks:
        logs = log_joint(fields, halves, group, rows)  # (queries, x, 2**b)
        given_left, onto_left = _log_normalised(logs)
        left.append(onto_left)
        means += [given_left @ halves.right] if cross else []
        onto_right = log_sum(logs, axis=1)
        right = onto_right if right is None else xp.logaddexp(right, onto_right)
    onto_left, log_partition = _log_normalised(concat(left, axis=-1))
    between = (onto_left[..., None] * halves.left).mT @ concat(means, axis=1) if cross else None
    onto_right = xp.exp(right - log_partition[:, None])
    total = xp.ones_like(log_partition)
    return Marginals(onto_left, onto_right, total, log_partition + fields.offset, between)


def _log_normalised(logs: Array) -> tuple[Array, Array]:
    """Rows as probabilities, and the logarithm of their sums."""
    total = log_sum(logs, axis=-1)
    return namespace(logs).exp(logs - total[..., None]), total


def log_sum(logs: Array, axis: int) -> Array:
    """ln of the sum of exponentials along an axis."""
    xp = namespace(logs)
    shift = detach(xp.max(logs, axis=axis, keepdims=True))
    return xp.log(xp.sum(xp.exp(logs - shift), axis=axis)) + xp.squeeze(shift, axis=axis)


def _watched(blocks: list[slice]) -> Iterable[slice]:
    """blocks, with a progress bar where there are several and they take their time."""
    return track(blocks, "exact") if len(blocks) > 1 else blocks
