"""What every sampler gets from the base class, seen through tiny samplers."""

import ast
import dataclasses
import pickle
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from isingsample import IsingProblem, Solution
from isingsample._core.arrays import is_torch, to_numpy
from isingsample._core.blocks import Block
from isingsample._core.streams import Streams
from isingsample.samplers import block_sampler
from support.strategies import LIBRARIES, in_library, problems
from support.tiny_samplers import Coins, Tanh, Three


def kept(problem: IsingProblem, values: np.ndarray) -> np.ndarray:
    """values in the shape of the batch, 0 at absent spins."""
    shape = (*problem.batch_shape, problem.num_spins)
    return np.where(True if problem.present is None else problem.present, values, 0) + np.zeros(
        shape
    )


def test_the_sampler_of_the_docstring_works() -> None:
    documentation = ast.get_docstring(ast.parse(Path(block_sampler.__file__).read_text()))
    assert documentation is not None
    code = documentation.split("::\n")[1].split("\n`Independent()")[0]
    scope: dict[str, Any] = {"__name__": "example"}
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
    # The posterior of P(+1) under a uniform prior is a Beta distribution of reads + 2 counts.
    p = ((samples > 0).sum(axis=-2) + 1) / (reads + 2)
    np.testing.assert_allclose(error, 2 * np.sqrt(p * (1 - p) / (reads + 3)))
    np.testing.assert_allclose(error, samples.std(axis=-2, ddof=1) / np.sqrt(reads), rtol=0.02)
    correlation = to_numpy(result.correlation)
    np.testing.assert_allclose(correlation, np.swapaxes(samples, -1, -2) @ samples / reads)
    # The truth lies within one standard error with probability 0.683, in 200 independent cases.
    inside = (np.abs(m - np.tanh(h)) <= error).mean()
    assert abs(inside - 0.683) < 5 * np.sqrt(0.683 * 0.317 / 200)


def test_reads_that_all_agree_are_not_certain() -> None:
    result = Coins(num_reads=100).sample(IsingProblem(np.full(2000, 2.3)), seed=1)
    agree = np.abs(result.magnetization) == 1
    assert 0.2 < agree.mean() < 0.6  # P(+1)**100 = 0.37
    assert (result.std_error[agree] > 0.01).all()


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


@pytest.mark.parametrize("beta", [1, np.float32(1), np.int64(1), np.float64(1)])
def test_beta_in_any_spelling(beta: Any) -> None:
    result = Tanh().sample(IsingProblem(np.ones(2, "float32")), beta=beta)
    assert result.magnetization.dtype == np.float32
    assert result.beta == 1.0


def test_a_subclass_of_problem_is_a_problem() -> None:
    class Named(IsingProblem):
        pass

    assert Coins().sample(Named(np.zeros(2))).problem.num_spins == 2


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
