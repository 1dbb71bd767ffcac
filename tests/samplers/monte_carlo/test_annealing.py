"""Simulated annealing: its schedules, thermal and optimising."""

from typing import Any

import numpy as np
import pytest

from isingsample import IsingProblem, SimulatedAnnealing
from isingsample._core.blocks import split
from isingsample.samplers.monte_carlo.schedules import optimising_betas, optimising_range
from support.fixtures import ASYM3, PAIR, three_body
from support.monte_carlo import assert_distribution, boltzmann, glass, ignore_unconverged


@pytest.mark.parametrize(
    "options",
    [
        {"beta_schedule_type": "linear"},
        {"beta_schedule_type": "custom", "beta_schedule": [0.1, 0.5, 2.0] + [0.7] * 40},
        {"beta_range": (0.3, 0.7), "hold": 1.0},
        {"beta_range": (2.0, 0.7)},
    ],
    ids=["linear", "custom", "hold", "from the cold"],
)
def test_every_schedule_ends_at_beta(options: Any) -> None:
    problem = glass(6, seed=2)
    sampler = SimulatedAnnealing(num_reads=20_000, **options)
    assert_distribution(sampler.sample(problem, beta=0.7, seed=1).samples, boltzmann(problem, 0.7))


def test_moments_are_those_of_the_reads() -> None:
    result = SimulatedAnnealing(num_reads=50).sample(ASYM3.problem(), seed=0)
    np.testing.assert_allclose(result.magnetization, result.samples.mean(axis=0))
    assert result.info["converged"]
    assert result.info["options"]["num_sweeps"] == 100


def test_without_a_hold_nobody_knows_whether_it_converged() -> None:
    with pytest.warns(UserWarning, match="1 of 1 problems did not converge .split R-hat unknown"):
        result = SimulatedAnnealing(num_reads=50, hold=0.0).sample(PAIR.problem(), seed=0)
    assert not result.info["converged"]
    assert np.isnan(result.info["r_hat"])


BAD = [
    ({"beta_schedule_type": "custom"}, "beta_schedule goes with"),
    ({"beta_schedule": [1.0]}, "beta_schedule goes with"),
    ({"beta_schedule_type": "custom", "beta_schedule": [[1.0]]}, "must be a list of numbers"),
    ({"beta_schedule_type": "custom", "beta_schedule": []}, "must be a list of numbers"),
    ({"beta_schedule_type": "custom", "beta_schedule": [-1.0, 1.0]}, "must not be negative"),
    ({"beta_schedule_type": "custom", "beta_schedule": [np.nan, 1.0]}, "must be finite"),
    ({"beta_schedule_type": "custom", "beta_schedule": [1.0, 2.0]}, "must end at beta=1"),
    ({"hold": 2}, "hold must be between 0 and 1"),
    ({"beta_schedule_type": "linaer"}, "did you mean 'linear'"),
    ({"beta_range": (0.1, 2.0)}, "beta_range must end at beta=1"),
    ({"beta_range": (0.0, 1.0)}, "cannot start at 0"),
    ({"beta_range": (1.0,)}, "must be two finite numbers"),
    (
        {"beta_schedule_type": "custom", "beta_schedule": [1.0], "beta_range": (0.1, 1.0)},
        "exclude each other",
    ),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_schedules_are_named(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SimulatedAnnealing(**options).sample(PAIR.problem())


def test_optimising_range_follows_the_problem() -> None:
    block = split(IsingProblem([[2.0, -0.5], [0.0, 0.0]], [[0, 0.25], [0.25, 0]]))[0]
    hot, cold = optimising_range(block)
    # At hot the largest field, 2.25, is followed with odds of 2 to 1; at cold the second spin
    # follows the larger of its field and its coupling, 0.5, with 100 to 1.
    np.testing.assert_allclose(np.exp(2 * hot[0] * [2.25, 0.25]), 2)
    np.testing.assert_allclose(cold[0], [np.log(100), 10 * hot[0, 1]])
    scaled = split(IsingProblem(1e3 * block.h[0], 1e3 * block.J[0]))[0]
    np.testing.assert_allclose(optimising_range(scaled)[0], hot / 1e3)
    betas = optimising_betas(block, 50)
    assert betas.shape == (1, 2, 50)
    np.testing.assert_allclose(betas[0, :, 0], hot[0])
    np.testing.assert_allclose(betas[0, :, 44], cold[0])
    assert np.isinf(betas[..., 45:]).all()
    np.testing.assert_allclose(np.diff(np.sqrt(betas[..., :45]), 2), 0, atol=1e-12)
    assert np.isinf(optimising_betas(block, 1000)[0, 0]).sum() == 10
    assert (optimising_betas(block, 1) == np.inf).all()


def test_the_range_counts_what_holds_each_spin() -> None:
    """A weak coupling of spins that stronger ones hold does not make the anneal longer."""
    J = np.zeros((4, 4))
    for a, b, value in [(0, 1, 1.0), (1, 2, 1e-6), (2, 3, 1.0)]:
        J[a, b] = J[b, a] = value
    cold = optimising_range(split(IsingProblem([8.0, 0, 0, 0], J))[0])[1]
    np.testing.assert_allclose(cold, np.log(100) / 2)
    K = three_body(4, {(0, 1, 2): 2.0})
    cold = optimising_range(split(IsingProblem(np.full(4, 0.5), np.zeros((4, 4)), K))[0])[1]
    np.testing.assert_allclose(cold, np.log(100))


def test_the_range_is_bounded_where_nothing_couples() -> None:
    hot, cold = optimising_range(split(IsingProblem(np.zeros(3)))[0])
    assert np.isfinite([hot, cold]).all()
    wide = optimising_range(split(IsingProblem([1e-9, 1.0]))[0])
    assert wide[1] / wide[0] == pytest.approx(3000)
    state, _ = SimulatedAnnealing(num_reads=3).minimize(IsingProblem([1e-5, -1.0]), seed=0)
    np.testing.assert_array_equal(state, [1, -1])


@ignore_unconverged
def test_published_instance(shared_data: Any) -> None:
    """Sixteen spins of the SpinGlassNetworks.jl tests, given in the other sign."""
    rows = np.loadtxt(shared_data / "instances" / "sgn_16_001.txt")
    h, J = np.zeros(16), np.zeros((16, 16))
    for i, j, value in rows:
        a, b = int(i) - 1, int(j) - 1
        if a == b:
            h[a] = -value
        else:
            J[a, b] = J[b, a] = -value
    problem = IsingProblem(h, J)
    _, energy = SimulatedAnnealing(num_reads=50).minimize(problem, seed=0)
    assert energy == pytest.approx(-4.6875)
    reads = 4000
    result = SimulatedAnnealing(num_reads=reads).sample(problem, seed=1)
    for spin, exact in ((0, -0.04714259535793419), (15, 0.03856091039414178)):
        assert abs(result.magnetization[spin] - exact) < 5 / np.sqrt(reads)
