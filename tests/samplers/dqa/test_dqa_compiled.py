"""The compiled anneal against gates one by one, Aer, and the Python that it is compiled from."""

import importlib.util
import sys
from typing import Any

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isingsample import DQA, IsingProblem
from isingsample._core.arrays import to_numpy
from isingsample.samplers.dqa.engines import amplitudes, statevector
from isingsample.samplers.dqa.engines import kernel_tasks as compiled_tasks
from isingsample.samplers.dqa.engines import kernels as compiled
from isingsample.samplers.dqa.engines import kernels_adjoint as compiled_adjoint
from support.strategies import symmetric

pytestmark = pytest.mark.filterwarnings("ignore::isingsample.errors.StrongFieldWarning")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled whatever the size."""
    monkeypatch.setattr(amplitudes, "_WORTH_LOADING", 0)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The modules compiled and compiled_adjoint, as plain Python."""
    with monkeypatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        modules = []
        for module in (compiled, compiled_adjoint):
            spec = importlib.util.spec_from_file_location(module.__name__, module.__file__)
            again = importlib.util.module_from_spec(spec)
            patch.setitem(sys.modules, module.__name__, again)  # the second imports the first
            spec.loader.exec_module(again)
            modules.append(again)
    return modules


def gate_by_gate(energies: np.ndarray, problem: np.ndarray, driver: np.ndarray) -> np.ndarray:
    """Outcome probabilities, (2**n, queries)."""
    states, queries = energies.shape
    psi = np.full((states, queries), states**-0.5, complex)
    for b, a in zip(problem, driver, strict=True):
        psi *= np.exp(0.5j * b * energies)
        rx = np.array([[np.cos(a / 2), -1j * np.sin(a / 2)], [-1j * np.sin(a / 2), np.cos(a / 2)]])
        for qubit in range(states.bit_length() - 1):
            psi = np.einsum("xy,iyj->ixj", rx, psi.reshape(-1, 2, 2**qubit * queries))
            psi = psi.reshape(states, queries)
    return abs(psi) ** 2


def a_problem(num_spins: int, queries: int, *, three_body: bool = False) -> IsingProblem:
    rng = np.random.default_rng(1)
    K = 0.3 * symmetric(rng, (), num_spins, 3) if three_body else None
    h, J = rng.normal(0, 0.6, (2, queries, num_spins)), symmetric(rng, (2, 1), num_spins, 2)
    return IsingProblem(h, 0.4 * J, K)


