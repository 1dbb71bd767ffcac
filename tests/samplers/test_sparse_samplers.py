"""Every sampler on sparse couplings: like on the dense problem, and at sizes that have no other."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

from isingsample import (
    Dimod,
    DWave,
    Exact,
    Gibbs,
    IsingProblem,
    MeanField,
    SimulatedAnnealing,
    SparseCouplings,
    TooLargeError,
    Transfer,
    effective_beta,
    get_sampler,
)
from isingsample.samplers.dwave.call.job import fingerprint
from isingsample.samplers.dwave.mock import mock_dwave
from isingsample.testing import enumerate_moments
from support.checks import assert_moments
from support.monte_carlo import (
    MONTE_CARLO,
    assert_distribution,
    boltzmann,
    ignore_unconverged,
    monte_carlo,
)
from support.sparse_problems import ring, twins

WEAK = (0.0, 0.01, 0.3, 1.0)


@monte_carlo
@ignore_unconverged
@given(twins())
@settings(max_examples=25)
def test_monte_carlo_is_that_of_the_dense_problem_bit_by_bit(make: Any, both: Any) -> None:
    sampler = make(num_reads=5, num_sweeps=8)
    one, other = (sampler.sample(problem, seed=3) for problem in both)
    np.testing.assert_array_equal(one.samples, other.samples)
    np.testing.assert_array_equal(one.magnetization, other.magnetization)
    np.testing.assert_array_equal(one.correlation, other.correlation)
    lowest, same = (sampler.minimize(problem, seed=3) for problem in both)
    np.testing.assert_array_equal(lowest[0], same[0])


@monte_carlo
def test_reads_on_a_sparse_graph_are_boltzmann(make: Any) -> None:
    rng = np.random.default_rng(1)
    upper = scipy.sparse.random_array((7, 7), density=0.4, rng=rng, data_sampler=rng.normal)
    upper = 0.4 * scipy.sparse.triu(upper, 1)
    problem = IsingProblem(0.5 * rng.normal(size=(2, 7)), upper + upper.T)
    samples = make(num_reads=4000, num_sweeps=60).sample(problem, seed=2).samples
    for reads, expected in zip(samples, boltzmann(problem), strict=True):
        assert_distribution(reads, expected)


@given(twins(band=3, scales=WEAK))
def test_transfer_is_exact_on_sparse_bands(both: Any) -> None:
    dense, sparse = both
    assert_moments(Transfer(), sparse, enumerate_moments(dense))


@given(twins(scales=(0.0, 0.01, 0.3)))
def test_mean_field_is_that_of_the_dense_problem(both: Any) -> None:
    tolerance = 1e-5 if both[0].h.dtype == np.float32 else 1e-9
    for equation in ("naive", "tap"):
        one, other = (MeanField(equation=equation).sample(problem) for problem in both)
        for name in ("magnetization", "probability", "correlation"):
            np.testing.assert_allclose(
                getattr(one, name), getattr(other, name), rtol=0, atol=tolerance
            )


@given(twins(max_spins=5, batches=((), (2,)), dtypes=("float64",)))
@settings(max_examples=10)
def test_dimod_children_see_the_same_model(both: Any) -> None:
    sampler = Dimod("ExactSolver", num_reads=5)
    one, other = (sampler.sample(problem, seed=0) for problem in both)
    np.testing.assert_array_equal(one.samples, other.samples)


@pytest.mark.parametrize("name", ["exact", "dqa"])
def test_samplers_of_dense_couplings_make_them(name: str) -> None:
    J = ring(5, 0.4)
    h = np.linspace(-1, 1, 5)
    found = get_sampler(name).sample(IsingProblem(h, J))
    expected = get_sampler(name).sample(IsingProblem(h, J.toarray()))
    np.testing.assert_array_equal(found.magnetization, expected.magnetization)
    assert found.problem.is_sparse


def test_an_annealer_takes_sparse_couplings() -> None:
    J, h = ring(6, 0.3), np.linspace(-0.5, 0.5, 6)
    sampler = DWave(child=mock_dwave(topology_shape=[2, 4], seed=3), num_reads=50)
    problem = IsingProblem(h, J)
    found = sampler.sample(problem, seed=0)
    assert found.edge_correlation.shape == (6,)
    assert np.isnan(found.edge_correlation_error).all()
    assert fingerprint(problem) == fingerprint(problem.to_dense())


def test_the_temperature_of_samples_of_sparse_problems() -> None:
    J, h = ring(40, 0.3), np.linspace(-0.5, 0.5, 40)
    samples = SimulatedAnnealing(num_reads=200).sample(IsingProblem(h, J), seed=0).samples
    found, expected = (
        effective_beta(IsingProblem(h, couplings), samples, seed=0)
        for couplings in (J, J.toarray())
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert abs(found.beta - 1) < 5 * found.std_error


def test_tensors_go_with_sparse_couplings() -> None:
    torch = pytest.importorskip("torch")
    h = torch.linspace(-1, 1, 6, dtype=torch.float64, requires_grad=True)
    J = ring(6, 0.4)
    dense = IsingProblem(h, torch.as_tensor(J.toarray()))
    for sampler in (Exact(), MeanField(), Transfer()):
        gradients = []
        for problem in (IsingProblem(h, J), dense):
            result = sampler.sample(problem)
            assert result.magnetization.dtype == torch.float64
            gradients.append(torch.autograd.grad(result.magnetization[1], h)[0])
        torch.testing.assert_close(gradients[0], gradients[1])
    assert Gibbs(num_reads=3).sample(IsingProblem(h, J), seed=0).samples.dtype == torch.int8


# Of a long ring in a field: m, <s s'> of neighbours, and the variances of m and of the energy
# per spin times n, from its larger eigenvalue.
def ring_truth(J: float, h: float) -> tuple[float, float, float, float]:
    def log_eigenvalue(beta: float, h: float) -> float:
        a, b = np.exp(beta * J) * np.cosh(beta * h), np.sinh(beta * h) * np.exp(beta * J)
        return float(np.log(a + np.sqrt(b * b + np.exp(-2 * beta * J))))

    step = 1e-4
    up, at, down = (log_eigenvalue(1, h + s) for s in (step, 0, -step))
    hotter, colder = log_eigenvalue(1 - step, h), log_eigenvalue(1 + step, h)
    m = np.sinh(h) / np.sqrt(np.sinh(h) ** 2 + np.exp(-4 * J))
    energy = -(colder - hotter) / (2 * step)
    return m, -(energy + h * m) / J, (up - 2 * at + down) / step**2, (
        hotter - 2 * at + colder
    ) / step**2  # fmt: skip


@monte_carlo
@ignore_unconverged  # the worst of 100 000 spins looks bad by chance
def test_a_ring_of_a_hundred_thousand_spins(make: Any) -> None:
    n, J, h, reads = 100_000, 0.3, 0.2, 4
    options = {"num_replicas": 3, "burn_in": 30} if make is MONTE_CARLO["tempering"] else {}
    tracemalloc.start()
    problem = IsingProblem(np.full(n, h), ring(n, J))
    result = make(num_reads=reads, num_sweeps=30, **options).sample(problem, seed=4)
    energy = result.energy
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    m, pair, spread_of_m, spread_of_energy = ring_truth(J, h)
    # Averages over the ring of independent reads; those over sweeps as well vary less.
    found = result.magnetization.mean()
    assert abs(found - m) < 5 * np.sqrt(spread_of_m / (n * reads)), (found, m)
    found = energy.mean() / n
    assert abs(found + h * m + J * pair) < 5 * np.sqrt(spread_of_energy / (n * reads)), found
    assert peak < 500e6


@ignore_unconverged
@pytest.mark.parametrize("name", ["exact", "transfer", "mean_field", *MONTE_CARLO, "dimod"])
def test_degenerate_problems(name: str) -> None:
    for shape, pairs in (((0,), []), ((2, 0), []), ((1,), []), ((0, 3), [(0, 1)])):
        first, second = np.array(pairs, int).reshape(-1, 2).T
        J = SparseCouplings.from_pairs(shape[-1], first, second, np.full(len(pairs), 0.5))
        problem = IsingProblem(np.zeros(shape), J)
        result = get_sampler(name).sample(problem, seed=0)
        assert result.correlation.shape == (*shape, shape[-1])
        assert result.correlation_error.shape == (*shape, shape[-1])
        assert result.edge_correlation.shape == (*shape[:-1], len(pairs))
        assert result.edge_correlation_error.shape == (*shape[:-1], len(pairs))


@monte_carlo
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_domain_walls_of_a_ring_meet(make: Any, kind: str) -> None:
    """A sweep that carries all of them along would never bring two together."""
    J = ring(24, 0.4)
    problem = IsingProblem(np.zeros(24), J if kind == "sparse" else J.toarray())
    state, energy = make(num_reads=100).minimize(problem, seed=0)
    np.testing.assert_array_equal(state, np.full(24, state[0]))
    np.testing.assert_allclose(energy, -0.4 * 24)


def test_a_long_chain_has_its_ground_state() -> None:
    n = 20_000
    J = ring(n, 1.0).tolil()
    J[0, n - 1] = J[n - 1, 0] = 0.0
    h = np.zeros(n)
    h[0] = 0.5
    state, energy = Transfer().minimize(IsingProblem(h, J))
    assert (state == 1).all()
    assert energy == -(n - 1) - 0.5


def test_too_large_for_dense_arrays_says_so_before_any_work() -> None:
    problem = IsingProblem(np.zeros(20_000), ring(20_000, 0.1))
    for name in ("exact", "dqa"):
        with pytest.raises(TooLargeError, match=f"'{name}' takes dense couplings only"):
            get_sampler(name).sample(problem)
