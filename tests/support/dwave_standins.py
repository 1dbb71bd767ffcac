"""Stand-ins for a D-Wave solver, each with one habit that tests look at."""

import threading
from concurrent.futures import Future
from typing import Any, ClassVar

import dimod
import numpy as np
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system.testing import MockDWaveSampler

from isingsample.samplers.dwave.mock import mock_dwave


class Recorder(MockDWaveSampler):
    """A small Zephyr chip that keeps what it is sent: (bqm, arguments) of each submission."""

    def __init__(self, num_sweeps: int = 100, **properties: Any) -> None:
        smallest = mock_dwave("chimera", [1, 1, 1], num_sweeps=num_sweeps, seed=1)
        super().__init__(
            topology_type="zephyr",
            topology_shape=[2, 4],
            substitute_sampler=smallest.substitute_sampler,
            parameter_warnings=False,
        )
        self.properties.update(properties)
        self.sent: list[tuple[dimod.BQM, dict[str, Any]]] = []

    def sample(self, bqm: dimod.BQM, **arguments: Any) -> dimod.SampleSet:
        self.sent.append((bqm.copy(), arguments))
        return super().sample(bqm, **arguments)


class Late(Recorder):
    """Answers nothing until `expected` problems have come, and then the last one first."""

    def __init__(self, expected: int) -> None:
        super().__init__(num_sweeps=20)
        self.expected = expected
        self.queue: list[tuple[Future[dimod.SampleSet], dimod.SampleSet]] = []

    def sample(self, bqm: dimod.BQM, **arguments: Any) -> dimod.SampleSet:
        future: Future[dimod.SampleSet] = Future()
        self.queue.append((future, super().sample(bqm, **arguments)))
        if len(self.queue) == self.expected:
            threading.Thread(target=self.answer).start()
        return dimod.SampleSet.from_future(future)

    def answer(self) -> None:
        for future, sampleset in reversed(self.queue):
            future.set_result(sampleset)


class Silent(Recorder):
    """Takes problems and never answers; the third has not even a name yet."""

    def sample(self, bqm: dimod.BQM, **arguments: Any) -> dimod.SampleSet:
        self.sent.append((bqm, arguments))
        return dimod.SampleSet.from_future(Unanswered(len(self.sent)))


class Unanswered:
    """A future of the cloud client's kind, which knows the id of its problem."""

    def __init__(self, number: int) -> None:
        self.number = number

    def done(self) -> bool:
        return False

    def wait_id(self, timeout: float | None = None) -> str:
        if self.number == 3:
            raise TimeoutError
        return f"problem-{self.number}"


class Failing(Recorder):
    """Raises an exception when its answer is asked for."""

    def __init__(self, failure: Exception) -> None:
        super().__init__()
        self.failure = failure

    def sample(self, bqm: dimod.BQM, **arguments: Any) -> dimod.SampleSet:
        def fail(_: Any) -> None:
            raise self.failure

        return dimod.SampleSet.from_future(object(), fail)


class Torn(Recorder):
    """Every qubit at random by itself: half of the chains of two qubits are broken."""

    def sample(self, bqm: dimod.BQM, num_reads: int, **arguments: Any) -> dimod.SampleSet:
        states = np.random.default_rng(0).choice([-1, 1], size=(num_reads, len(bqm)))
        qubits = list(bqm.variables)[::-1]
        return dimod.SampleSet.from_samples((states, qubits), vartype="SPIN", energy=0)


class Hybrid(dimod.Sampler):
    """The interface of LeapHybridSampler: no num_reads, a time limit, and one read."""

    properties: ClassVar = {"minimum_time_limit": [[1, 3.0]], "category": "hybrid"}
    parameters: ClassVar = {"time_limit": ["parameters"], "label": []}

    def sample(
        self, bqm: dimod.BQM, time_limit: float | None = None, **arguments: Any
    ) -> dimod.SampleSet:
        assert set(arguments) <= {"label"}
        return SimulatedAnnealingSampler().sample(bqm, num_reads=20, seed=1).truncate(1)
