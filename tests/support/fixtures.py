"""Two problems with published moments. No two spins or pairs of ASYM3 look alike: it catches
permutations, signs and factors of 2."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample import IsingProblem


def couplings(num_spins: int, pairs: Mapping[tuple[int, int], float]) -> np.ndarray:
    """A symmetric J from one number per pair."""
    J = np.zeros((num_spins, num_spins))
    for (j, k), value in pairs.items():
        J[j, k] = J[k, j] = value
    return J


def three_body(num_spins: int, triples: Mapping[tuple[int, int, int], float]) -> np.ndarray:
    """A symmetric K from one number per triple."""
    K = np.zeros((num_spins,) * 3)
    for (j, k, m), value in triples.items():
        for where in ((j, k, m), (k, m, j), (m, j, k), (k, j, m), (j, m, k), (m, k, j)):
            K[where] = value
    return K


@dataclass(frozen=True)
class Known:
    """A problem and its moments at beta = 1, to twelve digits."""

    h: np.ndarray
    J: np.ndarray
    magnetization: np.ndarray
    correlation: np.ndarray
    log_partition: float

    def problem(self, **fields: Any) -> IsingProblem:
        return IsingProblem(self.h, self.J, **fields)


PAIR = Known(
    h=np.array([0.3, -0.2]),
    J=couplings(2, {(0, 1): 0.7}),
    magnetization=np.array([0.178218398696, -0.022082736873]),
    correlation=np.eye(2) + couplings(2, {(0, 1): 0.566557673910}),
    log_partition=1.642405402160,
)

ASYM3 = Known(
    h=np.array([0.9, -0.4, 0.1]),
    J=couplings(3, {(0, 1): 0.5, (1, 2): -0.8, (0, 2): 0.25}),
    magnetization=np.array([0.648359810069, -0.221101166811, 0.289587657448]),
    correlation=np.eye(3)
    + couplings(3, {(0, 1): 0.0125601649269, (0, 2): 0.165927386776, (1, 2): -0.636956098754}),
    log_partition=2.81293095783,
)

# dm_j / dh_k, and dm / dJ_01 (one number per unordered pair).
ASYM3_JACOBIAN = np.array(
    [
        [0.579629556687, 0.155913275447, -0.0218296118048],
        [0.155913275447, 0.951114274035, -0.572927929798],
        [-0.0218296118048, -0.572927929798, 0.916138988654],
    ]
)
ASYM3_BY_J01 = np.array([-0.229244672958, 0.651136877190, -0.429654337122])

KNOWN = {"PAIR": PAIR, "ASYM3": ASYM3}
