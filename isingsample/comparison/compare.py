"""Several samplers on one batch, measured against the exact solution."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from isingsample._core.arrays import to_numpy
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.states import spin_table
from isingsample._core.streams import Streams
from isingsample.errors import StrongFieldWarning
from isingsample.samplers.base import Sampler
from isingsample.samplers.effective_beta import EffectiveBeta, effective_beta
from isingsample.samplers.exact.sampler import Exact

# Sets of exact samples that the expected shot noise is averaged over.
_NOISE_SETS = 4
_NOISE_PURPOSE = 7


@dataclass(frozen=True)
class Deviation:
    """Distance of a batch of estimates from the exact solution.

    Attributes:
        mean: mean over problems and spins of ``|m - m_exact|``.
        largest: the largest of them.
        total_variation: mean over problems of ``sum_s |P(s) - P_exact(s)| / 2`` of the histogram
            of reads; NaN without reads.
    """

    mean: float
    largest: float
    total_variation: float


@dataclass(frozen=True)
class Row:
    """What one sampler did.

    Attributes:
        label: its name in the table.
        failure: one line on why there is no result; then all that follows is None.
        queries: problems solved.
        reads: reads of each problem, or None for a sampler that gives expectations.
        seconds_per_query: wall time of sample() divided by the number of problems.
        error: distance from the exact solution.
        shot_noise: the distance that as many independent exact reads have on average.
        error_bar: mean over problems and spins of the sampler's own std_error; NaN where it does
            not know its bias.
        beta: most likely inverse temperature of the reads, None without reads.
        lowest_energy: mean over problems of the lowest energy among the reads.
        thermal: whether the sampler targets exp(-beta E).
    """

    label: str
    failure: str | None = None
    queries: int | None = None
    reads: int | None = None
    seconds_per_query: float | None = None
    error: Deviation | None = None
    shot_noise: Deviation | None = None
    error_bar: float | None = None
    beta: EffectiveBeta | None = None
    lowest_energy: float | None = None
    thermal: bool | None = None


def compare(
    problem: IsingProblem,
    samplers: Mapping[str, Callable[[], Sampler]],
    *,
    beta: float = 1.0,
    seed: int = 0,
) -> Iterator[Row]:
    """One row for each sampler, as soon as it is done.

    A sampler that fails, or cannot be made, gets a row that says why, and the next one runs.

    Args:
        problem: a batch without absent spins, n at most 20.
        samplers: a function that makes the sampler, by label.
        beta: inverse temperature.
        seed: of every sampler alike.

    Raises:
        ValueError: the batch is empty, has absent spins or is too large to solve exactly.
    """
    if not problem.num_spins or 0 in problem.batch_shape:
        raise ValueError("there is nothing to compare: the batch holds no problems with spins")
    local = problem.to_numpy()
    distribution = Exact().distribution(local, beta=beta)
    distribution = np.asarray(distribution).reshape(-1, distribution.shape[-1])
    for label, make in samplers.items():
        try:
            with make() as sampler:
                started = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", StrongFieldWarning)  # its row shows the error
                    result = sampler.sample(problem, beta=beta, seed=seed)
                elapsed = time.perf_counter() - started
        except Exception as error:  # whatever a foreign sampler raises belongs in its row
            yield Row(label, failure=_first_line(error))
            continue
        yield _measure(label, result, elapsed, distribution, seed)


def _measure(
    label: str, result: SampleResult, elapsed: float, distribution: np.ndarray, seed: int
) -> Row:
    problem = result.problem.to_numpy()
    queries, num_spins = len(distribution), problem.num_spins
    magnetization = to_numpy(result.magnetization).reshape(queries, num_spins)
    error_bar = float(to_numpy(result.std_error).mean())
    samples = None if result.samples is None else to_numpy(result.samples)
    if samples is None:
        error = _deviation(distribution, magnetization, None)
        return Row(
            label,
            queries=queries,
            seconds_per_query=elapsed / queries,
            error=error,
            shot_noise=Deviation(0.0, 0.0, 0.0),
            error_bar=error_bar,
            thermal=result.thermal,
        )
    reads = samples.shape[-2]
    histogram = state_histogram(samples.reshape(queries, reads, num_spins))
    return Row(
        label,
        queries=queries,
        reads=reads,
        seconds_per_query=elapsed / queries,
        error=_deviation(distribution, magnetization, histogram),
        shot_noise=shot_noise(distribution, reads, seed),
        error_bar=error_bar,
        beta=effective_beta(problem, samples),
        lowest_energy=float(problem.energy(samples).min(axis=-1).mean()),
        thermal=result.thermal,
    )


def state_histogram(samples: np.ndarray) -> np.ndarray:
    """Relative frequency of every state, (problems, 2**n), of reads (problems, num_reads, n)."""
    problems, reads, num_spins = samples.shape
    bits = 1 << np.arange(num_spins)[::-1]  # the order of spin_table: the first spin slowest
    codes = (samples > 0) @ bits + np.arange(problems)[:, None] * 2**num_spins
    counts = np.bincount(codes.ravel(), minlength=problems * 2**num_spins)
    frequency: np.ndarray = counts.reshape(problems, -1) / reads
    return frequency


def shot_noise(distribution: np.ndarray, reads: int, seed: int) -> Deviation:
    """The deviation expected of independent exact reads, averaged over a few sets of them.

    Args:
        distribution: (problems, 2**n) probabilities.
        reads: of each problem.
        seed: of the sets.
    """
    sets = np.arange(_NOISE_SETS)
    found = []
    for number in Streams.from_seed(seed).integers(sets, _NOISE_PURPOSE):
        counts = np.random.default_rng(number).multinomial(reads, distribution)
        histogram = counts / reads
        num_spins = distribution.shape[-1].bit_length() - 1
        found.append(_deviation(distribution, histogram @ spin_table(num_spins), histogram))
    return Deviation(
        *(float(np.mean([getattr(d, name) for d in found])) for name in Deviation.__annotations__)
    )


def _deviation(
    distribution: np.ndarray, magnetization: np.ndarray, histogram: np.ndarray | None
) -> Deviation:
    exact = distribution @ spin_table(distribution.shape[-1].bit_length() - 1)
    gap = np.abs(magnetization - exact)
    variation = float("nan")
    if histogram is not None:
        variation = float(0.5 * np.abs(histogram - distribution).sum(axis=-1).mean())
    return Deviation(float(gap.mean()), float(gap.max()), variation)


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
