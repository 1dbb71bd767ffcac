"""Differences between arms that share their seeds, and how perplexity falls with length."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from boltzmann_study.judging import Record
from boltzmann_study.modes import in_order

CONFIDENCE = 0.95
FEWEST_LENGTHS = 4  # for a curve of three parameters


@dataclass(frozen=True)
class Metric:
    """How a record is read, and how two are compared.

    Attributes:
        name: "perplexity" or "accuracy".
        unit: of a gain.
        of: the value of a record.
        gain: of a value over the reference's; above 0 is better.
        largest: value that it can take.
    """

    name: str
    unit: str
    of: Callable[[Record], float]
    gain: Callable[[float, float], float]
    largest: float = math.inf


PERPLEXITY = Metric(
    "perplexity",
    "%",
    lambda record: math.exp(record.loss),
    lambda value, reference: 100 * (1 - value / reference),
)
ACCURACY = Metric(
    "accuracy",
    "points",
    lambda record: 100 * record.accuracy,
    lambda value, reference: value - reference,
    largest=100.0,
)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its 95 % confidence interval (Student's t; NaN for one seed).

    Attributes:
        mean: over the seeds.
        low: lower end.
        high: upper end.
        count: number of seeds.
    """

    mean: float
    low: float
    high: float
    count: int

    @property
    def decided(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of independent values."""
    mean, count = float(np.mean(values)), len(values)
    if count < 2:
        return Estimate(mean, math.nan, math.nan, count)
    error = float(np.std(values, ddof=1)) / math.sqrt(count)
    reach = error * float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1))
    return Estimate(mean, mean - reach, mean + reach, count)


def by_seed(records: Sequence[Record], metric: Metric) -> dict[str, dict[int, float]]:
    """Values of records by arm and seed; the records must be of one run, step, part and label."""
    values: dict[str, dict[int, float]] = {
        arm: {} for arm in in_order(record.arm for record in records)
    }
    for record in records:
        values[record.arm][record.seed] = metric.of(record)
    return values


def by_length(records: Sequence[Record], metric: Metric) -> dict[str, dict[int, list[float]]]:
    """Values of all seeds by arm and length; the records must be of one step, part and label."""
    values: dict[str, dict[int, list[float]]] = {
        arm: {} for arm in in_order(record.arm for record in records)
    }
    for record in records:
        values[record.arm].setdefault(record.length, []).append(metric.of(record))
    return values


def paired_gain(
    values: Mapping[int, float], reference: Mapping[int, float], metric: Metric
) -> Estimate:
    """The mean gain over a reference with the same seeds."""
    return estimate([metric.gain(values[seed], reference[seed]) for seed in values])


@dataclass(frozen=True)
class Decay:
    """PPL(T) = a exp(-b T) + c with standard errors.

    Attributes:
        a, b, c: the parameters; b per character.
        errors: their standard errors, in this order.
    """

    a: float
    b: float
    c: float
    errors: tuple[float, float, float]

    def __call__(self, length: np.ndarray) -> np.ndarray:
        """The curve at some lengths."""
        return _decay(length, self.a, self.b, self.c)


def fit_decay(values: Mapping[int, Sequence[float]]) -> Decay | None:
    """The curve through the means at each length, weighed by their standard errors over seeds.

    Args:
        values: the values of all seeds, by length.

    Returns:
        None for fewer than four lengths, or where they do not determine the curve: where a
        parameter has a standard error as large as itself.
    """
    lengths = np.array(sorted(values), dtype=float)
    if len(lengths) < FEWEST_LENGTHS:
        return None
    means = np.array([np.mean(values[int(length)]) for length in lengths])
    known = all(len(seeds) > 1 for seeds in values.values())
    errors = (
        np.array([stats.sem(values[int(length)]) for length in lengths])
        if known
        else np.ones_like(means)
    )
    try:
        best, covariance = optimize.curve_fit(
            _decay,
            lengths,
            means,
            p0=(float(means[0] - means[-1]) * 2, 0.3, float(means[-1])),
            sigma=np.maximum(errors, 1e-6),
            absolute_sigma=known,
            maxfev=20_000,
        )
    except RuntimeError:
        return None
    spread = np.sqrt(np.diag(covariance))
    if not (spread < np.abs(best)).all():  # neither where it is infinite or NaN
        return None
    a, b, c = map(float, best)
    return Decay(a, b, c, (float(spread[0]), float(spread[1]), float(spread[2])))


def _decay(length: np.ndarray, a: float, b: float, c: float) -> np.ndarray:
    with np.errstate(over="ignore"):  # on the way of a search
        curve: np.ndarray = a * np.exp(-b * length) + c
    return curve
