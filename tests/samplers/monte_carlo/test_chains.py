"""The Monte Carlo samplers: Boltzmann means Boltzmann, with error bars that hold."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from isingsample import Exact, Gibbs, IsingProblem, ParallelTempering
from isingsample._core.arrays import is_torch, to_numpy
from isingsample._core.states import spin_table
from isingsample.testing import enumerate_moments
from support.fixtures import ASYM3, KNOWN, PAIR, Known, three_body
from support.monte_carlo import (
    assert_distribution,
    assert_within_errors,
    boltzmann,
    glass,
    ignore_unconverged,
    monte_carlo,
    torus,
)
from support.strategies import problems

READS = 4000


@monte_carlo
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("beta", [1.0, 0.4, 3.0])
def test_known_moments_at_beta(make: Callable[..., Any], known: Known, beta: float) -> None:
    problem = IsingProblem(known.h / beta, known.J / beta)
    result = make(num_reads=READS).sample(problem, beta=beta, seed=11)
    assert result.thermal
    assert result.info["converged"]
    assert_within_errors(result, known.magnetization, READS)
    tolerance = 5 * np.sqrt((1 - known.correlation**2) / READS) + 1e-12
    assert (np.abs(result.correlation - known.correlation) <= tolerance).all()
    assert (result.correlation == result.correlation.T).all()
    spread = 5 * np.sqrt((1 - known.magnetization**2) / READS)
    assert (np.abs(result.samples.mean(axis=0) - known.magnetization) <= spread).all()


@monte_carlo
@pytest.mark.parametrize("options", [{}, {"random_order": True}], ids=["sequential", "random"])
@pytest.mark.parametrize("K", [0.0, 0.2], ids=["J", "J and K"])
def test_the_full_distribution(make: Callable[..., Any], options: Any, K: float) -> None:
    problem = glass(6, seed=2, K=K)
    reads = 20_000
    samples = make(num_reads=reads, **options).sample(problem, beta=0.8, seed=4).samples
    assert_distribution(samples, boltzmann(problem, 0.8))


@ignore_unconverged
@monte_carlo
@pytest.mark.parametrize("beta", [0.2, 0.3, 0.4407, 0.6, 0.8, 1.0])
def test_a_torus_of_16_spins(make: Callable[..., Any], beta: float) -> None:
    """Through the critical temperature and beyond, where chains only turn by tempering."""
    problem, reads = torus(4), 400
    result = make(num_reads=reads, num_sweeps=400).sample(problem, beta=beta, seed=1)
    # Single chains start in either valley with equal chances, so their moments are right even
    # where they stay in it; but they must say that they do.
    if make is ParallelTempering or beta < 0.35:
        assert result.info["converged"]
    elif beta > 0.7:
        assert not result.info["converged"]
    assert (np.abs(result.magnetization) <= 5 * result.std_error).all()
    weights, states = boltzmann(problem, beta), spin_table(16)
    levels = problem.energy(states)
    mean = weights @ levels
    spread = np.sqrt(weights @ (levels - mean) ** 2 / reads)
    assert abs(result.energy.mean() - mean) < 5 * spread
    # Of all sweeps, which is at least as good as one state of each chain.
    bonds = result.correlation[problem.J > 0].mean()
    assert abs(-32 * bonds - mean) < 5 * spread


@ignore_unconverged
@monte_carlo
@given(problem=problems(max_spins=4, scales=(0.0, 0.3, 1.0)))
@settings(max_examples=15)
def test_batches_masks_and_libraries(make: Callable[..., Any], problem: IsingProblem) -> None:
    reads = 300
    result = make(num_reads=reads).sample(problem, seed=5)
    exact = enumerate_moments(problem)
    assert is_torch(result.magnetization) == is_torch(problem.h)
    assert result.magnetization.dtype == problem.h.dtype
    # Every read is an independent chain, so no average over chains is worse than their number.
    tolerance = 5 * np.sqrt((1 - exact.magnetization**2) / reads) + 5 / reads
    found = to_numpy(result.magnetization)
    assert (np.abs(found - exact.magnetization) <= tolerance).all()
    np.testing.assert_allclose(to_numpy(result.probability), (found + 1) / 2 * (
        (exact.probability > 0) | (np.abs(exact.magnetization) > 0)
    ), atol=1e-6)  # fmt: skip
    absent = exact.probability + np.abs(exact.magnetization) == 0
    samples = np.moveaxis(to_numpy(result.samples), -2, 0)
    assert (np.abs(samples) == np.where(absent, 0, 1)).all()
    gap = np.abs(to_numpy(result.correlation) - exact.correlation)
    spread = np.sqrt(np.maximum(1 - exact.correlation**2, 0) / reads)
    assert (gap <= 5 * spread + 5 / reads).all()


@monte_carlo
def test_error_bars_hold(make: Callable[..., Any]) -> None:
    """z = (m - exact) / std_error has unit variance over many problems."""
    problem = glass(5, seed=1, batch=(300,))
    z = make(num_reads=200).sample(problem, beta=0.8, seed=6)
    exact = Exact().sample(problem, beta=0.8).magnetization
    squares = ((z.magnetization - exact) / z.std_error) ** 2
    # 1500 values, five to a problem and not independent; squares of normals have variance 2.
    assert abs(squares.mean() - 1) < 5 * np.sqrt(2 / 300)


@monte_carlo
@pytest.mark.parametrize("sweeps", [1, 2, 10, 11])
@ignore_unconverged
def test_a_free_spin_forgets_where_it_started(make: Callable[..., Any], sweeps: int) -> None:
    sampler = make(num_reads=READS, num_sweeps=sweeps, initial_states=[1])
    samples = sampler.sample(IsingProblem([0.0]), seed=4).samples
    assert abs(samples.mean()) < 5 / np.sqrt(READS)


@monte_carlo
def test_two_coupled_spins(make: Callable[..., Any]) -> None:
    """Updating all spins at once would give no correlation."""
    result = make(num_reads=READS).sample(IsingProblem([0.0, 0.0], [[0, 0.7], [0.7, 0]]), seed=2)
    assert abs(result.correlation[0, 1] - np.tanh(0.7)) < 5 / np.sqrt(READS)


@monte_carlo
@ignore_unconverged
def test_degenerate_problems(make: Callable[..., Any]) -> None:
    sampler = make(num_reads=3)
    for shape in [(0,), (2, 0), (0, 3)]:
        result = sampler.sample(IsingProblem(np.zeros(shape)), seed=0)
        assert result.magnetization.shape == shape
        assert result.samples.shape == (*shape[:-1], 3, shape[-1])
        assert sampler.minimize(IsingProblem(np.zeros(shape)))[0].shape == shape
    mixed = IsingProblem(np.ones((2, 2)), present=np.array([[True, True], [False, False]]))
    assert sampler.sample(mixed, seed=0).samples.shape == (2, 3, 2)
    assert sampler.sample(IsingProblem([2.0]), seed=0).samples.shape == (3, 1)
    assert np.isnan(make(num_reads=1).sample(PAIR.problem(), seed=0).std_error).all()
    # A spin without field or coupling beside two that are coupled.
    isolated = IsingProblem(np.zeros(3), np.array([[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]]))
    result = make(num_reads=READS).sample(isolated, seed=1)
    assert (np.abs(result.magnetization) < 5 / np.sqrt(READS)).all()


@monte_carlo
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@ignore_unconverged  # nothing but tempering turns a pair with a coupling of 1000
def test_huge_and_tiny_coefficients(make: Callable[..., Any], dtype: str) -> None:
    pair = np.array([[0, 1.0], [1.0, 0]], dtype)
    zeros = np.zeros(2, dtype)
    largest = 1e300 if dtype == "float64" else 1e37
    sampler = make(num_reads=400)
    for scale in (1000, largest):
        strong = sampler.sample(IsingProblem(zeros, np.asarray(scale * pair, dtype)), seed=1)
        assert abs(strong.magnetization[0]) < 5 / np.sqrt(400)
        assert strong.correlation[0, 1] == 1
    weak = sampler.sample(IsingProblem(zeros + 1e-40, 1e-40 * pair), seed=1)
    assert abs(weak.samples.mean()) < 5 / np.sqrt(800)
    assert np.abs(weak.magnetization).max() < 5 / np.sqrt(400)
    pinned = sampler.sample(IsingProblem(zeros + largest, np.asarray(largest * pair, dtype)))
    np.testing.assert_allclose(pinned.magnetization, 1.0, atol=1e-6)
    # Strong couplings that cancel leave the weak field alone.
    J = np.array([[0, 1e5, -1e5], [1e5, 0, 0], [-1e5, 0, 0]], dtype)
    torn = IsingProblem(np.array([0.5, -1e7, -1e7], dtype), J)
    found = sampler.sample(torn, seed=2)
    assert_within_errors(found, np.array([np.tanh(0.5), -1, -1]), 400)


def test_small_probabilities_keep_their_digits() -> None:
    result = Gibbs(num_reads=10).sample(IsingProblem([-20.0, -9.0, 9.0]), seed=0)
    np.testing.assert_allclose(result.probability[:2], np.exp([-40.0, -18.0]), rtol=1e-5)
    assert result.probability[2] == pytest.approx(1.0)


@monte_carlo
def test_beta_zero_is_uniform(make: Callable[..., Any]) -> None:
    result = make(num_reads=READS).sample(ASYM3.problem(), beta=0.0, seed=0)
    assert (np.abs(result.samples.mean(axis=0)) < 5 / np.sqrt(READS)).all()


@monte_carlo
def test_three_body_couplings_by_index(make: Callable[..., Any]) -> None:
    K = three_body(4, {(0, 1, 2): 0.8, (1, 2, 3): -0.5})
    problem = IsingProblem([0.2, -0.1, 0.3, 0.4], np.zeros((4, 4)), K)
    exact = enumerate_moments(problem)
    result = make(num_reads=READS).sample(problem, seed=3)
    assert_within_errors(result, exact.magnetization, READS)


def test_correlations_count_every_sweep() -> None:
    """Far more precise than the last states alone, and from the same chains."""
    sampler = Gibbs(num_reads=64, num_sweeps=2000)
    problem = glass(5, seed=3)
    result = sampler.sample(problem, seed=1)
    exact = enumerate_moments(problem)
    gap = np.abs(result.correlation - exact.correlation)
    # Chains of 2000 sweeps give at least 100 independent states each.
    spread = np.sqrt(np.maximum(1 - exact.correlation**2, 0) / 6400)
    assert (gap <= 5 * spread + 1e-12).all()
    np.testing.assert_array_equal(result.samples, sampler.sample(problem, seed=1).samples)


def test_a_sparse_problem_of_many_spins() -> None:
    """A chain of 2000 spins, where <s_j s_j+1> = tanh J."""
    n = 2000
    J = np.zeros((n, n))
    at = np.arange(n - 1)
    J[at, at + 1] = J[at + 1, at] = 0.5
    result = Gibbs(num_reads=50).sample(IsingProblem(np.zeros(n), J), seed=1)
    bonds = (result.samples[:, 1:] * result.samples[:, :-1]).mean()
    # Bonds of an open chain are independent.
    assert abs(bonds - np.tanh(0.5)) < 5 * np.sqrt((1 - np.tanh(0.5) ** 2) / (50 * (n - 1)))
    assert result.info["converged"]
