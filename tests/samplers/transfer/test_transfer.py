"""Transfer against enumeration, Exact, closed forms and dwave-samplers; its range and limits."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isingsample import Exact, IsingProblem, TooLargeError, Transfer, get_sampler, to_bqm
from isingsample._core.arrays import to_numpy
from isingsample.samplers.transfer import sampler as transfer
from isingsample.testing import enumerate_moments
from support import checks
from support.banded import band, banded_problems
from support.checks import rounding
from support.fixtures import ASYM3, KNOWN, Known, couplings, three_body
from support.strategies import LIBRARIES, in_library


def assert_moments(problem: IsingProblem, truth: Any, beta: float = 1.0, **options: Any) -> None:
    """Every moment of Transfer within rounding of the truth, in the problem's own kind."""
    checks.assert_moments(Transfer(**options), problem, truth, beta)


@given(banded_problems(max_spins=7), st.sampled_from((0.0, 0.3, 1.0, 2.5)))
def test_moments_are_those_of_enumeration(problem: IsingProblem, beta: float) -> None:
    assert_moments(problem, enumerate_moments(problem, beta), beta)


@given(banded_problems(max_spins=6, scales=(30.0, 1000.0, 1e4)))
def test_moments_of_strongly_coupled_problems(problem: IsingProblem) -> None:
    assert_moments(problem, enumerate_moments(problem))


@given(banded_problems(max_spins=5, batches=((), (9,), (3, 4))))
def test_small_chunks_change_nothing(problem: IsingProblem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transfer, "_CHUNK_ENTRIES", 2**7)
        assert_moments(problem, enumerate_moments(problem))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_published_moments(known: Known, library: str) -> None:
    result = Transfer().sample(IsingProblem(**in_library(library, {"h": known.h, "J": known.J})))
    np.testing.assert_allclose(result.magnetization, known.magnetization, atol=1e-12)
    np.testing.assert_allclose(result.probability, (known.magnetization + 1) / 2, atol=1e-12)
    np.testing.assert_allclose(result.correlation, known.correlation, atol=1e-12)
    np.testing.assert_allclose(result.log_partition, known.log_partition, atol=1e-11)


@given(banded_problems(max_spins=6, masks=False))
def test_entropy_is_that_of_the_distribution(problem: IsingProblem) -> None:
    found = Transfer().sample(problem).entropy
    assert found.dtype == problem.h.dtype
    p = to_numpy(Exact().distribution(problem)).astype(float)
    expected = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1)
    np.testing.assert_allclose(to_numpy(found), expected, atol=10 * rounding(problem))


def test_entropy_of_the_frozen(rng: np.random.Generator) -> None:
    J = np.where(band(rng, 30, 2) != 0, 1000, 0).astype("float32")
    fields = np.array([np.zeros(30), np.full(30, 0.1), np.full(30, 1)], "float32")
    found = Transfer().sample(IsingProblem(fields, J)).entropy
    x = fields.astype(float).sum(axis=-1)  # of two states, all up and all down
    expected = np.log1p(np.exp(-2 * x)) + 2 * x / (1 + np.exp(2 * x))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("num_spins", "width"), [(12, 11), (14, 1), (15, 6), (16, 3)])
