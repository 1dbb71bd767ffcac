r"""The inverse temperature at which samples are most likely.

One beta for a whole batch, the root of the samples' score: the derivative by beta of

.. math::

    \ln P(s) = -\beta E(s) - \ln Z(\beta)
    \qquad \text{or} \qquad
    \ln \prod_j P(s_j | s_{\setminus j}) = -\sum_j \ln \big( 1 + e^{-2 \beta x_j} \big), \quad
    x_j = s_j \Big( h_j + \sum_k J_{jk} s_k + \sum_{k<l} K_{jkl} s_k s_l \Big).

The first is the likelihood, largest where the mean energy is that of the samples. The second is
the pseudo-likelihood (Besag 1975), which needs no ln Z, at any n: it asks whether each spin is in
equilibrium with its neighbours. Both are right for Boltzmann samples. Others have no temperature,
and the two then differ: spins that froze in the wrong domains look cold to their neighbours.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import to_numpy
from isingsample._core.problem import IsingProblem
from isingsample._core.states import pair_indices, pair_products
from isingsample._core.streams import Seed, Streams
from isingsample.errors import TooLargeError
from isingsample.samplers.exact.mean_energy import MAX_SPINS, Spectrum, in_double

LIKELIHOODS = ("auto", "exact", "pseudo")
# Sums this near to their end, relative to the scale of energies, are at that end.
_ROUNDING = 1e-12
# Of beta, relative to 1/energy: where the search ends, and what slopes are taken over.
_TOLERANCE, _DIFFERENCE = 1e-9, 1e-3
_MOST_STEPS = 200
# Resampled betas are interpolated between so many standard errors to either side.
_NODES = np.arange(-6.0, 7.0)


class EffectiveBeta(NamedTuple):
    """A maximum-likelihood inverse temperature and its standard error, in 1/energy."""

    beta: float
    std_error: float


def effective_beta(
    problem: IsingProblem,
    samples: Any,
    *,
    weights: Any = None,
    likelihood: str = "auto",
    num_bootstrap: int = 200,
    seed: Seed = 0,
) -> EffectiveBeta:
    """One beta for a whole batch: where exp(-beta E) makes its samples most likely.

    >>> from isingsample import Exact
    >>> pair = IsingProblem([0.5, 0.0], [[0, 1], [1, 0]])
    >>> reads = Exact(num_reads=1000).sample(pair, beta=0.7, seed=1).samples
    >>> found = effective_beta(pair, reads)
    >>> abs(found.beta - 0.7) < 3 * found.std_error < 0.2
    True

    Args:
        problem: the batch.
        samples: (..., rows, n) of -1 and +1, and 0 at absent spins. The error takes the rows for
            independent.
        weights: (..., rows) integers, how often each row occurred; None for once.
        likelihood: "exact", by some fifty exact solutions of the batch (up to 24 spins); "pseudo",
            by each spin given the others; "auto" is "exact" as far as that goes.
        num_bootstrap: sets of as many rows of each problem, drawn from its own with
            replacement, that the error is found from; from all rows, where no problem has two.
        seed: of these sets: an integer, a numpy.random.Generator or None.

    Returns:
        beta, infinite when every sample is a ground state (for "pseudo": no flip of one spin
        lowers any energy), minus infinity when every one is a highest state, NaN when all states
        have one energy; and its standard error, half the width of the central 68% of the
        resampled betas: NaN where beta is not finite or there is one row in all, infinite where
        the samples set no bound.

    Raises:
        TypeError: problem is not an IsingProblem, weights are not integers, or an option of the
            wrong kind.
        ValueError: shapes that do not fit, entries other than -1 and +1, negative weights or no
            rows at all, or an unknown likelihood.
        TooLargeError: "exact" with more than 24 spins.
    """
    if not isinstance(problem, IsingProblem):
        raise TypeError(f"problem must be an IsingProblem, not {type(problem).__name__}")
    check.check_choice("likelihood", likelihood, LIKELIHOODS)
    check.check_count("num_bootstrap", num_bootstrap, minimum=2)
    if likelihood == "auto":
        likelihood = "exact" if problem.num_spins <= MAX_SPINS else "pseudo"
    elif likelihood == "exact" and problem.num_spins > MAX_SPINS:
        raise TooLargeError(
            f"likelihood='exact' sums over 2**n states; n = {problem.num_spins} is above "
            f"{MAX_SPINS}: use 'pseudo'"
        )
    local = in_double(problem)
    rows = np.asarray(to_numpy(samples), dtype=float)
    if rows.ndim != len(local.batch_shape) + 2:
        raise ValueError(
            f"samples must have shape (..., rows, n) with batch {local.batch_shape}; they have "
            f"shape {rows.shape}"
        )
    energies = local.energy(rows)  # refuses what does not fit
    rows = np.broadcast_to(rows, (*energies.shape, local.num_spins))
    counts = _counts(weights, energies.shape)
    scores: _Scores = _Exact(local, energies) if likelihood == "exact" else _Pseudo(local, rows)
    beta = _root(lambda beta: float((counts * scores.at(beta)).sum()), scores.scale, counts.sum())
    if not math.isfinite(beta) or counts.sum() == 1:
        return EffectiveBeta(beta, math.nan)
    return EffectiveBeta(beta, _bootstrap_error(scores, beta, counts, num_bootstrap, seed))


class _Scores(Protocol):
    """How the logarithm of each row's likelihood changes with beta; falling in beta."""

    @property
    def scale(self) -> float:
        """The largest energy that a score can come to."""

    def at(self, beta: float) -> np.ndarray:
        """(..., rows), for any beta, infinite ones included."""


