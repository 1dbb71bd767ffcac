"""The mock of a D-Wave solver, and other doors to D-Wave."""

import math
import unittest

import dimod
import dimod.testing
import numpy as np
import pytest

from isingsample import Dimod, DWave, IsingProblem, IsingSampleError, as_dimod
from isingsample.samplers.dwave.mock import mock_dwave
from support.dwave_standins import Hybrid
from support.fixtures import PAIR
from support.strategies import symmetric

# The mock


def test_mock_has_its_own_temperature() -> None:
    problem = IsingProblem([0.5])
    for beta in (0.0, 0.5, 2.0):
        child = mock_dwave("chimera", [2, 2, 4], beta=beta, seed=1)
        result = DWave(child=child, num_reads=4000).sample(problem)
        exact = math.tanh(beta * 0.5)
        assert abs(result.magnetization[0] - exact) < 5 * math.sqrt((1 - exact**2) / 4000)


def test_mock_repeats_with_a_seed_and_differs_from_call_to_call() -> None:
    def two_calls(seed: int) -> list[np.ndarray]:
        sampler = DWave(child=mock_dwave(topology_shape=[2, 4], seed=seed), num_reads=50)
        return [sampler.sample(PAIR.problem(), seed=0).samples for _ in range(2)]

    first, second = two_calls(2**70)
    np.testing.assert_array_equal(two_calls(2**70), [first, second])
    assert (first != second).any()
    assert (first != two_calls(-1)[0]).any()


@pytest.mark.parametrize(("family", "qubits"), [("zephyr", 4800), ("pegasus", 5640)])
def test_mock_has_the_size_of_todays_machines(family: str, qubits: int) -> None:
    assert len(mock_dwave(family).nodelist) == qubits


def test_mock_takes_what_a_qpu_takes_without_a_warning() -> None:
    mock = mock_dwave("pegasus", [2], num_sweeps=5, broken_nodes=[40])
    sampleset = mock.sample_ising(
        {mock.nodelist[0]: 0.1},
        {},
        num_reads=3,
        annealing_time=20.0,
        label="x",
        readout_thermalization=1.0,
        answer_mode="raw",
    )
    assert len(sampleset) == 3
    assert 40 not in mock.nodelist
    with pytest.raises(ValueError, match="did you mean 'zephyr'"):
        mock_dwave("zephir")
    with pytest.raises(ValueError, match="num_sweeps"):
        mock_dwave(num_sweeps=0)


# Other doors to D-Wave


def test_a_hybrid_solver_minimises_and_does_not_sample(rng: np.random.Generator) -> None:
    problem = IsingProblem(rng.normal(size=(2, 6)), symmetric(rng, (), 6, 2))
    _, energy = Dimod(Hybrid(), parameters={"time_limit": 3.0}).minimize(problem)
    states = 2 * (np.arange(64)[:, None] >> np.arange(6) & 1) - 1
    lowest = problem.energy(np.broadcast_to(states, (2, 64, 6))).min(axis=-1)
    np.testing.assert_allclose(energy, lowest)
    with pytest.raises(IsingSampleError, match="1 reads where num_reads=1000"):
        Dimod(Hybrid(), num_reads=1000).sample(problem)


SMALL = mock_dwave(topology_shape=[2, 4], num_sweeps=10)


def as_a_dimod_sampler() -> dimod.Sampler:
    return as_dimod(DWave(child=SMALL, num_reads=10))


@dimod.testing.load_sampler_bqm_tests(as_a_dimod_sampler)
class TestAsDimod(unittest.TestCase):
    def test_api(self) -> None:
        dimod.testing.assert_sampler_api(as_a_dimod_sampler())
