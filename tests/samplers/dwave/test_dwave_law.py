"""The law of what comes back from a D-Wave solver, on stand-ins."""

import numpy as np
import pytest

from isingsample import DWave, IsingProblem
from isingsample.samplers.dwave.chip.layout import Layout
from isingsample.samplers.dwave.chip.structure import Structure
from isingsample.samplers.dwave.mock import mock_dwave
from isingsample.testing import enumerate_moments
from support.dwave_standins import Recorder, Torn
from support.fixtures import KNOWN, PAIR, Known
from support.strategies import symmetric

# The law


def test_uncoupled_spins_hold_to_shot_noise(rng: np.random.Generator) -> None:
    h = rng.normal(0, 0.7, size=(5, 6))
    result = DWave(child=mock_dwave(topology_shape=[2, 4], seed=3), num_reads=2000).sample(
        IsingProblem(h)
    )
    exact = np.tanh(h)
    assert (np.abs(result.magnetization - exact) <= 5 * np.sqrt((1 - exact**2) / 2000)).all()
    assert result.info["scale"] == 1.0
    assert result.info["max_chain_length"] == 1


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("beta", [1.0, 0.4])
def test_directly_coupled_spins_follow_the_submitted_law(known: Known, beta: float) -> None:
    """Zephyr has triangles, so neither problem needs a chain, and the mock is at beta = 1."""
    reads = 4000
    sampler = DWave(child=mock_dwave(topology_shape=[2, 4], seed=5), num_reads=reads)
    result = sampler.sample(IsingProblem(known.h / beta, known.J / beta), beta=beta)
    assert result.info["max_chain_length"] == 1
    exact = known.magnetization
    assert (np.abs(result.magnetization - exact) <= 5 * np.sqrt((1 - exact**2) / reads)).all()
    error = np.abs(result.correlation - known.correlation)
    assert (error <= 5 * np.sqrt((1 - known.correlation**2) / reads) + 1e-12).all()


def test_nothing_pretends_to_be_thermal() -> None:
    result = DWave(child=Recorder(), num_reads=20).sample(PAIR.problem())
    assert not result.thermal
    assert np.isnan(result.std_error).all()
    assert result.log_partition is None


def test_chains_distort_but_keep_the_signs(rng: np.random.Generator) -> None:
    """A clique of 8 has chains of two qubits; its law is a little off, and no spin is mixed up."""
    h, J = rng.choice([-0.8, 0.8], size=(4, 8)), 0.1 * symmetric(rng, (), 8, 2)
    problem = IsingProblem(h, J)
    result = DWave(child=mock_dwave(topology_shape=[2, 4], seed=2), num_reads=1000).sample(problem)
    assert result.info["max_chain_length"] == 2
    exact = enumerate_moments(problem).magnetization
    assert np.abs(result.magnetization - exact).max() < 0.2
    broken = result.info["chain_break_fraction"]
    assert broken.shape == (4,)
    assert ((broken > 0) & (broken < 0.1)).all()


# Broken chains


def test_even_votes_are_fair_and_repeatable() -> None:
    sampler = DWave(child=Torn(), num_reads=4000)
    problem = IsingProblem(np.ones((2, 8)), 0.1 * (np.ones((8, 8)) - np.eye(8)))
    result = sampler.sample(problem, seed=3)
    assert np.abs(result.info["chain_break_fraction"] - 0.5).max() < 0.02
    assert np.abs(result.magnetization).max() < 5 / np.sqrt(4000)
    np.testing.assert_array_equal(result.samples, sampler.sample(problem, seed=3).samples)
    other = sampler.sample(problem, seed=4).samples
    kept = (result.samples == other).mean()  # all whole chains, and half of the broken ones
    assert 0.7 < kept < 0.8


def test_majority_decides() -> None:
    tile = next(e for n in range(9, 14) if (e := clique_tile(n)).max_chain_length == 3)
    states = np.ones((1, len(tile.qubits)), np.int8)
    long = int(np.argmax(tile.length == 3))
    states[0, tile.start[long]] = -1
    assert tile.votes(states)[0, 0, long] == 1
    states[0, tile.start[long] + 1] = -1
    votes = tile.votes(states)[0, 0]
    assert votes[long] == -1
    assert np.delete(votes, long).tolist() == np.delete(tile.length, long).tolist()


def clique_tile(num_spins: int) -> Layout:
    clique = Structure.of(np.ones((1, num_spins, num_spins)))
    return DWave(child=Recorder())._connection.layout(clique, None, "").first(1)


# Optimisation


def test_minimize_finds_ground_states(rng: np.random.Generator) -> None:
    problem = IsingProblem(rng.normal(size=(3, 6)), symmetric(rng, (), 6, 2))
    state, energy = DWave(child=mock_dwave(topology_shape=[2, 4], seed=0), num_reads=200).minimize(
        problem
    )
    states = 2 * (np.arange(64)[:, None] >> np.arange(6) & 1) - 1
    lowest = problem.energy(np.broadcast_to(states, (3, 64, 6))).min(axis=-1)
    np.testing.assert_allclose(energy, lowest)
    assert state.dtype == np.int8


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_minimize_fills_the_ranges_whatever_the_units(
    rng: np.random.Generator, size: float
) -> None:
    h = size * rng.choice([-1.0, 1.0], size=100)
    state, _ = DWave(child=Recorder(), num_reads=20).minimize(IsingProblem(h))
    np.testing.assert_array_equal(state, np.sign(h))
