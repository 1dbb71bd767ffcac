"""Fast anneals: no fields on the chip, and rules that the mock does not know."""

import math
from typing import Any

import numpy as np
import pytest

from isingsample import DWave, IsingProblem
from isingsample.samplers.dwave.mock import mock_dwave
from isingsample.testing import enumerate_moments
from support.dwave_standins import Recorder
from support.fixtures import KNOWN, Known
from support.strategies import symmetric


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_fields_become_couplings_and_the_law_stays(known: Known) -> None:
    reads = 4000
    chip = mock_dwave(topology_shape=[2, 4], seed=5)
    sampler = DWave(child=chip, num_reads=reads, fast_anneal=True, annealing_time=0.005)
    result = sampler.sample(known.problem())
    assert result.samples.shape == (reads, len(known.h))
    exact = known.magnetization
    assert (np.abs(result.magnetization - exact) <= 5 * np.sqrt((1 - exact**2) / reads)).all()
    error = np.abs(result.correlation - known.correlation)
    assert (error <= 5 * np.sqrt((1 - known.correlation**2) / reads) + 1e-12).all()


def test_nothing_sent_has_a_field(rng: np.random.Generator) -> None:
    recorder = Recorder(num_sweeps=5)
    sampler = DWave(child=recorder, num_reads=3, fast_anneal=True, annealing_time=0.007)
    problem = IsingProblem(
        rng.normal(size=(2, 3, 5)),
        0.2 * symmetric(rng, (2, 1), 5, 2),
        present=rng.random((2, 3, 5)) < 0.8,
    )
    result = sampler.sample(problem)
    for bqm, arguments in recorder.sent:
        assert not any(bqm.linear.values())
        assert arguments["fast_anneal"] is True
        assert arguments["annealing_time"] == 0.007
    assert ((result.samples != 0) == problem.present[..., None, :]).all()
    assert list(result.info["embeddings"][0][0])[-1] == "gauge spin"
    recorder.sent.clear()
    sampler.sample(IsingProblem(np.zeros(4), 0.2 * symmetric(rng, (), 4, 2)))
    assert len(recorder.sent[0][0]) == 4  # no fields, no gauge spin


@pytest.mark.parametrize(
    ("h", "J"),
    [([2.0, -2.0], 0.0), ([-2.0, -2.0], 0.9), ([0.1, -0.1], 2.0), ([-0.1, 0.3], -0.9)],
)
def test_the_longer_side_of_the_couplers_is_used(h: list[float], J: float) -> None:
    """Couplers go to 2 on the ferromagnetic side and to 1 on the other: all of these fit."""
    recorder = Recorder(num_sweeps=50)
    problem = IsingProblem([h, [0.0, 0.2]], [[0.0, J], [J, 0.0]])
    sampler = DWave(child=recorder, num_reads=500, fast_anneal=True, annealing_time=0.005)
    result = sampler.sample(problem)
    assert result.info["scale"] == 1.0
    ((bqm, _),) = recorder.sent
    assert -2 <= min(bqm.quadratic.values()) <= max(bqm.quadratic.values()) <= 1
    exact = enumerate_moments(problem)
    assert np.abs(result.magnetization - exact.magnetization).max() < 5 / np.sqrt(500)
    assert np.abs(result.correlation - exact.correlation).max() < 5 / np.sqrt(500)


def test_minimize_without_fields(rng: np.random.Generator) -> None:
    h = rng.choice([-1.0, 1.0], size=(4, 5))
    sampler = DWave(child=Recorder(), num_reads=50, fast_anneal=True, annealing_time=0.5)
    state, _ = sampler.minimize(IsingProblem(h, 0.01 * symmetric(rng, (), 5, 2)))
    np.testing.assert_array_equal(state, h)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"needs annealing_time, in microseconds: 0.005 for 5 nanoseconds"),
        (
            {"annealing_time": 0.004},
            r"annealing_time=0.004 .* fast_anneal_time_range \[0.005, 2000",
        ),
        ({"annealing_time": 1.0, "parameters": {"h_gain_schedule": [[0, 1]]}}, "h_gain_schedule"),
        (
            {"parameters": {"anneal_schedule": [[0, 0], [1, 0.5], [2, 1]]}},
            "anneal_schedule of at most 2 points, .* has 3",
        ),
        (
            {"parameters": {"anneal_schedule": [[0, 0], [0.001, 1]]}},
            "the end of anneal_schedule=0.001 .*fast_anneal_time_range",
        ),
    ],
)
def test_rules_are_checked_here(options: dict[str, Any], message: str) -> None:
    recorder = Recorder()
    with pytest.raises(ValueError, match=message):
        DWave(child=recorder, fast_anneal=True, **options).sample(IsingProblem(np.ones(2)))
    assert not recorder.sent


def test_a_solver_without_fast_anneals_says_so() -> None:
    recorder = Recorder()
    del recorder.parameters["fast_anneal"]
    with pytest.raises(ValueError, match="has no parameter 'fast_anneal'"):
        DWave(child=recorder, fast_anneal=True, annealing_time=1.0).sample(IsingProblem([1.0]))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"auto_scale": True}, ValueError, "auto_scale is always False here"),
        ({"num_reads": 5}, ValueError, "num_reads has a place among"),
        ({"anneal_schedul": []}, ValueError, "no parameter 'anneal_schedul' .did you mean"),
        ([1], TypeError, "parameters must be a dict"),
        ({"anneal_schedule": [[0, 0], [5, 1]]}, ValueError, "exclude each other"),
        ({"anneal_schedule": 5}, ValueError, "anneal_schedule must be a list of two or more"),
        ({"anneal_schedule": []}, ValueError, "anneal_schedule must be a list of two or more"),
        ({"anneal_schedule": [[0, 0], [5]]}, ValueError, "anneal_schedule must be a list of two"),
        ({"flux_biases": [0.0, math.nan]}, ValueError, r"flux_biases\[1\] must be finite, not nan"),
    ],
)
def test_parameters_are_checked(parameters: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        DWave(child=Recorder(), annealing_time=5.0, parameters=parameters).sample(
            IsingProblem([1.0])
        )


def test_parameters_reach_the_child_in_plain_types() -> None:
    recorder = Recorder()
    parameters = {
        "readout_thermalization": np.float64(3.0),
        "anneal_schedule": np.array([[0.0, 0.0], [20.0, 1.0]]),
    }
    DWave(child=recorder, num_reads=1, parameters=parameters).sample(IsingProblem([1.0]))
    sent = recorder.sent[0][1]
    assert type(sent["readout_thermalization"]) is float
    assert sent["anneal_schedule"] == [[0.0, 0.0], [20.0, 1.0]]
