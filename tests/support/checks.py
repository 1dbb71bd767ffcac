"""Comparison with the truth, to a tolerance that follows from the numbers themselves."""

from typing import Any

import numpy as np

from isingsample import Exact, IsingProblem, Sampler
from isingsample._core.arrays import is_torch, to_numpy
from isingsample.testing import enumerate_moments


def rounding(problem: IsingProblem, beta: float = 1.0, *, with_offset: bool = False) -> float:
    """How far moments computed in the problem's dtype may be from the truth; with_offset, also
    energies and ln Z.

    An energy of size E carries an error of E * eps, an exponential of it a relative error
    of the same size; the factor covers the few operations on the way.
    """
    wide = problem.to_dense().to_numpy()
    largest = np.abs(wide.h).sum(axis=-1).max(initial=0.0)
    largest += np.abs(wide.J).sum(axis=(-2, -1)).max(initial=0.0) / 2
    if wide.K is not None:
        largest += np.abs(wide.K).sum(axis=(-3, -2, -1)).max(initial=0.0) / 6
    if with_offset:
        largest += np.abs(wide.offset).max(initial=0.0)
    return float(16 * np.finfo(wide.h.dtype).eps * (1 + beta * largest))


MOMENTS = ("magnetization", "probability", "correlation", "log_partition")


def assert_exact(problem: IsingProblem, beta: float = 1.0) -> None:
    """Every moment of Exact within rounding of the enumerated one, in the problem's own kind."""
    assert_moments(Exact(), problem, enumerate_moments(problem, beta), beta)


def assert_moments(sampler: Sampler, problem: IsingProblem, truth: Any, beta: float = 1.0) -> None:
    """Every moment of an exact sampler within rounding of the truth, in the problem's own kind."""
    found = sampler.sample(problem, beta=beta)
    for name in MOMENTS:
        ours, expected = getattr(found, name), to_numpy(getattr(truth, name))
        assert ours.dtype == problem.h.dtype
        assert is_torch(ours) == is_torch(problem.h)
        assert tuple(ours.shape) == expected.shape
        tolerance = rounding(problem, beta, with_offset=name == "log_partition")
        np.testing.assert_allclose(to_numpy(ours), expected, rtol=0, atol=tolerance)
    assert found.thermal
    assert not to_numpy(found.std_error).any()
