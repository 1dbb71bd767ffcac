"""The inverse temperature at which samples are most likely."""

import math
from typing import NamedTuple

import numpy as np

from isingsample._arrays import to_numpy
from isingsample.energies import spin_table
from isingsample.errors import TooLargeError
from isingsample.problem import IsingProblem

_MAX_SPINS = 20
# Energies this near to an end of the spectrum, relative to its width, are at that end.
_ROUNDING = 1e-12
_BISECTIONS = 60


class EffectiveBeta(NamedTuple):
    """A maximum-likelihood inverse temperature and its standard error, in 1/energy."""

    beta: float
    std_error: float


def effective_beta(problem: IsingProblem, samples: np.ndarray) -> EffectiveBeta:
    """One beta for a whole batch: where the mean energy of exp(-beta E) is that of the samples.

    That is the maximum of the likelihood of independent samples. Samples that are not Boltzmann
    at any temperature get the nearest one in this sense, and the error does not show the misfit.

    Args:
        problem: a batch without absent spins, of at most 20 spins.
        samples: (..., num_reads, n) of -1 and +1.

    Returns:
        beta, infinite when every sample is a ground state, minus infinity when every one is a
        highest state, NaN when all states have one energy; and its standard error from the
        Fisher information, NaN where beta is not finite.
    """
    if problem.num_spins > _MAX_SPINS:
        raise TooLargeError(
            f"effective_beta sums over 2**n states; n = {problem.num_spins} is above {_MAX_SPINS}"
        )
    local = problem.to_numpy()
    rank = len(local.batch_shape)
    states = spin_table(local.num_spins).reshape(*[1] * rank, -1, local.num_spins)
    spectrum = local.energy(states)
    lowest = spectrum.min(axis=-1, keepdims=True)
    energies = local.energy(to_numpy(samples)) - lowest
    spectrum = (spectrum - lowest).reshape(-1, spectrum.shape[-1])  # (problems, 2**n)
    target, reads = float(energies.mean(axis=-1).sum()), energies.shape[-1]
    span = float(spectrum.max(axis=-1).sum())
    if span == 0:
        return EffectiveBeta(math.nan, math.nan)
    if target <= _ROUNDING * span:
        return EffectiveBeta(math.inf, math.nan)
    if target >= (1 - _ROUNDING) * span:
        return EffectiveBeta(-math.inf, math.nan)

    def mean_and_variance(beta: float) -> tuple[float, float]:
        logs = -beta * spectrum
        weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mean = (weights * spectrum).sum(axis=-1)
        variance = (weights * spectrum**2).sum(axis=-1) - mean**2
        return float(mean.sum()), float(variance.sum())

    low, high = -1.0, 1.0
    while mean_and_variance(high)[0] > target:
        high *= 2
    while mean_and_variance(low)[0] < target:
        low *= 2
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if mean_and_variance(middle)[0] > target else (low, middle)
    beta = 0.5 * (low + high)
    variance = mean_and_variance(beta)[1]
    return EffectiveBeta(beta, (reads * variance) ** -0.5 if variance > 0 else math.nan)
