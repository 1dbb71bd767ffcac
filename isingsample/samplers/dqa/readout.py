"""Moments and reads from outcome probabilities (queries, 2**n).

Bit i of a state's number is qubit i, and bit 0 is spin +1.
"""

import numpy as np

from isingsample._core.arrays import Array, like, namespace
from isingsample.samplers._shared.inverse_cdf import invert
from isingsample.samplers.dqa.engines.qubits import walsh


def moments(probabilities: Array) -> tuple[Array, Array, Array]:
    """Exact expectations: <s> and P(s = +1), (queries, n), and <s s>, (queries, n, n)."""
    xp, (queries, states) = namespace(probabilities), probabilities.shape
    num_spins = int(states).bit_length() - 1
    # Sum out the last spin, then the one before it: a tree of sums, which loses no digits.
    table, sums = probabilities, []
    for spin in reversed(range(num_spins)):
        table = xp.reshape(table, (queries, 2, 2**spin))
        sums.append(xp.sum(table, axis=2))
        table = table[:, 0] + table[:, 1]
    by_outcome = xp.stack(sums[::-1], axis=1)  # (queries, n, 2)
    up, down = by_outcome[..., 0], by_outcome[..., 1]
    # Probabilities sum to 1 only up to rounding; dividing by the sum keeps P(+1) within [0, 1].
    total = up + down
    parities = xp.permute_dims(walsh(xp.permute_dims(probabilities, (1, 0))), (1, 0))
    bits = 1 << np.arange(num_spins)
    pairs = like((bits[:, None] ^ bits).reshape(-1), probabilities, keep_dtype=True)
    correlation = xp.reshape(parities[:, pairs] / parities[:, :1], (queries, num_spins, num_spins))
    return (up - down) / total, up / total, correlation


def draw(probabilities: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Independent reads, one for each uniform number (queries, reads): (..., n) int8."""
    states = invert(np.cumsum(probabilities, axis=-1, dtype=float), uniforms)
    return spins_of(states, int(probabilities.shape[-1]).bit_length() - 1)


def spins_of(states: np.ndarray, num_spins: int) -> np.ndarray:
    """States by their numbers (...) as spins: (..., n) int8."""
    samples = np.empty((*states.shape, num_spins), dtype=np.int8)
    for spin in range(num_spins):
        samples[..., spin] = 1 - 2 * (states >> spin & 1)
    return samples


def table_order(num_spins: int) -> np.ndarray:
    """For each state of `isingsample._core.states.spin_table`, its number here: (2**n,)."""
    rows, spins = np.arange(2**num_spins), np.arange(num_spins)
    down = 1 - (rows[:, None] >> spins[::-1] & 1)
    numbers: np.ndarray = (down << spins).sum(axis=-1)
    return numbers
