"""Mean energies at any inverse temperature, by the exact solver."""

import math

import numpy as np

from isingsample._core.problem import IsingProblem
from isingsample.errors import TooLargeError
from isingsample.samplers.exact.sampler import Exact

MAX_SPINS = 24
# Step of the differences of ln Z, relative to 1/(width of the spectrum).
_DIFFERENCE = 1e-3


def mean_energy(problem: IsingProblem, beta: float) -> np.ndarray:
    """sum_s P(s) E(s) at beta, without the problem's offset: (...) float64.

    Right to 1e-6 of the widest spectrum of the batch.

    Raises:
        TooLargeError: more than 24 spins.
    """
    return Spectrum(in_double(problem)).mean_energy(beta)


class Spectrum:
    """Mean energies (...) of a batch in float64, without offset, at any beta, by Exact."""

    def __init__(self, problem: IsingProblem) -> None:
        if problem.num_spins > MAX_SPINS:
            raise TooLargeError(
                f"the mean energy at a temperature sums over 2**n states; n = {problem.num_spins} "
                f"is above {MAX_SPINS}"
            )
        self._solver, self._problem = Exact(max_spins=MAX_SPINS), problem
        self._lowest = self._solver.minimize(problem)[1]
        self._highest = -self._solver.minimize(_times(problem, -1.0))[1]
        self.width = float((self._highest - self._lowest).max(initial=0.0))

    def mean_energy(self, beta: float) -> np.ndarray:
        """-d ln Z / d beta: a central difference, right to 1e-6 of the width and better."""
        if math.isinf(beta) or self.width == 0:
            return np.asarray(self._highest if beta < 0 else self._lowest)
        step = _DIFFERENCE / self.width
        below, above = (self._log_partition(beta + sign * step) for sign in (-1, 1))
        return np.asarray(self._lowest + (below - above) / (2 * step))

    def _log_partition(self, beta: float) -> np.ndarray:
        """ln Z with energies counted from the lowest, so that it stays small."""
        found = self._solver.sample(_times(self._problem, beta)).log_partition
        return np.asarray(found + beta * self._lowest)


def in_double(problem: IsingProblem) -> IsingProblem:
    """In NumPy float64, and without the offset, which says nothing about temperature."""
    local = problem.to_numpy()
    K = None if local.K is None else local.K.astype(float)
    h, J = local.h.astype(float), local.J.astype(float)
    # Broadcast, since offset and present may carry batch axes of their own.
    h = np.broadcast_to(h, (*local.batch_shape, local.num_spins))
    return IsingProblem.unvalidated(
        h=h, J=J, K=K, present=local.present, labels=local.labels, offset=np.zeros(())
    )


def _times(problem: IsingProblem, factor: float) -> IsingProblem:
    """The problem of factor times the energies."""
    K = None if problem.K is None else factor * problem.K
    return IsingProblem.unvalidated(
        h=factor * problem.h,
        J=factor * problem.J,
        K=K,
        present=problem.present,
        labels=problem.labels,
        offset=problem.offset,
    )
