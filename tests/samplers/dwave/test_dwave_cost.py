"""What a batch would cost, and limits on it."""

import numpy as np
import pytest
from dwave.cloud.solver import StructuredSolver

from isingsample import DWave, IsingProblem
from isingsample.samplers.dwave.mock import mock_dwave
from support.dwave_standins import Recorder
from support.fixtures import PAIR

CLIQUE = 0.1 * (np.ones((8, 8)) - np.eye(8))


def test_an_estimate_is_oceans_own_summed_over_submissions() -> None:
    chip = mock_dwave(topology_shape=[2, 4])
    sampler = DWave(child=chip, num_reads=300, annealing_time=50.0, max_tiles=2)
    found = sampler.estimate(IsingProblem(np.zeros((5, 8)), CLIQUE))
    assert (found.num_problems, found.num_submissions, found.num_tiles) == (5, 3, 2)
    assert found.max_chain_length == 2
    assert found.num_qubits == 32

    def ocean(qubits: int) -> float:
        solver = type("Solver", (), {"properties": chip.properties})
        return StructuredSolver.estimate_qpu_access_time(
            solver, qubits, num_reads=300, annealing_time=50.0
        )

    assert found.qpu_seconds == pytest.approx(1e-6 * (2 * ocean(32) + ocean(16)))
    assert found.seconds_per_1000 == pytest.approx(200 * found.qpu_seconds)
    assert "5 problems in 3 submissions" in str(found)
    assert "s for 1000 problems" in str(found)


def test_an_estimate_sends_nothing_and_says_where_there_is_no_data() -> None:
    recorder = Recorder()
    found = DWave(child=recorder).estimate(PAIR.problem())
    assert found.qpu_seconds is None
    assert found.seconds_per_1000 is None
    assert "no timing data" in str(found)
    result = DWave(child=recorder, num_reads=1).sample(PAIR.problem())
    assert result.info["qpu_seconds_estimated"] is None
    assert len(recorder.sent) == 1


def test_an_empty_batch_costs_nothing() -> None:
    found = DWave(child=Recorder()).estimate(IsingProblem(np.zeros((0, 3))))
    assert (found.num_problems, found.qpu_seconds) == (0, 0.0)
    assert found.seconds_per_1000 is None


def test_a_dear_batch_is_refused() -> None:
    sent: list[object] = []
    chip = mock_dwave(topology_shape=[2, 4])
    chip.substitute_sampler.sample = lambda *a, **k: sent.append(a)
    dear = DWave(child=chip, max_qpu_seconds=0.01)
    for call in (dear.sample, dear.minimize):
        with pytest.raises(ValueError, match=r"about 0\.\d+ s .* max_qpu_seconds=0.01"):
            call(PAIR.problem())
    assert not sent
    with pytest.raises(ValueError, match=r"cannot be checked: .* no timing data"):
        DWave(child=Recorder(), max_qpu_seconds=1).sample(PAIR.problem())
    with pytest.raises(ValueError, match="max_qpu_seconds must be positive"):
        DWave(child=chip, max_qpu_seconds=0)


def test_the_estimate_comes_with_the_answer() -> None:
    chip = mock_dwave(topology_shape=[2, 4], num_sweeps=5)
    sampler = DWave(child=chip, num_reads=10, max_qpu_seconds=1)
    estimate = sampler.estimate(PAIR.problem())
    assert sampler.sample(PAIR.problem()).info["qpu_seconds_estimated"] == estimate.qpu_seconds
