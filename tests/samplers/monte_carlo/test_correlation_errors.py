"""Standard errors of correlations: of the right size, and 0 or NaN where they have to be."""

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

from isingsample import (
    Dimod,
    Exact,
    GaugeSpin,
    Gibbs,
    IsingProblem,
    MeanField,
    Refine,
    SampleResult,
    SimulatedAnnealing,
    TooLargeError,
    Transfer,
)
from isingsample.testing import enumerate_moments
from support.fixtures import couplings
from support.monte_carlo import MONTE_CARLO, ignore_unconverged, monte_carlo
from support.sparse_problems import ring, twins

QUERIES = 1000


def slow_problems() -> IsingProblem:
    """Two groups of spins that hold together and turn against each other only now and then."""
    rng = np.random.default_rng(5)
    pairs = {(0, 1): 0.7, (1, 2): 0.6, (0, 2): 0.5, (3, 4): 1.0, (2, 3): 0.3, (0, 4): -0.1}
    return IsingProblem(rng.normal(scale=0.2, size=(QUERIES, 5)), couplings(5, pairs))


def assert_spread(result: SampleResult, degrees: float) -> None:
    """Deviations over independent queries: of mean 0, and their squares as Student's t has them."""
    at = np.triu_indices(5, 1)
    deviation = (result.correlation - Exact().sample(result.problem).correlation)[:, *at]
    error = result.correlation_error[:, *at]
    queries = len(error)
    assert (abs(deviation.mean(axis=0)) < 5 * np.sqrt((error**2).mean(axis=0) / queries)).all()
    variance = degrees / (degrees - 2)
    fourth = 3 * degrees**2 / ((degrees - 2) * (degrees - 4))
    squares = ((deviation / error) ** 2).mean(axis=0)
    tolerance = 5 * np.sqrt((fourth - variance**2) / queries)
    assert (abs(squares - variance) < tolerance).all(), (squares, variance, tolerance)


# 150 chains of gibbs are 128 and 22, 16 subsets of each; 40 ladders of 4 rungs are 32 and 8.
@pytest.mark.parametrize(
    ("sampler", "subsets"),
    [
        (Gibbs(num_reads=150, num_sweeps=40, burn_in=60), 32),
        (Gibbs(num_reads=64, num_sweeps=40, burn_in=60), 16),
        (MONTE_CARLO["tempering"](num_reads=40, num_replicas=4, num_sweeps=60), 16 + 8),
        (SimulatedAnnealing(num_reads=400, num_sweeps=60), np.inf),
        (Exact(num_reads=400), None),
    ],
    ids=["gibbs 150", "gibbs 64", "tempering", "sa", "exact"],
)
@ignore_unconverged
def test_errors_are_as_large_as_deviations(sampler: Any, subsets: float | None) -> None:
    problem = slow_problems()
    result = sampler.sample(problem, seed=7)
    if subsets is None:
        assert not result.correlation_error.any()
        return
    assert_spread(result, 1e6 if np.isinf(subsets) else subsets - 1)


# 36 chains are 4 subsets of 3 and 12 of 2, and 10 are subsets by themselves.
@pytest.mark.parametrize(
    ("sampler", "degrees"),
    [
        (Gibbs(num_reads=36, num_sweeps=30, burn_in=30), 15),
        (MONTE_CARLO["tempering"](num_reads=10, num_replicas=3, num_sweeps=30), 9),
        (SimulatedAnnealing(num_reads=100, num_sweeps=40), 1e6),
    ],
    ids=["gibbs", "tempering", "sa"],
)
@ignore_unconverged
def test_errors_of_the_array_operations_of_devices(sampler: Any, degrees: float) -> None:
    assert_spread(sampler._on_device().sample(slow_problems(), seed=2), degrees)


