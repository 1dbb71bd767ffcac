"""The temperature of samples: right, with an error that covers the truth as often as it says."""

import math
from typing import Any

import numpy as np
import pytest

from isingsample import Exact, IsingProblem, TooLargeError, Transfer, effective_beta, mean_energy
from isingsample._core.states import spin_table
from support.fixtures import PAIR
from support.strategies import symmetric

BETAS = [0.0, 0.5, 1.0, 2.0]


def batch(n: int, queries: int, *, three_body: float = 0.0, seed: int = 0) -> IsingProblem:
    rng = np.random.default_rng(seed)
    h, J = rng.normal(0, 0.5, (queries, n)), 0.4 * symmetric(rng, (), n, 2)
    K = three_body * symmetric(rng, (queries,), n, 3) if three_body else None
    return IsingProblem(h, J, K, offset=5.0)


def draw(problem: IsingProblem, beta: float, reads: int, seed: int = 1) -> np.ndarray:
    samples: np.ndarray = Exact(num_reads=reads).sample(problem, beta=beta, seed=seed).samples
    return samples


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize("three_body", [0.0, 0.3])
@pytest.mark.parametrize("beta", BETAS)
def test_the_temperature_of_boltzmann_samples(
    beta: float, three_body: float, likelihood: str
) -> None:
    problem = batch(6, 20, three_body=three_body)
    found = effective_beta(problem, draw(problem, beta, 500), likelihood=likelihood)
    assert abs(found.beta - beta) < 5 * found.std_error
    assert found.std_error < 0.1


def test_the_exact_likelihood_is_largest_there() -> None:
    problem = batch(4, 3, three_body=0.3)
    samples = draw(problem, 0.8, 40)
    found = effective_beta(problem, samples).beta
    states = spin_table(4)
    bits = 1 << np.arange(4)[::-1]
    rows = (samples > 0) @ bits

    def log_likelihood(beta: float) -> float:
        logs = -beta * problem.energy(states[None])
        logs = logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True)
        return float(np.take_along_axis(logs, rows, axis=-1).sum())

    near = [log_likelihood(found + gap) for gap in (-1e-3, 0.0, 1e-3)]
    assert near[1] > max(near[0], near[2])
    # The middle of the parabola through them.
    shift = 5e-4 * (near[2] - near[0]) / (2 * near[1] - near[0] - near[2])
    assert abs(shift) < 1e-5


def test_the_pseudo_likelihood_is_largest_there() -> None:
    problem = batch(4, 3, three_body=0.3)
    samples = draw(problem, 0.8, 40).astype(float)
    found = effective_beta(problem, samples, likelihood="pseudo").beta

    def log_likelihood(beta: float) -> float:
        total = 0.0
        for spin in range(4):
            flipped = samples * np.where(np.arange(4) == spin, -1.0, 1.0)
            cost = problem.energy(flipped) - problem.energy(samples)
            total -= np.logaddexp(0.0, -beta * cost).sum()
        return total

    near = [log_likelihood(found + gap) for gap in (-1e-3, 0.0, 1e-3)]
    shift = 5e-4 * (near[2] - near[0]) / (2 * near[1] - near[0] - near[2])
    assert abs(shift) < 1e-5


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_the_error_covers_the_truth_as_often_as_it_says(likelihood: str) -> None:
    """Of 100 estimates 68.3% should be within one standard error: 5 sigma are 23%."""
    trials, beta, problem = 100, 1.0, batch(3, 2)
    hits, errors, betas = 0, [], []
    for trial in range(trials):
        samples = draw(problem, beta, 200, seed=trial)
        found = effective_beta(problem, samples, likelihood=likelihood, num_bootstrap=100)
        hits += abs(found.beta - beta) < found.std_error
        errors.append(found.std_error)
        betas.append(found.beta)
    assert abs(hits / trials - 0.6827) < 5 * math.sqrt(0.6827 * 0.3173 / trials)
    # A standard deviation of N numbers has a relative error of 1/sqrt(2N).
    assert np.mean(errors) == pytest.approx(np.std(betas), rel=5 / math.sqrt(2 * trials))


def test_more_spins_than_can_be_summed_over() -> None:
    dense = batch(40, 3)
    spins = np.arange(40)
    band = abs(spins[:, None] - spins) <= 3
    problem = IsingProblem(dense.h, dense.J * band)
    samples = Transfer(num_reads=400).sample(problem, beta=0.8, seed=0).samples
    found = effective_beta(problem, samples)
    assert abs(found.beta - 0.8) < 5 * found.std_error < 0.2
    assert effective_beta(problem, samples, likelihood="pseudo") == found
    with pytest.raises(TooLargeError, match="n = 40 is above 24: use 'pseudo'"):
        effective_beta(problem, samples, likelihood="exact")


