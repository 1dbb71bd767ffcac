"""Parts that are fitted, weights, momentum, decay, persistent chains, and fits that go on."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isingsample import (
    Exact,
    FitInterrupt,
    Gibbs,
    IsingProblem,
    MeanField,
    SimulatedAnnealing,
    fit_couplings,
)
from isingsample._core.states import spin_table
from support.fit_cases import Drawn, patterns, planted


def three_body(rng, num_spins, scale):
    K = np.zeros((num_spins,) * 3)
    for _ in range(num_spins):
        spins = rng.choice(num_spins, 3, replace=False)
        K[np.ix_(spins, spins, spins)] = rng.normal(0, scale)
    n = np.arange(num_spins)
    K[n, n, :] = K[n, :, n] = K[:, n, n] = 0
    return (K + K.transpose(0, 2, 1) + K.transpose(1, 0, 2) + K.transpose(1, 2, 0)
            + K.transpose(2, 0, 1) + K.transpose(2, 1, 0)) / 6  # fmt: skip


@pytest.mark.parametrize("sampler", [Exact(), Drawn(num_reads=4000)])
def test_three_body_couplings_are_matched(rng, sampler):
    n = 5
    pairs = planted(rng, n)
    model = IsingProblem(pairs.h, pairs.J, three_body(rng, n, 0.3))
    data = patterns(model, 4000)
    options = {"triples": "all", "momentum": 0.8, "num_steps": 3000, "tolerance": 3e-3}
    fit = fit_couplings(data, sampler, seed=1, **options)
    assert fit.converged
    states = spin_table(n)
    weights = Exact().distribution(fit.problem)
    ours = np.einsum("q,qj,qk,ql->jkl", weights, states, states, states)
    theirs = np.einsum("qj,qk,ql->jkl", *3 * [data.astype(float)]) / len(data)
    different = np.array([len({*at}) == 3 for at in np.ndindex(n, n, n)]).reshape(n, n, n)
    # What is left: the tolerance, and five standard errors of averages of at most that size.
    assert np.abs(ours - theirs)[different].max() <= 3e-3 + 5 * fit.noise[-1] + 1e-9
    assert np.abs(fit.problem.K).max() > 0.1
    without = fit_couplings(data, Exact(), num_steps=3000, tolerance=3e-3, momentum=0.8)
    assert without.problem.K is None


def test_edges_and_triples_that_are_not_listed_stay_zero(rng):
    data = patterns(planted(rng, 6), 300)
    edges = [(0, 1), (4, 2), (1, 0), (3, 5)]  # in any order, repeated
    fit = fit_couplings(data, Exact(), edges=edges, tolerance=1e-8)
    assert fit.converged
    assert fit.problem.is_sparse
    assert fit.problem.edges.tolist() == [[0, 1], [2, 4], [3, 5]]
    moments = Exact().sample(fit.problem)
    spins = data.astype(float)
    C = spins.T @ spins / len(data)
    for j, k in fit.problem.edges:
        assert moments.correlation[j, k] == pytest.approx(C[j, k], abs=1e-7)
    # Three separate pairs: each has its own closed form.
    for j, k in fit.problem.edges:
        pair = fit_couplings(data[:, [j, k]], Exact(), tolerance=1e-8).problem
        np.testing.assert_allclose(fit.problem.to_dense().J[j, k], pair.J[0, 1], atol=1e-6)
    both = fit_couplings(data, Exact(), edges=edges, triples=[(5, 0, 2)], num_steps=20)
    assert np.argwhere(np.triu(both.problem.J)).tolist() == [[0, 1], [2, 4], [3, 5]]
    assert {tuple(sorted(at)) for at in np.argwhere(both.problem.K)} == {(0, 2, 5)}


@settings(max_examples=15, deadline=None)
@given(counts=st.lists(st.integers(0, 4), min_size=8, max_size=8).filter(any))
def test_weights_are_repeated_patterns(counts):
    data = spin_table(3)
    repeated = np.repeat(data, counts, axis=0)
    options = {"num_steps": 40, "tolerance": 0.0}
    weighted = fit_couplings(data, Exact(), weights=counts, **options)
    plain = fit_couplings(repeated, Exact(), **options)
    np.testing.assert_allclose(weighted.problem.J, plain.problem.J, atol=1e-8)
    np.testing.assert_allclose(weighted.problem.h, plain.problem.h, atol=1e-8)


def test_momentum_arrives_earlier_at_the_same_model(rng):
    data = patterns(planted(rng, 8, J=0.5), 1000)
    plain = fit_couplings(data, Exact(), tolerance=1e-6, num_steps=20000)
    quick = fit_couplings(data, Exact(), tolerance=1e-6, num_steps=20000, momentum=0.9)
    assert plain.converged
    assert quick.converged
    assert len(quick.moment_error) < len(plain.moment_error) / 2
    np.testing.assert_allclose(quick.problem.J, plain.problem.J, atol=1e-4)


def test_weight_decay_is_the_pull_of_a_prior():
    # Two spins without fields: C - tanh(J) = decay J.
    data = [[1, 1], [-1, -1], [1, 1], [1, -1]]
    fit = fit_couplings(data, Exact(), fit_fields=False, weight_decay=0.3, tolerance=1e-10)
    J = fit.problem.J[0, 1]
    assert 0.5 - np.tanh(J) == pytest.approx(0.3 * J, abs=1e-9)
    # Patterns that agree have no finite best model without it; and fields are left alone.
    fit = fit_couplings([[1, 1]] * 3, Exact(), weight_decay=0.1, tolerance=1e-2, num_steps=5000)
    assert fit.converged
    assert np.abs(fit.problem.J).max() < 10


def test_fields_that_are_not_fitted_stay(rng):
    model = planted(rng, 4)
    start = IsingProblem(model.h, np.zeros((4, 4)))
    fit = fit_couplings(patterns(model, 500), Exact(), fit_fields=False, start=start)
    assert np.array_equal(fit.problem.h, model.h)
    assert fit.converged


def test_a_fit_goes_on_from_a_model(rng):
    data = patterns(planted(rng), 300)
    whole = fit_couplings(data, Exact(), num_steps=31, tolerance=0.0)
    half = fit_couplings(data, Exact(), num_steps=16, tolerance=0.0)
    # The last step of a fit is a measurement, which the next fit repeats.
    rest = fit_couplings(data, Exact(), num_steps=16, tolerance=0.0, start=half.problem)
    np.testing.assert_allclose(rest.problem.J, whole.problem.J, atol=1e-12)
    np.testing.assert_allclose(rest.moment_error[-1], whole.moment_error[-1], atol=1e-12)
    edges = np.argwhere(np.triu(np.ones((8, 8)), 1))
    sparse = fit_couplings(data, Exact(), num_steps=16, edges=edges, tolerance=0.0)
    again = fit_couplings(
        data, Exact(), num_steps=16, edges=edges, tolerance=0.0, start=sparse.problem, beta=1.0
    )
    np.testing.assert_allclose(again.problem.to_dense().J, whole.problem.J, atol=1e-12)


@dataclass(frozen=True)
class Stopped(Exact):
    """Somebody presses Ctrl-C when correlations have been asked for a few times."""

    calls: tuple = ()

    def _solve(self, block, beta, streams):
        if len(counted) == 5:
            raise KeyboardInterrupt
        counted.append(1)
        return super()._solve(block, beta, streams)


counted: list[int] = []


def test_an_interrupted_fit_is_kept(rng):
    data = patterns(planted(rng), 300)
    counted.clear()
    with pytest.raises(KeyboardInterrupt, match=r"after 5 steps.*start=error.fit.problem") as stop:
        fit_couplings(data, Stopped(), tolerance=0.0)
    assert isinstance(stop.value, FitInterrupt)
    fit = stop.value.fit
    assert not fit.converged
    expected = fit_couplings(data, Exact(), num_steps=5, tolerance=0.0)
    np.testing.assert_array_equal(fit.problem.J, expected.problem.J)
    np.testing.assert_array_equal(fit.moment_error, expected.moment_error)


def test_noise_decides_when_to_stop(rng):
    data = patterns(planted(rng), 2000)
    fit = fit_couplings(data, Drawn(num_reads=1000), tolerance=4e-3, seed=4)
    assert fit.converged
    assert fit.noise[-1] <= 4e-3 < fit.noise[0]
    # Averages of about 100 steps are near the fit by exact moments, where one step is not.
    exact = Exact().sample(fit.problem)
    spins = data.astype(float)
    off = np.abs(exact.correlation - spins.T @ spins / len(data)).max()
    assert off <= 4e-3 + 5 * fit.noise[-1] < 1 / np.sqrt(1000)
    hopeless = fit_couplings(data, Drawn(num_reads=10), tolerance=4e-3, seed=4, num_steps=50)
    assert not hopeless.converged
    # Samplers whose bias is unknown have the noise of their reads, or none.
    assert fit_couplings(data, MeanField(), num_steps=3, tolerance=0.0).noise.tolist() == [0, 0, 0]


def test_persistent_chains_need_few_sweeps(rng):
    model, number = planted(rng, 10), 20000
    spins = patterns(model, number).astype(float)
    sampler = SimulatedAnnealing(num_reads=500, num_sweeps=2, hold=1.0)

    def off(**options):
        """The largest difference between correlations of the data and of the fitted model."""
        fit = fit_couplings(spins, sampler, num_steps=400, tolerance=0.0, seed=1, **options)
        fitted = Exact().sample(fit.problem).correlation
        return np.abs(fitted - spins.T @ spins / number).max()

    with pytest.warns(UserWarning, match="did not converge"):
        fresh = off()  # two sweeps from random states are far from the model
    assert off(persistent=True) < fresh / 4


def test_a_large_grid_with_gibbs(rng):
    side = 30
    index = np.arange(side * side).reshape(side, side)
    edges = np.concatenate([
        np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], 1),
        np.stack([index[:-1].ravel(), index[1:].ravel()], 1),
    ])  # fmt: skip
    J = np.zeros((side * side,) * 2)
    J[tuple(edges.T)] = rng.normal(0, 0.3, len(edges))
    model = IsingProblem(np.zeros(side * side), J + J.T)
    data = Gibbs(num_reads=1000, num_sweeps=200, burn_in=100).sample(model, seed=1).samples
    sampler = Gibbs(num_reads=200, num_sweeps=20, burn_in=5)
    fit = fit_couplings(
        data, sampler, edges=edges, fit_fields=False, num_steps=40, persistent=True, seed=2
    )
    assert fit.problem.is_sparse
    assert len(fit.problem.edges) == len(edges)
    true = model.J[tuple(fit.problem.edges.T)]
    # The Cramer-Rao error of a pair is at least 1/sqrt(patterns), and the mean square of many
    # is near that where couplings are weak.
    assert np.sqrt(np.mean((fit.problem.J.values - true) ** 2)) < 3 / np.sqrt(1000)
    assert np.corrcoef(fit.problem.J.values, true)[0, 1] > 0.95
