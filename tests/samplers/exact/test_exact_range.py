"""Exact at the ends of the floating-point range: huge, tiny and conflicting coefficients."""

import numpy as np
import pytest

from isingsample import Exact, IsingProblem
from isingsample.samplers.exact import halves
from isingsample.testing import enumerate_moments
from support.checks import assert_exact
from support.fixtures import three_body
from support.strategies import LIBRARIES, in_library, symmetric


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_huge_coupling_alone(dtype: str, library: str) -> None:
    fields = {"h": np.zeros(2, dtype), "J": np.array([[0, 1000], [1000, 0]], dtype)}
    result = Exact().sample(IsingProblem(**in_library(library, fields)))
    np.testing.assert_array_equal(result.magnetization, [0, 0])
    np.testing.assert_allclose(result.correlation, np.ones((2, 2)), rtol=1e-6)
    np.testing.assert_allclose(result.log_partition, 1000 + np.log(2), rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiny_coefficients_are_no_coefficients(dtype: str) -> None:
    tiny = np.full(3, 1e-40, dtype)
    result = Exact().sample(IsingProblem(tiny, (1 - np.eye(3, dtype=dtype)) * tiny))
    np.testing.assert_allclose(result.magnetization, np.zeros(3), atol=1e-39)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("mask", [-1e4, -1e9, -1e30, -3e38])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_huge_field_pins_its_spin_and_leaves_the_others(
    rng: np.random.Generator, dtype: str, mask: float, library: str
) -> None:
    h = np.array([0.5, mask, -0.3, 0.2, mask, 0.7], dtype)
    J = np.asarray(0.3 * symmetric(rng, (), 6, 2), dtype)
    result = Exact().sample(IsingProblem(**in_library(library, {"h": h, "J": J})))
    kept, pinned = [0, 2, 3, 5], [1, 4]
    field = h[kept].astype(float) - J[np.ix_(kept, pinned)].astype(float).sum(axis=1)
    truth = enumerate_moments(IsingProblem(field, J[np.ix_(kept, kept)].astype(float)))
    np.testing.assert_array_equal(result.magnetization[pinned], [-1, -1])
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    np.testing.assert_allclose(result.magnetization[kept], truth.magnetization, atol=tolerance)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("num_spins", [2, 5])
def test_fields_against_strong_couplings_in_float32(num_spins: int, library: str) -> None:
    # The fields favour the state that the couplings forbid most: from some strength on all
    # leading terms are subnormal, and then 0, in the units of the products.
    strength = np.arange(1.0, 80.0, 3.0)[:, None, None]
    h = strength[..., 0] * np.where(np.arange(num_spins) % 2, -1.01, 0.97)
    J = strength * (1 - np.eye(num_spins)) / (num_spins - 1)
    fields = {"h": h.astype("float32"), "J": J.astype("float32")}
    assert_exact(IsingProblem(**in_library(library, fields)))


def test_probability_is_right_where_one_plus_magnetization_is_not() -> None:
    h = np.array([-9.0, -20.0, -40.0], "float32")
    found = Exact().sample(IsingProblem(h)).probability
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-2 * h.astype(float))), rtol=1e-5)


def test_overflow_is_refused_not_returned() -> None:
    with pytest.raises(ValueError, match="beta times the fields or couplings leaves the range"):
        Exact().sample(IsingProblem(np.array([3e38, 1.0], "float32")), beta=10)
    huge = (1 - np.eye(4, dtype="float32")) * np.float32(3e38)
    with pytest.raises(ValueError, match="leaves the range of float32; scale the problem down"):
        Exact().sample(IsingProblem(np.zeros(4, "float32"), huge))


def test_columns_are_scaled_by_the_largest_of_all_their_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The largest weight of a column is sought in all blocks of rows: exp(94) is no float32."""
    monkeypatch.setattr(halves, "CHUNK_ENTRIES", 8)  # a row of the table at a time
    K = three_body(5, {(0, 3, 4): 47.0})
    h = np.array([0.3, -0.2, 0.1, 0.4, -0.5])
    wide = IsingProblem(h, np.zeros((5, 5)), K)
    narrow = IsingProblem(h.astype("float32"), np.zeros((5, 5), "float32"), K.astype("float32"))
    found = Exact().sample(narrow)
    np.testing.assert_allclose(
        found.magnetization, enumerate_moments(wide).magnetization, atol=1e-5
    )
    np.testing.assert_allclose(
        found.log_partition, enumerate_moments(wide).log_partition, rtol=1e-6
    )
