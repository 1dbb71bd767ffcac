"""Correlations of pairs of spins and their standard errors, from reads and from chains."""

import numpy as np

from isingsample._core.arrays import Array, namespace

# Chains that run together are dealt out to this many subsets, whose spread gives the error: as
# good as that of single chains, for fewer numbers.
SUBSETS = 16
_ROUNDING = 1e-13  # of a difference of numbers up to 1
_ENTRIES = 2**24  # of temporary arrays


def shot_noise(mean: Array, reads: int) -> Array:
    """The standard error of the mean of independent signs -1 and +1.

    It is the standard deviation that the reads leave the mean with when nothing else is known
    (uniform prior): about sqrt((1 - mean^2) / reads), and about 2 / reads where all reads agree,
    for that does not make the mean certain. NaN for a single read.
    """
    if reads == 1:
        return mean * np.nan
    shrunk = mean * (reads / (reads + 2))  # the mean of the Beta distribution
    return namespace(mean).sqrt((1 - shrunk**2) / (reads + 3))


def unseen_error(minority: Array, reads: int) -> Array:
    """What the spread between chains cannot show: a state that no chain was in.

    Where chains all agree on a sign, their spread says nothing about the other one. As long as that
    has been seen for less than a single chain's time, the mean is no better known than by as many
    reads that all agree: to about 2 / reads, less what has been seen.

    Args:
        minority: the smaller probability of the two signs, from 0 to 1/2.
        reads: how many chains there are.
    """
    return namespace(minority).clip(1 - reads * minority, min=0.0) * (2 / (reads + 2))


def sample_correlation(samples: np.ndarray) -> np.ndarray:
    """<s_j s_k> over reads: (..., num_reads, n) int8 to (..., n, n)."""
    # Sums of +-1 are whole numbers: float32 holds them exactly up to 2**24 reads.
    spins = samples.astype(np.float32 if samples.shape[-2] < 2**24 else np.float64)
    sums: np.ndarray = np.swapaxes(spins, -1, -2) @ spins
    mean: np.ndarray = sums.astype(float) / samples.shape[-2]
    return mean


def sample_pairs(samples: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """<s_j s_k> over reads of the pairs (j, k) alone: (..., num_reads, n) to (..., pairs)."""
    step = max(1, _ENTRIES // max(1, int(np.prod(samples.shape[:-1]))))
    starts = range(0, max(1, len(first)), step)
    sums = [
        (samples[..., first[at : at + step]] * samples[..., second[at : at + step]]).sum(
            axis=-2, dtype=float
        )
        for at in starts
    ]
    mean: np.ndarray = np.concatenate(sums, axis=-1) / samples.shape[-2]
    return mean


def chain_pairs(
    total: Array, squares: Array, subsets: int, reads: int, kept: int
) -> tuple[Array, Array]:
    """The mean of s_j s_k over chains, and its standard error from the spread of subsets of chains.

    Chains are independent, so subsets are, whatever the correlation along each chain. With C_g
    the mean of subset g of R_g of the R chains and C that of all, sum_g R_g (C_g - C)^2 is on
    average (subsets - 1) times the variance of a single chain's mean, also if sizes differ. Where
    there is no spread, since no chain ever moved or few subsets agree by chance, the error is what
    as many single reads leave.

    Args:
        total: sum of s_j s_k over chains and sweeps.
        squares: sum over subsets of (sum over their chains and sweeps)^2 / R_g.
        subsets: how many there are.
        reads: chains, R.
        kept: sweeps of each.
    """
    xp = namespace(total)
    mean = total / (reads * kept)
    if subsets < 2:
        return mean, mean * np.nan
    between = squares / kept**2 - reads * mean**2
    variance = xp.clip(between, min=0.0) / ((subsets - 1) * reads)
    no_spread = between < _ROUNDING * reads
    return mean, xp.where(no_spread, shot_noise(mean, reads), xp.sqrt(variance))


def matrix(pairs: np.ndarray, num_spins: int, diagonal: float) -> np.ndarray:
    """Numbers of all pairs j < k (..., pairs), in the order of np.triu_indices, as (..., n, n)."""
    full = np.empty((*pairs.shape[:-1], num_spins, num_spins))
    first, second = np.triu_indices(num_spins, 1)
    full[..., first, second] = full[..., second, first] = pairs
    full[..., np.arange(num_spins), np.arange(num_spins)] = diagonal
    return full