def test_moments_are_those_of_exact(
    rng: np.random.Generator, num_spins: int, width: int, library: str
) -> None:
    fields = {
        "h": rng.normal(size=(2, 3, num_spins)),
        "J": 0.5 * band(rng, num_spins, width, size=(2, 1)),  # one J for each group
        "K": 0.3 * band(rng, num_spins, width, rank=3),
    }
    problem = IsingProblem(**in_library(library, fields))
    assert_moments(problem, Exact().sample(problem, beta=0.9), beta=0.9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_couplings(rng: np.random.Generator, dtype: str) -> None:
    problem = IsingProblem(rng.normal(size=(3, 300)).astype(dtype), np.zeros((300, 300), dtype))
    result = Transfer().sample(problem, beta=0.7)
    m = np.tanh(0.7 * problem.h.astype(float))
    tolerance = 10 * np.finfo(dtype).eps
    np.testing.assert_allclose(result.magnetization, m, atol=tolerance)
    expected = m[:, :, None] * m[:, None, :] * (1 - np.eye(300)) + np.eye(300)
    np.testing.assert_allclose(result.correlation, expected, atol=tolerance)


def test_chain_without_fields_has_a_closed_form() -> None:
    n, J = 200, 0.8
    place = np.arange(n)
    distance = np.abs(place[:, None] - place)
    result = Transfer().sample(IsingProblem(np.zeros(n), J * (distance == 1)))
    np.testing.assert_allclose(result.correlation, np.tanh(J) ** distance, atol=1e-13)
    np.testing.assert_allclose(result.log_partition, n * np.log(2) + (n - 1) * np.log(np.cosh(J)))
    np.testing.assert_allclose(result.magnetization, np.zeros(n), atol=1e-13)


def test_moments_are_those_of_tree_decomposition(rng: np.random.Generator) -> None:
    tree = pytest.importorskip("dwave.samplers").TreeDecompositionSampler()
    problem = IsingProblem(rng.normal(size=64), 0.5 * band(rng, 64, 4))
    peer = tree.sample(to_bqm(problem), beta=0.8, num_reads=1).info
    result = Transfer().sample(problem, beta=0.8)
    up = [peer["variable_marginals"][spin] for spin in range(64)]
    np.testing.assert_allclose(result.probability, up, atol=1e-12)
    np.testing.assert_allclose(result.log_partition, peer["log_partition_function"], rtol=1e-12)
    for (j, k), joint in peer["interaction_marginals"].items():
        expected = sum(s * t * p for (s, t), p in joint.items())
        np.testing.assert_allclose(result.correlation[j, k], expected, atol=1e-12)


def test_thousands_of_spins(rng: np.random.Generator) -> None:
    n, width, part = 4096, 8, 400
    h, J = rng.normal(size=(3, n)), np.zeros((n, n))
    for distance in range(1, width + 1):
        place = np.arange(n - distance)
        values = 0.2 * rng.normal(size=n - distance)
        J[place, place + distance] = J[place + distance, place] = values
    whole = Transfer().sample(IsingProblem(h, J))
    for spins in (slice(None, part), slice(-part, None)):  # what is far away does not matter
        alone = Transfer().sample(IsingProblem(h[:, spins], J[spins, spins])).magnetization
        near = slice(None, part // 2) if spins.start is None else slice(-part // 2, None)
        np.testing.assert_allclose(
            whole.magnetization[:, spins][:, near], alone[:, near], atol=1e-9
        )
    narrow = Transfer().sample(IsingProblem(h.astype("float32"), J.astype("float32")))
    np.testing.assert_allclose(narrow.magnetization, whole.magnetization, atol=1e-5)
    np.testing.assert_allclose(narrow.log_partition, whole.log_partition, rtol=1e-6)
    shifted = Transfer().sample(IsingProblem(h + np.array([[0], [0], [1e-4]]), J)).log_partition
    slope = (shifted - whole.log_partition)[2] / 1e-4  # d ln Z / dh = m
    np.testing.assert_allclose(slope, whole.magnetization[2].sum(), rtol=1e-2)


@pytest.mark.parametrize("reach", [2, 3, 5, 16])
def test_a_declared_band_changes_nothing(rng: np.random.Generator, reach: int) -> None:
    problem = IsingProblem(rng.normal(size=(2, 6)), band(rng, 6, 2), band(rng, 6, 2, rank=3))
    assert_moments(problem, Exact().sample(problem), reach=reach)


def test_a_coupling_beyond_the_declared_band_is_refused(rng: np.random.Generator) -> None:
    h, J, K = np.zeros((2, 9)), band(rng, 9, 4), three_body(9, {(2, 6, 7): 0.1})
    message = r"J\[0, 4\] is a coupling of spins 4 apart: a band wider than declared, reach=2"
    with pytest.raises(ValueError, match=message):
        Transfer(reach=2).sample(IsingProblem(h, J))
    with pytest.raises(ValueError, match=r"K\[2, 6, 7\] is a coupling of spins 5 apart"):
        Transfer(reach=4).minimize(IsingProblem(h, J, K))
    with pytest.raises(ValueError, match=r"J\[\.\.\., 0, 4\] is a coupling"):
        Transfer(reach=0).sample(IsingProblem(h, np.stack([J, J])))


@pytest.mark.parametrize("num_spins", [18, 40, 1500])
def test_couplings_that_are_not_banded_are_refused_at_once(num_spins: int) -> None:
    J = couplings(num_spins, {(0, 1): 1.0, (0, num_spins - 1): 0.5})
    problem = IsingProblem(np.zeros(num_spins), J)
    with pytest.raises(TooLargeError) as refusal:
        Transfer().sample(problem)
    for words in (
        f"J[0, {num_spins - 1}] couples spins {num_spins - 1} apart",
        f"2**{num_spins - 1} states",
        "of memory; the limit is max_reach=16",
        "are available",
        "Order the spins so that those that couple are near each other",
        "'sa'",
    ):
        assert words in str(refusal.value)
    with pytest.raises(TooLargeError, match="half width of 17"):
        Transfer().minimize(IsingProblem(np.zeros(18), couplings(18, {(0, 17): 1.0})))


def test_more_memory_than_there_is_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = IsingProblem(np.zeros(1000), couplings(1000, {(10, 20): 1.0}))
    Transfer().sample(problem)
    monkeypatch.setattr(transfer, "available_memory", lambda: 1e6)
    with pytest.raises(TooLargeError, match=r"J\[10, 20\] .* 62\.5 MiB .* 977 KiB are available"):
        Transfer().sample(problem)


def test_the_band_is_that_of_the_spins_that_are_present(rng: np.random.Generator) -> None:
    n = 60
    present = rng.random((2, n)) < 0.15
    problem = IsingProblem(rng.normal(size=(2, n)), 0.2 * band(rng, n, n), present=present)
    assert_moments(problem, Exact().sample(problem))
    few = [0, 2, 59]
    spins = np.isin(np.arange(n), few)
    with pytest.raises(ValueError, match=r"J\[0, 59\] is a coupling of spins 2 apart"):
        Transfer(reach=1).sample(IsingProblem(problem.h, problem.J, present=spins))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (2, 0), (2, 0, 3), (0, 0)])
