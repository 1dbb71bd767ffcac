"""Tables over the states of half the spins, by doubling. Imports numba, from the `numba` extra.

Spin j of a half is bit j of its states' numbers, so that each further spin doubles a table: n
exponentials make all 2**n products. Spins 0 ... b - 1, with b = n - n // 2, are the low half, with
states y; the others are the high half, with states x. A query that has the first k spins alone has
the first 2**min(k, b) states y and the first 2**max(k - b, 0) states x: a corner of the table.
There an absent spin is -1, which J_jk added to h_j makes up for.

Every factor is relative to the larger of a spin's two weights, so that none is above 1.
"""

from typing import Any

import numpy as np

from isingsample.samplers._shared.compiling import compiled_sums


@compiled_sums
def fill_shared(J: Any, table: Any, high: Any, low: Any, pinned: Any, constant: Any) -> Any:
    """Tabulate the couplings J, (n, n).

    Args:
        J: already times beta.
        table: (2**a, 2**b) changed to exp(x J y), each column scaled to a largest entry of 1.
        high: (2**a,) changed to the weights of the couplings inside the high half, the largest 1.
        low: (2**b,) likewise of the low half, with what was taken off the columns.
        pinned: (n + 1, n) changed to the fields that make up for absent spins, by length.
        constant: (n + 1,) changed to the energy of the absent spins, by length.

    Returns:
        what was taken off all log-weights.
    """
    n = J.shape[0]
    b = n - n // 2
    force = np.empty(low.size, low.dtype)
    ups = np.empty(low.size, low.dtype)
    _energies(J, 0, b, low, force)
    table[0, :] = 1
    for p in range(n - b):
        _forces(J, b + p, 0, b, force)
        for y in range(low.size):
            size = abs(force[y])
            low[y] += size
            weight = np.exp(-size - size)
            ups[y] = weight if force[y] < 0 else 1
            force[y] = weight if force[y] > 0 else 1
        rows = 1 << p
        for x in range(rows):
            for y in range(low.size):
                entry = table[x, y]
                table[rows + x, y] = entry * ups[y]
                table[x, y] = entry * force[y]
    offset = _exponentiate(low)
    _energies(J, b, n - b, high, force)
    offset += _exponentiate(high)
    pinned[n, :] = 0
    constant[n] = 0
    for k in range(n - 1, -1, -1):
        constant[k] = constant[k + 1] + pinned[k + 1, k]
        for j in range(n):
            pinned[k, j] = pinned[k + 1, j] + J[k, j]
    return offset


@compiled_sums
def _energies(J: Any, first: Any, spins: Any, logs: Any, force: Any) -> None:
    """Log-weights of the couplings among some spins from first on: (2**spins,)."""
    logs[0] = 0
    for p in range(spins):
        _forces(J, first + p, first, p, force)
        size = 1 << p
        for i in range(size):
            log = logs[i]
            logs[size + i] = log + force[i]
            logs[i] = log - force[i]


@compiled_sums
def _forces(J: Any, spin: Any, first: Any, spins: Any, force: Any) -> None:
    """The field on a spin in each state of some spins from first on: (2**spins,)."""
    total = J[spin, spin]  # 0, of the right dtype
    for q in range(spins):
        total -= J[spin, first + q]
    force[0] = total
    for q in range(spins):
        twice = J[spin, first + q] + J[spin, first + q]
        size = 1 << q
        for i in range(size):
            force[size + i] = force[i] + twice


@compiled_sums
def _exponentiate(logs: Any) -> Any:
    """logs changed to weights of which the largest is 1; the largest log."""
    peak = logs[0]
    for i in range(logs.size):
        peak = max(peak, logs[i])
    for i in range(logs.size):
        logs[i] = np.exp(logs[i] - peak)
    return peak


@compiled_sums
def fill_factors(fields: Any, spins: Any, inner: Any, factors: Any) -> None:
    """The weights of a query's states of one half: (2**spins,).

    Args:
        fields: (spins,).
        spins: how many of the half's spins the query has.
        inner: what `fill_shared` left of the couplings inside.
        factors: changed.
    """
    factors[0] = 1
    for p in range(spins):
        weight = np.exp(-abs(fields[p]) - abs(fields[p]))
        size = 1 << p
        if fields[p] > 0:
            for i in range(size):
                factors[size + i] = factors[i]
                factors[i] *= weight
        else:
            for i in range(size):
                factors[size + i] = factors[i] * weight
    for i in range(1 << spins):
        factors[i] *= inner[i]


@compiled_sums
def fill_sums(values: Any, spins: Any, start: Any, sums: Any) -> None:
    """start and the values of the spins that are up, in each state: (2**spins,)."""
    sums[0] = start
    for p in range(spins):
        size = 1 << p
        for i in range(size):
            sums[size + i] = sums[i] + values[p]


@compiled_sums
def fold(weights: Any, spins: Any, ups: Any, downs: Any) -> None:
    """Sums of weights over the states in which each spin is up, and down.

    Args:
        weights: (2**spins,), changed: each spin is summed out in turn.
        spins: how many.
        ups: (spins,), changed.
        downs: (spins,), changed.
    """
    for p in range(spins - 1, -1, -1):
        size = 1 << p
        up = weights[0] - weights[0]  # 0, of the right dtype
        down = up
        for i in range(size):
            up += weights[size + i]
            down += weights[i]
            weights[i] += weights[size + i]
        ups[p] = up
        downs[p] = down
