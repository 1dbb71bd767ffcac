"""Our statevector engine beside Qiskit Aer's fastest settings for this circuit.

Both run the same anneal of 200 steps on a batch that shares J. Aer binds parameters inside the
simulator, one circuit for all queries, on one thread: that was its fastest way here.
Read the ratios within a group, never the times: `make bench`.
"""

from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from isingsample import IsingProblem
from isingsample.samplers.dqa import DQA

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


@pytest.mark.parametrize("shared", [True, False])
def test_one_circuit_for_all_queries_in_aer(benchmark: BenchmarkFixture, shared: bool) -> None:
    """One parameterised circuit, against one circuit for each query."""
    problem = batch(6, 16)
    benchmark.group = "Aer: n = 6, 16 queries, 200 steps"

    def run() -> None:
        if shared:
            DQA().sample(problem)
            return
        for h in problem.h:
            DQA().sample(IsingProblem(h, problem.J))

    benchmark.pedantic(run, rounds=2)
