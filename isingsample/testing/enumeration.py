"""Truth by enumeration: a plain, slow reference that samplers are tested against.

Nothing here shares code with the solvers: the sums are written out state by state.
"""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from isingsample._core.arrays import to_numpy
from isingsample._core.problem import IsingProblem


@dataclass(frozen=True)
class Moments:
    """Exact moments of a batch, in float64.

    Attributes:
        magnetization: (..., n), 0 at absent spins.
        probability: P(s = +1), (..., n), 0 at absent spins.
        correlation: (..., n, n), 0 at absent spins.
        log_partition: (...).
    """

    magnetization: np.ndarray
    probability: np.ndarray
    correlation: np.ndarray
    log_partition: np.ndarray


def enumerate_moments(problem: IsingProblem, beta: float = 1.0) -> Moments:
    """Moments by summing over all states of each problem in turn.

    Cost 2**n n**3 in Python for each problem: for tests, n up to about 10.
    """
    problem = problem.to_dense()
    n, batch = problem.num_spins, problem.batch_shape
    h = np.broadcast_to(to_numpy(problem.h).astype(float), (*batch, n))
    J = np.broadcast_to(to_numpy(problem.J).astype(float), (*batch, n, n))
    K = np.zeros((n, n, n)) if problem.K is None else to_numpy(problem.K).astype(float)
    K = np.broadcast_to(K, (*batch, n, n, n))
    present = np.ones(n, bool) if problem.present is None else problem.present
    present = np.broadcast_to(present, (*batch, n))
    offset = np.broadcast_to(to_numpy(problem.offset).astype(float), batch)
    found = Moments(
        np.zeros((*batch, n)), np.zeros((*batch, n)), np.zeros((*batch, n, n)), np.zeros(batch)
    )
    for at in np.ndindex(*batch):
        spins = [int(j) for j in np.flatnonzero(present[at])]
        states, energies = [], []
        for state in product((-1, 1), repeat=len(spins)):
            s = dict(zip(spins, state, strict=True))
            energy = -sum(h[at][j] * s[j] for j in spins)
            energy -= sum(J[at][j, k] * s[j] * s[k] for j, k in combinations(spins, 2))
            energy -= sum(K[at][i] * s[i[0]] * s[i[1]] * s[i[2]] for i in combinations(spins, 3))
            states.append([s.get(j, 0) for j in range(n)])
            energies.append(energy)
        table, logs = np.array(states, dtype=float), -beta * np.array(energies)
        weights = np.exp(logs - logs.max())
        probabilities = weights / weights.sum()
        found.magnetization[at] = probabilities @ table
        found.probability[at] = probabilities @ (table > 0)
        found.correlation[at] = table.T @ (probabilities[:, None] * table)
        found.log_partition[at] = np.log(weights.sum()) + logs.max() - beta * offset[at]
    return found
