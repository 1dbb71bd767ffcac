"""The transfer of banded problems: its time against the length, and beside dwave-samplers.

Read the ratios within a group, never the times: `make bench`.
"""

from collections.abc import Callable

import numpy as np
import pytest
from dwave.samplers import TreeDecompositionSampler
from pytest_benchmark.fixture import BenchmarkFixture

from isingsample import IsingProblem, Transfer, to_bqm

pytestmark = pytest.mark.benchmark


def chain(num_spins: int, width: int, queries: int) -> IsingProblem:
    """Queries that share couplings to the next `width` spins."""
    rng = np.random.default_rng(0)
    J = np.zeros((num_spins, num_spins))
    for distance in range(1, width + 1):
        place = np.arange(num_spins - distance)
        values = 0.3 * rng.normal(size=len(place))
        J[place, place + distance] = J[place + distance, place] = values
    return IsingProblem(rng.normal(size=(queries, num_spins)), J)


@pytest.mark.parametrize("num_spins", [256, 512, 1024, 2048, 4096])
@pytest.mark.parametrize("width", [4, 8])
def test_time_is_linear_in_the_length(
    benchmark: BenchmarkFixture, width: int, num_spins: int
) -> None:
    problem = chain(num_spins, width, queries=4)
    benchmark.group = f"transfer: width {width}, 4 queries, by length"
    result = benchmark.pedantic(Transfer().sample, (problem,), rounds=3, warmup_rounds=1)
    assert np.isfinite(result.log_partition).all()


def transfer(problem: IsingProblem) -> np.ndarray:
    """This package."""
    return Transfer().sample(problem).probability


def tree_decomposition(problem: IsingProblem) -> np.ndarray:
    """dwave-samplers' exact sampler, one query after the other."""
    tree, found = TreeDecompositionSampler(), []
    for query in range(len(problem.h)):
        up = tree.sample(to_bqm(problem, query), num_reads=1).info["variable_marginals"]
        found.append([up[spin] for spin in range(problem.num_spins)])
    return np.array(found)


@pytest.mark.parametrize("solver", [transfer, tree_decomposition])
@pytest.mark.parametrize("queries", [1, 16, 64])
def test_marginals_of_a_chain(
    benchmark: BenchmarkFixture, queries: int, solver: Callable[[IsingProblem], np.ndarray]
) -> None:
    problem = chain(64, 4, queries)
    benchmark.group = f"marginals of 64 spins, width 4, {queries} queries"
    found = benchmark.pedantic(solver, (problem,), rounds=5, warmup_rounds=1)
    np.testing.assert_allclose(found, transfer(problem), atol=1e-10)
