"""Exact outcome probabilities of a circuit, by the Qiskit Aer simulator."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isingsample._core.progress import track
from isingsample.errors import MissingExtraError
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.circuit import GATES, BlockCircuit
from isingsample.samplers.dqa.engines.primitive_checks import WITHOUT_EFFECT

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import Parameter

_OPTIONS = {
    "precision": "double",
    # Binds inside the simulator instead of making a circuit for each query.
    "runtime_parameter_bind_enable": True,
    # Small circuits lose more to waking threads than they win, and on a busy machine Aer's
    # threads spin: 16 qubits took seven times as long with two of them.
    "max_parallel_threads": 1,
}
# The state vector, its probabilities, and the readout's temporaries.
_BYTES_PER_STATE = 64
# Of a Python float in a list, and of its copy in the simulator.
_BYTES_PER_ANGLE = 48
_CHUNK_BYTES = 2**28


@dataclass(frozen=True)
class AerEngine:
    """Qiskit Aer, one circuit for all queries.

    Attributes:
        noise_model: a qiskit_aer NoiseModel, or None. With one, Aer evolves density matrices, of
            4**n entries; the probabilities are still exact.

    Raises:
        TypeError: noise_model is not one.
        ValueError: the noise model has errors that would not be felt: of readout, which is not
            part of the state, or of gates that an anneal does not have.
        MissingExtraError: there is a noise model, and qiskit-aer is not installed.
    """

    noise_model: Any = None

    def __post_init__(self) -> None:
        if self.noise_model is not None:
            _check_noise(self.noise_model)

    def bytes_needed(self, num_spins: int) -> float:
        """For one query."""
        axes = num_spins if self.noise_model is None else 2 * num_spins
        return _BYTES_PER_STATE * 2.0 ** min(axes, 1000)  # beyond 1023 a float overflows

    def probabilities(
        self, h: np.ndarray, J: np.ndarray, K: np.ndarray | None, anneal: Anneal
    ) -> Iterator[np.ndarray]:
        """Those of all outcomes, for slices of the queries in order: (slice, 2**n) each.

        Args:
            h: (groups, queries, n) float64.
            J: (groups, n, n).
            K: (groups, n, n, n) or None.
            anneal: the steps.

        Raises:
            MissingExtraError: qiskit or qiskit-aer is not installed.
            RuntimeError: the simulator failed; the message is its own.
        """
        program = BlockCircuit.of(h, J, K, anneal)
        queries = h.shape[0] * h.shape[1]
        size = int(self.bytes_needed(h.shape[-1]))
        size += _BYTES_PER_ANGLE * anneal.num_steps * len(program.free)
        step = max(1, _CHUNK_BYTES // size)
        for first in track(range(0, queries, step), "dqa"):
            rows = slice(first, min(first + step, queries))
            found = outcome_probabilities(program.circuit, program.values(rows), self.noise_model)
            # Queries that do not differ in any angle make a circuit without parameters.
            yield np.broadcast_to(found, (rows.stop - rows.start, found.shape[-1]))


def _check_noise(noise_model: Any) -> None:
    try:
        from qiskit_aer.noise import NoiseModel
    except ImportError:
        raise MissingExtraError("a noise model", "qiskit") from None
    if not isinstance(noise_model, NoiseModel):
        raise TypeError(f"noise_model must be a qiskit_aer NoiseModel, not {noise_model!r}")
    errors = noise_model.to_dict()["errors"]
    unfelt = sorted(set(noise_model.noise_instructions) - {*GATES, *WITHOUT_EFFECT})
    if unfelt:
        raise ValueError(
            f"noise_model has errors of {', '.join(unfelt)}, which an anneal does not have: its "
            f"gates are {', '.join(GATES)}. For a device's noise take its own gates, by "
            f"engine=qiskit.primitives.BackendSamplerV2(backend=...) with a pass_manager"
        )
    read = {"roerror"} & {error["type"] for error in errors}
    read |= {"measure"} & {name for error in errors for name in error["operations"]}
    if read:
        raise ValueError(
            "noise_model has readout errors or errors of the measurement, which the "
            "probabilities of a state do not show; sample with them by "
            "engine=qiskit_aer.primitives.SamplerV2("
            "options={'backend_options': {'noise_model': ...}})"
        )


def outcome_probabilities(
    circuit: "QuantumCircuit",
    values: "Mapping[Parameter, list[float]]",
    noise_model: Any = None,
) -> np.ndarray:
    """The probability of every outcome, for each set of values.

    Args:
        circuit: without measurements; of gates that Aer knows by themselves, since it is not
            transpiled.
        values: for each parameter of the circuit, its value in every set.
        noise_model: a qiskit_aer NoiseModel without readout errors, or None.

    Returns:
        (sets, 2**n) float64, a single set where there are no parameters. Bit i of the second
        index is the outcome of qubit i, qubit 0 being the least significant.

    Raises:
        MissingExtraError: qiskit-aer is not installed.
        RuntimeError: the simulator failed; the message is its own.
    """
    try:
        from qiskit_aer import AerSimulator
    except ImportError:
        raise MissingExtraError("the sampler 'dqa'", "qiskit") from None
    recorded = circuit.copy()
    recorded.save_probabilities()
    binds = [dict(values)] if values else None
    method = {"method": "statevector"}
    if noise_model is not None:
        method = {"method": "density_matrix", "noise_model": noise_model}
    result = AerSimulator(**_OPTIONS, **method).run(recorded, parameter_binds=binds).result()
    if not result.success:
        raise RuntimeError(f"Qiskit Aer failed: {result.status}")
    return np.stack([result.data(k)["probabilities"] for k in range(len(result.results))])
