"""What is refused before anything is sent to a D-Wave solver."""

import math
from typing import Any

import numpy as np
import pytest
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system import EmbeddingComposite

from isingsample import DWave, IsingProblem
from support.dwave_standins import Recorder
from support.fixtures import PAIR, three_body


@pytest.mark.parametrize(
    ("options", "properties", "message"),
    [
        ({"num_reads": 20_000}, {}, r"num_reads=20000 is outside num_reads_range \[1, 10000\]"),
        ({"annealing_time": 0.1}, {}, r"annealing_time=0.1 .*annealing_time_range \[0.5, 2000\]"),
        ({"annealing_time": 2001}, {}, r"annealing_time=2001 .*annealing_time_range"),
        (
            {"num_reads": 5000, "annealing_time": 300},
            {"problem_run_duration_range": [0, 1_000_000]},
            r"num_reads=5000 of 300 .*1.501e\+06 .*problem_run_duration_range \[0, 1e\+06\]",
        ),
        ({"num_reads": 5000}, {"problem_run_duration_range": [0, 90_000]}, "of 20 microseconds"),
        (
            {"parameters": {"readout_thermalization": 1e5}},
            {},
            r"readout_thermalization=100000 is outside readout_thermalization_range \[0, 10000\]",
        ),
        (
            {"parameters": {"programming_thermalization": np.float32(-1)}},
            {},
            r"programming_thermalization=-1 is outside programming_thermalization_range",
        ),
        (
            {"parameters": {"readout_thermalization": math.nan}},
            {},
            "readout_thermalization must be finite",
        ),
        (
            {"parameters": {"anneal_schedule": [[t, t / 20] for t in range(21)]}},
            {},
            "anneal_schedule has 21 points, and max_anneal_schedule_points .* is 12",
        ),
        ({"parameters": {"seed": 1}}, {}, "has no parameter 'seed'"),
        ({"parameters": {"num_sweeps": 100}}, {}, "has no parameter 'num_sweeps'"),
        (
            {"parameters": {"readout_thermalisation": 1}},
            {},
            "'readout_thermalisation' .did you mean 'readout_thermalization'",
        ),
        ({"chain_strength": 2.5}, {}, r"chain_strength=2.5, .*extended_j_range \[-2, 1\]"),
        ({"chain_strength": 1.5}, {"per_qubit_coupling_range": [-1, 1]}, "per_qubit_coupling_ran"),
    ],
)
def test_ranges_are_checked_here(
    options: dict[str, Any], properties: dict[str, Any], message: str
) -> None:
    recorder = Recorder(**properties)
    problem = IsingProblem(np.ones(8), 0.1 * (np.ones((8, 8)) - np.eye(8)))
    for call in (
        DWave(child=recorder, **options).sample,
        DWave(child=recorder, **options).minimize,
    ):
        with pytest.raises(ValueError, match=message):
            call(problem)
    assert not recorder.sent


def test_without_extended_range_chains_keep_to_the_plain_one() -> None:
    recorder = Recorder()
    del recorder.properties["extended_j_range"]
    with pytest.raises(ValueError, match=r"j_range \[-1, 1\]"):
        DWave(child=recorder, chain_strength=1.5).sample(PAIR.problem())
    result = DWave(child=recorder, num_reads=5).sample(PAIR.problem())
    assert result.info["chain_strength"] == 1.0


def test_chains_that_leave_no_room_are_refused() -> None:
    recorder = Recorder(per_qubit_coupling_range=[-2.0, 2.0])
    problem = IsingProblem(np.ones(8), np.ones((8, 8)) - np.eye(8))
    with pytest.raises(ValueError, match=r"chain_strength=2 leaves .* no room"):
        DWave(child=recorder).sample(problem)
    DWave(child=recorder, chain_strength=1, num_reads=1).sample(problem)


def test_no_embedding_is_said_before_anything_is_sent() -> None:
    recorder = Recorder()
    J = 0.1 * (np.ones((2, 54, 54)) - np.eye(54))
    present = np.ones((2, 54), bool)
    present[0, 3:] = False  # this one would fit
    message = (
        r"no embedding .*problem 1 .*54 spins with 1431 couplings, on MockDWaveSampler with 160 q"
    )
    with pytest.raises(ValueError, match=message):
        DWave(child=recorder).sample(IsingProblem(np.zeros((2, 54)), J, present=present))
    with pytest.raises(ValueError, match="161 spins with 0 couplings"):
        DWave(child=recorder).sample(IsingProblem(np.zeros(161)))
    assert not recorder.sent


def test_three_body_couplings_are_refused() -> None:
    recorder = Recorder()
    problem = IsingProblem(np.zeros(3), K=three_body(3, {(0, 1, 2): 0.5}))
    with pytest.raises(ValueError, match="three-body"):
        DWave(child=recorder).sample(problem)
    assert not recorder.sent


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_reads": 0}, ValueError, "num_reads must be at least 1"),
        ({"num_reads": 1.5}, TypeError, "num_reads must be an integer"),
        ({"annealing_time": 0}, ValueError, "annealing_time must be positive"),
        ({"annealing_time": math.nan}, ValueError, "annealing_time must be finite"),
        ({"annealing_time": "20"}, TypeError, "annealing_time must be a number"),
        ({"chain_strength": -1}, ValueError, "chain_strength must be positive"),
        ({"timeout": 0}, ValueError, "timeout must be positive"),
        ({"label": 5}, TypeError, "label must be a str, not 5"),
        ({"solver": 5}, TypeError, "solver must be a str or dict, not 5"),
        ({"anneal_time": 20}, TypeError, "did you mean 'annealing_time'"),
        ({"seed": 1}, TypeError, "no option 'seed'"),
        ({"num_sweeps": 1}, TypeError, "no option 'num_sweeps'"),
        ({"child": SimulatedAnnealingSampler()}, TypeError, "structured dimod sampler"),
        ({"child": EmbeddingComposite(Recorder())}, TypeError, "composite with a graph of its own"),
        ({"child": "MockDWaveSampler"}, TypeError, "structured dimod sampler"),
    ],
)
def test_options_are_checked(options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        DWave(**options)
