"""Random streams of chains: one seed, one result, whatever else runs beside it."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from isingsample import Gibbs, IsingProblem, ParallelTempering
from support.monte_carlo import (
    glass,
    monte_carlo,
)


@monte_carlo
def test_one_seed_one_result(make: Callable[..., Any], monkeypatch: Any) -> None:
    problem = glass(6, batch=(5,))
    sampler = make(num_reads=70)
    whole = sampler.sample(problem, seed=7)
    again = sampler.sample(problem, seed=7)
    np.testing.assert_array_equal(whole.samples, again.samples)
    np.testing.assert_array_equal(whole.magnetization, again.magnetization)
    part = sampler.sample(IsingProblem(problem.h[:2], problem.J), seed=7)
    np.testing.assert_array_equal(part.samples, whole.samples[:2])
    np.testing.assert_array_equal(part.magnetization, whole.magnetization[:2])
    changed = problem.h.copy()
    changed[0] = 1e6
    other = sampler.sample(IsingProblem(changed, problem.J), seed=7)
    np.testing.assert_array_equal(other.samples[1:], whole.samples[1:])
    if make is not ParallelTempering:  # whose ladders adapt to what all reads accepted
        more = make(num_reads=140).sample(problem, seed=7)
        np.testing.assert_array_equal(more.samples[:, :70], whole.samples)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 1)
    np.testing.assert_array_equal(sampler.sample(problem, seed=7).samples, whole.samples)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 3)
    np.testing.assert_array_equal(sampler.sample(problem, seed=7).samples, whole.samples)


@monte_carlo
def test_streams_differ(make: Callable[..., Any]) -> None:
    """Between seeds, problems and reads: free spins agree in half of all places."""
    reads = 100
    free = IsingProblem(np.zeros((3, 20)))
    draws = [make(num_reads=reads).sample(free, seed=seed).samples for seed in (0, 1, -1)]
    rows = np.concatenate([d.reshape(-1, 20) for d in draws]).astype(float)
    overlaps = np.triu(rows @ rows.T, 1)
    assert len(np.unique(rows, axis=0)) > 0.99 * len(rows)
    # Overlaps of 20 fair spins have variance 20.
    pairs = len(rows) * (len(rows) - 1) / 2
    assert abs(overlaps.sum()) < 5 * np.sqrt(20 * pairs)
    assert abs((overlaps**2).sum() / pairs - 20) < 5 * np.sqrt(2 * 20**2 / pairs)


def test_two_processes_draw_the_same() -> None:
    code = (
        "from isingsample import Gibbs, IsingProblem;"
        "print(Gibbs(num_reads=3).sample(IsingProblem([[0.1] * 9] * 2), seed=2**80)"
        ".samples.tolist())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = Gibbs(num_reads=3).sample(IsingProblem([[0.1] * 9] * 2), seed=2**80).samples
    assert run.stdout.strip() == str(here.tolist())


def test_a_forked_process_samples_too() -> None:
    code = (
        "import os; from isingsample import Gibbs, IsingProblem; "
        "p = IsingProblem([[0.1] * 9] * 99); s = Gibbs(num_reads=3); s.sample(p, seed=1)\n"
        "pid = os.fork()\n"
        "if not pid: s.sample(p, seed=1); os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "7", run.stderr


def test_a_sampler_can_serve_threads_at_once() -> None:
    problem, sampler = glass(5, batch=(20,)), Gibbs(num_reads=10)
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda seed: sampler.sample(problem, seed=seed).samples, range(8)))
    np.testing.assert_array_equal(
        drawn, [sampler.sample(problem, seed=seed).samples for seed in range(8)]
    )
