"""What every sampler gets from the base class, seen through tiny samplers."""

import ast
import dataclasses
import pickle
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from fixtures import ASYM3
from hypothesis import given
from strategies import LIBRARIES, in_library, problems

from isingsample import IsingProblem, Minimizer, Sampler, Solution
from isingsample._arrays import is_torch, namespace, to_numpy
from isingsample.blocks import Block
from isingsample.samplers import base
from isingsample.streams import Streams


@dataclass(frozen=True)
class Coins(Minimizer):
    """Independent spins, drawn read by read: right when there are no couplings."""

    num_reads: int = 50
    token: str = field(default="", repr=False)
    thermal_reads: bool = True

    name: ClassVar[str] = "coins"

    @property
    def thermal(self) -> bool:
        return self.thermal_reads

    def _check(self, problem: IsingProblem) -> None:
        if to_numpy(problem.J).any():
            raise ValueError("coins have no couplings")

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        assert isinstance(block.h, np.ndarray)
        n = block.num_spins
        u = streams.uniforms(block.index, self.num_reads * n)
        u = u.reshape(*block.index.shape, self.num_reads, n)
        up = 1 / (1 + np.exp(-2 * beta * block.h))
        samples = np.where(u < up[..., None, :], 1, -1).astype(np.int8)
        return Solution.from_samples(
            samples,
            thermal=self.thermal,
            log_partition=np.log(2 * np.cosh(beta * block.h)).sum(axis=-1),
            per_query={"position": block.index, "good": block.h.sum(axis=-1) > -np.inf},
            info={"engine": "coin"},
        )

    def _lowest(self, block: Block, streams: Streams) -> np.ndarray:
        return np.where(block.h >= 0, 1, -1)


@dataclass(frozen=True)
class Tanh(Sampler):
    """The same without samples or correlations, in the problem's own library."""

    name: ClassVar[str] = "tanh"
    runs_on_host: ClassVar[bool] = False
    thermal: ClassVar[bool] = False

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        xp = namespace(block.h)
        m = xp.tanh(beta * block.h)
        unknown = xp.full_like(m, np.nan)
        return Solution(m, (1 + m) / 2, unknown, per_query={"field": xp.sum(block.h, axis=-1)})


def kept(problem: IsingProblem, values: np.ndarray) -> np.ndarray:
    """values in the shape of the batch, 0 at absent spins."""
    shape = (*problem.batch_shape, problem.num_spins)
    return np.where(True if problem.present is None else problem.present, values, 0) + np.zeros(
        shape
    )


def test_the_sampler_of_the_docstring_works() -> None:
    documentation = ast.get_docstring(ast.parse(Path(base.__file__).read_text()))
    assert documentation is not None
    code = documentation.split("::\n")[1].split("\n`Independent()")[0]
    scope = {**vars(base), "np": np}
    exec(textwrap.dedent(code), scope)
    problem = IsingProblem(np.array([[0.5, -1.0], [2.0, 0.1]]), present=[[True] * 2, [True, False]])
    result = scope["Independent"]().sample(problem, beta=0.7)
    np.testing.assert_allclose(result.magnetization, kept(problem, np.tanh(0.7 * problem.h)))
    assert result.info["sampler"] == "independent"
    assert result.samples is None


@given(problems(scales=(0.0, 1.0), three_body=False).filter(lambda p: not to_numpy(p.J).any()))
def test_any_batch_mask_and_library(problem: IsingProblem) -> None:
    h = to_numpy(problem.h).astype(float)
    for sampler in (Coins(num_reads=3), Tanh()):
        result = sampler.sample(problem, beta=0.5, seed=1)
        for name in ("magnetization", "probability", "std_error"):
            array = getattr(result, name)
            assert is_torch(array) == is_torch(problem.h)
            assert array.dtype == problem.h.dtype
            assert tuple(array.shape) == (*problem.batch_shape, problem.num_spins)
            assert not to_numpy(array)[kept(problem, np.ones(1)) == 0].any()
    np.testing.assert_allclose(
        to_numpy(result.magnetization), kept(problem, np.tanh(0.5 * h)), atol=1e-6
    )
    if problem.present is None or problem.present.any():  # else there was nothing to solve
        assert tuple(result.info["field"].shape) == problem.batch_shape


@pytest.mark.parametrize("library", LIBRARIES)
def test_moments_of_reads_and_their_errors(library: str) -> None:
    h = np.linspace(-1, 1, 200).reshape(50, 4)
    problem = IsingProblem(**in_library(library, {"h": h}))
    reads = 400
    result = Coins(num_reads=reads).sample(problem, seed=3)
    samples = to_numpy(result.samples).astype(float)
    m, error = to_numpy(result.magnetization), to_numpy(result.std_error)
    np.testing.assert_allclose(m, samples.mean(axis=-2), atol=1e-12)
    np.testing.assert_allclose(to_numpy(result.probability), (samples > 0).mean(axis=-2))
    np.testing.assert_allclose(error, samples.std(axis=-2, ddof=1) / np.sqrt(reads))
    correlation = to_numpy(result.correlation)
    np.testing.assert_allclose(correlation, np.swapaxes(samples, -1, -2) @ samples / reads)
    # The truth lies within one standard error with probability 0.683, in 200 independent cases.
    inside = (np.abs(m - np.tanh(h)) <= error).mean()
    assert abs(inside - 0.683) < 5 * np.sqrt(0.683 * 0.317 / 200)