class _Exact:
    """The mean energy at beta minus the row's own."""

    def __init__(self, problem: IsingProblem, energies: np.ndarray) -> None:
        self._spectrum, self._energies = Spectrum(problem), energies
        self.scale = self._spectrum.width

    def at(self, beta: float) -> np.ndarray:
        return np.asarray(self._spectrum.mean_energy(beta)[..., None] - self._energies)


class _Pseudo:
    """sum_j x_j (1 - tanh(beta x_j)), x_j being half of what a flip of spin j would cost."""

    def __init__(self, problem: IsingProblem, samples: np.ndarray) -> None:
        fields = problem.h[..., None, :] + samples @ problem.J
        if problem.K is not None:
            first, second = pair_indices(problem.K)
            fields = fields + pair_products(samples) @ problem.K[..., first, second, :]
        self._cost = samples * fields
        self.scale = float(np.abs(self._cost).max(initial=0.0))

    def at(self, beta: float) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            aligned = np.sign(beta * self._cost) if math.isinf(beta) else np.tanh(beta * self._cost)
        return np.asarray(np.where(self._cost == 0, 0.0, self._cost * (1 - aligned)).sum(axis=-1))


def _root(score: Callable[[float], float], scale: float, num_rows: int) -> float:
    """Where a falling function of beta is 0: bracketed by doubling, then by the Illinois rule."""
    if scale == 0:
        return math.nan
    rounding = _ROUNDING * scale * num_rows
    if score(math.inf) >= -rounding:
        return math.inf
    if score(-math.inf) <= rounding:
        return -math.inf
    near, near_value = 0.0, score(0.0)
    far = math.copysign(1 / scale, near_value)
    while (far_value := score(far)) * near_value > 0:
        near, near_value, far = far, far_value, 2 * far
    for _ in range(_MOST_STEPS):
        if near_value == far_value or abs(far - near) <= _TOLERANCE / scale:
            break
        middle = (near * far_value - far * near_value) / (far_value - near_value)
        value = score(middle)
        if abs(value) <= rounding:
            return middle
        if value * far_value < 0:
            near, near_value = far, far_value
        else:
            near_value /= 2  # the old end stays: give it less weight, or it would for ever
        far, far_value = middle, value
    return far


def _bootstrap_error(
    scores: _Scores, beta: float, counts: np.ndarray, num_bootstrap: int, seed: Seed
) -> float:
    """Half the width of the central 68% of the roots of resampled scores."""
    nudge = _DIFFERENCE / scores.scale
    at_root = scores.at(beta)
    slope = (counts * (scores.at(beta - nudge) - scores.at(beta + nudge))).sum() / (2 * nudge)
    expected = math.sqrt((counts * at_root**2).sum()) / slope
    nodes = beta + expected * _NODES
    table = np.stack([scores.at(node).ravel() for node in nodes], axis=-1)
    # A row for each read, so that rows of one problem can be drawn by their place.
    problems = counts.reshape(-1, counts.shape[-1])
    totals = problems.sum(axis=-1)
    row_of_read = np.repeat(np.arange(problems.size), problems.ravel())
    if totals.max() == 1:  # a problem's only row says nothing of the spread
        totals = totals[totals > 0].sum(keepdims=True)
    first, total = (np.repeat(a, totals) for a in (np.cumsum(totals) - totals, totals))
    number = Streams.from_seed(seed).integers(np.arange(1))[0]
    rng = np.random.default_rng(number)
    found = np.empty(num_bootstrap)
    for place in range(num_bootstrap):
        drawn = row_of_read[first + (rng.random(len(total)) * total).astype(int)]
        resampled = np.bincount(drawn, minlength=len(table)) @ table
        found[place] = np.interp(0.0, -resampled, nodes, left=-math.inf, right=math.inf)
    low, high = np.quantile(found, [0.158655, 0.841345], method="nearest")
    return float(high - low) / 2 if math.isfinite(low) or math.isfinite(high) else math.inf


def _counts(weights: Any, shape: tuple[int, ...]) -> np.ndarray:
    """weights as integers (..., rows), with at least one read among them."""
    counts = np.ones(shape, dtype=np.int64) if weights is None else to_numpy(weights)
    if counts.dtype.kind not in "iu":
        raise TypeError(
            f"weights must be integers, how often each row occurred; not {counts.dtype}"
        )
    if counts.shape != shape:
        raise ValueError(f"weights must have the shape of the rows, {shape}; not {counts.shape}")
    if (counts < 0).any():
        where = tuple(int(i) for i in np.argwhere(counts < 0)[0])
        raise ValueError(f"{check.entry('weights', where)} is {counts[where]}, below 0")
    if not counts.any():
        raise ValueError("there are no samples to fit beta to")
    return counts
