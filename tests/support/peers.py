"""What the exact solver is measured against, and how: contestants take turns."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import torch

from isingsample import IsingProblem, to_bqm
from isingsample._core.states import spin_table

# Entries of the dense table made at a time: as a matter of memory, or with an eye to caches.
IN_MEMORY, IN_CACHE = 2**24, 2**20


def batch(num_spins: int, queries: int, dtype: str = "float32") -> IsingProblem:
    """Queries that share J, as of an attention head."""
    rng = np.random.default_rng(0)
    J = np.triu(0.3 * rng.normal(size=(num_spins, num_spins)), 1)
    h = rng.normal(size=(queries, num_spins))
    return IsingProblem(h.astype(dtype), (J + J.T).astype(dtype))


def in_torch(problem: IsingProblem) -> IsingProblem:
    return IsingProblem(torch.tensor(problem.h), torch.tensor(problem.J))


def dense_table(h: Any, J: Any, entries: int = IN_MEMORY) -> Any:
    """Magnetizations from a softmax over a (queries, 2**n) table, some entries at a time."""
    num_spins = h.shape[-1]
    states = torch.tensor(spin_table(num_spins), dtype=h.dtype)
    pairs = 0.5 * ((states @ J) * states).sum(dim=-1)
    pieces = h.split(max(1, entries >> num_spins))
    return torch.cat([torch.softmax(piece @ states.T + pairs, dim=-1) @ states for piece in pieces])


def exact_solver(problem: IsingProblem) -> np.ndarray:
    """Magnetizations of the first query from dimod's list of all states, with their weights."""
    record = dimod.ExactSolver().sample(to_bqm(problem, 0)).record
    weights = np.exp(record.energy.min() - record.energy)
    magnetization: np.ndarray = weights @ record.sample / weights.sum()
    return magnetization


def two_products(num_spins: int, queries: int, library: Any) -> Callable[[], Any]:
    """The two matrix products alone, in float32: the least that `products` can take."""
    rng = np.random.default_rng(0)
    a = num_spins // 2
    shapes = (queries, 2**a), (queries, 2 ** (num_spins - a)), (2**a, 2 ** (num_spins - a))
    arrays = [rng.random(shape, dtype=np.float32) for shape in shapes]
    left, right, weights = map(torch.tensor, arrays) if library is torch else arrays
    return lambda: (left @ weights, right @ weights.T)


def race(
    contestants: Mapping[str, Callable[[], Any]], *, rounds: int = 12, turn: float = 0.03
) -> dict[str, np.ndarray]:
    """Seconds per run of each, sorted. They take turns of some 0.03 s, one run at least, so that
    all of them see the same machine, however busy it is."""
    runs, seconds = {}, {name: [] for name in contestants}
    for name, run in contestants.items():
        run()
        started = time.perf_counter()
        run()
        runs[name] = max(1, int(turn / (time.perf_counter() - started)))
    for _ in range(rounds):
        for name, run in contestants.items():
            for _ in range(runs[name]):
                started = time.perf_counter()
                run()
                seconds[name].append(time.perf_counter() - started)
    return {name: np.sort(times) for name, times in seconds.items()}


def apart(function: str, **arguments: Any) -> Any:
    """What a function of this module returns in a process of its own."""
    code = (
        f"import json, sys, peers; print(json.dumps(peers.{function}(**json.loads(sys.argv[1]))))"
    )
    command = [sys.executable, "-c", code, json.dumps(arguments)]
    folder = {"PYTHONPATH": str(Path(__file__).parent)}
    run = subprocess.run(command, env=os.environ | folder, capture_output=True, check=True)
    return json.loads(run.stdout)


def time_and_memory(num_spins: int, queries: int, repeats: int) -> tuple[float, float]:
    """Seconds per query, and how many bytes the process grew at most (Linux), in NumPy."""
    from isingsample import Exact

    Exact().sample(batch(12, 16))
    problem, before, fastest = batch(num_spins, queries), _bytes("VmRSS"), np.inf
    for _ in range(repeats):
        started = time.perf_counter()
        Exact().sample(problem)
        fastest = min(fastest, time.perf_counter() - started)
    return fastest / queries, _bytes("VmHWM") - before


def _bytes(name: str) -> float:
    try:
        with open("/proc/self/status") as status:
            return next(1024.0 * int(row.split()[1]) for row in status if row.startswith(name))
    except OSError:
        return float("nan")
