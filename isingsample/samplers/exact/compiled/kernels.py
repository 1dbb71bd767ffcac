r"""Moments of queries that share J, and their gradients. Imports numba, from the `numba` extra.

With A and B the factors of a query over the states x and y of its halves and W the table of their
couplings, p = A W B / Z. One reading of W gives W B and W^T A of four queries, and in the backward
pass all four sums of prefix_moments.py, where the formulas are.

What the inner loops write to are rows of one flat array at fixed places, `lanes`: the compiler then
knows that they do not overlap, and fills the vector registers.

numba's cache on disk goes by the date of the file a kernel stands in: after a change in tables.py,
touch this file too.
"""

from typing import Any

import numpy as np

from isingsample.samplers._shared.compiling import compiled_sums
from isingsample.samplers.exact.compiled.tables import (
    fill_factors,
    fill_shared,
    fill_sums,
    fold,
)

# Queries that share one reading of the table.
LANES = 4
# Numbers in a row of `lanes`: more than half of the largest number of spins has states.
ROW = 1024


@compiled_sums
def moments(
    first: Any,
    last: Any,
    stop: Any,
    pieces: Any,
    h: Any,
    J: Any,
    lengths: Any,
    keep: Any,
    probability: Any,
    magnetization: Any,
    log_partition: Any,
    total: Any,
    on_high: Any,
    on_low: Any,
) -> None:
    """Moments of the queries of some tasks: a task is one of the pieces of a group.

    Args:
        first: of the tasks.
        last: the task after the last one.
        stop: (1,) not 0 to end early.
        pieces: into how many tasks each group's queries are cut.
        h: (groups, queries, n).
        J: (groups, n, n).
        lengths: (queries,) how many of the first spins each query has.
        keep: whether to fill on_high and on_low.
        probability: (groups, queries, n) changed, like all that follow; 0 at absent spins.
        magnetization: (groups, queries, n).
        log_partition: (groups, queries).
        total: (groups, queries) Z in units where no factor is above 1.
        on_high: (groups, queries, 2**a) the distribution of the high half.
        on_low: (groups, queries, 2**b) likewise of the low half.
    """
    n = h.shape[2]
    b = n - n // 2
    X, Y = 1 << (n - b), 1 << b
    table = np.empty((X, Y), h.dtype)
    inner_high, inner_low = np.empty(X, h.dtype), np.empty(Y, h.dtype)
    pinned, constant = np.empty((n + 1, n), h.dtype), np.empty(n + 1, h.dtype)
    high, px = np.empty((LANES, X), h.dtype), np.empty((LANES, X), h.dtype)
    lanes = np.zeros(2 * LANES * ROW, h.dtype)  # B, then (A W) B
    fields, up, down = np.empty(n, h.dtype), np.empty(n, h.dtype), np.empty(n, h.dtype)
    for task in range(first, last):
        if stop[0]:
            return
        g, q = task // pieces, (task % pieces) * len(lengths) // pieces
        end = (task % pieces + 1) * len(lengths) // pieces
        offset = fill_shared(J[g], table, inner_high, inner_low, pinned, constant)
        while q < end:
            k, together = lengths[q], _alike(lengths, q, end)
            spins = min(k, b)
            x_states, y_states = 1 << (k - spins), 1 << spins
            for lane in range(together):
                log_partition[g, q + lane] = offset - constant[k]
                log_partition[g, q + lane] += _fill_lane(
                    h[g, q + lane],
                    pinned[k],
                    k,
                    spins,
                    inner_high,
                    inner_low,
                    lane,
                    fields,
                    high,
                    lanes,
                )
            _empty_lanes(together, x_states, y_states, high, lanes)
            _both_products(table, x_states, y_states, high, lanes, px)
            for lane in range(together):
                at, z = q + lane, px[lane, 0] - px[lane, 0]
                on_low_side = lanes[(LANES + lane) * ROW :]
                for x in range(x_states):
                    z += px[lane, x]
                total[g, at] = z
                log_partition[g, at] += np.log(z)
                if keep:
                    share = 1 / z
                    for x in range(x_states):
                        on_high[g, at, x] = px[lane, x] * share
                    for y in range(y_states):
                        on_low[g, at, y] = on_low_side[y] * share
                fold(on_low_side, spins, up, down)
                fold(px[lane], k - spins, up[b:], down[b:])
                for j in range(k):
                    whole = up[j] + down[j]  # not z: rounding must not push P beyond 1
                    probability[g, at, j] = up[j] / whole
                    magnetization[g, at, j] = (up[j] - down[j]) / whole
                for j in range(k, n):
                    probability[g, at, j] = 0
                    magnetization[g, at, j] = 0
            q += together


