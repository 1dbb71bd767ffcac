"""Exact outcome probabilities of a circuit, by the Qiskit Aer simulator."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from isingsample.errors import MissingExtraError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import Parameter

_OPTIONS = {
    "method": "statevector",
    "precision": "double",
    # Binds inside the simulator instead of making a circuit for each query.
    "runtime_parameter_bind_enable": True,
    # Small circuits lose more to waking threads than they win, and on a busy machine Aer's
    # threads spin: 16 qubits took seven times as long with two of them.
    "max_parallel_threads": 1,
}


def outcome_probabilities(
    circuit: "QuantumCircuit", values: "Mapping[Parameter, list[float]]"
) -> np.ndarray:
    """The probability of every outcome, for each set of values.

    Args:
        circuit: without measurements; of gates that Aer knows by themselves, since it is not
            transpiled.
        values: for each parameter of the circuit, its value in every set.

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
    result = AerSimulator(**_OPTIONS).run(recorded, parameter_binds=binds).result()
    if not result.success:
        raise RuntimeError(f"Qiskit Aer failed: {result.status}")
    return np.stack([result.data(k)["probabilities"] for k in range(len(result.results))])
