r"""Learning couplings from data, without backpropagation: Boltzmann machine learning.

The log-likelihood of patterns under P(s) ~ exp(-beta E(s)) has the gradient

.. math::

    \frac{1}{\beta} \frac{\partial \ln P}{\partial J_{jk}} =
        \langle s_j s_k \rangle_\text{data} - \langle s_j s_k \rangle_\text{model}, \qquad
    \frac{1}{\beta} \frac{\partial \ln P}{\partial h_j} =
        \langle s_j \rangle_\text{data} - \langle s_j \rangle_\text{model}

and likewise for K and averages of triples (Ackley, Hinton & Sejnowski 1985; correlation matching in
Kim & Park 2026, arXiv 2606.12478). It is concave, so climbing it finds the one model whose moments
are those of the data. Any sampler can supply the model's moments.
"""

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import to_numpy
from isingsample._core.problem import IsingProblem
from isingsample._core.progress import track
from isingsample._core.result import SampleResult
from isingsample._core.streams import Seed, Streams
from isingsample.fit.ascent import Ascent
from isingsample.fit.statistics import Statistics
from isingsample.samplers.base import Sampler
from isingsample.samplers.registry import get_sampler


@dataclass(frozen=True, eq=False)
class Fit:
    """A model fitted to data.

    Attributes:
        problem: the model, a single problem in NumPy float64. With `edges` its J is
            SparseCouplings; problem.to_dense() makes a matrix of them.
        moment_error: for each step, the largest difference between a moment of the data and of
            the model. Of a sampler with noise, averages over half to three quarters of the
            steps so far, the later ones; problem is then the average of the same models.
        noise: for each step, the largest standard error of those averages; 0 for exact ones.
        converged: whether no moment differs by more than the tolerance at the end, beyond what
            noise explains, and the noise itself is no larger.
    """

    problem: IsingProblem
    moment_error: np.ndarray
    noise: np.ndarray
    converged: bool

    def __repr__(self) -> str:
        steps = len(self.moment_error)
        error = f", moment_error={self.moment_error[-1]:.3g}" if steps else ""
        return f"Fit({self.problem}, {steps} steps{error}, converged={self.converged})"


class FitInterrupt(KeyboardInterrupt):
    """Ctrl-C during a fit. `except KeyboardInterrupt` catches it.

    Attributes:
        fit: the Fit as it was; fit_couplings(..., start=error.fit.problem) goes on.
    """

    def __init__(self, fit: Fit) -> None:
        super().__init__(fit)
        self.fit = fit

    def __str__(self) -> str:
        return (
            f"interrupted after {len(self.fit.moment_error)} steps: error.fit is the model so far, "
            f"and fit_couplings(..., start=error.fit.problem) goes on from it"
        )