def test_nothing_and_next_to_nothing(shape: tuple[int, ...], library: str) -> None:
    problem = IsingProblem(**in_library(library, {"h": np.zeros(shape)}))
    result = Transfer(num_reads=4).sample(problem)
    *batch, n = shape
    assert tuple(result.magnetization.shape) == tuple(result.std_error.shape) == shape
    assert tuple(result.correlation.shape) == (*shape, n)
    assert tuple(result.samples.shape) == (*batch, 4, n)
    np.testing.assert_allclose(result.log_partition, np.full(batch, n * np.log(2)))
    assert tuple(Transfer().minimize(problem)[0].shape) == shape


def test_caller_arrays_are_not_changed() -> None:
    arrays = [ASYM3.h.copy(), ASYM3.J.copy(), three_body(3, {(0, 1, 2): 0.3})]
    before = [array.copy() for array in arrays]
    problem = IsingProblem(*arrays)
    _ = Transfer(num_reads=5).sample(problem, beta=0.5).correlation
    Transfer().minimize(problem)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fields_beside_huge_couplings(rng: np.random.Generator, dtype: str, library: str) -> None:
    # All spins are one spin, up to signs: its field is the sum of theirs.
    signs, h = rng.choice([-1.0, 1.0], size=40), (0.1 * rng.normal(size=40)).astype(dtype)
    J = np.where(band(rng, 40, 3) != 0, 1e4 * np.outer(signs, signs), 0).astype(dtype)
    result = Transfer().sample(IsingProblem(**in_library(library, {"h": h, "J": J})))
    expected = signs * np.tanh(signs @ h.astype(float))
    np.testing.assert_allclose(result.magnetization, expected, rtol=10 * np.finfo(dtype).eps)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("mask", [-1e4, -1e9, -1e30, -3e38])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_huge_field_pins_its_spin_and_leaves_the_others(
    rng: np.random.Generator, dtype: str, mask: float, library: str
) -> None:
    h = np.array([0.5, mask, -0.3, 0.2, mask, 0.7], dtype)
    J = (0.3 * band(rng, 6, 3)).astype(dtype)
    result = Transfer().sample(IsingProblem(**in_library(library, {"h": h, "J": J})))
    kept, pinned = [0, 2, 3, 5], [1, 4]
    field = h[kept].astype(float) - J[np.ix_(kept, pinned)].astype(float).sum(axis=1)
    truth = enumerate_moments(IsingProblem(field, J[np.ix_(kept, kept)].astype(float)))
    np.testing.assert_array_equal(result.magnetization[pinned], [-1, -1])
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    np.testing.assert_allclose(result.magnetization[kept], truth.magnetization, atol=tolerance)


