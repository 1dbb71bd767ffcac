"""What is said of chains: split R-hat and effective sizes, against cases whose answer is known."""

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from isingsample import Exact, Gibbs, IsingProblem, MissingExtraError, ParallelTempering
from isingsample.samplers.monte_carlo.diagnostics import chain_diagnostics, warn_unless_converged
from support.monte_carlo import glass


def diagnosed(series: np.ndarray, reads: int) -> Any:
    found: Any = chain_diagnostics(series, reads, (len(series),))
    return {**found, "ess": found["ess"]()}


def test_r_hat_is_that_of_arviz_stats(rng: np.random.Generator) -> None:
    from arviz_stats.base import array_stats

    series = rng.normal(size=(20, 5, 33)) + rng.normal(size=(20, 5, 1))
    expected = array_stats.rhat(series[..., :32], method="split")
    np.testing.assert_allclose(diagnosed(series, reads=5)["r_hat"], expected)
    one = rng.normal(size=(4, 1, 20))
    expected = array_stats.rhat(one.reshape(4, 2, 10), method="identity")
    np.testing.assert_allclose(diagnosed(one, reads=1)["r_hat"], expected)


def test_sizes_wait_until_they_are_read() -> None:
    """arviz-stats takes longer to import than a small problem to sample."""
    code = (
        "import sys; from isingsample import Gibbs, IsingProblem\n"
        "info = Gibbs(num_reads=20).sample(IsingProblem([[0.1], [0.2]]), seed=0).info\n"
        "assert info['converged'].all() and 'ess' in info and 'timing' in info\n"
        "print('arviz_stats' in sys.modules, 'scipy.stats' in sys.modules)\n"
        "print(info['ess'].shape, 'arviz_stats' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["False False", "(2,) True"]


def test_results_can_be_pickled_before_sizes_are_read() -> None:
    result = Gibbs(num_reads=20).sample(glass(4, batch=(2,)), seed=0)
    again = pickle.loads(pickle.dumps(result))
    assert dict(again.info).keys() == dict(result.info).keys()
    np.testing.assert_array_equal(again.info["ess"], result.info["ess"])
    assert copy.deepcopy(result).info["ess"].shape == (2,)
    assert "r_hat" in repr(result.info)
    assert result.info.get("nothing") is None


def test_independent_draws_are_worth_their_number(rng: np.random.Generator) -> None:
    found = diagnosed(rng.normal(size=(50, 16, 64)), reads=64)
    assert found["converged"].all()
    assert found["r_hat"].max() < 1.02
    # Sixteen of 64 chains were looked at; an estimate from 1024 draws is good to some 10 %.
    assert abs(found["ess"].mean() / (64 * 64) - 1) < 0.1


def test_a_slow_chain_is_worth_less(rng: np.random.Generator) -> None:
    """x' = 0.8 x + noise has a correlation time of (1 + 0.8) / (1 - 0.8) = 9 draws."""
    noise = rng.normal(size=(30, 32, 1000))
    x = np.empty_like(noise)
    x[..., 0] = noise[..., 0] / np.sqrt(1 - 0.64)
    for t in range(1, 1000):
        x[..., t] = 0.8 * x[..., t - 1] + noise[..., t]
    ess = diagnosed(x, reads=32)["ess"]
    assert abs(ess.mean() * 9 / 32_000 - 1) < 0.1


def test_chains_that_disagree_do_not_converge(rng: np.random.Generator) -> None:
    series = rng.normal(size=(3, 4, 32))
    series[1, 0] += 5  # one chain elsewhere
    series[2] += np.linspace(0, 10, 32)  # all of them on the way
    found = diagnosed(series, reads=4)
    assert found["converged"].tolist() == [True, False, False]
    assert found["r_hat"][1] > 1.5
    assert found["r_hat"][2] > 1.5


def test_constant_chains() -> None:
    series = np.ones((2, 4, 32))
    series[1, 0] = -1
    found = diagnosed(series, reads=4)
    assert found["r_hat"].tolist() == [1, np.inf]
    assert found["converged"].tolist() == [True, False]
    assert np.isnan(found["ess"][0])


def test_a_single_chain_is_split(rng: np.random.Generator) -> None:
    steady, drifting = rng.normal(size=(2, 1, 1, 64))
    assert diagnosed(steady, reads=1)["converged"].all()
    drifting = drifting + np.linspace(0, 10, 64)
    assert not diagnosed(drifting, reads=1)["converged"].any()


def test_too_few_draws_tell_nothing() -> None:
    found = diagnosed(np.zeros((2, 5, 3)), reads=5)
    assert np.isnan(found["r_hat"]).all()
    assert not found["converged"].any()


def test_one_warning_counts_the_problems() -> None:
    info = {"converged": np.array([True, False, False]), "r_hat": np.array([1.0, 1.5, 3.25])}
    with pytest.warns(UserWarning, match="2 of 3") as caught:
        warn_unless_converged("gibbs", info, "raise burn_in")
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "gibbs: 2 of 3 problems did not converge (split R-hat up to 3.25, at most 1.2 wanted); "
        "raise burn_in"
    )
    warn_unless_converged("gibbs", {}, "nothing was sampled")


