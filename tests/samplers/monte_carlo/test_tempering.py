"""Parallel tempering: every rung right, and valleys that single chains do not leave."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isingsample import Exact, Gibbs, IsingProblem, ParallelTempering, SimulatedAnnealing
from isingsample._core.blocks import split
from isingsample._core.streams import Streams
from isingsample.samplers.monte_carlo.ladders import adapted, first_ladder
from support.fixtures import ASYM3
from support.monte_carlo import (
    assert_distribution,
    assert_within_errors,
    boltzmann,
    glass,
    torus,
    uai,
)


@pytest.fixture(scope="module")
def frustrated() -> IsingProblem:
    return glass(6, seed=8)


@pytest.mark.parametrize("sweeps", [60, 61])  # the last exchanges are of odd or of even pairs
def test_every_rung_has_its_own_distribution(frustrated: IsingProblem, sweeps: int) -> None:
    betas = np.array([0.0, 0.4, 0.45, 1.0, 3.0])
    sampler = ParallelTempering(num_reads=8000, betas=betas)
    run = sampler._ladders(split(frustrated)[0], betas[None], sweeps, 1, Streams.from_seed(0), None)
    assert run.acceptance.min() > 0.2
    for rung, beta in enumerate(betas):
        assert_distribution(run.rungs[0, :, rung], boltzmann(frustrated, beta))


@pytest.mark.parametrize("rungs", [1, 2, 3, 31, 65])
def test_any_number_of_rungs(frustrated: IsingProblem, rungs: int) -> None:
    sampler = ParallelTempering(num_reads=300, num_replicas=rungs, num_sweeps=100)
    result = sampler.sample(frustrated, beta=0.8, seed=2)
    assert_within_errors(result, Exact().sample(frustrated, beta=0.8).magnetization, 300)
    assert result.info["betas"].shape == (rungs,)
    assert result.info["swap_acceptance"].shape == (rungs - 1,)
    assert result.info["betas"][-1] == 0.8


def check_two_valleys(problem: IsingProblem) -> None:
    """Single chains say that they did not converge; tempering does, and is right."""
    single = {
        Gibbs(num_reads=200): "raise burn_in and num_sweeps, or use 'tempering'",
        SimulatedAnnealing(num_reads=200): "raise num_sweeps or hold, or use 'tempering'",
    }
    for stuck, remedy in single.items():
        with pytest.warns(UserWarning, match=f"1 of 1 problems did not converge.*{remedy}"):
            result = stuck.sample(problem, seed=1)
        assert not result.info["converged"]
        assert result.info["r_hat"] > 2
    exact = Exact().sample(problem)
    result = ParallelTempering(num_reads=400, num_sweeps=400).sample(problem, seed=1)
    assert result.info["converged"]
    assert_within_errors(result, exact.magnetization, 400)
    assert result.info["swap_acceptance"].min() > 0.3


def test_a_published_grid_with_two_valleys(shared_data: Path) -> None:
    problem = uai(shared_data / "instances" / "grid3x3.uai")
    assert Exact().sample(problem).log_partition / np.log(10) == pytest.approx(22.8274, abs=1e-4)
    check_two_valleys(problem)


def test_two_far_clusters() -> None:
    """All up or all down, in proportion to the field."""
    J = np.ones((8, 8)) - np.eye(8)
    check_two_valleys(IsingProblem(np.full(8, 0.03), J))


def test_one_chain_alone_does_not_pass_for_sure() -> None:
    with pytest.warns(UserWarning, match="did not converge"):
        Gibbs(num_reads=2, initial_states=[[1] * 16, [-1] * 16]).sample(torus(4), seed=0)


def test_betas_of_ones_own(frustrated: IsingProblem) -> None:
    sampler = ParallelTempering(num_reads=500, betas=[0.2, 0.5, 1.0])
    result = sampler.sample(frustrated, seed=0)
    np.testing.assert_array_equal(result.info["betas"], [0.2, 0.5, 1.0])
    assert_within_errors(result, Exact().sample(frustrated).magnetization, 500)
    with pytest.raises(ValueError, match="betas must end at beta=2"):
        sampler.sample(frustrated, beta=2.0)


BAD = [
    ({"num_replicas": 0}, "num_replicas must be at least 1"),
    ({"num_replicas": 129}, "at most 128 replicas, not 129"),
    ({"betas": np.ones(129)}, "at most 128 replicas, not 129"),
    ({"betas": [1.0, 0.5]}, "betas must ascend"),
    ({"betas": []}, "must be a list of numbers"),
    ({"betas": [-1.0, 1.0]}, "must not be negative"),
    ({"burn_in": -1}, "burn_in must be at least 0"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_ladders_are_named(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ParallelTempering(**options)


@pytest.mark.parametrize("scale", [0.0, 0.1, 3.0, 1e6])
def test_first_ladders_ascend_from_zero_to_beta(scale: float) -> None:
    small = glass(6, batch=(2,), K=0.2)
    block = split(IsingProblem(small.h, scale * small.J, scale * small.K))[0]
    for beta in (0.0, 1.0, 7.0):
        for rungs in (1, 2, 3, 10):
            ladder = first_ladder(block, beta, rungs)
            assert ladder.shape == (2, rungs)
            assert (ladder[:, -1] == beta).all()
            assert (ladder[:, :-1][:, :1] == 0).all()
            assert (np.diff(ladder) >= 0).all()


def test_adaptation_makes_exchanges_alike() -> None:
    """Rejections of 0.8, 0.1, 0.1 become thirds of the same sum, between the same ends."""
    betas = np.array([[0.0, 0.4, 0.7, 1.0]])
    moved = adapted(betas, np.array([[0.2, 0.9, 0.9]]))
    np.testing.assert_allclose(moved, [[0, 0.4 / 2.4, 0.8 / 2.4, 1.0]])
    np.testing.assert_allclose(adapted(betas, np.ones((1, 3))), betas)
    problem = torus(4)
    even, uneven = (
        ParallelTempering(num_reads=64, adapt=adapt, num_sweeps=300)
        .sample(problem, beta=0.6, seed=0)
        .info["swap_acceptance"]
        for adapt in (True, False)
    )
    assert np.ptp(even) < 0.12 < np.ptp(uneven)


def test_figures_of_a_batch_with_an_empty_problem() -> None:
    present = np.array([[True] * 3, [False] * 3])
    problem = IsingProblem(np.stack([ASYM3.h] * 2), ASYM3.J, present=present)
    result = ParallelTempering(num_reads=20, num_replicas=4).sample(problem, seed=0)
    assert result.info["betas"].shape == (2, 4)
    assert result.info["swap_acceptance"].shape == (2, 3)
    assert result.info["converged"].tolist() == [True, True]


@pytest.mark.parametrize("rungs", [1, 2, 8])
def test_minimize_needs_no_ladder(rungs: int) -> None:
    problem = IsingProblem([1.0, -2.0, 3.0])
    state, energy = ParallelTempering(num_reads=2, num_replicas=rungs).minimize(problem, seed=0)
    np.testing.assert_array_equal(state, [1, -1, 1])
    assert energy == -6


def test_chains_go_on_without_pilots() -> None:
    """With burn_in=0 the states handed on are where sampling starts."""
    frozen = IsingProblem(np.zeros(4), 1e6 * (np.ones((4, 4)) - np.eye(4)))
    states = np.array([[1] * 4, [-1] * 4])
    sampler = ParallelTempering(
        num_reads=2, betas=[1.0, 1.0], num_sweeps=4, burn_in=0, initial_states=states
    )
    with pytest.warns(UserWarning, match="raise num_sweeps or burn_in, or give more betas"):
        samples = sampler.sample(frozen, seed=0).samples
    np.testing.assert_array_equal(samples, states)