def test_probability_is_right_where_one_plus_magnetization_is_not() -> None:
    h = np.array([[-9.0, -20.0], [-20.0, -20.0], [-40.0, 3.0]], "float32")
    problem = IsingProblem(h, np.array([[0, 2.5], [2.5, 0]], "float32"))
    truth = enumerate_moments(problem).probability
    np.testing.assert_allclose(Transfer().sample(problem).probability, truth, rtol=2e-5)


def test_tiny_coefficients_are_no_coefficients() -> None:
    tiny = np.full(3, 1e-40, "float32")
    result = Transfer().sample(IsingProblem(tiny, (1 - np.eye(3, dtype="float32")) * tiny))
    np.testing.assert_allclose(result.magnetization, np.zeros(3), atol=1e-39)


def test_overflow_is_refused_not_returned() -> None:
    with pytest.raises(ValueError, match="beta times the fields or couplings leaves the range"):
        Transfer().sample(IsingProblem(np.array([3e38, 1.0], "float32")), beta=10)
    huge = (1 - np.eye(4, dtype="float32")) * np.float32(3e38)
    with pytest.raises(ValueError, match="leaves the range of float32; scale the problem down"):
        Transfer().sample(IsingProblem(np.zeros(4, "float32"), huge))


@given(banded_problems(max_spins=7))
def test_minimize_finds_the_lowest_energy(problem: IsingProblem) -> None:
    state, energy = Transfer().minimize(problem)
    assert str(state.dtype).removeprefix("torch.") == "int8"
    present = np.ones(problem.num_spins, bool) if problem.present is None else problem.present
    np.testing.assert_array_equal(np.abs(to_numpy(state)), np.broadcast_to(present, state.shape))
    lowest = to_numpy(Exact().minimize(problem)[1])
    np.testing.assert_allclose(to_numpy(energy), lowest, rtol=0, atol=rounding(problem))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_minimize_finds_a_hidden_ferromagnet(rng: np.random.Generator, scale: float) -> None:
    signs = rng.choice([-1, 1], size=500)
    J = scale * np.abs(band(rng, 500, 5)) * np.outer(signs, signs)
    state, energy = Transfer().minimize(IsingProblem(0.01 * scale * signs, J))
    np.testing.assert_array_equal(state, signs)
    np.testing.assert_allclose(energy, -np.abs(J).sum() / 2 - 5 * scale)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_reads": 0}, ValueError, "num_reads must be at least 1, not 0"),
        ({"num_reads": 2.0}, TypeError, "num_reads must be an integer, not 2.0"),
        ({"max_reach": 0}, ValueError, "max_reach must be at least 1"),
        ({"reach": -1}, ValueError, "reach must be at least 0"),
        ({"reach": 1.5}, TypeError, "reach must be an integer, not 1.5"),
        ({"reach": 17}, ValueError, "reach=17 is beyond max_reach=16; raise max_reach"),
        ({"max_reech": 3}, TypeError, r"no option 'max_reech' \(did you mean 'max_reach'\?\)"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Transfer(**options)


def test_by_name() -> None:
    assert get_sampler("transfer", max_reach=20) == Transfer(max_reach=20)


@pytest.mark.parametrize("size", [1e36, 6e36, 2e37, 6e37, 1.5e38])
def test_couplings_near_the_end_of_the_range_are_right_or_refused(size: float) -> None:
    """A window's cost is a sum over its spins, which overflows before any single coupling does."""
    distance = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    J = np.where((distance > 0) & (distance < 3), size, 0).astype("float32")
    problem = IsingProblem(np.zeros(5, "float32"), J)
    try:
        result = Transfer().sample(problem)
    except ValueError as error:
        assert "range of float32" in str(error)  # noqa: PT017
        assert size > 1e37
    else:
        np.testing.assert_allclose(result.magnetization, 0, atol=1e-6)
        np.testing.assert_allclose(result.log_partition, 7 * size, rtol=1e-6)
