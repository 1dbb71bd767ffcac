r"""Learning couplings from data, without backpropagation: Boltzmann machine learning.

The log-likelihood of patterns under P(s) ~ exp(-beta E(s)) has the gradient

.. math::

    \frac{1}{\beta} \frac{\partial \ln P}{\partial J_{jk}} =
        \langle s_j s_k \rangle_\text{data} - \langle s_j s_k \rangle_\text{model}, \qquad
    \frac{1}{\beta} \frac{\partial \ln P}{\partial h_j} =
        \langle s_j \rangle_\text{data} - \langle s_j \rangle_\text{model}

(Ackley, Hinton & Sejnowski 1985; correlation matching in Kim & Park 2026, arXiv 2606.12478). It is
concave, so climbing it finds the one model whose moments are those of the data. Any sampler can
supply the model's moments.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample import _validation as check
from isingsample._arrays import to_numpy
from isingsample.energies import pair_products
from isingsample.problem import IsingProblem
from isingsample.registry import get_sampler
from isingsample.samplers.base import Sampler
from isingsample.streams import Seed, Streams


@dataclass(frozen=True, eq=False)
class Fit:
    """A model fitted to data.

    Attributes:
        problem: the model, a single problem in NumPy float64.
        moment_error: for each step, the largest difference between a moment of the data and of
            the model, before the step's update; the model's sampling noise included.
        converged: whether the last of them is at or below the tolerance; problem is the model
            that it was measured on.
    """

    problem: IsingProblem
    moment_error: np.ndarray
    converged: bool


def fit_couplings(
    data: Any,
    sampler: Sampler | str,
    *,
    num_steps: int = 1000,
    learning_rate: float = 1.0,
    tolerance: float = 1e-3,
    fit_fields: bool = True,
    beta: float = 1.0,
    seed: Seed = None,
) -> Fit:
    """The Boltzmann machine whose magnetizations and correlations are those of the data.

    >>> fit = fit_couplings([[1, 1], [1, 1], [-1, -1], [1, -1]], "exact", fit_fields=False)
    >>> fit.converged, float(fit.problem.J[0, 1].round(2))
    (True, 0.55)

    Args:
        data: (patterns, n) of -1 and +1.
        sampler: gives the model's moments at each step: a Sampler, or the name of one with its
            default options. With R reads they are uncertain by about 1/sqrt(R),
            and a tolerance below that is not reached. The bias of a sampler
            that is not thermal is learned along: its samples will match the data, not P(s).
        num_steps: the most steps to take.
        learning_rate: length of a step, in units of 1/(largest curvature at the data's moments):
            2 and more diverges, 1 is safe, less averages over the noise of a sampler.
        tolerance: stop when no moment differs by more.
        fit_fields: fit h too; else h stays 0.
        beta: inverse temperature at which the data was drawn, above 0; in units of 1/energy.
        seed: an integer, a numpy.random.Generator or None; equal integers give equal fits.

    Returns:
        A Fit. Moments at exactly -1 or +1 (few patterns, spins that never change) have no finite
        best model: the fit then grows until within the tolerance.

    Raises:
        TypeError: data that is not real numbers, or an option of the wrong kind.
        ValueError: data that is not a table of -1 and +1, an impossible option, or a sampler
            without correlations.
    """
    chosen = get_sampler(sampler) if isinstance(sampler, str) else sampler
    if not isinstance(chosen, Sampler):
        raise TypeError(f"sampler must be a Sampler or the name of one, not {sampler!r}")
    spins = _patterns(data)
    check.check_count("num_steps", num_steps)
    check.check_number("learning_rate", learning_rate, minimum=0.0)
    check.check_number("tolerance", tolerance, minimum=0.0)
    if check.check_number("beta", beta) <= 0:
        raise ValueError(f"beta must be above 0, not {beta:g}")
    num_spins = spins.shape[1]
    first, second = np.triu_indices(num_spins, 1)
    # Everything below is in the order n fields, then n(n-1)/2 pairs.
    statistics = np.concatenate([spins, pair_products(spins)], axis=1)
    target = statistics.mean(axis=0)
    fitted = slice(0 if fit_fields else num_spins, None)
    step = learning_rate / _largest_curvature(statistics[:, fitted])
    parameters = np.zeros_like(target)  # beta h and beta J, in which the curvature has no beta
    errors: list[float] = []
    for step_seed in Streams.from_seed(seed).integers(np.arange(num_steps)):
        problem = _problem(parameters / beta, num_spins)
        result = chosen.sample(problem, beta=beta, seed=int(step_seed))
        model = np.concatenate([result.magnetization, result.correlation[first, second]])
        mismatch = (target - model)[fitted]
        errors.append(float(np.abs(mismatch).max(initial=0.0)))
        if errors[-1] <= tolerance:
            break
        parameters[fitted] += step * mismatch
    return Fit(problem, np.array(errors), converged=errors[-1] <= tolerance)


def _patterns(data: Any) -> np.ndarray:
    """data as (patterns, n) float64 of -1 and +1."""
    spins = to_numpy(check.real_array("data", data)).astype(float)
    if spins.ndim != 2 or 0 in spins.shape:
        raise ValueError(
            f"data must have shape (patterns, n), at least one of each; it has {spins.shape}"
        )
    check.check_spins("data", spins)
    return spins


def _problem(parameters: np.ndarray, num_spins: int) -> IsingProblem:
    """The problem with these fields (n) and pair couplings (n(n-1)/2)."""
    J = np.zeros((num_spins, num_spins))
    J[np.triu_indices(num_spins, 1)] = parameters[num_spins:]
    return IsingProblem(parameters[:num_spins], J + J.T)


def _largest_curvature(statistics: np.ndarray) -> float:
    """Largest second derivative of -ln P where model and data agree, and at least that at 0.

    It is the largest eigenvalue of the covariance of (patterns, statistics); without fields and
    couplings all eigenvalues are 1.
    """
    centred = statistics - statistics.mean(axis=0)
    patterns, width = centred.shape
    # Both products have the same nonzero eigenvalues.
    product = centred @ centred.T if patterns < width else centred.T @ centred
    return float(np.linalg.eigvalsh(product / patterns).max(initial=1.0))
