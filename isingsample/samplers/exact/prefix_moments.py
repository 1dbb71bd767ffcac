r"""Moments of many queries, each over its first few spins, and their gradients, by hand.

All prefixes of one J share the tables of halves.py. The spins are taken in reverse, so that those
a query lacks come first and its states are a corner of the tables: with b spins in the right
half, a query of k > b spins has all its states and the first 2**(k - b) of the left half; one of
k <= b spins has the first 2**k right states alone. There an absent spin is -1, which J_jk added
to h_j makes up for.

With A and B the factors of a query over the states x and y of its halves, p = A W B / Z, an
upstream u(x, y) = u(x) + u(y) changes log-weights by dL/dlog p = p (u - <u>), of which

.. math::

    \frac{\partial L}{\partial \log A} = A \, (W (B u_y)) + p_x (u_x - \langle u\rangle), \qquad
    \frac{\partial L}{\partial \log W} = W \sum_q \bigl(A (u_x - \langle u\rangle) B^T
        + A (B u_y)^T\bigr) .
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from isingsample._core.arrays import (
    Array,
    concat,
    like,
    namespace,
    to_numpy,
)
from isingsample._core.states import spin_table
from isingsample.samplers.exact.halves import Halves, by_sign, opposing
from isingsample.samplers.exact.marginals import is_safe

# More spins than this have tables too large to be kept whole.
MAX_SPINS = 22
# Entries of a step's arrays: few enough to stay in a cache through all that is done with them.
_STEP_ENTRIES = 2**17
# Queries of at most so many spins have too few states for steps of their own to be worth it.
_TOGETHER = 5


@dataclass(frozen=True)
class Part:
    """The queries of one step, over the states they have.

    Attributes:
        left: (groups, rows, x) their factor A, divided by Z; without the axis of a single group,
            like all others.
        right: (groups, rows, y) their factor B.
        on_left: (groups, rows, x) the distribution of the left half.
        on_right: (groups, rows, y) likewise of the right.
    """

    left: Array
    right: Array
    on_left: Array
    on_right: Array


@dataclass(frozen=True)
class Solved:
    """Moments of queries (groups, queries), and what their gradients need.

    Attributes:
        magnetization: (groups, queries, n), 0 at absent spins like probability.
        probability: (groups, queries, n).
        log_partition: (groups, queries).
        weights: (groups, 2**a, 2**b) the table W.
        parts: one for each step, if kept.
    """

    magnetization: Array
    probability: Array
    log_partition: Array
    weights: Array
    parts: list[Part]


def solve(h: Array, J: Array, lengths: np.ndarray, *, keep: bool) -> Solved | None:
    """Moments of queries that have their first spins alone.

    Args:
        h: (groups, queries, n) fields, those of absent spins of no consequence.
        J: (groups, n, n).
        lengths: (queries,) how many spins each query has, in rising order.
        keep: whether to keep the parts, which gradients need.

    Returns:
        None where a sum came near the end of its dtype's range.
    """
    xp = namespace(h)
    groups, queries, num_spins = h.shape
    present, absent = _presence(lengths, h)
    fields, J = xp.flip(h, axis=-1), xp.flip(J, axis=(-2, -1))
    constant = None
    if absent is not None:
        pinned = absent @ J
        fields = (fields + pinned) * present
        constant = 0.5 * xp.sum(pinned * absent, axis=-1)
    halves = Halves.of(J, None)
    weights = halves.weights(slice(0, len(halves.left)))
    sizes, a = by_sign(fields), num_spins // 2
    left_opposing, right_opposing = (opposing(t).T for t in (halves.left, halves.right))
    left_signs, right_signs = (_signs(t) for t in (halves.left, halves.right))
    table, left_inner, right_inner, left_sizes, right_sizes = _without_one_group(
        weights,
        halves.left_inner[:, None, :],
        halves.right_inner[:, None, :],
        xp.reshape(sizes[..., :a], (groups, queries, -1)),
        xp.reshape(sizes[..., a:], (groups, queries, -1)),
    )

    parts, totals, sides = [], [], []
    for rows, x, y in _steps(lengths, num_spins, groups):
        left = left_sizes[..., rows, :] @ left_opposing[:, :x]
        left += left_inner[..., :x]
        right = right_sizes[..., rows, :] @ right_opposing[:, :y]
        right += right_inner[..., :y]
        left, right = xp.exp(left), xp.exp(right)
        if lengths[rows][0] != lengths[rows][-1]:
            right *= like(np.arange(y) < 2 ** lengths[rows, None], right)
        corner = table[..., :x, :y]
        on_left = right @ corner.mT
        on_left *= left
        total = xp.sum(on_left, axis=-1)
        share = 1 / xp.where(total > 0, total, xp.ones_like(total))[..., None]
        left *= share
        on_left *= share
        on_right = left @ corner
        on_right *= right
        if keep:
            parts.append(Part(left, right, on_left, on_right))
        totals.append(total)
        sides.append((on_left @ left_signs[:x], on_right @ right_signs[:y]))

    total = xp.reshape(concat(totals, axis=-1), (groups, queries))
    if not to_numpy(is_safe(total)).all():
        return None
    log_partition = xp.log(total) + xp.sum(sizes, axis=(-2, -1)) + halves.offset[:, None]
    if constant is not None:
        log_partition = log_partition - constant
    left_side, right_side = (concat(list(side), axis=-2) for side in zip(*sides, strict=True))
    both = xp.concat(
        [xp.reshape(side, (groups, queries, 2, -1)) for side in (left_side, right_side)], axis=-1
    )
    both = xp.flip(both, axis=-1)
    up, down = both[..., 0, :], both[..., 1, :]
    whole = up + down  # not 1: rounding must not push a probability beyond 1
    magnetization, probability = (up - down) / whole, up / whole
    if absent is not None:
        there = xp.flip(present, axis=-1)
        magnetization, probability = magnetization * there, probability * there
    return Solved(magnetization, probability, log_partition, weights, parts)


def pull(
    gradients: tuple[Array | None, ...],
    lengths: np.ndarray,
    probability: Array,
    weights: Array,
    parts: list[Part],
) -> tuple[Array, Array]:
    """The gradients of h and J from those of the moments.

    Args:
        gradients: of magnetization, probability and log_partition; None where there is none.
        lengths: as for `solve`.
        probability: of `Solved`, like weights and parts.
        weights: (groups, 2**a, 2**b).
        parts: of each step.

    Returns:
        (groups, queries, n), and (groups, n, n) with half of each pair's derivative in either
        entry, and values of no consequence on the diagonal.
    """
    xp = namespace(probability)
    groups, _, num_spins = probability.shape
    a = num_spins // 2
    present, absent = _presence(lengths, probability)
    magnetization_grad, probability_grad, log_partition_grad = gradients
    # m = 2 P - 1 but for a constant, which no gradient sees.
    u = xp.zeros_like(probability) if probability_grad is None else probability_grad
    u = u if magnetization_grad is None else u + 2 * magnetization_grad
    shift = -xp.sum(u * probability, axis=-1, keepdims=True)
    if log_partition_grad is not None:
        shift = shift + log_partition_grad[..., None]
    u = xp.flip(u, axis=-1)
    if absent is not None:
        u = u * present
    left, right = (like(spin_table(k), weights) for k in (a, num_spins - a))
    left_ups, right_ups = 0.5 + 0.5 * left.T, 0.5 + 0.5 * right.T

    to_weights = xp.zeros_like(weights)
    to_left, to_right = xp.zeros_like(weights[..., 0]), xp.zeros_like(weights[:, 0, :])
    table, table_grad, left_sum, right_sum, fields, shift = _without_one_group(
        weights, to_weights, to_left, to_right, u, shift
    )
    to_fields = []
    for (rows, x, y), part in zip(_steps(lengths, num_spins, groups), parts, strict=True):
        corner = table[..., :x, :y]
        u_left = fields[..., rows, :a] @ left_ups[:, :x]
        u_left += shift[..., rows, :]
        u_right = fields[..., rows, a:] @ right_ups[:, :y]
        right_u, left_u = part.right * u_right, part.left * u_left
        left_grad, right_grad = right_u @ corner.mT, left_u @ corner
        left_grad *= part.left
        left_grad += part.on_left * u_left
        right_grad *= part.right
        right_grad += part.on_right * u_right
        # One product for both terms.
        lefts = xp.concat([left_u, part.left], axis=-2)
        table_grad[..., :x, :y] += lefts.mT @ xp.concat([part.right, right_u], axis=-2)
        left_sum[..., :x] += xp.sum(left_grad, axis=-2)
        right_sum[..., :y] += xp.sum(right_grad, axis=-2)
        to_fields.append(xp.concat([left_grad @ left[:x], right_grad @ right[:y]], axis=-1))

    to_h = xp.reshape(concat(to_fields, axis=-2), probability.shape)
    cross = 0.5 * (left.T @ (to_weights * weights) @ right)
    left_inner = 0.5 * ((left.T * to_left[:, None, :]) @ left)
    right_inner = 0.5 * ((right.T * to_right[:, None, :]) @ right)
    top = xp.concat([left_inner, cross], axis=-1)
    to_J = xp.concat([top, xp.concat([cross.mT, right_inner], axis=-1)], axis=-2)
    if absent is not None:
        to_h = to_h * present
        through_fields = to_h.mT @ absent
        to_J = to_J + 0.5 * (through_fields + through_fields.mT)
        if log_partition_grad is not None:
            to_J = to_J - 0.5 * ((absent * log_partition_grad[..., None]).mT @ absent)
    return xp.flip(to_h, axis=-1), xp.flip(to_J, axis=(-2, -1))


def _presence(lengths: np.ndarray, reference: Array) -> tuple[Array | None, Array | None]:
    """Ones where spins, in reverse, are present, and where they are absent: (queries, n).

    None and None where all are present.
    """
    num_spins = reference.shape[-1]
    if lengths[0] == num_spins:
        return None, None
    present = np.arange(num_spins)[::-1] < lengths[:, None]
    return like(present, reference), like(~present, reference)


def _without_one_group(*arrays: Array) -> tuple[Array, ...]:
    """Arrays (groups, ...), or where there is one group without that axis: matrices are faster."""
    return tuple(array[0] for array in arrays) if len(arrays[0]) == 1 else arrays


def _signs(states: Array) -> Array:
    """1 where a spin is up, then 1 where it is down: (states, k) to (states, 2 k)."""
    return namespace(states).concat([0.5 + 0.5 * states, 0.5 - 0.5 * states], axis=-1)


def _steps(lengths: np.ndarray, num_spins: int, groups: int) -> Iterator[tuple[slice, int, int]]:
    """Runs of queries with the numbers of left and right states that they sum over.

    Queries of few spins go together; of the others, those of one length.
    """
    b = num_spins - num_spins // 2
    first = min(b, _TOGETHER)
    ends = [0, *np.searchsorted(lengths, np.arange(first, num_spins + 1), side="right").tolist()]
    for k, (start, end) in enumerate(pairwise(ends), first):
        if start == end:
            continue
        x, y = 2 ** max(k - b, 0), 2 ** min(int(lengths[end - 1]), b)
        step = max(1, _STEP_ENTRIES // (groups * max(x, y)))
        for row in range(start, end, step):
            yield slice(row, min(row + step, end)), x, y
