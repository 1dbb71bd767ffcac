"""A stand-in for a D-Wave annealer, to try `DWave` without a token or a network.

It has a chip's graph, parameters and ranges, so embedding, chains, scale and every check are
real, and so is the estimate of its time, from the timing data of an Advantage system. The physics
is not: reads come from simulated annealing that ends at a temperature you choose, answers are
there at once, and the times it reports are constants. What works on it will run on an annealer;
how good the samples are there, it cannot tell.
"""

from typing import Any

import numpy as np

from isingsample._core import checks as check
from isingsample._core.streams import Seed, Streams
from isingsample.errors import MissingExtraError
from isingsample.samplers.monte_carlo.schedules import annealing_betas

# The size of the machines in use: 4800, 5640 and 2048 qubits.
_SHAPES = {"zephyr": [12, 4], "pegasus": [16], "chimera": [16, 16, 4]}


def mock_dwave(
    topology_type: str = "zephyr",
    topology_shape: list[int] | None = None,
    *,
    beta: float = 1.0,
    num_sweeps: int = 200,
    seed: Seed = None,
    **options: Any,
) -> Any:
    """A MockDWaveSampler (dwave.system.testing) whose reads follow exp(-beta E).

    E is the energy of what is submitted, chains included, in dimod's sign. The mock takes every
    argument that a D-Wave solver takes and, but for num_reads, answer_mode and label, ignores it.

    >>> from isingsample import get_sampler
    >>> sampler = get_sampler("dwave", child=mock_dwave(), num_reads=100)

    Args:
        topology_type: "zephyr", "pegasus" or "chimera".
        topology_shape: its shape, such as [4, 4] for a small Zephyr chip; by default the size
            of the machines in use.
        beta: inverse temperature, in units of 1/(submitted energy).
        num_sweeps: sweeps of each read. Strong chains need many of them.
        seed: of the reads; two calls still differ, as they do on an annealer.
        options: further arguments of MockDWaveSampler, such as broken_nodes or properties.

    Raises:
        ValueError: no such topology, or beta or num_sweeps is out of range.
        MissingExtraError: dwave-system is not installed.
    """
    check.check_choice("topology_type", topology_type, _SHAPES)
    check.check_count("num_sweeps", num_sweeps)
    check.check_number("beta", beta, minimum=0.0)
    try:
        from dwave.cloud.testing.mocks import qpu_problem_timing_data
        from dwave.system.testing import MockDWaveSampler
    except ImportError:
        raise MissingExtraError("mock_dwave()", "dwave") from None
    mock = MockDWaveSampler(
        topology_type=topology_type,
        topology_shape=topology_shape or _SHAPES[topology_type],
        substitute_sampler=_Annealed(float(beta), int(num_sweeps), seed),
        parameter_warnings=False,
        **options,
    )
    mock.properties["mock_beta"] = float(beta)  # what is calibrated on one is not for others
    if mock.properties.get("problem_timing_data") is None:
        mock.properties["problem_timing_data"] = qpu_problem_timing_data()
    return mock


class _Annealed:
    """Simulated annealing that ends at beta, behind the interface of a QPU."""

    def __init__(self, beta: float, num_sweeps: int, seed: Seed) -> None:
        self.betas = annealing_betas(0.1 * beta, beta, num_sweeps, "linear", hold=0.5)
        self.streams = Streams.from_seed(seed)
        self.calls = 0

    def sample(self, bqm: Any, num_reads: int, **ignored: Any) -> Any:
        """A dimod SampleSet; arguments that only a QPU understands have no effect."""
        from dwave.samplers import SimulatedAnnealingSampler

        self.calls += 1
        return SimulatedAnnealingSampler().sample(
            bqm,
            num_reads=num_reads,
            beta_schedule_type="custom",
            beta_schedule=self.betas,
            proposal_acceptance_criteria="Gibbs",  # its other rule flips free spins for ever
            seed=int(self.streams.integers(np.array(self.calls))),
        )