def test_errors_keep_their_digits_on_devices_in_single_precision() -> None:
    """They are small differences of the squares of large sums."""
    sampler = Gibbs(num_reads=64, num_sweeps=1500)._on_device()
    h, J = np.full(4, 1.5), 0.3 * (np.ones((4, 4)) - np.eye(4))
    single, double = (
        sampler.sample(IsingProblem(h.astype(dtype), J.astype(dtype)), seed=0).correlation_error
        for dtype in ("float32", "float64")
    )
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=1e-5)


@pytest.mark.parametrize("device", [False, True])
def test_few_chains_that_agree_by_chance_are_not_certain(device: bool) -> None:
    free = IsingProblem(np.zeros((400, 2)))
    sampler = Gibbs(num_reads=2, num_sweeps=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # two chains seldom look converged
        result = (sampler._on_device() if device else sampler).sample(free, seed=0)
    # Two sums of 7 signs agree in a fifth of all cases; any step is 1 / 7 of the mean.
    assert result.correlation_error[:, 0, 1].min() > 0.05


def test_sweeps_of_a_chain_are_not_taken_for_independent() -> None:
    """The error of pairs that turn slowly is well above that of as many independent draws."""
    result = Gibbs(num_reads=128, num_sweeps=40, burn_in=60).sample(slow_problems(), seed=1)
    independent = np.sqrt((1 - result.correlation[:, 1, 3] ** 2) / (128 * 40))
    assert (result.correlation_error[:, 1, 3] / independent).mean() > 1.25


@given(twins(max_spins=5, scales=(0.0, 0.3, 1.0)))
@settings(max_examples=8)
@ignore_unconverged
def test_edges_are_entries_of_the_matrices(both: Any) -> None:
    for problem in both:
        first, second = problem.edges.T
        for sampler in (
            Gibbs(num_reads=20, num_sweeps=8),
            SimulatedAnnealing(num_reads=20, num_sweeps=8),
            MONTE_CARLO["tempering"](num_reads=9, num_sweeps=8),
            MeanField(),
            Transfer(),
        ):
            result = sampler.sample(problem, seed=0)
            for name in ("correlation", "correlation_error"):
                edges, matrix = getattr(result, f"edge_{name}"), getattr(result, name)
                np.testing.assert_allclose(edges, matrix[..., first, second], rtol=0, atol=1e-6)
                assert edges.dtype == problem.h.dtype


@given(twins(max_spins=6, band=3, scales=(0.0, 0.3, 1.0), dtypes=("float64",)))
def test_transfer_has_exact_correlations_of_edges(both: Any) -> None:
    dense, sparse = both
    result, truth = Transfer().sample(sparse), enumerate_moments(dense)
    first, second = sparse.edges.T
    np.testing.assert_allclose(
        result.edge_correlation, truth.correlation[..., first, second], rtol=0, atol=1e-12
    )
    assert not result.edge_correlation_error.any()


@monte_carlo
@ignore_unconverged
def test_the_bounds_of_what_is_known(make: Any) -> None:
    h = np.array([0.3, -0.2, 0.4, 9.0])
    problem = IsingProblem(h, ring(4, 0.2), present=[[True] * 4, [True, True, False, True]])
    alone = make(num_reads=1, num_sweeps=8).sample(problem, seed=0).correlation_error
    assert np.isnan(alone[0][~np.eye(4, dtype=bool)]).all()
    error = make(num_reads=30, num_sweeps=40).sample(problem, seed=0).correlation_error
    np.testing.assert_array_equal(np.diagonal(error, axis1=-2, axis2=-1), 0)
    assert not error[1, 2].any()  # an absent spin
    assert (error[0][~np.eye(4, dtype=bool)] > 0).all()
    np.testing.assert_array_equal(error, np.swapaxes(error, 1, 2))


def test_pairs_that_never_move_are_not_certain() -> None:
    problem = IsingProblem([20.0, 20.0])
    for sampler in (Gibbs(num_reads=100, num_sweeps=5), SimulatedAnnealing(num_reads=100)):
        result = sampler.sample(problem, seed=0)
        assert result.correlation[0, 1] == 1
        assert 1 / 100 < result.correlation_error[0, 1] < 3 / 100


def test_errors_are_nan_where_the_bias_is_not_known() -> None:
    problem = IsingProblem([0.3, -0.2], [[0, 0.7], [0.7, 0]])
    for sampler in (MeanField(), Dimod("TabuSampler", num_reads=3, parameters={"timeout": 1})):
        error = sampler.sample(problem, seed=0).correlation_error
        assert np.isnan(error[0, 1])
        assert error[0, 0] == 0


def test_wrappers_pass_errors_on() -> None:
    problem = IsingProblem([0.3, -0.2], [[0, 0.7], [0.7, 0]])
    exact = GaugeSpin(Exact()).sample(problem)
    assert not exact.correlation_error.any()
    assert not exact.std_error.any()
    noise = np.sqrt((1 - exact.correlation[0, 1] ** 2) / 400)
    for sampler in (
        GaugeSpin(SimulatedAnnealing(num_reads=400)),
        Refine(SimulatedAnnealing(num_reads=400)),
    ):
        error = sampler.sample(problem, seed=0).correlation_error[0, 1]
        assert abs(error / noise - 1) < 0.25


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_errors_come_in_the_problems_library(kind: str) -> None:
    torch = pytest.importorskip("torch")
    J = ring(4, 0.3)
    J = J if kind == "sparse" else torch.as_tensor(J.toarray(), dtype=torch.float32)
    problem = IsingProblem(torch.zeros(4, dtype=torch.float32), J)
    expected = torch.float32 if kind == "dense" else torch.float64
    for sampler in (Gibbs(num_reads=9), Transfer(), Exact()):
        result = sampler.sample(problem, seed=0)
        for name in ("correlation", "correlation_error", "edge_correlation"):
            assert getattr(result, name).dtype == expected
        assert tuple(result.edge_correlation_error.shape) == (4,)


@ignore_unconverged
def test_large_problems_have_correlations_of_edges_alone() -> None:
    n, J, h = 20_000, 0.3, 0.2
    problem = IsingProblem(np.full(n, h), ring(n, J))
    results = [
        make(num_reads=20, num_sweeps=20).sample(problem, seed=1)
        for make in (Gibbs, SimulatedAnnealing)
    ]
    # Of a long ring: m^2 + (1 - m^2) times the ratio of its eigenvalues.
    m = np.sinh(h) / np.sqrt(np.sinh(h) ** 2 + np.exp(-4 * J))
    root = np.sqrt(np.sinh(h) ** 2 + np.exp(-4 * J))
    pair = m**2 + (1 - m**2) * (np.cosh(h) - root) / (np.cosh(h) + root)
    for result in results:
        for name in ("correlation", "correlation_error"):
            with pytest.raises(TooLargeError, match=r"20000 x 20000 .* Take edge_correlation"):
                getattr(result, name)
        found, error = result.edge_correlation, result.edge_correlation_error
        assert found.shape == error.shape == (n,)
        # Edges are correlated over a few neighbours: at most as if in groups of 8.
        assert abs(found.mean() - pair) < 5 * np.sqrt(8 / n) * error.mean()
    twin = pickle.loads(pickle.dumps(results[1]))
    np.testing.assert_array_equal(twin.edge_correlation, results[1].edge_correlation)
    with pytest.raises(TooLargeError, match="edge_correlation"):
        _ = copy.deepcopy(results[1]).correlation
    with pytest.raises(TooLargeError, match="the correlations would be an array"):
        _ = MeanField().sample(problem).edge_correlation


def test_edges_of_a_long_chain_by_transfer() -> None:
    n = 10_000
    upper = scipy.sparse.diags_array([np.full(n - 1, 0.4)], offsets=[1])
    result = Transfer().sample(IsingProblem(np.zeros(n), upper + upper.T))
    np.testing.assert_allclose(result.edge_correlation, np.tanh(0.4), rtol=1e-12)
