"""Climbing a log-likelihood by moments that may be noisy: steps, and when to stop."""

from dataclasses import dataclass, field

import numpy as np

# Standard errors by which the largest of many averages may differ from 0 by noise alone.
_SIGMAS = 4.0


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over steps: how many, parameters, differences of moments and their variances."""

    count: int = 0
    parameters: np.ndarray | float = 0.0
    mismatch: np.ndarray | float = 0.0
    variance: np.ndarray | float = 0.0

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.count + other.count,
            self.parameters + other.parameters,
            self.mismatch + other.mismatch,
            self.variance + other.variance,
        )


@dataclass(eq=False)
class Ascent:
    """Steps with momentum, and the averages over recent ones that noise leaves meaningful.

    Parameters are beta h, beta J and beta K, in which the curvature has no beta.

    Attributes:
        of_data: (patterns, size) the statistics of each.
        weights: (patterns,) that add up to 1.
        decay: (size,) of each parameter, in units of the log-likelihood of a pattern.
        learning_rate: in units of 1/(largest curvature).
        momentum: share of a step that the next one repeats.
        tolerance: largest difference of moments of a converged fit.
        first: (size,) where to start.
        parameters: (size,) the next step's.
        errors: the largest difference of averages for each step taken.
        noise: the largest standard error of those averages.
    """

    of_data: np.ndarray
    weights: np.ndarray
    decay: np.ndarray
    learning_rate: float
    momentum: float
    tolerance: float
    first: np.ndarray
    parameters: np.ndarray = field(init=False)
    errors: list[float] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)
    converged: bool = False

    def __post_init__(self) -> None:
        self.parameters = self.first.copy()
        self._target = self.weights @ self.of_data
        curvature = largest_curvature(self.of_data, self.weights) + self.decay.max(initial=0.0)
        self._rate = self.learning_rate / curvature
        self._velocity = np.zeros_like(self.first)
        self._before, self._recent = Sums(), Sums()

    @property
    def settled(self) -> np.ndarray:
        """The parameters whose moments the last of errors is about: (size,)."""
        sums = self._before + self._recent
        return np.asarray(sums.parameters / sums.count) if sums.count else self.parameters

    def step(self, model: np.ndarray, error: np.ndarray) -> None:
        """Take note of the model's moments (size,) and their standard errors, and go on."""
        mismatch = self._target - model - self.decay * self.parameters
        taken = len(self.errors)
        if not error.any():  # no noise to average over
            self._before = self._recent = Sums()
        elif taken & (taken - 1) == 0:  # the steps have doubled: forget the earliest
            self._before, self._recent = self._recent, Sums()
        self._recent += Sums(1, self.parameters, mismatch, error**2)
        sums = self._before + self._recent
        average = np.abs(sums.mismatch) / sums.count
        noise = np.sqrt(sums.variance) / sums.count
        self.errors.append(float(average.max(initial=0.0)))
        self.noise.append(float(noise.max(initial=0.0)))
        beyond = (average - _SIGMAS * noise).max(initial=0.0)
        self.converged = max(float(beyond), self.noise[-1]) <= self.tolerance
        self._velocity = self.momentum * self._velocity + self._rate * mismatch
        self.parameters = self.parameters + self._velocity


def largest_curvature(statistics: np.ndarray, weights: np.ndarray) -> float:
    """Largest second derivative of -ln P where model and data agree, and at least that at 0.

    It is the largest eigenvalue of the covariance of (patterns, size); without fields and
    couplings all eigenvalues are 1. Found by power iteration, which is within some percent of it
    soon, and needs no (size, size) array.
    """
    mean = weights @ statistics
    vector = np.random.default_rng(0).normal(size=statistics.shape[1])
    largest = 1.0
    for _ in range(50):
        norm = np.linalg.norm(vector)
        if norm == 0:
            break
        along = statistics @ (vector / norm)
        vector = statistics.T @ (weights * along) - mean * (weights @ along)
        largest = max(largest, float(np.linalg.norm(vector)))
    return largest