@settings(max_examples=30, deadline=None)
@given(
    num_spins=st.integers(1, 9),
    queries=st.integers(1, 70),
    steps=st.integers(1, 12),
    angle=st.sampled_from([0.1, 1.0, 30.0]),
    precision=st.sampled_from(["float64", "float32"]),
    seed=st.integers(0, 2**32),
)
def test_is_the_circuit(
    num_spins: int, queries: int, steps: int, angle: float, precision: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    energies = rng.normal(0, 1 + num_spins, (2**num_spins, queries)).astype(precision)
    problem, driver = rng.normal(0, angle, (2, steps))
    # Turns by pi and near it, and none at all.
    driver[rng.random(steps) < 0.3] = rng.choice([0, np.pi, -np.pi, 3 * np.pi, np.pi + 1e-9])
    found = compiled.outcome_weights(energies, problem, driver)
    assert found.dtype == precision
    expected = gate_by_gate(energies.astype(float), problem, driver)
    # A phase is right to its own rounding, and steps add up.
    largest = 1 + abs(energies).max() * abs(problem).max()
    tolerance = 4 * np.finfo(precision).eps * (largest + num_spins) * steps
    np.testing.assert_allclose(found, expected, atol=tolerance)


@settings(max_examples=8, deadline=None)
@given(
    num_spins=st.integers(1, 8),
    order=st.sampled_from([1, 2]),
    schedule=st.sampled_from(["linear", "trained", "monotone"]),
    three_body=st.booleans(),
    library=st.sampled_from(["numpy", "torch"]),
)
@pytest.mark.usefixtures("always")
def test_agrees_with_aer(
    num_spins: int, order: int, schedule: str, three_body: bool, library: str
) -> None:
    problem = a_problem(num_spins, 5, three_body=three_body)
    options: dict[str, Any] = {"trotter_order": order, "schedule": schedule, "num_steps": 40}
    expected = DQA(**options).sample(problem, beta=0.8)
    arrays = problem.h, problem.J, problem.K
    if library == "torch":
        arrays = tuple(None if a is None else torch.tensor(a) for a in arrays)
    found = DQA(**options, engine="statevector").sample(IsingProblem(*arrays), beta=0.8)
    assert isinstance(found.magnetization, torch.Tensor) == (library == "torch")
    for name in ("magnetization", "probability", "correlation"):
        ours, theirs = to_numpy(getattr(found, name)), getattr(expected, name)
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_neither_threads_nor_tables_nor_neighbours_show(
    monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    rng = np.random.default_rng(0)
    energies = rng.normal(0, 3, (64, 45)).astype(precision)
    angles = rng.normal(0, 1, (2, 9))
    expected = compiled.outcome_weights(energies, *angles)
    for threads, table, most, part in [(1, 2**17, 32, 64), (3, 2**17, 32, 256), (3, 512, 4, 4)]:
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
        monkeypatch.setattr(compiled_tasks, "_TABLE_ENTRIES", table)
        monkeypatch.setattr(compiled_tasks, "_MOST_COLUMNS", most)
        monkeypatch.setattr(compiled_tasks, "_PART_ENTRIES", part)
        found = compiled.outcome_weights(energies[:, ::-1], *angles)[:, ::-1]
        np.testing.assert_array_equal(found, expected)


def test_plain_python_is_what_is_compiled(
    plain: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    forwards, backwards = plain
    assert forwards.turn_qubits is not compiled.turn_qubits
    rng = np.random.default_rng(0)
    (energies, grad), angles = rng.normal(0, 3, (2, 32, 3)), rng.normal(0, 1, (2, 4))
    for together in (1, 4, 32):
        monkeypatch.setattr(compiled_tasks, "_PART_ENTRIES", 3 * together)
        for plain_one, compiled_one, given_ in (
            (forwards.outcome_weights, compiled.outcome_weights, [energies]),
            (backwards.by_energies, compiled_adjoint.by_energies, [energies, grad]),
        ):
            found, expected = plain_one(*given_, *angles), compiled_one(*given_, *angles)
            np.testing.assert_allclose(found, expected, atol=1e-13)


def test_it_is_for_larger_batches_on_the_host() -> None:
    enough = amplitudes._WORTH_LOADING
    array, tensor = np.zeros(1), torch.zeros(1)
    for given_ in (array, tensor):
        assert amplitudes.kernels_for(enough, given_) is compiled
    assert amplitudes.kernels_for(enough - 1, array) is None
    assert amplitudes.kernels_for(enough, torch.zeros(1, device="meta")) is None


@settings(max_examples=8, deadline=None)
@given(num_spins=st.integers(1, 6), queries=st.integers(1, 4), steps=st.integers(1, 5))
@pytest.mark.usefixtures("always")
def test_gradient_is_that_of_differences(num_spins: int, queries: int, steps: int) -> None:
    torch.manual_seed(0)
    energies = torch.randn(2**num_spins, queries, dtype=torch.float64, requires_grad=True)
    angles = np.random.default_rng(0).normal(0, 1, (2, steps))  # some turns go in halves
    assert torch.autograd.gradcheck(lambda x: statevector.probabilities_after(x, *angles), energies)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradient_is_that_of_array_operations(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
) -> None:
    problem, loss, found = a_problem(7, 40, three_body=True), torch.randn(2, 40, 7, 7), []
    for enough in (0, 2**60):
        monkeypatch.setattr(amplitudes, "_WORTH_LOADING", enough)
        arrays = [
            torch.tensor(a, dtype=dtype).requires_grad_() for a in (problem.h, problem.J, problem.K)
        ]
        result = DQA(engine="statevector").sample(IsingProblem(*arrays))
        found.append(torch.autograd.grad((loss.to(dtype) * result.correlation).sum(), arrays))
    for ours, theirs in zip(*found, strict=True):
        assert ours.dtype == dtype
        scale = abs(theirs).max().item()
        torch.testing.assert_close(
            ours, theirs, rtol=0, atol=scale * {torch.float64: 1e-11, torch.float32: 2e-4}[dtype]
        )


@pytest.mark.usefixtures("always")
def test_second_derivatives_are_refused() -> None:
    energies = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    found = statevector.probabilities_after(energies, np.ones(3), np.ones(3))
    (grad,) = torch.autograd.grad(found[0].sum(), energies, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiated once, not twice"):
        grad.sum().backward()


def test_no_step_is_begun_once_stopped() -> None:
    energies = np.random.default_rng(0).normal(size=(8, 2))
    angles, start = np.ones((2, 5)), np.full((2, 8), 0.25)
    steps = compiled_tasks.Steps.of(*angles, 3, float)
    layout, weights = compiled_tasks.Layout(1, 2, 8), np.empty((8, 2))
    stop = np.ones(1, np.uint8)
    compiled.run_forwards(0, 1, stop, layout, steps, start, energies, weights)
    np.testing.assert_array_equal(weights, np.full((8, 2), 1 / 8))
    arrays = energies, np.ones((8, 2)), weights
    compiled_adjoint.run_backwards(0, 1, stop, layout, steps, start, *arrays)
    np.testing.assert_array_equal(weights, np.zeros((8, 2)))


@pytest.mark.usefixtures("always")
def test_without_numba_results_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, anneal = a_problem(6, 4), DQA(engine="statevector", num_reads=50)
    expected = anneal.sample(problem, seed=2)
    monkeypatch.setitem(sys.modules, compiled.__name__, None)
    monkeypatch.delattr("isingsample.samplers.dqa.engines.kernels")
    assert amplitudes.kernels_for(2**40, problem.h) is None
    found = anneal.sample(problem, seed=2)
    np.testing.assert_array_equal(found.samples, expected.samples)
