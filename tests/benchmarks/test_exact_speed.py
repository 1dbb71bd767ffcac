"""The exact solver beside its peers, on one batch of queries that share J.

Read the ratios within a group, never the times: `make bench`.
"""

from collections.abc import Callable

import dimod
import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from isingsample import Exact, IsingProblem
from isingsample.energies import spin_table
from isingsample.interop import to_bqm

pytestmark = pytest.mark.benchmark


def batch(num_spins: int, queries: int) -> IsingProblem:
    rng = np.random.default_rng(0)
    J = np.triu(0.3 * rng.normal(size=(num_spins, num_spins)), 1)
    return IsingProblem(rng.normal(size=(queries, num_spins)), J + J.T)


def factorised(problem: IsingProblem) -> np.ndarray:
    """This package."""
    return Exact().sample(problem).magnetization


def dense_table(problem: IsingProblem) -> np.ndarray:
    """A softmax over a (queries, 2**n) table of all energies."""
    states = spin_table(problem.num_spins)
    pairs = 0.5 * ((states @ problem.J) * states).sum(axis=-1)
    logs = problem.h @ states.T + pairs
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights @ states / weights.sum(axis=-1, keepdims=True)


def exact_solver(problem: IsingProblem) -> np.ndarray:
    """dimod's ExactSolver, one query after the other, with Boltzmann weights on its rows."""
    solver, found = dimod.ExactSolver(), []
    for query in range(len(problem.h)):
        record = solver.sample(to_bqm(problem, query)).record
        weights = np.exp(record.energy.min() - record.energy)
        found.append(weights @ record.sample / weights.sum())
    return np.array(found)


@pytest.mark.parametrize("solver", [factorised, dense_table, exact_solver])
@pytest.mark.parametrize(("num_spins", "queries"), [(8, 64), (12, 32), (16, 8)])
def test_exact_moments(
    benchmark: BenchmarkFixture,
    num_spins: int,
    queries: int,
    solver: Callable[[IsingProblem], np.ndarray],
) -> None:
    problem = batch(num_spins, queries)
    benchmark.group = f"n = {num_spins}, {queries} queries"
    found = benchmark.pedantic(solver, (problem,), rounds=5, warmup_rounds=1)
    np.testing.assert_allclose(found, factorised(problem), atol=1e-8)