@compiled_sums
def _alike(lengths: Any, first: Any, end: Any) -> Any:
    """How many queries from first on, before end, can go together: of one length."""
    count = 1
    while count < LANES and first + count < end and lengths[first + count] == lengths[first]:
        count += 1
    return count


@compiled_sums
def _fill_lane(
    h: Any,
    pinned: Any,
    length: Any,
    spins: Any,
    inner_high: Any,
    inner_low: Any,
    lane: Any,
    fields: Any,
    high: Any,
    lanes: Any,
) -> Any:
    """The factors of a query with its first spins: what was taken off their logarithms."""
    b = h.size - h.size // 2
    for j in range(length):
        fields[j] = h[j] + pinned[j]
    fill_factors(fields, spins, inner_low, lanes[lane * ROW :])
    fill_factors(fields[b:], length - spins, inner_high, high[lane])
    sizes = abs(fields[0])
    for j in range(1, length):
        sizes += abs(fields[j])
    return sizes


@compiled_sums
def _empty_lanes(first: Any, x_states: Any, y_states: Any, high: Any, lanes: Any) -> None:
    """Weights of 0 where there are fewer queries than lanes."""
    for lane in range(first, LANES):
        high[lane, :x_states] = 0
        lanes[lane * ROW : lane * ROW + y_states] = 0


@compiled_sums
def _both_products(
    table: Any, x_states: Any, y_states: Any, high: Any, lanes: Any, px: Any
) -> None:
    """px = A (W B), and (A W) B in the later rows of lanes, in one reading of W."""
    zero = high[0, 0] - high[0, 0]
    for lane in range(LANES, 2 * LANES):
        lanes[lane * ROW : lane * ROW + y_states] = 0
    for x in range(x_states):
        a0, a1, a2, a3 = high[0, x], high[1, x], high[2, x], high[3, x]
        r0, r1, r2, r3 = zero, zero, zero, zero
        for y in range(y_states):
            w = table[x, y]
            r0 += w * lanes[y]
            r1 += w * lanes[ROW + y]
            r2 += w * lanes[2 * ROW + y]
            r3 += w * lanes[3 * ROW + y]
            lanes[4 * ROW + y] += a0 * w
            lanes[5 * ROW + y] += a1 * w
            lanes[6 * ROW + y] += a2 * w
            lanes[7 * ROW + y] += a3 * w
        px[0, x], px[1, x], px[2, x], px[3, x] = a0 * r0, a1 * r1, a2 * r2, a3 * r3
    for lane in range(LANES):
        for y in range(y_states):
            lanes[(LANES + lane) * ROW + y] *= lanes[lane * ROW + y]


