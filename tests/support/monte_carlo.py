"""The Monte Carlo samplers by name, and distributions that they are held to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from isingsample import Gibbs, IsingProblem, ParallelTempering, SimulatedAnnealing
from isingsample._core.states import spin_table
from isingsample.comparison.compare import state_histogram
from isingsample.samplers.monte_carlo.chains import ChainSampler

MONTE_CARLO: dict[str, Callable[..., ChainSampler]] = {
    "gibbs": Gibbs,
    "sa": SimulatedAnnealing,
    "tempering": ParallelTempering,
}
monte_carlo = pytest.mark.parametrize("make", MONTE_CARLO.values(), ids=MONTE_CARLO)
ignore_unconverged = pytest.mark.filterwarnings("ignore:.*did not converge")
# A false alarm of a chi-square or normal test of ours is this likely.
RARE = 1e-6


def boltzmann(problem: IsingProblem, beta: float = 1.0) -> np.ndarray:
    """P of every state, in the order of spin_table, (..., 2**n)."""
    energy = problem.energy(np.broadcast_to(
        spin_table(problem.num_spins),
        (*problem.batch_shape, 2**problem.num_spins, problem.num_spins),
    ))  # fmt: skip
    weights = np.exp(-beta * (energy - energy.min(axis=-1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def assert_distribution(samples: np.ndarray, expected: np.ndarray) -> None:
    """Chi-square over all states of independent reads (reads, n); rare states are pooled."""
    counts = state_histogram(samples[None])[0] * len(samples)
    order = np.argsort(expected)
    pools = np.minimum(np.cumsum(expected[order]) * len(samples) // 10, 1e9).astype(int)
    pools = np.unique(pools, return_inverse=True)[1]
    seen, wanted = np.bincount(pools, counts[order]), np.bincount(pools, expected[order])
    wanted = wanted * len(samples)
    statistic = ((seen - wanted) ** 2 / wanted).sum()
    assert statistic < stats.chi2.isf(RARE, max(1, len(wanted) - 1)), (seen, wanted)


def assert_within_errors(result: Any, exact: np.ndarray, count: int) -> None:
    """Each m within five of its own standard errors, or of one rare read in `count`.

    A spin whose minority state no chain happened to visit shows too little spread: one read
    more or less is allowed for.
    """
    found, error = np.asarray(result.magnetization, float), np.asarray(result.std_error, float)
    tolerance = 5 * np.hypot(error, 1 / count) + 1e-6
    assert (np.abs(found - exact) <= tolerance).all(), (found, exact, error)


def torus(side: int, coupling: float = 1.0) -> IsingProblem:
    """A square lattice with periodic boundaries, without fields."""
    J = np.zeros((side**2, side**2))
    for row in range(side):
        for column in range(side):
            here = row * side + column
            for there in (
                row * side + (column + 1) % side, (row + 1) % side * side + column
            ):  # fmt: skip
                J[here, there] += coupling
                J[there, here] += coupling
    return IsingProblem(np.zeros(side**2), J)


def glass(num_spins: int, seed: int = 0, batch: tuple[int, ...] = (), K: float = 0.0) -> Any:
    """Fields and couplings of unit size over sqrt(n), with K of the given size."""
    rng = np.random.default_rng(seed)
    J = np.triu(rng.normal(size=(num_spins, num_spins)), 1) / np.sqrt(num_spins)
    h = 0.5 * rng.normal(size=(*batch, num_spins))
    if not K:
        return IsingProblem(h, J + J.T)
    from support.strategies import symmetric

    return IsingProblem(h, J + J.T, K * symmetric(rng, (), num_spins, 3))


def tensors(library: str, problem: IsingProblem, device: str = "cpu") -> IsingProblem:
    """The problem in another library, tensors on a device."""
    from support.strategies import in_library

    fields = {"h": problem.h, "J": problem.J, "K": problem.K, "present": problem.present}
    fields = in_library(library, {k: np.array(a) for k, a in fields.items() if a is not None})
    if library == "torch":
        fields = {name: a if name == "present" else a.to(device) for name, a in fields.items()}
    return IsingProblem(**fields)


def uai(path: Path) -> IsingProblem:
    """A UAI Markov network of two-state variables, with tables of one or two of them."""
    numbers = iter(path.read_text().split()[1:])
    n = int(next(numbers))
    assert {int(next(numbers)) for _ in range(n)} == {2}
    scopes = [
        [int(next(numbers)) for _ in range(int(next(numbers)))] for _ in range(int(next(numbers)))
    ]
    h, J, offset = np.zeros(n), np.zeros((n, n)), 0.0
    for scope in scopes:
        logs = np.log([float(next(numbers)) for _ in range(int(next(numbers)))])
        offset -= logs.mean()
        if len(scope) == 1:
            h[scope[0]] += (logs[1] - logs[0]) / 2
            continue
        a, b = scope
        h[a] += (logs[2] + logs[3] - logs[0] - logs[1]) / 4
        h[b] += (logs[1] + logs[3] - logs[0] - logs[2]) / 4
        J[a, b] = J[b, a] = (logs[0] + logs[3] - logs[1] - logs[2]) / 4
    return IsingProblem(h, J, offset=offset)
