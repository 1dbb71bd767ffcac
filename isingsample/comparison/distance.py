"""How far a distribution over states is from Boltzmann."""

from typing import NamedTuple

import numpy as np

from isingsample._core.arrays import to_numpy
from isingsample._core.problem import IsingProblem
from isingsample._core.states import spin_table
from isingsample.errors import TooLargeError
from isingsample.samplers.base import (
    HasDistribution,
    check_has_distribution,
    check_is_problem,
)
from isingsample.samplers.exact.sampler import Exact

_MAX_SPINS = 16


class Distance(NamedTuple):
    """Distances of a distribution Q from P(s) ~ exp(-beta E(s)), each (...) in float64.

    Attributes:
        total_variation: ``sum_s |Q - P| / 2``, the largest error of any event's probability.
        divergence: Kullback and Leibler's, sum_s P ln(P/Q), in nats; infinite where Q misses
            a state.
        moment_error: the largest ``|<s_j>_Q - <s_j>_P|``.
    """

    total_variation: np.ndarray
    divergence: np.ndarray
    moment_error: np.ndarray


def distance_to_boltzmann(
    sampler: HasDistribution, problem: IsingProblem, *, beta: float = 1.0
) -> Distance:
    """How far a sampler's distribution is from the one it is after.

    Args:
        sampler: one that has a `distribution`.
        problem: a batch without absent spins, of at most 16 spins.
        beta: inverse temperature.

    Raises:
        TooLargeError: n is above 16.
        TypeError: the sampler has no distribution, or problem is not an IsingProblem.
        ValueError: whatever the sampler's `distribution` refuses.
    """
    check_has_distribution(sampler)
    check_is_problem(problem)
    if problem.num_spins > _MAX_SPINS:
        raise TooLargeError(
            f"a distance sums over 2**n states of each problem; n = {problem.num_spins} is above "
            f"{_MAX_SPINS}"
        )
    found = to_numpy(sampler.distribution(problem, beta=beta)).astype(float)
    exact = to_numpy(Exact().distribution(problem, beta=beta)).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(exact > 0, exact * np.log(exact / found), 0.0)
    gap = found - exact
    moments = np.abs(gap @ spin_table(problem.num_spins)).max(axis=-1, initial=0.0)
    return Distance(np.abs(gap).sum(axis=-1) / 2, terms.sum(axis=-1), moments)
