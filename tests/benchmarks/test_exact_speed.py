"""The exact solver beside its peers, on one batch of queries that share J.

Read the ratios, never the times: `make bench`, also with MALLOC_MMAP_THRESHOLD_=4000000000 and
MALLOC_TRIM_THRESHOLD_=8000000000, which let the C library keep memory that was freed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from isingsample import Exact, IsingProblem
from isingsample.samplers.exact.sampler import moments_unchecked
from support import peers

pytestmark = pytest.mark.benchmark

Note = Callable[[str, str, str], None]
# What we want to be held to, at 16 spins and 1024 queries: at least.
DENSE_BAR, PRODUCTS_BAR, EXACT_SOLVER_BAR = 100, 0.5, 10_000


@pytest.mark.parametrize("library", [np, torch], ids=["numpy", "torch"])
@pytest.mark.parametrize("num_spins", [12, 16, 18])
def test_a_batch(benchmark: BenchmarkFixture, note: Note, num_spins: int, library: Any) -> None:
    queries, host = 1024, peers.batch(num_spins, 1024)
    problem = peers.in_torch(host) if library is torch else host
    tensors = torch.tensor(host.h), torch.tensor(host.J)
    found = torch.as_tensor(Exact().sample(problem).magnetization)
    torch.testing.assert_close(found, peers.dense_table(*tensors), rtol=0, atol=1e-4)

    benchmark.group = f"n = {num_spins}, {queries} queries, float32"
    benchmark.pedantic(Exact().sample, (problem,), rounds=20, warmup_rounds=2)
    times = peers.race(
        {
            "Exact": lambda: Exact().sample(problem),
            "moments_unchecked": lambda: moments_unchecked(problem.h, problem.J),
            "two products": peers.two_products(num_spins, queries, library),
        }
    )
    # In a race of their own: PyTorch's threads disturb NumPy's.
    times |= peers.race(
        {
            "dense table": lambda: peers.dense_table(*tensors),
            "dense table in cache": lambda: peers.dense_table(*tensors, peers.IN_CACHE),
        },
        rounds=6,
    )
    group = f"{benchmark.group}, {library.__name__}"
    for name, seconds in times.items():
        benchmark.extra_info[name] = {"fastest": seconds[0], "median": float(np.median(seconds))}
    for which, statistic in (("fastest", np.min), ("median", np.median)):
        second = {name: float(statistic(seconds)) for name, seconds in times.items()}
        for name, peer, ours, bar in (
            ("dense table / Exact", "dense table", "Exact", f" (bar {DENSE_BAR})"),
            ("dense table in cache / Exact", "dense table in cache", "Exact", ""),
            ("two products / Exact", "two products", "Exact", f" (bar {PRODUCTS_BAR})"),
            ("two products / moments_unchecked", "two products", "moments_unchecked", ""),
        ):
            ratio = second[peer] / second[ours]
            benchmark.extra_info[f"{name}, {which}"] = ratio
            note(group, f"{name}, {which}{bar if num_spins == 16 else ''}", f"{ratio:.3g}")


@pytest.mark.parametrize(("num_spins", "queries"), [(12, 1024), (16, 1024), (20, 256)])
def test_beside_exact_solver(
    benchmark: BenchmarkFixture, note: Note, num_spins: int, queries: int
) -> None:
    problem = peers.batch(num_spins, queries, "float64")
    found = Exact().sample(problem).magnetization[0]
    np.testing.assert_allclose(found, peers.exact_solver(problem), atol=1e-8)
    benchmark.group = f"n = {num_spins}, {queries} queries, float64"
    benchmark.pedantic(Exact().sample, (problem,), rounds=10, warmup_rounds=2)
    times = peers.race(
        {
            "Exact": lambda: Exact().sample(problem),
            "ExactSolver": lambda: peers.exact_solver(problem),
        },
        rounds=3 if num_spins == 20 else 10,
        turn=0.3,
    )
    ours, theirs = times["Exact"][0] / queries, times["ExactSolver"][0]
    benchmark.extra_info |= {"Exact": ours, "ExactSolver": theirs, "ratio": theirs / ours}
    bar = f" (bar {EXACT_SOLVER_BAR})" if num_spins == 20 else ""
    note(benchmark.group, f"ExactSolver / Exact, per query{bar}", f"{theirs / ours:.0f}")


@pytest.mark.parametrize(
    ("num_spins", "queries"), [(20, 1), (20, 256), (24, 1), (24, 64), (28, 1), (28, 8)]
)
def test_many_spins(benchmark: BenchmarkFixture, note: Note, num_spins: int, queries: int) -> None:
    seconds, grown = peers.apart(
        "time_and_memory", num_spins=num_spins, queries=queries, repeats=3 if num_spins > 24 else 10
    )
    benchmark.group = "float32, one run"
    benchmark.extra_info |= {"seconds per query": seconds, "peak bytes": grown}
    problem = peers.batch(num_spins, queries)
    benchmark.pedantic(Exact().sample, (problem,), rounds=1)
    group = f"n = {num_spins}, {queries} queries, float32, numpy"
    note(group, "ms per query", f"{1e3 * seconds:.3g}")
    note(group, "MiB at the peak", f"{grown / 2**20:.0f}")


@pytest.mark.parametrize("num_spins", [8, 12, 16])
def test_training_step(benchmark: BenchmarkFixture, note: Note, num_spins: int) -> None:
    host = peers.batch(num_spins, 1024)
    h, J = (torch.tensor(array, requires_grad=True) for array in (host.h, host.J))

    def factorised() -> tuple[Any, Any]:
        loss = Exact().sample(IsingProblem(h, J)).magnetization.square().sum()
        return torch.autograd.grad(loss, (h, J))

    def forward() -> None:
        with torch.no_grad():
            Exact().sample(IsingProblem(h, J))

    def dense() -> tuple[Any, Any]:
        # Piece by piece: with their gradients the tables of all queries would not fit.
        by_piece = [
            torch.autograd.grad(peers.dense_table(piece, J).square().sum(), (h, J))
            for piece in h.split(max(1, peers.IN_CACHE >> num_spins))
        ]
        return tuple(sum(gradients) for gradients in zip(*by_piece, strict=True))

    by_h, by_J = dense()
    for ours, theirs in zip(factorised(), (by_h, 0.5 * (by_J + by_J.T)), strict=True):
        assert (ours - theirs).norm() < 1e-3 * theirs.norm()

    benchmark.group = f"n = {num_spins}, 1024 queries, float32, forward and backward"
    benchmark.pedantic(factorised, rounds=10, warmup_rounds=2)
    times = peers.race({"step": factorised, "forward": forward, "dense table": dense}, rounds=6)
    fastest = {name: seconds[0] for name, seconds in times.items()}
    benchmark.extra_info |= fastest
    dense_ratio = fastest["dense table"] / fastest["step"]
    note(benchmark.group, "dense table / Exact", f"{dense_ratio:.2g}")
    note(benchmark.group, "step / forward alone", f"{fastest['step'] / fastest['forward']:.1f}")
