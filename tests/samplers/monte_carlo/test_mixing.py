"""Reads from elsewhere are judged by a few more sweeps."""

import numpy as np
import pytest

from isingsample import DQA, Dimod, Exact, IsingProblem, Refine, SimulatedAnnealing
from isingsample._core.blocks import split
from isingsample._core.streams import Streams
from isingsample.samplers.monte_carlo.mixing import heat_bath_sweep, mixing
from support.monte_carlo import glass, uai


def hard(seed: int = 0, queries: int = 50) -> IsingProblem:
    """Problems of 8 spins, half of which have valleys that no sweep leaves at beta = 3."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(0, 0.4, (queries, 8, 8)), 1)
    return IsingProblem(rng.normal(0, 0.5, (queries, 8)), upper + np.swapaxes(upper, 1, 2))


@pytest.mark.parametrize(
    "sampler", [Dimod(), Refine(SimulatedAnnealing())], ids=["annealer", "sweeps after anneals"]
)
def test_what_is_far_off_is_not_called_converged(sampler: Dimod | Refine) -> None:
    exact = Exact().sample(hard(), beta=3.0).magnetization
    with pytest.warns(UserWarning, match="problems did not converge"):
        found = sampler.sample(hard(), beta=3.0, seed=1)
    off = (np.abs(found.magnetization - exact) > 5 * found.std_error).any(axis=-1)
    assert off.sum() > 15  # a third of them and more is wrong
    assert (off & found.info["converged"]).sum() <= 0.1 * off.sum()
    assert found.info["converged"].sum() > 15


@pytest.mark.parametrize("sampler", [Dimod(), Refine(Dimod()), Refine(DQA(num_reads=1000))])
def test_two_valleys_of_a_published_instance_are_noticed(sampler, shared_data) -> None:
    problem = uai(shared_data / "instances" / "grid3x3.uai")
    with pytest.warns(UserWarning, match="did not converge"):
        assert not sampler.sample(problem, seed=0).info["converged"]


def test_reads_at_equilibrium_pass() -> None:
    problem = glass(6, batch=(40,))
    block = split(problem)[0]
    reads = Exact(num_reads=64).sample(problem, beta=0.7, seed=1).samples
    judged = mixing(block, reads.reshape(*block.index.shape, 64, 6), 0.7, Streams.from_seed(2))
    assert judged["converged"].mean() > 0.95
    assert judged["r_hat"].shape == block.index.shape


def test_a_sweep_gives_the_chance_that_each_spin_was_drawn_with() -> None:
    block = split(IsingProblem([0.3, 0.0], [[0, 0.5], [0.5, 0]]))[0]
    spins = np.array([[[[1.0, -1.0]]]])
    chance = heat_bath_sweep(spins, block, 2.0, np.array([[[[0.99, 0.0]]]]))
    first = 0.5 * (1 + np.tanh(2.0 * (0.3 - 0.5)))
    assert spins.ravel().tolist() == [-1.0, 1.0]
    np.testing.assert_allclose(chance.ravel(), [first, 0.5 * (1 + np.tanh(2.0 * -0.5))])