def test_errors_are_nan_for_one_read_and_for_unknown_bias() -> None:
    problem = IsingProblem(np.array([0.3, 0.1]))
    assert np.isnan(Coins(num_reads=1).sample(problem).std_error).all()
    biased = Coins(thermal_reads=False).sample(problem)
    assert np.isnan(biased.std_error).all()
    assert not biased.thermal


def test_log_partition_counts_the_offset() -> None:
    problem = IsingProblem(np.zeros((2, 3)), offset=[1.0, -2.0])
    result = Coins().sample(problem, beta=0.5)
    np.testing.assert_allclose(result.log_partition, 3 * np.log(2) - 0.5 * np.array([1, -2]))


def test_info_says_how_the_result_came_about() -> None:
    present = np.array([[True, True], [True, False], [False, False]])
    result = Coins(token="secret").sample(IsingProblem(np.ones((3, 2)), present=present), seed=1)
    assert result.info["sampler"] == "coins"
    assert result.info["engine"] == "coin"
    assert result.info["options"] == {"num_reads": 50, "thermal_reads": True}
    timing = result.info["timing"]
    assert set(timing) == {"preprocessing_ns", "sampling_ns", "postprocessing_ns"}
    assert all(isinstance(spent, int) and spent > 0 for spent in timing.values())
    # An empty problem passes every check, and its counts are 0.
    assert result.info["good"].tolist() == [True, True, True]
    assert result.info["position"].tolist() == [0, 1, 0]
    assert "secret" not in repr(result) + repr(Coins(token="secret")) + str(result.info)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_figure_of_an_empty_problem_is_nan(library: str) -> None:
    fields = {"h": np.ones((2, 2)), "present": np.array([[True, True], [False, False]])}
    result = Tanh().sample(IsingProblem(**in_library(library, fields)))
    np.testing.assert_array_equal(to_numpy(result.info["field"]), [2, np.nan])


@dataclass(frozen=True)
class Three(Sampler):
    """Always three reads, without an option that says so."""

    name: ClassVar[str] = "three"

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        reads = np.ones((*block.index.shape, 3, block.num_spins), np.int8)
        return Solution.from_samples(reads, thermal=True)


def test_empty_problems_have_as_many_samples_as_the_others() -> None:
    present = np.array([[True, True], [False, False]])
    result = Three().sample(IsingProblem(np.zeros((2, 2)), present=present))
    np.testing.assert_array_equal(result.samples, [np.ones((3, 2)), np.zeros((3, 2))])
    assert Coins(num_reads=4).sample(IsingProblem(np.zeros((0, 2)))).samples.shape == (0, 4, 2)


def test_correlations_are_computed_once_and_when_asked() -> None:
    calls = []

    class Counting(Three):
        def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
            found = super()._solve(block, beta, streams)
            correlation = found.correlation
            counted = lambda: calls.append(1) or correlation()  # noqa: E731
            return dataclasses.replace(found, correlation=counted)

    result = Counting().sample(IsingProblem(np.zeros(2)))
    assert not calls
    assert result.correlation is result.correlation
    assert len(calls) == 1


def test_a_sampler_without_correlations_says_so() -> None:
    with pytest.raises(ValueError, match="tanh gives no correlations"):
        _ = Tanh().sample(IsingProblem(np.zeros(2))).correlation


def test_one_seed_one_result_whatever_else_is_in_the_batch(rng: np.random.Generator) -> None:
    h = rng.normal(size=(5, 3))
    whole = Coins().sample(IsingProblem(h), seed=7).samples
    np.testing.assert_array_equal(Coins().sample(IsingProblem(h), seed=7).samples, whole)
    np.testing.assert_array_equal(Coins().sample(IsingProblem(h[:2]), seed=7).samples, whole[:2])
    present = np.ones((5, 3), bool)
    present[3, 0] = False
    masked = Coins().sample(IsingProblem(h, present=present), seed=7).samples
    np.testing.assert_array_equal(np.delete(masked, 3, axis=0), np.delete(whole, 3, axis=0))
    others = [Coins().sample(IsingProblem(h), seed=seed).samples for seed in (8, -7, None, None)]
    assert len(np.unique([whole, *others], axis=0)) == 5