def test_the_exact_solver_goes_where_no_table_of_states_would() -> None:
    problem = batch(22, 1)
    samples = draw(problem, 0.7, 400)
    found = effective_beta(problem, samples)
    assert abs(found.beta - 0.7) < 5 * found.std_error < 0.5
    assert effective_beta(problem, samples, likelihood="pseudo") != found


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_weights_stand_for_repeated_rows(likelihood: str) -> None:
    problem = batch(3, 2)
    samples = draw(problem, 1.0, 300)
    states = spin_table(3).astype(np.int8)
    rows = (samples > 0) @ np.array([4, 2, 1])
    counts = np.stack([np.bincount(row, minlength=8) for row in rows])
    aggregated = np.broadcast_to(states, (2, 8, 3))
    whole = effective_beta(problem, samples, likelihood=likelihood)
    found = effective_beta(problem, aggregated, weights=counts, likelihood=likelihood)
    assert found.beta == pytest.approx(whole.beta, abs=1e-6)
    assert found.std_error == pytest.approx(whole.std_error, rel=5 / math.sqrt(200))
    # One row that occurred often is not one row.
    assert effective_beta(problem, aggregated, likelihood=likelihood).beta == pytest.approx(
        0, abs=0.05
    )


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_absent_spins_do_not_count(likelihood: str) -> None:
    whole = batch(5, 6, three_body=0.2)
    present = np.arange(5) < np.array([5, 3, 4, 5, 2, 3])[:, None]
    problem = IsingProblem(whole.h, whole.J, whole.K, present)
    samples = draw(problem, 1.0, 2000)
    found = effective_beta(problem, samples, likelihood=likelihood)
    assert abs(found.beta - 1) < 5 * found.std_error < 0.2


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_any_unit_of_energy(likelihood: str, scale: float) -> None:
    problem = batch(4, 3)
    samples = draw(problem, 1.0, 300)
    scaled = IsingProblem(scale * problem.h, scale * problem.J)
    found, plain = (effective_beta(p, samples, likelihood=likelihood) for p in (scaled, problem))
    assert found.beta * scale == pytest.approx(plain.beta, rel=1e-5)
    assert found.std_error * scale == pytest.approx(plain.std_error, rel=1e-4)


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_samples_without_a_finite_temperature(likelihood: str) -> None:
    pair = PAIR.problem()
    for state, beta in (([1, 1], math.inf), ([-1, 1], -math.inf)):
        found = effective_beta(pair, np.array([state] * 10, np.int8), likelihood=likelihood)
        assert found.beta == beta
        assert math.isnan(found.std_error)
    flat = effective_beta(IsingProblem([0.0, 0.0]), [[1, 1], [1, -1]], likelihood=likelihood)
    assert math.isnan(flat.beta)
    # One excited read in twenty: a third of the resampled sets has none of it.
    nearly = np.array([[1, 1]] * 19 + [[-1, 1]], np.int8)
    found = effective_beta(pair, nearly, likelihood=likelihood)
    assert math.isfinite(found.beta)
    assert found.std_error == math.inf


def test_torch_and_single_precision() -> None:
    torch = pytest.importorskip("torch")
    problem = batch(4, 3)
    samples = draw(problem, 1.0, 200)
    h, J = (torch.tensor(a, dtype=torch.float32) for a in (problem.h, problem.J))
    found = effective_beta(IsingProblem(h, J), torch.tensor(samples))
    assert found.beta == pytest.approx(effective_beta(problem, samples).beta, rel=1e-5)


def test_problems_of_a_single_row_each() -> None:
    """Their own rows, drawn again, would never differ: that error would be 0."""
    rows, beta, trials = 400, 1.0, 60
    problem, errors, betas = batch(3, 1), [], []
    every = IsingProblem(np.repeat(problem.h, rows, axis=0), problem.J)
    for trial in range(trials):
        samples = draw(problem, beta, rows, seed=trial)[0]
        found = effective_beta(every, samples[:, None], num_bootstrap=50)
        betas.append(found.beta)
        errors.append(found.std_error)
    assert np.mean(errors) == pytest.approx(np.std(betas), rel=5 / math.sqrt(2 * trials))
    assert math.isnan(effective_beta(problem, samples[None, :1]).std_error)


def test_one_seed_one_error() -> None:
    problem = batch(4, 3)
    samples = draw(problem, 1.0, 200)
    first, again, other = (effective_beta(problem, samples, seed=seed) for seed in (0, 0, 2**70))
    assert first == again
    assert first.beta == other.beta
    assert first.std_error != other.std_error


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"likelihood": "psuedo"}, ValueError, "did you mean 'pseudo'"),
        ({"num_bootstrap": 1}, ValueError, "num_bootstrap must be at least 2"),
        ({"weights": np.ones((3, 2))}, TypeError, "weights must be integers"),
        ({"weights": np.ones(2, int)}, ValueError, r"shape of the rows, \(3, 2\)"),
        ({"weights": [[1, 1], [1, -2], [1, 1]]}, ValueError, r"weights\[1, 1\] is -2"),
        ({"weights": np.zeros((3, 2), int)}, ValueError, "no samples"),
        ({"samples": np.ones((3, 0, 4))}, ValueError, "no samples"),
        ({"samples": np.ones((2, 4))}, ValueError, r"shape \(..., rows, n\)"),
        ({"samples": np.full((3, 2, 4), 0.5)}, ValueError, r"states\[0, 0, 0\]"),
        ({"problem": np.ones(4)}, TypeError, "IsingProblem"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments: dict[str, Any] = {"problem": batch(4, 3), "samples": np.ones((3, 2, 4))} | options
    with pytest.raises(error, match=message):
        effective_beta(**arguments)


@pytest.mark.parametrize("beta", [-1.0, 0.0, 0.7, 30.0])
def test_mean_energies_are_those_of_all_states(beta: float) -> None:
    problem = batch(5, 4, three_body=0.3)
    energies = problem.energy(spin_table(5)[None]) - 5.0  # the offset does not count
    logs = -beta * energies
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    expected = (weights * energies).sum(axis=-1) / weights.sum(axis=-1)
    np.testing.assert_allclose(mean_energy(problem, beta), expected, atol=1e-5)
    np.testing.assert_array_equal(mean_energy(IsingProblem([0.0, 0.0]), beta), 0.0)
    with pytest.raises(TooLargeError, match="n = 25 is above 24"):
        mean_energy(IsingProblem(np.zeros(25)), beta)