def fit_couplings(
    data: Any,
    sampler: Sampler | str,
    *,
    weights: Any = None,
    fit_fields: bool = True,
    edges: Any = "all",
    triples: Any = None,
    start: IsingProblem | None = None,
    num_steps: int = 1000,
    learning_rate: float = 1.0,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    tolerance: float = 1e-3,
    persistent: bool = False,
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
            default options. Its noise averages out over steps, at worst as 1/sqrt(steps): more
            reads, or more steps, or a larger tolerance. The bias of a sampler that is not thermal
            is learned along: its samples will match the data, not P(s).
        weights: (patterns,) how much each pattern counts, at least 0; equal by default.
        fit_fields: fit h too; else h stays that of start, or 0.
        edges: the pairs that J couples, (edges, 2) spins; or "all".
        triples: those that K couples, (triples, 3) spins; "all", or None. Their averages are
            taken from samples, or exactly by `Exact` up to 20 spins.
        start: the model to start from, a single problem; h = J = K = 0 by default.
        num_steps: the most steps to take.
        learning_rate: length of a step, in units of 1/(largest curvature at the data's moments):
            2 and more diverges, 1 is safe, less averages over the noise of a sampler.
        momentum: the share of a step that the next one repeats, in [0, 1): 0.9 is about ten
            times as fast where many directions are flat.
        weight_decay: takes weight_decay/2 (sum (beta J)^2 + sum (beta K)^2) off the
            log-likelihood of a pattern: a normal prior of variance 1/(patterns weight_decay).
        tolerance: stop when no moment differs by more; see `Fit`. The moments of N independent
            patterns are themselves uncertain by 1/sqrt(N), and those of R reads by 1/sqrt(R).
        persistent: start the sampler's chains where they ended at the last step (persistent
            contrastive divergence), which needs few sweeps a step; for samplers with
            initial_states.
        beta: inverse temperature at which the data was drawn, above 0; in units of 1/energy.
        seed: an integer, a numpy.random.Generator or None; equal integers give equal fits.

    Returns:
        A Fit. Moments at exactly -1 or +1 (few patterns, spins that never change) have no finite
        best model without weight_decay: the fit then grows until within the tolerance.

    Raises:
        TypeError: data that is not real numbers, or an option of the wrong kind.
        ValueError: data that is not a table of -1 and +1, an impossible option, or a sampler
            without correlations.
        TooLargeError: the products of spins in all patterns would not fit into memory.
        FitInterrupt: Ctrl-C; the error has the model so far.

    Source: Tieleman, ICML 2008, for persistent chains; Polyak & Juditsky, SIAM J. Control Optim.
    30, 838 (1992), for the average over steps.
    """
    chosen = get_sampler(sampler) if isinstance(sampler, str) else sampler
    if not isinstance(chosen, Sampler):
        raise TypeError(f"sampler must be a Sampler or the name of one, not {sampler!r}")
    if persistent and not hasattr(chosen, "initial_states"):
        raise ValueError(f"persistent needs a sampler with initial_states, not {chosen.name!r}")
    spins = _patterns(data)
    shares = _shares(weights, len(spins))
    check.check_count("num_steps", num_steps)
    if check.check_number("beta", beta) <= 0:
        raise ValueError(f"beta must be above 0, not {beta:g}")
    num_patterns, num_spins = spins.shape
    statistics = Statistics.chosen(num_patterns, num_spins, fit_fields, edges, triples)
    fields, first = np.zeros(num_spins), np.zeros(len(statistics.orders))
    if start is not None:
        first = beta * statistics.parameters(start)
        fields = to_numpy(start.h)
    ascent = Ascent(
        of_data=statistics.of(spins),
        weights=shares,
        decay=check.check_number("weight_decay", weight_decay, minimum=0.0)
        * (statistics.orders > 1),
        learning_rate=check.check_number("learning_rate", learning_rate, minimum=0.0),
        momentum=_below_one("momentum", momentum),
        tolerance=check.check_number("tolerance", tolerance, minimum=0.0),
        first=first,
    )

    def fitted() -> Fit:
        problem = statistics.problem(ascent.settled / beta, fields)
        return Fit(problem, np.array(ascent.errors), np.array(ascent.noise), ascent.converged)

    seeds = Streams.from_seed(seed).integers(np.arange(num_steps)).tolist()
    try:
        for step_seed in track(seeds, "fit_couplings"):
            problem = statistics.problem(ascent.parameters / beta, fields)
            result = _sampled(chosen, problem, beta, step_seed, quiet=persistent)
            ascent.step(*statistics.moments(result, chosen))
            if ascent.converged:
                break
            if persistent:
                chosen = _going_on(chosen, result)
    except KeyboardInterrupt:
        raise FitInterrupt(fitted()) from None
    return fitted()


def _sampled(
    sampler: Sampler, problem: IsingProblem, beta: float, seed: int, *, quiet: bool
) -> SampleResult:
    """The sampler's result; quiet where the few sweeps of a step cannot show convergence."""
    with warnings.catch_warnings():
        if quiet:
            warnings.filterwarnings("ignore", ".*did not converge", UserWarning)
        return sampler.sample(problem, beta=beta, seed=seed)


def _going_on(sampler: Sampler, result: SampleResult) -> Sampler:
    """The sampler, to start where its samples ended."""
    changes: dict[str, Any] = {"initial_states": result.samples}
    return dataclasses.replace(sampler, **changes)


def _below_one(name: str, value: Any) -> float:
    if not 0 <= check.check_number(name, value) < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, not {value:g}")
    return float(value)


def _patterns(data: Any) -> np.ndarray:
    """data as (patterns, n) float64 of -1 and +1."""
    spins = to_numpy(check.real_array("data", data)).astype(float)
    if spins.ndim != 2 or 0 in spins.shape:
        raise ValueError(
            f"data must have shape (patterns, n), at least one of each; it has {spins.shape}"
        )
    check.check_spins("data", spins)
    return spins


def _shares(weights: Any, patterns: int) -> np.ndarray:
    """weights as (patterns,) that add up to 1."""
    if weights is None:
        return np.full(patterns, 1 / patterns)
    given = to_numpy(check.real_array("weights", weights)).astype(float)
    if given.shape != (patterns,):
        raise ValueError(
            f"weights must have shape ({patterns},), one for each pattern; it has {given.shape}"
        )
    check.check_finite("weights", given)
    for at in np.flatnonzero(given < 0)[:1]:
        raise ValueError(f"weights must be at least 0, but weights[{at}] is {given[at]:g}")
    largest = given.max()
    if largest == 0:
        raise ValueError("weights are all 0: no pattern counts")
    scaled: np.ndarray = given / largest  # whose sum cannot overflow
    scaled /= scaled.sum()
    return scaled
