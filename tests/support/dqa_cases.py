"""The short anneal with known moments, and dense matrices to check any other."""

from collections.abc import Mapping
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from support import fixtures

ASYM3 = fixtures.ASYM3.problem()
# Moments of ASYM3 after a linear anneal of 8 steps, by trotter_order; and with no Trotter error.
TROT3_OPTIONS: dict[str, Any] = {"total_time": 2, "num_steps": 8, "calibration": "none"}
TROT3 = {
    1: np.array([0.51131790, -0.18628731, 0.11511127]),
    2: np.array([0.436857, -0.162479, 0.088676]),
}
TROT3_CORRELATION = np.eye(3) + fixtures.couplings(
    3, {(0, 1): 0.11667323, (0, 2): 0.09221830, (1, 2): -0.57249982}
)
TROT3_CONTINUOUS = np.array([0.430689, -0.160617, 0.087353])

# The spins of each of a circuit's outcomes: bit i is spin i, and bit 0 is +1.
OUTCOMES3 = 1 - 2 * (np.arange(8)[:, None] >> np.arange(3) & 1)


class DenseAnneal:
    """H = -A sum X + B E as matrices, spin 0 being the leftmost factor."""

    def __init__(self, h: np.ndarray, J: np.ndarray, K: np.ndarray | None = None) -> None:
        n = len(h)
        X, Z, one = np.array([[0, 1], [1, 0]]), np.diag([1, -1]), np.eye(2)

        def operator(pauli: np.ndarray, spins: tuple[int, ...]) -> np.ndarray:
            return reduce(np.kron, [pauli if j in spins else one for j in range(n)])

        self.driver = -sum(operator(X, (j,)) for j in range(n))
        self.cost = -sum(h[j] * operator(Z, (j,)) for j in range(n))
        self.cost = self.cost - sum(J[p] * operator(Z, p) for p in combinations(range(n), 2))
        if K is not None:
            self.cost = self.cost - sum(K[t] * operator(Z, t) for t in combinations(range(n), 3))
        self.start = np.full(2**n, 2 ** (-n / 2), complex)
        self._spins = np.array([np.diag(operator(Z, (j,))) for j in range(n)])

    def moments(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Magnetization and correlation."""
        probability = abs(state) ** 2
        return self._spins @ probability, (self._spins * probability) @ self._spins.T


def trotterized(
    h: np.ndarray, J: np.ndarray, K: np.ndarray | None, options: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Moments after the steps of an anneal, each an exponential of matrices."""
    dense = DenseAnneal(h, J, K)
    state = dense.start
    steps, dt = options["num_steps"], options["total_time"] / options["num_steps"]
    for step in range(steps):
        s = (step + 0.5) / steps
        A, B = options["schedule"][0](s), options["schedule"][1](s)
        if options["trotter_order"] == 2:
            state = _exponential(dense.driver, A * dt / 2) @ state
        state = _exponential(dense.cost, B * dt) @ state
        state = _exponential(dense.driver, A * dt / options["trotter_order"]) @ state
    return dense.moments(state)


def _exponential(hermitian: np.ndarray, duration: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(hermitian)
    return (vectors * np.exp(-1j * duration * values)) @ vectors.T


def assert_within_shot_noise(found: np.ndarray, exact: np.ndarray, reads: int) -> None:
    """Averages of that many independent spins, or products of them, to 5 sigma."""
    assert (abs(found - exact) <= 5 * np.sqrt((1 - exact**2) / reads)).all()