def test_a_sampler_can_serve_threads_at_once() -> None:
    problem, sampler = IsingProblem(np.linspace(-1, 1, 30).reshape(10, 3)), Coins()
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda seed: sampler.sample(problem, seed=seed).samples, range(20)))
    np.testing.assert_array_equal(
        drawn, [sampler.sample(problem, seed=seed).samples for seed in range(20)]
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_minimize_returns_states_and_energies(library: str) -> None:
    present = np.array([[True, True, False], [True, True, True], [False] * 3])
    fields = {"h": np.array([[1.0, -2.0, 3.0]] * 3), "present": present, "offset": np.array(5.0)}
    state, energy = Coins().minimize(IsingProblem(**in_library(library, fields)))
    assert is_torch(state) == is_torch(energy) == (library == "torch")
    np.testing.assert_array_equal(state, [[1, -1, 0], [1, -1, 1], [0, 0, 0]])
    np.testing.assert_array_equal(energy, [2, -1, 5])


@pytest.mark.parametrize(
    ("beta", "error", "message"),
    [
        ("1", TypeError, "beta must be a number, not '1'"),
        (None, TypeError, "beta must be a number, not None"),
        (True, TypeError, "beta must be a number, not True"),
        (1j, TypeError, "beta must be a number, not 1j"),
        ([1.0, 2.0], TypeError, "beta must be a number"),
        (np.nan, ValueError, "beta must be finite, not nan"),
        (np.inf, ValueError, "beta must be finite, not inf"),
        (10**400, ValueError, "beta must be finite, not inf"),
        (-0.5, ValueError, "beta must be at least 0, not -0.5"),
    ],
)
def test_beta_is_one_finite_number(beta: Any, error: type[Exception], message: str) -> None:
    for call in (Coins().sample, base.Sampler.sample.__get__(Tanh())):
        with pytest.raises(error, match=message):
            call(IsingProblem(np.zeros(2)), beta=beta)


@pytest.mark.parametrize("beta", [1, np.float32(1), np.int64(1), np.float64(1)])
def test_beta_in_any_spelling(beta: Any) -> None:
    result = Tanh().sample(IsingProblem(np.ones(2, "float32")), beta=beta)
    assert result.magnetization.dtype == np.float32
    assert result.beta == 1.0


def test_a_subclass_of_problem_is_a_problem() -> None:
    class Named(IsingProblem):
        pass

    assert Coins().sample(Named(np.zeros(2))).problem.num_spins == 2


@pytest.mark.parametrize("problem", [None, 3, np.zeros(3), {"h": [0.0]}])
def test_only_problems_are_sampled(problem: Any) -> None:
    for call in (Coins().sample, Coins().minimize):
        with pytest.raises(TypeError, match=r"takes an IsingProblem, not .*IsingProblem\(h, J\)"):
            call(problem)


def test_a_problem_that_does_not_suit_is_refused_before_any_work() -> None:
    for call in (Coins().sample, Coins().minimize):
        with pytest.raises(ValueError, match="coins have no couplings"):
            call(ASYM3.problem())


@pytest.mark.parametrize("seed", [True, 0.5, "7"])
def test_wrong_seeds(seed: Any) -> None:
    for call in (Coins().sample, Coins().minimize):
        with pytest.raises(TypeError, match="seed must be an integer"):
            call(IsingProblem(np.zeros(2)), seed=seed)


def test_unknown_options_name_the_nearest_and_all() -> None:
    with pytest.raises(TypeError, match=r"did you mean 'num_reads'\?\); it has num_reads, token"):
        Coins(num_read=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Tanh has no option 'num_reads'; it has none"):
        Tanh(num_reads=3)  # type: ignore[call-arg]


def test_options_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Coins().num_reads = 3  # type: ignore[misc]


def test_a_sampler_without_solve_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Sampler()  # type: ignore[abstract]


def test_samplers_close_what_they_hold() -> None:
    closed = []

    class Connected(Coins):
        def close(self) -> None:
            closed.append(self)

    with Connected(num_reads=2) as sampler:
        assert sampler.sample(IsingProblem(np.zeros(1))).samples.shape == (2, 1)
        assert not closed
    assert closed == [sampler]


def test_results_can_be_pickled_after_they_were_read() -> None:
    result = Coins().sample(IsingProblem(np.zeros(2)), seed=1)
    before = result.correlation
    twin = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(twin.correlation, before)
    np.testing.assert_array_equal(dataclasses.replace(twin, beta=2.0).correlation, before)
    assert repr(twin) == repr(result)
    without = pickle.loads(pickle.dumps(Tanh().sample(IsingProblem(np.zeros(2)))))
    with pytest.raises(ValueError, match="tanh gives no correlations"):
        _ = without.correlation
    assert repr(result) == (
        "SampleResult(sampler='coins', batch_shape=(), num_spins=2, beta=1.0, thermal=True, "
        "num_reads=50)"
    )
