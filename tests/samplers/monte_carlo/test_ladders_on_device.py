"""Parallel tempering as array operations: every rung right, exchanges as they should be."""

from typing import Any

import numpy as np
import pytest

from isingsample import Exact, IsingProblem, ParallelTempering
from isingsample._core.arrays import to_numpy
from isingsample._core.blocks import Block, split
from isingsample._core.states import spin_table
from isingsample._core.streams import Streams
from isingsample.samplers.monte_carlo.device.ladders import Ladders, LaddersOnDevice, Swept
from isingsample.samplers.monte_carlo.device.sweeps import Replicas
from support.monte_carlo import (
    assert_distribution,
    assert_within_errors,
    boltzmann,
    glass,
    tensors,
    torus,
)
from support.strategies import LIBRARIES

READS = 4000
BETAS = np.array([0.0, 0.4, 0.45, 1.0, 3.0])


def run(block: Block, betas: np.ndarray, sweeps: int, reads: int = READS) -> tuple[Ladders, Swept]:
    """Ladders after some sweeps, and what the last one left."""
    sampler = ParallelTempering(num_reads=reads)
    ladders = Ladders(block, np.tile(betas, (block.index.size, 1)), sampler, Streams.from_seed(0))
    for _, after in ladders.sweeps(sweeps, None):
        last = after
    return ladders, last


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("sweeps", "K"), [(30, 0.0), (31, 0.3)])  # the last exchange: both kinds
def test_every_rung_has_its_own_distribution(library: str, sweeps: int, K: float) -> None:
    problem = glass(5, seed=8, K=K)
    ladders, last = run(split(tensors(library, problem))[0], BETAS, sweeps)
    assert ladders.acceptance(sweeps).min() > 0.1
    for rung, beta in enumerate(BETAS):
        states = to_numpy(ladders.rung(last.states, rung))[0, 0]
        assert_distribution(states.astype(np.int8), boltzmann(problem, beta))


def test_acceptance_is_that_of_independent_rungs() -> None:
    """Two rungs in equilibrium: <min(1, exp((beta' - beta)(E' - E)))> over both distributions."""
    problem, betas = glass(5, seed=2), np.array([0.3, 1.5])
    energy = problem.energy(spin_table(5))
    gain = (betas[1] - betas[0]) * (energy[None, :] - energy[:, None])
    hot, cold = (boltzmann(problem, beta) for beta in betas)
    expected = hot @ np.minimum(1, np.exp(gain)) @ cold
    tries, sweeps = 20, 41
    found = run(split(problem)[0], betas, sweeps)[0].acceptance(sweeps)
    # Tries of one ladder are not independent: as if each ladder tried once.
    assert abs(found[0, 0] - expected) < 5 * np.sqrt(expected * (1 - expected) / READS)
    assert tries * READS * found[0, 0] == pytest.approx(round(tries * READS * found[0, 0]))


@pytest.mark.parametrize("number", [1, 2])
def test_states_move_with_their_energies(number: int) -> None:
    """Neighbours change places or stay; pairs 0-1, 2-3 after odd sweeps, 1-2, 3-4 after even."""
    block = split(glass(6, seed=1, batch=(2,)))[0]
    ladders, last = run(block, BETAS, 1, reads=50)
    shape = (1, 2, 50, 5)
    energy = last.energy.reshape(shape)
    moved = ladders._exchanged(last.states, energy, number)
    replicas = Replicas(block, (0, 0), 250)
    after = replicas.energy(moved).reshape(shape)
    before, states = last.states.reshape(*shape, 6), moved.reshape(*shape, 6)
    swapped = np.zeros(shape[:3], int)
    for first in range(number - 1, 4, 2):
        pair = [first, first + 1]
        changed = (states[..., pair, :] != before[..., pair, :]).any(axis=(-1, -2))
        expected = np.where(
            changed[..., None, None], before[..., pair[::-1], :], before[..., pair, :]
        )
        np.testing.assert_array_equal(states[..., pair, :], expected)
        swapped += changed
        np.testing.assert_allclose(
            np.sort(after[..., pair], axis=-1), np.sort(energy[..., pair], axis=-1)
        )
        # A colder rung takes a lower state without asking.
        assert (after[..., first + 1] <= energy[..., first + 1] + 1e-12)[
            energy[..., first] < energy[..., first + 1]
        ].all()
    assert 0 < swapped.mean() < 2
    idle = {1: 4, 2: 0}[number]
    np.testing.assert_array_equal(states[..., idle, :], before[..., idle, :])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("rungs", [1, 2, 5])
def test_moments_and_figures(library: str, rungs: int) -> None:
    present = np.array([[True] * 5, [True, False, True, True, True], [False] * 5])
    small = glass(5, seed=4, batch=(3,), K=0.2)
    problem = IsingProblem(small.h, small.J, small.K, present=present)
    sampler = ParallelTempering(num_reads=500, num_replicas=rungs, num_sweeps=60, burn_in=20)
    result = LaddersOnDevice(sampler).sample(tensors(library, problem), beta=0.9, seed=2)
    exact = Exact().sample(problem, beta=0.9)
    m, error = to_numpy(result.magnetization), to_numpy(result.std_error)
    assert (np.abs(m - exact.magnetization) <= 5 * np.hypot(error, 1 / 500)).all()
    gap = np.abs(to_numpy(result.correlation) - exact.correlation)
    assert (gap <= 5 * np.sqrt(np.maximum(1 - exact.correlation**2, 0) / 500) + 1e-12).all()
    assert result.info["sampler"] == "tempering"
    assert result.info["options"]["num_replicas"] == rungs
    assert result.info["betas"].shape == (3, rungs)
    assert (result.info["betas"][:2, -1] == 0.9).all()
    assert result.info["swap_acceptance"].shape == (3, rungs - 1)
    assert result.info["converged"].all()


def test_valleys_that_single_chains_do_not_leave() -> None:
    problem = torus(4)
    sampler = ParallelTempering(num_reads=300, num_sweeps=100, burn_in=60)
    result = LaddersOnDevice(sampler).sample(problem, beta=0.7, seed=1)
    assert result.info["converged"]
    exact = Exact().sample(problem, beta=0.7)
    assert_within_errors(result, exact.magnetization, 300)
    host = sampler.sample(problem, beta=0.7, seed=1)
    # Shares of 300 ladders of some 50 tries each, from ladders that each adapted by itself.
    np.testing.assert_allclose(
        result.info["swap_acceptance"], host.info["swap_acceptance"], atol=0.1
    )


def test_seeds_and_neighbours() -> None:
    """Ladders adapt to their own problem alone."""
    problem = glass(5, seed=6, batch=(4,))
    sampler = LaddersOnDevice(ParallelTempering(num_reads=7, num_sweeps=20, burn_in=20))
    whole = sampler.sample(problem, seed=3)
    part: Any = sampler.sample(IsingProblem(problem.h[:2], problem.J), seed=3)
    for name in ("samples", "magnetization"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[:2])
    np.testing.assert_array_equal(part.info["betas"], whole.info["betas"][:2])
    other = sampler.sample(problem, seed=4)
    assert (other.samples != whole.samples).any()


def test_betas_of_ones_own() -> None:
    sampler = ParallelTempering(num_reads=50, betas=[0.2, 0.5, 1.0], num_sweeps=10)
    result = LaddersOnDevice(sampler).sample(glass(4), seed=0)
    np.testing.assert_array_equal(result.info["betas"], [0.2, 0.5, 1.0])
    with pytest.raises(ValueError, match="betas must end at beta=2"):
        LaddersOnDevice(sampler).sample(glass(4), beta=2.0)
