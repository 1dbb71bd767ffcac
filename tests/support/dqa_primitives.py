"""Qiskit's sampler primitives, on simulators and on stand-ins for devices, as options of DQA."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

LINE = [[0, 1], [1, 0], [1, 2], [2, 1]]


# --- simulators, whole and on a line of qubits ---------------------------------------------------


def simulator(**options: Any) -> Any:
    from qiskit_aer import AerSimulator

    return AerSimulator(max_parallel_threads=1, seed_simulator=5, **options)


def line() -> Any:
    return simulator(coupling_map=LINE, basis_gates=["rz", "sx", "x", "cx"])


def fake() -> Any:
    """IBM's snapshot of a device of five qubits, with its noise."""
    provider = pytest.importorskip("qiskit_ibm_runtime.fake_provider")
    return provider.FakeManilaV2()


def quiet_fake() -> Any:
    """The same device without its noise."""
    from qiskit_aer import AerSimulator

    return AerSimulator.from_backend(fake(), noise_model=None, seed_simulator=5)


# --- primitives ----------------------------------------------------------------------------------


def of_aer(**options: Any) -> dict[str, Any]:
    from qiskit_aer.primitives import SamplerV2

    options = {"max_parallel_threads": 1, **options}
    return {"engine": SamplerV2(seed=1, options={"backend_options": options})}


def of_qiskit() -> dict[str, Any]:
    from qiskit.primitives import StatevectorSampler

    return {"engine": StatevectorSampler(seed=np.random.default_rng(1))}


def on_backend(make: Callable[[Any], Any], backend: Any) -> dict[str, Any]:
    from qiskit.transpiler import generate_preset_pass_manager

    with warnings.catch_warnings():  # one of IBM's two samplers gives way to the other
        warnings.simplefilter("ignore", DeprecationWarning)
        engine = make(backend)
    pass_manager = generate_preset_pass_manager(1, backend=backend, seed_transpiler=3)
    return {"engine": engine, "pass_manager": pass_manager}


def backend_sampler(backend: Any) -> Any:
    from qiskit.primitives import BackendSamplerV2

    return BackendSamplerV2(backend=backend)


def runtime_sampler(backend: Any) -> Any:
    runtime = pytest.importorskip("qiskit_ibm_runtime")
    return runtime.SamplerV2(mode=backend)


def client_side_runtime_sampler(backend: Any) -> Any:
    executor = pytest.importorskip("qiskit_ibm_runtime.executor_sampler")
    return executor.Sampler(mode=backend)


PRIMITIVES: dict[str, Callable[[], dict[str, Any]]] = {
    "Aer's SamplerV2": of_aer,
    "StatevectorSampler": of_qiskit,
    "BackendSamplerV2": lambda: on_backend(backend_sampler, simulator()),
    "BackendSamplerV2, line": lambda: on_backend(backend_sampler, line()),
    "BackendSamplerV2, fake device": lambda: on_backend(backend_sampler, quiet_fake()),
    "IBM's SamplerV2": lambda: on_backend(runtime_sampler, simulator()),
    "IBM's SamplerV2, fake device": lambda: on_backend(runtime_sampler, quiet_fake()),
    "IBM's client-side sampler": lambda: on_backend(client_side_runtime_sampler, quiet_fake()),
}


def depolarizing(strength: float) -> Any:
    from qiskit_aer.noise import NoiseModel, depolarizing_error

    noise = NoiseModel()
    noise.add_all_qubit_quantum_error(depolarizing_error(strength, 1), ["rx"])
    return noise
