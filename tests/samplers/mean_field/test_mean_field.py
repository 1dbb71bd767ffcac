"""Mean field: its equation, its accuracy where couplings are weak, its gradients and its limits."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isingsample import IsingProblem, MeanField, get_sampler
from isingsample._core.arrays import is_torch, namespace, to_numpy
from isingsample.samplers.mean_field.sampler import EQUATIONS
from isingsample.testing import enumerate_moments
from support.fixtures import ASYM3, couplings, three_body
from support.fresh_interpreter import loaded_by
from support.strategies import LIBRARIES, in_library, problems, symmetric

WEAK = (0.0, 0.01, 0.1)


def residual(problem: IsingProblem, m: Any, beta: float, equation: str) -> np.ndarray:
    """|m - tanh(beta f)| in float64, the sums written out over whole J and K: (..., n)."""
    n, batch = problem.num_spins, problem.batch_shape
    wide = problem.to_numpy()
    present = np.broadcast_to(True if wide.present is None else wide.present, (*batch, n))
    J = np.broadcast_to(wide.J, (*batch, n, n)).astype(float)
    K = np.zeros((n, n, n)) if wide.K is None else wide.K.astype(float)
    K = np.broadcast_to(K, (*batch, n, n, n))
    m = to_numpy(m).astype(float)
    field = wide.h + np.einsum("...jk,...k->...j", J, m)
    field = field + np.einsum("...jkl,...k,...l->...j", K, m, m) / 2
    if equation == "tap":
        spread = np.where(present, 1 - m**2, 0.0)
        field = field - beta * m * np.einsum("...jk,...k->...j", J**2, spread)
    return np.where(present, np.abs(m - np.tanh(beta * field)), np.abs(m))


def rounding(problem: IsingProblem, beta: float) -> float:
    """How far float arithmetic may move a field, by the largest that a spin could feel."""
    wide = problem.to_numpy()
    largest = np.abs(wide.h).max(initial=0.0) + np.abs(wide.J).sum(-1).max(initial=0.0)
    largest += beta * np.square(wide.J).sum(-1).max(initial=0.0)
    if wide.K is not None:
        largest += np.abs(wide.K).sum((-2, -1)).max(initial=0.0)
    return float(16 * np.finfo(wide.h.dtype).eps * (1 + beta * largest))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("equation", EQUATIONS)
def test_without_couplings_it_is_tanh(equation: str, dtype: str, library: str) -> None:
    h = np.linspace(-4, 4, 30, dtype=dtype).reshape(5, 6)
    problem = IsingProblem(**in_library(library, {"h": h}))
    result = MeanField(equation).sample(problem, beta=0.7)
    expected = namespace(problem.h).tanh(0.7 * problem.h)
    np.testing.assert_array_equal(to_numpy(result.magnetization), to_numpy(expected))
    np.testing.assert_allclose(
        to_numpy(result.probability), 1 / (1 + np.exp(-1.4 * h)), rtol=10 * np.finfo(dtype).eps
    )
    assert result.info["converged"].all()
    assert not result.info["iterations"].any()


@given(
    problems(scales=WEAK),
    st.sampled_from((0.0, 0.4, 1.0)),
    st.sampled_from(EQUATIONS),
    st.booleans(),
)
def test_solves_its_equation(
    problem: IsingProblem, beta: float, equation: str, damped: bool
) -> None:
    if problem.K is not None:
        equation = "naive"
    sampler = MeanField(equation, damping=0.5 if damped else 0.0)
    result = sampler.sample(problem, beta=beta)
    shape = (*problem.batch_shape, problem.num_spins)
    present = np.broadcast_to(True if problem.present is None else problem.present, shape)
    for array in (result.magnetization, result.probability, result.std_error):
        assert is_torch(array) == is_torch(problem.h)
        assert array.dtype == problem.h.dtype
        assert tuple(array.shape) == shape
    slack = sampler.tolerance + rounding(problem, beta)
    assert residual(problem, result.magnetization, beta, equation).max(initial=0.0) <= slack
    up = np.where(present, (1 + to_numpy(result.magnetization)) / 2, 0)
    np.testing.assert_allclose(to_numpy(result.probability), up, rtol=0, atol=slack)
    np.testing.assert_array_equal(np.isnan(to_numpy(result.std_error)), present)
    if present.any():
        assert result.info["converged"].shape == problem.batch_shape
        assert result.info["converged"].all()


@given(problems(masks=False), st.sampled_from(EQUATIONS))
@pytest.mark.filterwarnings("ignore:mean field")
def test_what_counts_as_converged_solves_the_equation(problem: IsingProblem, equation: str) -> None:
    if problem.K is not None:
        equation = "naive"
    sampler = MeanField(equation, max_iterations=60)
    result = sampler.sample(problem)
    m = to_numpy(result.magnetization)
    assert np.all(np.abs(m) <= 1)
    found = residual(problem, m, 1.0, equation).max(axis=-1)
    assert np.all(found[result.info["converged"]] <= sampler.tolerance + rounding(problem, 1.0))
    assert result.info["iterations"].max(initial=0) <= 60


def test_what_kind_of_result_it_is() -> None:
    result = get_sampler("mean_field", equation="tap").sample(ASYM3.problem(), seed=3)
    assert not result.thermal
    assert np.isnan(result.std_error).all()
    assert result.samples is None
    assert result.log_partition is None
    assert result.info["options"]["equation"] == "tap"


@pytest.mark.parametrize(("equation", "power"), [("naive", 2), ("tap", 3)])
def test_error_falls_with_a_power_of_the_coupling(
    rng: np.random.Generator, equation: str, power: int
) -> None:
    h, J = rng.normal(size=(4, 5)), symmetric(rng, (), 5, 2)

    def error(size: float) -> np.ndarray:
        problem = IsingProblem(h, size * J)
        found = MeanField(equation, tolerance=1e-15).sample(problem).magnetization
        return found - enumerate_moments(problem).magnetization

    # error = a size^p (1 + b size + ...), so the ratio nears 2^p in proportion to size.
    for size in (0.04, 0.02, 0.01):
        ratio = np.linalg.norm(error(size)) / np.linalg.norm(error(size / 2))
        assert abs(ratio / 2**power - 1) < 2 * size
    if equation == "naive":  # what it lacks is the reaction term
        m = np.tanh(h)
        lacking = (1 - m**2) * m * ((1 - m**2) @ J**2)
        np.testing.assert_allclose(error(1e-3) / 1e-6, lacking, atol=0.02)


def test_three_body_terms_are_right_to_first_order(rng: np.random.Generator) -> None:
    h, K = rng.normal(size=5), symmetric(rng, (), 5, 3)

    def error(size: float) -> float:
        problem = IsingProblem(h, None, size * K)
        found = MeanField(tolerance=1e-15).sample(problem).magnetization
        return float(np.linalg.norm(found - enumerate_moments(problem).magnetization))

    assert error(0.01) / error(0.005) == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize(("equation", "power"), [("naive", 2), ("tap", 3)])
def test_correlations_are_as_accurate_as_magnetizations(
    rng: np.random.Generator, equation: str, power: int
) -> None:
    h, J = rng.normal(size=(4, 5)), symmetric(rng, (), 5, 2)

    def errors(size: float) -> tuple[float, float]:
        problem = IsingProblem(h, size * J)
        truth = enumerate_moments(problem).correlation
        result = MeanField(equation, tolerance=1e-15).sample(problem)
        m = result.magnetization
        factorised = np.where(np.eye(5, dtype=bool), 1.0, m[..., None] * m[..., None, :])
        linear = np.linalg.norm(result.correlation - truth)
        return float(linear), float(np.linalg.norm(factorised - truth))

    (linear, factorised), (linear_half, factorised_half) = errors(0.01), errors(0.005)
    assert linear / linear_half == pytest.approx(2**power, rel=0.1)
    assert factorised / factorised_half == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("library", LIBRARIES)
def test_correlations_in_shape(library: str) -> None:
    present = np.array([[True, False, True], [True] * 3, [False] * 3])
    h, J = np.stack([ASYM3.h] * 3).astype("float32"), 0.3 * ASYM3.J.astype("float32")
    result = MeanField().sample(
        IsingProblem(**in_library(library, {"h": h, "J": J}), present=present)
    )
    correlation = to_numpy(result.correlation)
    assert correlation.dtype == np.float32
    np.testing.assert_array_equal(correlation, np.swapaxes(correlation, -1, -2))
    np.testing.assert_array_equal(np.diagonal(correlation, axis1=-2, axis2=-1), present)
    assert not correlation[0, 1].any()
    assert not correlation[2].any()


def test_no_correlations_where_the_solution_is_not_stable() -> None:
    # Without fields m = 0 solves the equation, but beyond J = 1 any push would grow.
    J = np.array([[0.0, 1.0], [1.0, 0.0]])
    sizes = np.array([0.9, 1.0, 1.1])[:, None, None]
    correlation = MeanField().sample(IsingProblem(np.zeros((3, 2)), sizes * J)).correlation
    assert correlation[0, 0, 1] == pytest.approx(0.9 / (1 - 0.81))  # J / (1 - J^2)
    assert np.isnan(correlation[1:]).all()


def test_a_ferromagnet_takes_sides() -> None:
    problem = IsingProblem(np.full(6, 0.01), 0.5 * (1 - np.eye(6)))
    assert enumerate_moments(problem).magnetization.max() < 0.2
    assert MeanField().sample(problem).magnetization.min() > 0.9


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("heads", [(), (3, 1), (3, 4)])
def test_no_result_depends_on_its_neighbours(
    rng: np.random.Generator, equation: str, heads: tuple[int, ...]
) -> None:
    # Stopped early, so that a step more or less would show.
    sampler = MeanField(equation, tolerance=1e-3)
    scale = rng.uniform(0, 1.5, size=(3, 4, 1))
    h, J = scale * rng.normal(size=(3, 4, 6)), 0.3 * symmetric(rng, heads, 6, 2)
    whole = sampler.sample(IsingProblem(h, J))
    assert len(np.unique(whole.info["iterations"])) > 3
    J = np.broadcast_to(J, (3, 4, 6, 6))
    for at in np.ndindex(3, 4):
        alone = sampler.sample(IsingProblem(h[at], J[at]))
        np.testing.assert_allclose(alone.magnetization, whole.magnetization[at], rtol=0, atol=1e-13)
        assert alone.info["iterations"] == whole.info["iterations"][at]


def test_beta_multiplies_the_energy(rng: np.random.Generator) -> None:
    h, J, K = (
        rng.normal(size=(3, 4)),
        0.2 * symmetric(rng, (), 4, 2),
        0.1 * symmetric(rng, (), 4, 3),
    )
    for equation, triples in (("naive", K), ("tap", None)):
        scaled = None if triples is None else 0.6 * triples
        ours = MeanField(equation).sample(IsingProblem(h, J, triples), beta=0.6)
        expected = MeanField(equation).sample(IsingProblem(0.6 * h, 0.6 * J, scaled))
        np.testing.assert_allclose(ours.magnetization, expected.magnetization, rtol=1e-14)
    np.testing.assert_array_equal(
        MeanField().sample(IsingProblem(h, J, K), beta=0).probability, 0.5
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_saturated_spins(equation: str, library: str) -> None:
    h = np.array([[100, -100, 0.5], [1e9, -1e9, 0.5], [3e38, -3e38, 0.5]], "float32")
    fields = {"h": h, "J": 0.3 * (1 - np.eye(3, dtype="float32"))}
    result = MeanField(equation).sample(IsingProblem(**in_library(library, fields)))
    np.testing.assert_array_equal(to_numpy(result.magnetization)[:, :2], [[1, -1]] * 3)
    np.testing.assert_allclose(to_numpy(result.magnetization)[:, 2], np.tanh(0.5), rtol=1e-6)
    np.testing.assert_array_equal(to_numpy(result.probability)[:, :2], [[1, 0]] * 3)
    assert np.isfinite(to_numpy(result.correlation)).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_probabilities_stay_exact_where_they_are_tiny(library: str) -> None:
    h = np.array([-5.0, -9.0, -20.0, -40.0], "float32")
    result = MeanField().sample(IsingProblem(**in_library(library, {"h": h})))
    expected = 1 / (1 + np.exp(-2 * h.astype(float)))
    np.testing.assert_allclose(to_numpy(result.probability), expected, rtol=2e-5)


@pytest.mark.parametrize("size", [1e3, 1e-40])
def test_huge_and_tiny_couplings(size: float) -> None:
    J = couplings(2, {(0, 1): size})
    result = MeanField().sample(IsingProblem(np.zeros(2, "float32"), J.astype("float32")))
    np.testing.assert_array_equal(result.magnetization, [0, 0])
    aligned = MeanField().sample(IsingProblem([0.1, 0.2], couplings(2, {(0, 1): 1e3})))
    np.testing.assert_allclose(aligned.magnetization, [1, 1], rtol=0, atol=1e-6)


def test_sums_beyond_the_range_are_refused() -> None:
    J = couplings(3, {(0, 1): 2e38, (0, 2): 2e38}).astype("float32")
    with pytest.raises(ValueError, match="leaves the range of float32; scale the problem down"):
        MeanField().sample(IsingProblem(np.zeros(3, "float32"), J))
    with pytest.raises(ValueError, match="leaves the range of float32"):
        MeanField().sample(IsingProblem(np.full(3, 1e38, "float32")), beta=10)
    single = IsingProblem(np.zeros(3, "float32"), couplings(3, {(0, 1): 1e20}).astype("float32"))
    assert not MeanField().sample(single).magnetization.any()
    with pytest.raises(ValueError, match="leaves the range of float32"):
        MeanField("tap").sample(single)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (2, 0), (2, 0, 3)])
def test_nothing_and_next_to_nothing(shape: tuple[int, ...], library: str) -> None:
    problem = IsingProblem(**in_library(library, {"h": np.zeros(shape)}))
    for equation in EQUATIONS:
        result = MeanField(equation).sample(problem)
        assert tuple(result.magnetization.shape) == tuple(result.std_error.shape) == shape
        assert tuple(result.correlation.shape) == (*shape, shape[-1])


def test_one_warning_that_says_what_to_raise() -> None:
    h = np.array([[0.1] * 4, [2.0] * 4, [0.1] * 4, [0.0] * 4])
    present = np.array([[True] * 4, [True] * 4, [True, True, True, False], [True] * 4])
    problem = IsingProblem(h, 0.33 * (1 - np.eye(4)), present=present)
    message = r"magnetization of 2 of 4 .* max_iterations \(9\) .* or damping \(0.5\)"
    with pytest.warns(UserWarning, match=message) as caught:
        result = MeanField(max_iterations=9, tolerance=1e-4).sample(problem)
    assert len(caught) == 1  # though the two masks are solved one after the other
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(result.info["converged"], [False, True, False, True])
    np.testing.assert_array_equal(result.info["iterations"][[0, 2, 3]], [9, 9, 0])
    assert np.isfinite(result.magnetization).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_queries_that_are_left_behind_keep_their_count(library: str) -> None:
    h = np.zeros((9, 6))  # m = 0 is a solution, and all but one start there
    h[4] = 0.3
    J = -2 * (1 - np.eye(6))
    problem = IsingProblem(**in_library(library, {"h": h, "J": J}))
    with pytest.warns(UserWarning, match="1 of 9 problems"):
        result = MeanField(max_iterations=30).sample(problem)
    np.testing.assert_array_equal(result.info["converged"], np.arange(9) != 4)
    np.testing.assert_array_equal(result.info["iterations"], 30 * (np.arange(9) == 4))


def test_more_damping_calms_what_swings() -> None:
    # An antiferromagnet, all of whose spins change places at each step.
    problem = IsingProblem(np.full(6, 0.3), -2 * (1 - np.eye(6)))
    with pytest.warns(UserWarning, match="1 of 1 problems did not converge"):
        assert not MeanField(damping=0.5).sample(problem).info["converged"]
    result = MeanField(damping=0.9).sample(problem)
    assert residual(problem, result.magnetization, 1.0, "naive").max() < 1e-6


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"equation": "nave"}, ValueError, r"equation must be .*\(did you mean 'naive'\?\)"),
        ({"equation": None}, ValueError, "equation must be one of naive, tap"),
        ({"dampening": 0.1}, TypeError, r"no option 'dampening' \(did you mean 'damping'\?\)"),
        ({"damping": 1.0}, ValueError, "damping must be at least 0 and below 1, not 1.0"),
        ({"damping": -0.1}, ValueError, "damping must be at least 0"),
        ({"damping": "half"}, TypeError, "damping must be a number"),
        ({"tolerance": 0.0}, ValueError, "tolerance must be above 0, not 0.0"),
        ({"tolerance": np.nan}, ValueError, "tolerance must be finite"),
        ({"max_iterations": 0}, ValueError, "max_iterations must be at least 1"),
        ({"max_iterations": 1.5}, TypeError, "max_iterations must be an integer"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        get_sampler("mean_field", **options)


def test_a_wrong_name_leads_to_the_right_one() -> None:
    with pytest.raises(ValueError, match="did you mean 'mean_field'"):
        get_sampler("meanfield")


def test_the_reaction_of_triples_is_refused() -> None:
    problem = IsingProblem(np.zeros(3), K=three_body(3, {(0, 1, 2): 0.4}))
    with pytest.raises(ValueError, match=r"equation='tap' takes no three-body .* equation='naive'"):
        MeanField("tap").sample(problem)
    zero = IsingProblem(ASYM3.h, ASYM3.J, np.zeros((3, 3, 3)))
    same = MeanField("tap").sample(ASYM3.problem()).magnetization
    np.testing.assert_array_equal(MeanField("tap").sample(zero).magnetization, same)


def test_caller_arrays_are_not_changed() -> None:
    h, J, K = ASYM3.h.copy(), ASYM3.J.copy(), three_body(3, {(0, 1, 2): 0.1})
    before = [array.copy() for array in (h, J, K)]
    _ = MeanField().sample(IsingProblem(h, J, K), beta=0.5).correlation
    for array, copy in zip((h, J, K), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_numpy_problems_load_no_torch() -> None:
    code = (
        "import isingsample as i; p = i.IsingProblem([0.1, 0.2], [[0, 1], [1, 0]]); "
        "i.get_sampler('mean_field').sample(p).magnetization"
    )
    assert loaded_by(code) == set()
