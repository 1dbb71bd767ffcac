"""Our statevector engine beside Qiskit Aer's fastest settings for this circuit.

Both run the same anneal of 200 steps on a batch that shares J. Aer binds parameters inside the
simulator, one circuit for all queries, on one thread: that was its fastest way here. Ours takes
all cores: for a thread each set NUMBA_NUM_THREADS=1.
Read the ratios within a group, never the times: `make bench`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from isingsample import DQA, IsingProblem, dqa_circuit
from isingsample.samplers.dqa.engines import amplitudes
from isingsample.samplers.dqa.readout import moments

pytestmark = pytest.mark.benchmark

SIZES = [(4, 256), (8, 256), (12, 32), (16, 2)]
ENGINES: dict[str, dict[str, Any]] = {
    "ours, double": {"engine": "statevector", "precision": "double"},
    "ours, single": {"engine": "statevector", "precision": "single"},
    "aer": {"engine": "aer"},
}


def batch(num_spins: int, queries: int) -> IsingProblem:
    rng = np.random.default_rng(0)
    J = np.triu(0.3 * rng.normal(size=(num_spins, num_spins)), 1)
    return IsingProblem(rng.normal(0, 0.5, (queries, num_spins)), J + J.T)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("num_spins", "queries"), SIZES)
def test_an_anneal(benchmark: BenchmarkFixture, num_spins: int, queries: int, engine: str) -> None:
    problem = batch(num_spins, queries)
    benchmark.group = f"n = {num_spins}, {queries} queries, 200 steps"
    rounds = 1 if engine == "aer" else 3
    result = benchmark.pedantic(
        DQA(**ENGINES[engine]).sample, (problem,), rounds=rounds, warmup_rounds=int(rounds > 1)
    )
    precise = DQA(**ENGINES["ours, double"]).sample(problem)
    np.testing.assert_allclose(result.magnetization, precise.magnetization, atol=1e-4)


@pytest.mark.parametrize("way", ["compiled", "array operations"])
@pytest.mark.parametrize(("num_spins", "queries"), SIZES)
def test_a_gradient(
    benchmark: BenchmarkFixture,
    monkeypatch: pytest.MonkeyPatch,
    num_spins: int,
    queries: int,
    way: str,
) -> None:
    """Of magnetizations by fields and couplings, the anneal forwards included."""
    given, anneal = batch(num_spins, queries), DQA(engine="statevector")
    h, J = (torch.tensor(array).requires_grad_() for array in (given.h, given.J))
    weights = torch.randn(queries, num_spins, dtype=h.dtype)

    def gradient() -> tuple[torch.Tensor, ...]:
        magnetization = anneal.sample(IsingProblem(h, J)).magnetization
        return torch.autograd.grad((weights * magnetization).sum(), (h, J))

    compiled = gradient()
    if way != "compiled":
        monkeypatch.setattr(amplitudes, "_WORTH_LOADING", 2**60)
    benchmark.group = f"gradient, n = {num_spins}, {queries} queries, 200 steps"
    found = benchmark.pedantic(gradient, rounds=3, warmup_rounds=1)
    torch.testing.assert_close(found, compiled, rtol=0, atol=1e-9 * abs(compiled[1]).max().item())


def one_parameter_per_angle(problem: IsingProblem) -> np.ndarray:
    """What the engine does: one circuit for all queries, bound inside the simulator."""
    found: np.ndarray = DQA(calibration="none").sample(problem).magnetization
    return found


def expressions_in_the_fields(problem: IsingProblem) -> np.ndarray:
    """One circuit for all queries as users see it, whose angles Aer evaluates in Python."""
    from qiskit_aer import AerSimulator

    circuit = dqa_circuit(problem)
    circuit.save_probabilities()
    binds = dict(zip(circuit.parameters, problem.h.T.tolist(), strict=True))
    simulator = AerSimulator(
        method="statevector", runtime_parameter_bind_enable=True, max_parallel_threads=1
    )
    result = simulator.run(circuit, parameter_binds=[binds]).result()
    tables = np.stack([result.data(q)["probabilities"] for q in range(len(problem.h))])
    return moments(tables)[0]


def one_circuit_per_query(problem: IsingProblem) -> np.ndarray:
    """Built, converted and run anew for each query."""
    alone = (IsingProblem(h, problem.J) for h in problem.h)
    return np.stack([DQA(calibration="none").sample(one).magnetization for one in alone])


WAYS = (one_parameter_per_angle, expressions_in_the_fields, one_circuit_per_query)


@pytest.mark.parametrize("way", WAYS)
def test_aer_itself(benchmark: BenchmarkFixture, way: Callable[[IsingProblem], np.ndarray]) -> None:
    """One parameterised circuit, against one circuit for each query."""
    problem = batch(6, 16)
    benchmark.group = "Aer: n = 6, 16 queries, 200 steps"
    found = benchmark.pedantic(way, (problem,), rounds=3)
    expected = DQA(calibration="none", engine="statevector").sample(problem).magnetization
    np.testing.assert_allclose(found, expected, atol=1e-9)
