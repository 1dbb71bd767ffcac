"""Arguments by qubit and by moment: checked before anything is sent, and sent as Ocean needs."""

import json
import math
from typing import Any

import numpy as np
import pytest

from isingsample import DWave, IsingProblem
from isingsample.samplers.dwave.service.qubit_arguments import with_integer_keys
from support.dwave_standins import Recorder
from support.fake_sapi import TOKEN, FakeSapi

PROBLEM = IsingProblem([0.5, -0.5], [[0, 0.3], [0.3, 0]])
REVERSE = [[0, 1], [1, 0.4], [5, 0.4], [6, 1]]
NUM_QUBITS = 160


def ordinary(value: float = 0.0) -> list[float]:
    return [value] * NUM_QUBITS


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"anneal_schedule": REVERSE}, "a reverse anneal, which needs initial_state"),
    ({"anneal_schedule": [[0, 0], [5, 1.5]]}, "s must be from 0 to 1, but point 1 .* has 1.5"),
    ({"anneal_schedule": [[0, 0], [5, 0.7], [4, 1]]}, "times of anneal_schedule must rise"),
    ({"anneal_schedule": [[0, 0], [5, 0.5]]}, "must end at s=1, where qubits are read, not at 0.5"),
    ({"anneal_schedule": [[1, 0], [5, 1]]}, "must start at time 0, not 1"),
    ({"anneal_schedule": [[0, 0.3], [5, 1]]}, r"start at s=0 \(forward\) or s=1 \(reverse\)"),
    ({"initial_state": {0: 0}}, "must hold spins -1 and \\+1, but has 0 for qubit 0"),
    ({"initial_state": {0: 3}}, "but has 3 for qubit 0"),
    ({"initial_state": {9999: 1}}, "names qubit 9999, which the solver lacks"),
    ({"initial_state": [1, -1]}, "an entry for each of the solver's 160 qubits.* it has 2"),
    ({"flux_biases": [0.0] * 3}, "flux_biases must have an entry for each of .* 160 .* has 3"),
    ({"anneal_offsets": ordinary(7.0)}, r"anneal_offsets\[0\]=7 is outside anneal_offset_ranges"),
    ({"h_gain_schedule": [[0, 1], [5, 99]]}, r"h_gain_schedule\[1\] has the gain 99, outside"),
]


@pytest.mark.parametrize(("parameters", "message"), REFUSED)
def test_what_the_solver_would_refuse_is_not_sent(parameters: Any, message: str) -> None:
    recorder = Recorder(
        anneal_offset_ranges=[[-0.2, 0.2]] * NUM_QUBITS, h_gain_schedule_range=[-3, 3]
    )
    recorder.parameters.update({name: [] for name in parameters})
    sampler = DWave(child=recorder, num_reads=5, parameters=parameters)
    for call in (sampler.sample, sampler.minimize):
        with pytest.raises(ValueError, match=message):
            call(PROBLEM)
    assert not recorder.sent


@pytest.mark.parametrize("state", [{0: 1, 4: -1}, {np.int64(0): np.int8(1)}])
def test_initial_states_reach_ocean_by_integer_qubits(sapi: FakeSapi, state: Any) -> None:
    """Ocean looks qubits up as integers: strings in their place are a TypeError of its own."""
    sapi.solver["properties"]["parameters"] |= {"initial_state": "", "anneal_schedule": ""}
    qubits = sorted(sapi.solver["properties"]["qubits"])
    named = dict(zip(qubits, state.values(), strict=False))
    parameters = {"anneal_schedule": REVERSE, "initial_state": named}
    with DWave(token=TOKEN, num_reads=5, parameters=parameters) as sampler:
        sampler.sample(PROBLEM, seed=0)
    (job,) = sapi.jobs.values()
    sent = job.sent["params"]["initial_state"]
    assert [sent[qubit] for qubit in named] == list(named.values())
    assert set(sent) <= {-1, 1, 3}


def test_jobs_bring_integer_qubits_back() -> None:
    state = {3: -1, 12: 1}
    assert with_integer_keys(json.loads(json.dumps(state))) == state


def test_what_the_service_prescribes_is_taken() -> None:
    recorder = Recorder(
        anneal_offset_ranges=[[-0.2, 0.2]] * NUM_QUBITS, max_anneal_schedule_points=4
    )
    recorder.parameters.update({"anneal_offsets": [], "initial_state": []})
    points = [[0, 1], [1, 0.5], [2, 0.4], [5, 0.4], [6, 1]]  # one more than a forward anneal's
    parameters = {
        "anneal_offsets": [0.1] + [math.nan] * (NUM_QUBITS - 1),
        "anneal_schedule": points,
        "initial_state": dict.fromkeys(recorder.nodelist, 1),
    }
    DWave(child=recorder, num_reads=5, parameters=parameters).sample(PROBLEM)
    assert len(recorder.sent) == 1
