"""Moments and reads from outcome probabilities (queries, 2**n).

Bit i of a state's number is qubit i, and bit 0 is spin +1.
"""

import numpy as np

from isingsample.samplers._inverse_cdf import invert


def moments(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exact expectations: <s> and P(s = +1), (queries, n), and <s s>, (queries, n, n)."""
    num_spins = _num_spins(probabilities)
    up = np.empty((len(probabilities), num_spins))
    down = np.empty_like(up)
    for spin in range(num_spins):
        by_outcome = probabilities.reshape(len(probabilities), -1, 2, 2**spin).sum(axis=(1, 3))
        up[:, spin], down[:, spin] = by_outcome.T
    # Probabilities sum to 1 only up to rounding; dividing by the sum keeps P(+1) within [0, 1].
    total = up + down
    parities = _parities(probabilities)
    bits = 1 << np.arange(num_spins)
    correlation = parities[:, bits[:, None] ^ bits] / parities[:, :1, None]
    return (up - down) / total, up / total, correlation


def draw(probabilities: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Independent reads, one for each uniform number (queries, reads): (..., n) int8."""
    states = invert(np.cumsum(probabilities, axis=-1), uniforms)
    samples = np.empty((*states.shape, _num_spins(probabilities)), dtype=np.int8)
    for spin in range(samples.shape[-1]):
        samples[..., spin] = 1 - 2 * (states >> spin & 1)
    return samples


def _parities(probabilities: np.ndarray) -> np.ndarray:
    """<product of the spins in x> for every set of spins x, as bits: a Walsh transform."""
    table = probabilities
    for spin in range(_num_spins(probabilities)):
        pairs = table.reshape(len(table), -1, 2, 2**spin)
        up, down = pairs[:, :, 0], pairs[:, :, 1]
        table = np.stack([up + down, up - down], axis=2).reshape(len(table), -1)
    return table


def _num_spins(probabilities: np.ndarray) -> int:
    return int(probabilities.shape[-1]).bit_length() - 1
