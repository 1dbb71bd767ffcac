import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isingsample import Exact, IsingProblem, fit_couplings
from isingsample._core.states import spin_table
from isingsample.testing import enumerate_moments
from support.fit_cases import Drawn, patterns, planted


def inverse_information(problem):
    """Inverse of the covariance of all s_j, then all s_j s_k: (n(n+1)/2, n(n+1)/2).

    Over N it is the covariance of the best fit to N patterns of problem; times small differences
    of moments, the differences of parameters that they make.
    """
    n = problem.num_spins
    states = spin_table(n)
    weights = Exact().distribution(problem)
    j, k = np.triu_indices(n, 1)
    statistics = np.concatenate([states, states[:, j] * states[:, k]], axis=1)
    centred = statistics - weights @ statistics
    return np.linalg.inv(centred.T @ (weights[:, None] * centred))


@pytest.mark.parametrize("sampler", [Exact(), Drawn(num_reads=10000), "exact"])
def test_planted_couplings_are_recovered(rng, sampler):
    n, number, tolerance = 10, 20000, 1e-3
    model = planted(rng, n)
    fit = fit_couplings(patterns(model, number), sampler, momentum=0.8, seed=2, tolerance=tolerance)
    assert fit.converged
    inverse = inverse_information(model)
    # R reads of W steps leave moments as uncertain as R W patterns would: noise^2 of the widest.
    from_patterns = np.sqrt(np.diag(inverse) * (1 / number + fit.noise[-1] ** 2))
    from_stopping = np.abs(inverse).sum(axis=1) * tolerance
    errors = 5 * from_patterns + from_stopping
    pairs = np.triu_indices(n, 1)
    assert (np.abs(fit.problem.h - model.h) <= errors[:n]).all()
    assert (np.abs(fit.problem.J - model.J)[pairs] <= errors[n:]).all()
    assert np.abs(model.J[pairs]).max() > 3 * errors[n:].max()


def test_moments_match_at_the_end(rng):
    data = patterns(planted(rng), 200)
    fit = fit_couplings(data, Exact(), tolerance=1e-5, num_steps=20000)
    moments = enumerate_moments(fit.problem)
    spins = data.astype(float)
    np.testing.assert_allclose(moments.magnetization, spins.mean(0), atol=1.1e-5)
    np.testing.assert_allclose(moments.correlation, spins.T @ spins / 200, atol=1.1e-5)
    assert fit.converged
    assert fit.moment_error[-1] <= 1e-5 < fit.moment_error[-2]


def test_two_spins_in_closed_form():
    # <s0 s1> = tanh(J) without fields.
    data = [[1, 1], [-1, -1], [1, 1], [1, -1]]
    fit = fit_couplings(data, Exact(), fit_fields=False, tolerance=1e-9)
    assert fit.problem.J[0, 1] == pytest.approx(np.arctanh(0.5), abs=1e-8)
    assert (fit.problem.h == 0).all()
    assert fit.problem.J[0, 1] == fit.problem.J[1, 0]
    # One spin: tanh(h) = <s>.
    fit = fit_couplings([[1], [1], [1], [-1]], Exact(), tolerance=1e-9)
    assert fit.problem.h[0] == pytest.approx(np.arctanh(0.5), abs=1e-8)


def test_beta_is_the_temperature_of_the_data(rng):
    data = patterns(planted(rng), 500)
    one = fit_couplings(data, Exact())
    half = fit_couplings(data, Exact(), beta=0.5)
    np.testing.assert_allclose(half.problem.h, 2 * one.problem.h)
    np.testing.assert_allclose(half.problem.J, 2 * one.problem.J)
    np.testing.assert_allclose(half.moment_error, one.moment_error, atol=1e-12)


def test_strong_couplings_do_not_diverge():
    ones = np.ones((10, 10)) - np.eye(10)
    data = patterns(IsingProblem(np.zeros(10), 0.2 * ones), 2000)
    fit = fit_couplings(data, Exact(), fit_fields=False, num_steps=200)
    assert (np.diff(fit.moment_error) <= 1e-12).all()


@settings(max_examples=20, deadline=None)
@given(
    data=st.integers(1, 5).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n), min_size=1, max_size=6
        )
    ),
    fit_fields=st.booleans(),
)
def test_any_data_gives_a_finite_model(data, fit_fields):
    fit = fit_couplings(data, Exact(), num_steps=50, tolerance=0.01, fit_fields=fit_fields)
    assert np.isfinite(fit.problem.J).all()
    assert np.isfinite(fit.problem.h).all()
    assert 1 <= len(fit.moment_error) <= 50
    assert fit.moment_error[-1] <= fit.moment_error[0]


def test_a_fit_is_shown_in_one_line():
    shown = repr(fit_couplings([[1, 1], [-1, 1], [1, -1]], "exact", num_steps=2))
    assert shown.startswith("Fit(IsingProblem(num_spins=2")
    assert "2 steps" in shown
    assert len(shown) < 150


def test_one_seed_one_fit(rng):
    data = patterns(planted(rng), 100)

    def fields(seed):
        return fit_couplings(data, Drawn(num_reads=20), num_steps=5, seed=seed).problem.h

    assert np.array_equal(fields(3), fields(3))
    assert np.array_equal(fields(-(2**80)), fields(-(2**80)))
    assert not np.array_equal(fields(3), fields(4))
    assert not np.array_equal(fields(None), fields(None))
    assert np.array_equal(fields(np.random.default_rng(1)), fields(np.random.default_rng(1)))


def test_steps_draw_different_samples():
    data = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])  # all moments 0: nothing to learn
    fit = fit_couplings(
        data, Drawn(num_reads=100), num_steps=8, learning_rate=0.0, tolerance=0, seed=0
    )
    assert len(set(fit.moment_error)) > 1


def test_data_of_any_kind_is_taken_and_left_alone(rng):
    data = patterns(planted(rng), 50)
    before = data.copy()
    expected = fit_couplings(data, Exact(), num_steps=50).problem.J
    assert np.array_equal(data, before)
    for other in (data.tolist(), data.astype(np.float32), np.asfortranarray(data), data[::-1]):
        np.testing.assert_allclose(
            fit_couplings(other, Exact(), num_steps=50).problem.J, expected, atol=1e-12
        )
    torch = pytest.importorskip("torch")
    fit = fit_couplings(torch.from_numpy(data), Exact(), num_steps=50)
    np.testing.assert_allclose(fit.problem.J, expected)