@compiled_sums
def gradients(
    first: Any,
    last: Any,
    stop: Any,
    pieces: Any,
    h: Any,
    J: Any,
    lengths: Any,
    probability: Any,
    total: Any,
    on_high: Any,
    on_low: Any,
    to_up: Any,
    to_log_partition: Any,
    wants_J: Any,
    to_h: Any,
    to_J: Any,
) -> None:
    """The gradients of h and J from those of the moments.

    Args:
        first, last, stop, pieces, h, J, lengths, probability, total, on_high, on_low: as for
            `moments`, which has filled them.
        to_up: (groups, queries, n) of P(s = +1).
        to_log_partition: (groups, queries).
        wants_J: whether to find to_J.
        to_h: (groups, queries, n), changed; 0 at absent spins.
        to_J: (tasks, n, n), changed: the share of each task, half of each pair's derivative in
            either entry.
    """
    n = h.shape[2]
    b = n - n // 2
    X, Y = 1 << (n - b), 1 << b
    table, by_table = np.empty((X, Y), h.dtype), np.empty((X, Y), h.dtype)
    inner_high, inner_low = np.empty(X, h.dtype), np.empty(Y, h.dtype)
    by_high, by_low = np.empty(X, h.dtype), np.empty(Y, h.dtype)
    pinned, constant = np.empty((n + 1, n), h.dtype), np.empty(n + 1, h.dtype)
    by_length, by_constant = np.empty((n + 1, n), h.dtype), np.empty(n + 1, h.dtype)
    high, d_high = np.empty((LANES, X), h.dtype), np.empty((LANES, X), h.dtype)
    u_high = np.empty((LANES, X), h.dtype)
    lanes = np.zeros(3 * LANES * ROW, h.dtype)  # B, B u_low and (A u_high) W
    u_low, d_low = np.empty(Y, h.dtype), np.empty(Y, h.dtype)
    fields, up, down = np.empty(n, h.dtype), np.empty(n, h.dtype), np.empty(n, h.dtype)
    for task in range(first, last):
        if stop[0]:
            return
        g, q = task // pieces, (task % pieces) * len(lengths) // pieces
        end = (task % pieces + 1) * len(lengths) // pieces
        fill_shared(J[g], table, inner_high, inner_low, pinned, constant)
        by_table[:, :] = 0
        by_high[:] = 0
        by_low[:] = 0
        by_length[:, :] = 0
        by_constant[:] = 0
        while q < end:
            k, together = lengths[q], _alike(lengths, q, end)
            spins = min(k, b)
            x_states, y_states = 1 << (k - spins), 1 << spins
            for lane in range(together):
                at = q + lane
                _fill_lane(
                    h[g, at], pinned[k], k, spins, inner_high, inner_low, lane, fields, high, lanes
                )
                shift = to_log_partition[g, at]
                by_constant[k] += shift
                for j in range(k):
                    shift -= to_up[g, at, j] * probability[g, at, j]
                fill_sums(to_up[g, at], spins, shift - shift, u_low)
                fill_sums(to_up[g, at, b:], k - spins, shift, u_high[lane])
                share = 1 / total[g, at]
                for x in range(x_states):
                    high[lane, x] *= share
                    d_high[lane, x] = on_high[g, at, x] * u_high[lane, x]
                    u_high[lane, x] *= high[lane, x]
                for y in range(y_states):
                    lanes[(LANES + lane) * ROW + y] = lanes[lane * ROW + y] * u_low[y]
            _empty_lanes(together, x_states, y_states, high, lanes)
            for lane in range(together, LANES):
                u_high[lane, :x_states] = 0
            _pull(table, x_states, y_states, high, u_high, lanes, d_high, by_table)
            for lane in range(together):
                at = q + lane
                back = lanes[(2 * LANES + lane) * ROW :]
                fill_sums(to_up[g, at], spins, u_low[0] - u_low[0], u_low)
                for y in range(y_states):
                    d_low[y] = back[y] * lanes[lane * ROW + y] + on_low[g, at, y] * u_low[y]
                    by_low[y] += d_low[y]
                for x in range(x_states):
                    by_high[x] += d_high[lane, x]
                fold(d_low, spins, up, down)
                fold(d_high[lane], k - spins, up[b:], down[b:])
                for j in range(k):
                    to_h[g, at, j] = up[j] - down[j]
                    by_length[k, j] += up[j] - down[j]
                for j in range(k, n):
                    to_h[g, at, j] = 0
            q += together
        if wants_J:
            for x in range(X):
                for y in range(Y):
                    by_table[x, y] *= table[x, y]
            _by_pairs(by_table, by_high, by_low, to_J[task], up, down)
            _by_absent(by_length, by_constant, to_J[task])