def test_the_warning_points_at_the_caller() -> None:
    strong = IsingProblem(np.zeros(2), [[0, 50.0], [50.0, 0]])
    with pytest.warns(UserWarning, match="1 of 1") as caught:
        Gibbs(num_reads=20).sample(strong, seed=0)
    assert caught[0].filename == __file__


def test_figures_are_per_problem() -> None:
    result = Gibbs(num_reads=20).sample(glass(4, batch=(2, 3)), seed=0)
    for name in ("r_hat", "ess", "converged"):
        assert result.info[name].shape == (2, 3)
    assert (result.info["ess"] > 20).all()


@pytest.mark.parametrize("module", ["numba", "arviz_stats"])
def test_without_the_extra_it_says_how_to_install_it(module: str) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from isingsample import IsingProblem, MissingExtraError\n"
        "from isingsample.samplers.monte_carlo.gibbs import Gibbs\n"
        "try: Gibbs().sample(IsingProblem([0.0])).info['ess']\n"
        "except MissingExtraError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'isingsample[numba]'" in run.stdout
    assert issubclass(MissingExtraError, ImportError)


def test_error_bars_hold_for_spins_that_are_nearly_frozen() -> None:
    """Chains that all agree hide what none of them saw: bars must not fall below 2 / reads."""
    rng = np.random.default_rng(0)
    J = np.triu(rng.normal(0, 0.4, (200, 8, 8)), 1)
    problem = IsingProblem(rng.normal(0, 0.5, (200, 8)), J + np.swapaxes(J, 1, 2))
    exact = Exact().sample(problem, beta=3.0).magnetization
    found = ParallelTempering().sample(problem, beta=3.0, seed=1)
    assert found.info["converged"].all()
    scores = np.abs(found.magnetization - exact) / found.std_error
    # 36 of 1000 spins were beyond 5 errors when bars were the spread between chains alone. That of
    # 100 chains is itself known to 7 %, and what is rare is known worse.
    assert (scores > 5).mean() <= 0.001
    assert (scores < 2).mean() >= 0.93


def test_a_frozen_spin_is_known_as_well_as_by_reads_that_agree() -> None:
    for make in (Gibbs, ParallelTempering):
        result = make(num_reads=64, num_sweeps=20).sample(IsingProblem([30.0, 0.0]), seed=0)
        assert result.std_error[0] == pytest.approx(2 / 66)
        # What is seen often is not touched: a free spin's probability is known in each sweep.
        assert result.std_error[1] < 1e-5


@pytest.mark.parametrize("reads", [1, 2])
def test_one_or_two_chains_that_sit_still_are_not_called_converged(reads: int) -> None:
    J = np.array([[0.0, 20.0], [20.0, 0.0]])  # two valleys; any chain stays in one
    with pytest.warns(UserWarning, match="did not converge"):
        result = Gibbs(num_reads=reads).sample(IsingProblem([0.0, 0.0], J), seed=3)
    assert not result.info["converged"]
