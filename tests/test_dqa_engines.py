"""One anneal on every engine: the same moments, to rounding or to shot noise."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dqa_cases import (
    ASYM3,
    TROT3,
    TROT3_CORRELATION,
    TROT3_OPTIONS,
    assert_within_shot_noise,
)

from isingsample import IsingProblem
from isingsample.samplers.dqa import DQA

pytest.importorskip("qiskit_aer")

ORDERS = pytest.mark.parametrize("order", [1, 2])
LINE = [[0, 1], [1, 0], [1, 2], [2, 1]]
READS = 20_000


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
ON_PRIMITIVES = pytest.mark.parametrize("name", PRIMITIVES)


# --- the same moments ----------------------------------------------------------------------------


@ORDERS
@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("engine", ["aer", "statevector"])
def test_exact_engines(engine: str, library: str, order: int) -> None:
    problem = ASYM3
    if library == "torch":
        torch = pytest.importorskip("torch")
        problem = IsingProblem(torch.tensor(ASYM3.h), torch.tensor(ASYM3.J))
    result = DQA(**TROT3_OPTIONS, trotter_order=order, engine=engine).sample(problem)
    np.testing.assert_allclose(np.asarray(result.magnetization), TROT3[order], atol=1e-6)
    if order == 1:
        np.testing.assert_allclose(np.asarray(result.correlation), TROT3_CORRELATION, atol=1e-6)


@ORDERS
@ON_PRIMITIVES
def test_primitives(name: str, order: int) -> None:
    anneal = DQA(**TROT3_OPTIONS, trotter_order=order, num_reads=READS, **PRIMITIVES[name]())
    result = anneal.sample(ASYM3)
    assert result.samples.shape == (READS, 3)
    assert not result.thermal
    assert_within_shot_noise(result.magnetization, TROT3[order], READS)
    if order == 1:
        assert_within_shot_noise(result.correlation, TROT3_CORRELATION, READS)


@ON_PRIMITIVES
def test_a_batch_on_primitives(name: str) -> None:
    reads = 2000
    h = np.stack([ASYM3.h, -ASYM3.h, ASYM3.h[::-1]])
    problem = IsingProblem(h, ASYM3.J)
    exact = DQA(**TROT3_OPTIONS, engine="statevector").sample(problem)
    drawn = DQA(**TROT3_OPTIONS, num_reads=reads, **PRIMITIVES[name]()).sample(problem)
    assert_within_shot_noise(drawn.magnetization, exact.magnetization, reads)
    # Alike queries make a circuit without parameters, and get reads of their own all the same.
    alike = DQA(**TROT3_OPTIONS, num_reads=50, **PRIMITIVES[name]())
    twice = alike.sample(IsingProblem(np.stack([ASYM3.h] * 2), ASYM3.J)).samples
    assert not (twice[0] == twice[1]).all()


def test_queries_of_a_primitive_are_independent() -> None:
    """Reads of two free spins in two queries that differ a little, not at all in their signs."""
    reads = 4000
    problem = IsingProblem(np.array([[0.0, 1e-9], [1e-9, 0.0]]))
    options: dict[str, Any] = {"num_steps": 4, "num_reads": reads}
    for name in ("Aer's SamplerV2", "StatevectorSampler"):
        samples = DQA(**options, **PRIMITIVES[name]()).sample(problem).samples.astype(float)
        across = (samples[0] * samples[1]).mean(axis=0)
        assert (abs(across) < 5 / np.sqrt(reads)).all()


# --- noise ---------------------------------------------------------------------------------------


def depolarizing(strength: float) -> Any:
    from qiskit_aer.noise import NoiseModel, depolarizing_error

    noise = NoiseModel()
    noise.add_all_qubit_quantum_error(depolarizing_error(strength, 1), ["rx"])
    return noise


def test_more_noise_takes_more_of_the_magnetization() -> None:
    found = [
        DQA(**TROT3_OPTIONS, noise_model=depolarizing(strength)).sample(ASYM3)
        for strength in (0.0, 0.01, 0.05, 0.2, 1.0)
    ]
    assert not any(result.thermal for result in found)
    assert all(np.isnan(result.std_error).all() for result in found)
    np.testing.assert_allclose(found[0].magnetization, TROT3[1], atol=1e-6)
    np.testing.assert_allclose(found[-1].magnetization, 0, atol=1e-12)
    sizes = np.array([abs(result.magnetization) for result in found])
    assert (np.diff(sizes, axis=0) < 0).all()
    assert all(np.sign(result.magnetization[0]) == 1 for result in found[:-1])


def test_reads_come_from_the_noisy_distribution() -> None:
    options: dict[str, Any] = {**TROT3_OPTIONS, "noise_model": depolarizing(0.05)}
    exact = DQA(**options).sample(ASYM3)
    drawn = DQA(**options, num_reads=READS).sample(ASYM3, seed=1)
    assert_within_shot_noise(drawn.magnetization, exact.magnetization, READS)
    assert not drawn.thermal


def test_a_primitive_brings_its_own_noise() -> None:
    engine = of_aer(noise_model=depolarizing(0.05))
    drawn = DQA(**TROT3_OPTIONS, num_reads=READS, **engine).sample(ASYM3)
    exact = DQA(**TROT3_OPTIONS, noise_model=depolarizing(0.05)).sample(ASYM3)
    assert_within_shot_noise(drawn.magnetization, exact.magnetization, READS)


@pytest.mark.parametrize("make", [backend_sampler, runtime_sampler, client_side_runtime_sampler])
def test_a_noisy_device_shows_the_signs(make: Callable[[Any], Any]) -> None:
    """Two steps on a device with its noise: magnetizations shrink, and keep their signs."""
    options: dict[str, Any] = TROT3_OPTIONS | {"num_steps": 2}
    exact = DQA(**options, engine="statevector").sample(ASYM3).magnetization
    drawn = DQA(**options, num_reads=4000, **on_backend(make, fake())).sample(ASYM3)
    share = (drawn.magnetization @ exact) / (exact @ exact)
    assert 0.5 < share < 0.95
    assert abs(drawn.magnetization - share * exact).max() < 0.1


# --- refusals ------------------------------------------------------------------------------------


def test_readout_errors_are_for_primitives() -> None:
    from qiskit_aer.noise import ReadoutError

    noise = depolarizing(0.01)
    noise.add_all_qubit_readout_error(ReadoutError([[0.9, 0.1], [0.1, 0.9]]))
    with pytest.raises(ValueError, match=r"readout errors.*SamplerV2"):
        DQA(noise_model=noise)


def test_a_seed_that_every_query_would_share_is_refused() -> None:
    from qiskit.primitives import StatevectorSampler

    with pytest.raises(ValueError, match=r"StatevectorSampler\(seed=numpy.random.default_rng\(7\)"):
        DQA(engine=StatevectorSampler(seed=7), num_reads=10)
    assert DQA(engine=StatevectorSampler(), num_reads=10).engine is not None


def test_what_does_not_go_together_is_refused() -> None:
    primitive = of_qiskit()["engine"]
    with pytest.raises(ValueError, match="set num_reads"):
        DQA(engine=primitive)
    with pytest.raises(ValueError, match="num_reads must be at least 1"):
        DQA(engine=primitive, num_reads=0)
    with pytest.raises(TypeError, match="reads, not probabilities"):
        DQA(engine=primitive, num_reads=1).distribution(ASYM3)
    with pytest.raises(ValueError, match="did you mean 'statevector'"):
        DQA(engine="state_vector")
    with pytest.raises(TypeError, match="BaseSamplerV2"):
        DQA(engine=3)
    with pytest.raises(ValueError, match="did you mean 'single'"):
        DQA(engine="statevector", precision="singel")
    with pytest.raises(TypeError, match="precision is for"):
        DQA(precision="single")
    with pytest.raises(TypeError, match="noise_model is for"):
        DQA(engine="statevector", noise_model=object())
    with pytest.raises(TypeError, match="pass_manager is for"):
        DQA(pass_manager=object())