@compiled_sums
def _pull(
    table: Any,
    x_states: Any,
    y_states: Any,
    high: Any,
    u_high: Any,
    lanes: Any,
    d_high: Any,
    by_table: Any,
) -> None:
    """All that a reading of W gives, for four queries.

    Args:
        table: W.
        x_states: of the corner that the queries have.
        y_states: likewise.
        high: (4, x_states) A / Z.
        u_high: (4, x_states) A / Z times u_x - <u>.
        lanes: rows of B and of B u_y; changed: (u_high W) in the third four rows.
        d_high: (4, x_states) changed: A (W (B u_y)) is added.
        by_table: (x_states, y_states) changed: u_high B^T + A (B u_y)^T is added.
    """
    zero = high[0, 0] - high[0, 0]
    for lane in range(2 * LANES, 3 * LANES):
        lanes[lane * ROW : lane * ROW + y_states] = 0
    for x in range(x_states):
        a0, a1, a2, a3 = high[0, x], high[1, x], high[2, x], high[3, x]
        l0, l1, l2, l3 = u_high[0, x], u_high[1, x], u_high[2, x], u_high[3, x]
        s0, s1, s2, s3 = zero, zero, zero, zero
        for y in range(y_states):
            w = table[x, y]
            b0, b1, b2, b3 = lanes[y], lanes[ROW + y], lanes[2 * ROW + y], lanes[3 * ROW + y]
            r0, r1 = lanes[4 * ROW + y], lanes[5 * ROW + y]
            r2, r3 = lanes[6 * ROW + y], lanes[7 * ROW + y]
            s0 += w * r0
            s1 += w * r1
            s2 += w * r2
            s3 += w * r3
            lanes[8 * ROW + y] += l0 * w
            lanes[9 * ROW + y] += l1 * w
            lanes[10 * ROW + y] += l2 * w
            lanes[11 * ROW + y] += l3 * w
            by_table[x, y] += (l0 * b0 + a0 * r0 + l1 * b1 + a1 * r1) + (
                l2 * b2 + a2 * r2 + l3 * b3 + a3 * r3
            )
        d_high[0, x] += s0 * a0
        d_high[1, x] += s1 * a1
        d_high[2, x] += s2 * a2
        d_high[3, x] += s3 * a3


@compiled_sums
def _by_pairs(by_table: Any, by_high: Any, by_low: Any, to_J: Any, up: Any, down: Any) -> None:
    """Gradients of all pairs from those of the tables' logarithms, which are changed."""
    n = to_J.shape[0]
    b = n - n // 2
    line = np.empty(by_low.size, by_low.dtype)
    _by_inner_pairs(by_low, 0, b, to_J)
    _by_inner_pairs(by_high, b, n - b, to_J)
    for p in range(n - b - 1, -1, -1):
        rows = 1 << p
        line[:] = 0
        for x in range(rows):
            for y in range(line.size):
                line[y] += by_table[rows + x, y] - by_table[x, y]
                by_table[x, y] += by_table[rows + x, y]
        fold(line, b, up, down)
        for j in range(b):
            half = (up[j] - down[j]) / (1 + 1)
            to_J[b + p, j] = half
            to_J[j, b + p] = half


@compiled_sums
def _by_inner_pairs(by_half: Any, first: Any, spins: Any, to_J: Any) -> None:
    """Gradients of the pairs inside one half: half of the sum of s_j s_k, weighted."""
    for p in range(spins):
        to_J[first + p, first + p] = 0
        for q in range(p):
            total = by_half[0] - by_half[0]
            for i in range(by_half.size):
                total += by_half[i] if ((i >> p) ^ (i >> q)) & 1 == 0 else -by_half[i]
            to_J[first + p, first + q] = total / (1 + 1)
            to_J[first + q, first + p] = total / (1 + 1)


@compiled_sums
def _by_absent(by_length: Any, by_constant: Any, to_J: Any) -> None:
    """Add what flows through the fields, and the energy, that make up for absent spins."""
    n = to_J.shape[0]
    for k in range(n):
        for absent in range(k, n):
            for j in range(k):
                half = by_length[k, j] / (1 + 1)
                to_J[absent, j] += half
                to_J[j, absent] += half
            for other in range(k, n):
                if other != absent:
                    to_J[absent, other] -= by_constant[k] / (1 + 1)
