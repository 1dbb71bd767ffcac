"""Monte Carlo beside its peers: updates and accuracy, in one run each.

Peers take one problem at a time, so a few of a batch's problems tell their time. Rounds alternate
between contenders and the fastest of each counts; read the ratios that `make bench` prints (-s),
never the times.
"""

import time
from collections.abc import Callable
from typing import Any

import dimod
import numpy as np
import openjij
import pytest
from dwave.samplers import SimulatedAnnealingSampler
from pytest_benchmark.fixture import BenchmarkFixture

from isingsample import Exact, Gibbs, IsingProblem, ParallelTempering, SimulatedAnnealing, to_bqm

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore:.*did not converge"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

SWEEPS = 100


def glass(num_spins: int, queries: int) -> IsingProblem:
    rng = np.random.default_rng(0)
    J = np.triu(rng.normal(size=(num_spins, num_spins)), 1) / np.sqrt(num_spins)
    return IsingProblem(rng.normal(size=(queries, num_spins)), J + J.T)


def sparse(num_spins: int) -> IsingProblem:
    """A random graph of degree 4: the sum of two random rings."""
    rng = np.random.default_rng(0)
    J = np.zeros((num_spins, num_spins))
    for _ in range(2):
        ring = rng.permutation(num_spins)
        values = rng.normal(size=num_spins)
        J[ring, np.roll(ring, 1)] = J[np.roll(ring, 1), ring] = values
    return IsingProblem(rng.normal(size=(1, num_spins)), J)


def fastest(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Seconds of each, the least of several rounds that take turns."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
    return {name: min(spent) for name, spent in times.items()}


def models(problem: IsingProblem, count: int) -> list[dimod.BQM]:
    return [to_bqm(problem, query) for query in range(count)]


def dwave_reads(bqms: list[dimod.BQM], reads: int, beta: float = 1.0) -> list[Any]:
    sampler = SimulatedAnnealingSampler()
    return [
        sampler.sample(
            bqm, num_reads=reads, num_sweeps=SWEEPS, beta_range=(0.1 * beta, beta),
            proposal_acceptance_criteria="Gibbs", seed=1,
        )
        for bqm in bqms
    ]  # fmt: skip


def openjij_reads(bqms: list[dimod.BQM], reads: int) -> list[Any]:
    sampler = openjij.SASampler()
    options = {"num_reads": reads, "num_sweeps": SWEEPS, "beta_min": 0.1, "beta_max": 1.0}
    return [sampler.sample(bqm, **options, seed=1, sparse=True) for bqm in bqms]


@pytest.mark.parametrize(
    ("problem", "reads", "bar"),
    [(glass(16, 512), 1000, 10), (glass(64, 64), 1000, 5), (glass(256, 1), 100, 2), (None, 100, 2)],
    ids=["512 x 16", "64 x 64", "256", "sparse 10000"],
)
def test_spin_updates(
    benchmark: BenchmarkFixture, problem: IsingProblem | None, reads: int, bar: float
) -> None:
    problem = sparse(10_000) if problem is None else problem
    queries, n = problem.h.shape
    few = models(problem, min(queries, 4))
    ours = SimulatedAnnealing(num_reads=reads, num_sweeps=SWEEPS)
    found = fastest(
        {
            "isingsample": lambda: ours.sample(problem, seed=1).magnetization,
            "dwave-samplers": lambda: dwave_reads(few, reads),
            "openjij": lambda: openjij_reads(few, reads),
        },
        rounds=3,
    )
    updates = reads * SWEEPS * n
    each = {
        name: spent / updates / (queries if name == "isingsample" else len(few)) * 1e9
        for name, spent in found.items()
    }
    ratios = {name: value / each["isingsample"] for name, value in each.items()}
    benchmark.extra_info.update(ns_per_update=each, ratios=ratios, bar=bar)
    print(f"\n{queries} x {n} spins, ns per update (times ours):", _listed(each, ratios))
    benchmark.pedantic(ours.sample, (problem,), rounds=1)


@pytest.mark.parametrize("beta", [1.0, 3.0])
def test_accuracy_per_second(benchmark: BenchmarkFixture, beta: float) -> None:
    """1 / (mean square error x seconds), in multiples of dwave-samplers'."""
    problem = glass(16, 64)
    exact = Exact().sample(problem, beta=beta).magnetization
    bqms = models(problem, 64)
    last: dict[str, np.ndarray] = {}

    def keep(name: str, run: Callable[[], np.ndarray]) -> Callable[[], None]:
        return lambda: last.update({name: run()})

    def annealed() -> np.ndarray:
        return np.array(
            [s.record.sample[:, np.argsort(s.variables)].mean(axis=0)
             for s in dwave_reads(bqms, 200, beta)]
        )  # fmt: skip

    samplers = {
        "gibbs": Gibbs(num_reads=200),
        "sa": SimulatedAnnealing(num_reads=200),
        "tempering": ParallelTempering(num_reads=64),
    }
    runs: dict[str, Callable[[], Any]] = {
        name: keep(name, lambda s=sampler: s.sample(problem, beta=beta, seed=1).magnetization)
        for name, sampler in samplers.items()
    }
    runs["dwave-samplers"] = keep("dwave-samplers", annealed)
    seconds = fastest(runs, rounds=3)
    rmse = {name: float(np.sqrt(((m - exact) ** 2).mean())) for name, m in last.items()}
    merit = {name: 1 / (rmse[name] ** 2 * seconds[name]) for name in rmse}
    gain = {name: value / merit["dwave-samplers"] for name, value in merit.items()}
    benchmark.extra_info.update(rmse=rmse, seconds=seconds, gain=gain)
    print(f"\nbeta = {beta:g}, rmse (accuracy per second):", _listed(rmse, gain))
    benchmark.pedantic(samplers["gibbs"].sample, (problem,), rounds=1)


def _listed(values: dict[str, float], others: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g} ({others[name]:.3g})" for name, value in values.items())
