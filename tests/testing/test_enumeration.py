"""The reference itself: enumeration against published values and closed forms."""

import numpy as np
import pytest

from isingsample import IsingProblem
from isingsample.testing import enumerate_moments
from support.fixtures import (
    ASYM3,
    ASYM3_BY_J01,
    ASYM3_JACOBIAN,
    KNOWN,
    PAIR,
    Known,
    couplings,
    three_body,
)


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_published_moments(known: Known) -> None:
    found = enumerate_moments(known.problem())
    np.testing.assert_allclose(found.magnetization, known.magnetization, atol=1e-12)
    np.testing.assert_allclose(found.probability, (known.magnetization + 1) / 2, atol=1e-12)
    np.testing.assert_allclose(found.correlation, known.correlation, atol=1e-12)
    np.testing.assert_allclose(found.log_partition, known.log_partition, atol=1e-11)


def test_the_published_sign_is_not_its_mirror() -> None:
    mirrored = enumerate_moments(IsingProblem(PAIR.h, -PAIR.J)).magnetization
    np.testing.assert_allclose(mirrored, (0.396811, -0.360894), atol=1e-6)


def test_one_spin_is_a_tanh_of_beta_h() -> None:
    found = enumerate_moments(IsingProblem([0.5]), beta=1.7)
    np.testing.assert_allclose(found.magnetization, [np.tanh(0.85)], rtol=1e-14)
    np.testing.assert_allclose(found.log_partition, np.log(2 * np.cosh(0.85)), rtol=1e-14)


def test_three_body_coupling_is_a_field_where_two_spins_are_pinned() -> None:
    K = three_body(3, {(0, 1, 2): 0.4})
    pinned = enumerate_moments(IsingProblem([0.2, 40.0, -40.0], K=K))
    np.testing.assert_allclose(pinned.magnetization[0], np.tanh(0.2 - 0.4), rtol=1e-12)
    alone = enumerate_moments(IsingProblem(np.zeros(3), K=K))
    np.testing.assert_allclose(alone.log_partition, np.log(8 * np.cosh(0.4)), rtol=1e-14)


def test_absent_spin_leaves_the_problem_of_the_others() -> None:
    found = enumerate_moments(ASYM3.problem(present=np.array([True, False, True])))
    rest = enumerate_moments(IsingProblem(ASYM3.h[[0, 2]], couplings(2, {(0, 1): 0.25})))
    np.testing.assert_allclose(found.magnetization[[0, 2]], rest.magnetization, rtol=1e-14)
    np.testing.assert_allclose(found.log_partition, rest.log_partition, rtol=1e-14)
    assert found.magnetization[1] == found.probability[1] == found.correlation[1, 1] == 0


def test_offset_shifts_the_log_partition_alone() -> None:
    plain = enumerate_moments(ASYM3.problem(), beta=0.6)
    shifted = enumerate_moments(ASYM3.problem(offset=2.5), beta=0.6)
    np.testing.assert_allclose(shifted.log_partition, plain.log_partition - 1.5, rtol=1e-14)
    np.testing.assert_allclose(shifted.magnetization, plain.magnetization, rtol=1e-14)


def test_published_jacobian_by_differences() -> None:
    step = 1e-5

    def slope(problem_at: object) -> np.ndarray:
        ahead, behind = (enumerate_moments(problem_at(x)).magnetization for x in (step, -step))
        return (ahead - behind) / (2 * step)

    for k in range(3):
        by_field = slope(lambda x, k=k: IsingProblem(ASYM3.h + x * np.eye(3)[k], ASYM3.J))
        np.testing.assert_allclose(by_field, ASYM3_JACOBIAN[:, k], atol=1e-9)
    by_coupling = slope(lambda x: IsingProblem(ASYM3.h, ASYM3.J + couplings(3, {(0, 1): x})))
    np.testing.assert_allclose(by_coupling, ASYM3_BY_J01, atol=1e-9)
