"""Refined samplers end thermal, wherever they started."""

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from isingsample import (
    DQA,
    BlockSampler,
    Exact,
    GaugeSpin,
    IndependenceMetropolis,
    IsingProblem,
    Refine,
    Sampler,
    Solution,
    TooLargeError,
)
from isingsample._core.arrays import is_torch, to_numpy
from isingsample._core.states import spin_table
from isingsample._core.streams import Streams
from isingsample.comparison.compare import state_histogram
from isingsample.samplers.wrappers import metropolis as metropolis_module
from isingsample.testing import enumerate_moments
from support import fixtures
from support.strategies import LIBRARIES, in_library, symmetric

READS = 4000


@dataclass(frozen=True)
class AllUp(BlockSampler):
    """Reads that are as far from thermal as can be."""

    num_reads: int = READS

    name: ClassVar[str] = "all_up"
    thermal: ClassVar[bool] = False

    def _solve(self, block: Any, beta: float, streams: Streams) -> Solution:
        reads = np.ones((*block.index.shape, self.num_reads, block.num_spins), np.int8)
        return Solution.from_samples(reads, thermal=False)


def problems() -> dict[str, IsingProblem]:
    rng = np.random.default_rng(2)
    h, J, K = rng.normal(size=(2, 3, 4)), symmetric(rng, (2, 1), 4, 2), symmetric(rng, (), 4, 3)
    present = rng.random((2, 3, 4)) < 0.7
    return {
        "pair": fixtures.PAIR.problem(),
        "asym3": fixtures.ASYM3.problem(),
        "batch": IsingProblem(h, 0.3 * J, 0.2 * K),
        "masked": IsingProblem(h, 0.3 * J, 0.2 * K, present),
    }


def wrappers() -> dict[str, Sampler]:
    anneal = DQA(num_steps=50, engine="statevector")
    return {
        "sweeps": Refine(DQA(num_steps=50, engine="statevector", num_reads=READS), num_sweeps=20),
        "sweeps from one corner": Refine(AllUp(), num_sweeps=60),
        "metropolis": IndependenceMetropolis(anneal, num_reads=READS),
    }


@pytest.mark.filterwarnings("ignore::isingsample.errors.StrongFieldWarning")
@pytest.mark.parametrize("name", problems())
@pytest.mark.parametrize("wrapper", wrappers())
def test_refined_samples_are_boltzmann(wrapper: str, name: str) -> None:
    problem = problems()[name]
    result = wrappers()[wrapper].sample(problem, beta=0.8, seed=3)
    exact = enumerate_moments(problem, 0.8)
    m, C = exact.magnetization, exact.correlation
    assert result.thermal
    assert (abs(result.magnetization - m) <= 5 * np.sqrt((1 - m**2) / READS) + 1e-12).all()
    assert (abs(result.correlation - C) <= 5 * np.sqrt(abs(1 - C**2) / READS) + 1e-12).all()
    exists = exact.probability > 0
    assert (np.isfinite(result.std_error) & ((result.std_error > 0) == exists)).all()


def test_the_anneal_alone_is_not() -> None:
    """What the wrappers mend is larger than their tolerance."""
    problem = fixtures.ASYM3.problem()
    reads = DQA(engine="statevector", num_reads=READS).sample(problem, seed=3)
    m = fixtures.ASYM3.magnetization
    assert (abs(reads.magnetization - m) > 2 * np.sqrt((1 - m**2) / READS)).any()


def heat_bath_matrix(p: np.ndarray) -> np.ndarray:
    """The transition matrix of one sweep over all spins, from row to column, for a law p."""
    states = spin_table(len(p).bit_length() - 1)
    sweep = np.eye(len(p))
    for j in range(states.shape[1]):
        same = (np.delete(states, j, 1)[:, None] == np.delete(states, j, 1)).all(axis=-1)
        sweep = sweep @ (same * p / (same @ p)[:, None])
    return sweep


@pytest.mark.parametrize("steps", [1, 4])
def test_metropolis_leaves_boltzmann_as_it_is_and_forgets_the_rest(steps: int) -> None:
    """The chain's law by its transition matrix, against the reads and the distance it states."""
    problem = fixtures.ASYM3.problem()
    anneal = DQA(total_time=3, engine="statevector", calibration="none")
    q, p = anneal.distribution(problem), Exact().distribution(problem)
    w = p / q
    move = q * np.minimum(1, w / w[:, None])  # from row to column
    move += np.diag(1 - move.sum(axis=1))
    move = move @ heat_bath_matrix(p)
    np.testing.assert_allclose(p @ move, p, atol=1e-14)
    law = q @ np.linalg.matrix_power(move, steps)
    reads = 40_000
    chains = IndependenceMetropolis(anneal, num_reads=reads, num_steps=steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = chains.sample(problem, seed=5)
    found = state_histogram(result.samples[None])[0]
    assert (abs(found - law) <= 5 * np.sqrt(law * (1 - law) / reads)).all()
    left = 0.5 * abs(law - p).sum()
    assert float(result.info["total_variation"]) == pytest.approx(left, abs=1e-12)
    assert bool(result.info["converged"]) == result.thermal == (left <= 0.1 / np.sqrt(reads))


def test_metropolis_is_thermal_only_where_it_has_converged() -> None:
    """An instance whose chains are held up by a state that the anneal hardly gives."""
    rng = np.random.default_rng(123)
    h = rng.normal(0, 1, (60, 8))
    upper = np.triu(rng.normal(0, 0.5, (60, 8, 8)), 1)
    problem = IsingProblem(h, upper + np.swapaxes(upper, 1, 2))
    exact = Exact().sample(problem, beta=2.0).magnetization
    anneal = DQA.preset("boltzmann", engine="statevector")
    few = IndependenceMetropolis(anneal, num_steps=20)
    with pytest.warns(UserWarning, match=r"of 1 of 60 problems the reads are up to 0.024"):
        result = few.sample(problem, beta=2.0, seed=0)
    assert not result.thermal
    assert np.flatnonzero(~result.info["converged"]).tolist() == [28]
    assert result.info["total_variation"].mean() == pytest.approx(0.0004, abs=0.0001)
    assert np.isnan(result.std_error[28]).all()
    assert np.isfinite(np.delete(result.std_error, 28, 0)).all()
    result = dataclasses.replace(few, num_steps=50).sample(problem, beta=2.0, seed=0)
    assert result.thermal
    assert (np.abs(result.magnetization - exact) <= 5 * result.std_error).all()


def test_a_sweep_leaves_boltzmann_as_it_is() -> None:
    problem = IsingProblem(np.array([0.3, -0.5, 0.8]), K=fixtures.three_body(3, {(0, 1, 2): 0.7}))
    start = Exact(num_reads=READS).sample(problem, seed=1).samples
    refined = Refine(Fixed(start), num_sweeps=3).sample(problem, seed=2)
    p = Exact().distribution(problem)
    assert not np.array_equal(refined.samples, start)
    found = state_histogram(refined.samples[None])[0]
    assert (abs(found - p) <= 5 * np.sqrt(p * (1 - p) / READS)).all()
    np.testing.assert_allclose(p @ spin_table(3), refined.magnetization, atol=0.08)


@dataclass(frozen=True, eq=False)
class Fixed(BlockSampler):
    """The samples it was given."""

    samples: Any

    name: ClassVar[str] = "fixed"

    def _solve(self, block: Any, beta: float, streams: Streams) -> Solution:
        return Solution.from_samples(self.samples[None, None], thermal=True)


@pytest.mark.parametrize("between", [lambda sampler: sampler, GaugeSpin])
def test_one_refinement_around_another_draws_its_own_numbers(between: Any) -> None:
    inner = between(Refine(AllUp(), num_sweeps=1))
    outer = Refine(inner, num_sweeps=1)
    free = IsingProblem(np.zeros(2))
    before, after = (sampler.sample(free, seed=4).samples for sampler in (inner, outer))
    together = (before.astype(float).T @ after) / READS
    assert (abs(together) < 5 / np.sqrt(READS)).all()


@pytest.mark.parametrize("free", [1, 2, 10, 11])
def test_a_free_spin_is_free_after_any_number_of_sweeps(free: int) -> None:
    result = Refine(AllUp(), num_sweeps=free).sample(IsingProblem([0.0]), seed=0)
    assert abs(result.magnetization[0]) <= 5 / np.sqrt(READS)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("wrapper", ["sweeps", "metropolis"])
def test_one_stream_for_each_problem_in_its_own_library(wrapper: str, library: str) -> None:
    h = np.linspace(-0.5, 0.5, 12).reshape(3, 4)
    anneal = DQA(num_steps=20, engine="statevector")
    sampler: Sampler = IndependenceMetropolis(anneal, num_reads=30)
    if wrapper == "sweeps":
        sampler = Refine(DQA(num_steps=20, engine="statevector", num_reads=30), num_sweeps=3)

    def draw(fields: np.ndarray) -> Any:
        return sampler.sample(IsingProblem(**in_library(library, {"h": fields})), seed=2**65)

    whole = draw(h)
    assert is_torch(whole.samples) == is_torch(whole.magnetization) == (library == "torch")
    np.testing.assert_array_equal(whole.samples, draw(h).samples)
    np.testing.assert_array_equal(whole.samples[:2], draw(h[:2]).samples)
    alike = to_numpy(draw(np.zeros((3, 4))).samples)
    assert len(np.unique(alike.reshape(3, -1), axis=0)) == 3
    assert whole.info["sampler"] == sampler.name


def test_nothing_to_do_gives_nothing() -> None:
    metropolis = IndependenceMetropolis(DQA(engine="statevector"), num_reads=7)
    for sampler in (Refine(AllUp(num_reads=7)), metropolis):
        assert sampler.sample(IsingProblem(np.zeros((2, 0)))).samples.shape == (2, 7, 0)
        assert sampler.sample(IsingProblem(np.zeros((0, 3)))).samples.shape == (0, 7, 3)


def test_what_cannot_be_refined_is_refused() -> None:
    with pytest.raises(ValueError, match="'exact' gave none; set num_reads"):
        Refine(Exact()).sample(IsingProblem([0.1]))
    with pytest.raises(TypeError, match="must be a Sampler"):
        Refine("dqa")
    with pytest.raises(TypeError, match="has a distribution"):
        IndependenceMetropolis(AllUp())
    for options in ({"num_sweeps": 0}, {"num_sweep": 3}):
        with pytest.raises((ValueError, TypeError), match="num_sweeps"):
            Refine(AllUp(), **options)
    with pytest.raises(ValueError, match="num_steps must be at least 1"):
        IndependenceMetropolis(Exact(), num_steps=0)


def test_proposals_to_too_many_spins_are_refused_at_once() -> None:
    metropolis = IndependenceMetropolis(Exact(max_spins=64))
    for spins, memory in ((21, "MiB|GiB"), (40, "PiB"), (3000, "EiB")):
        with pytest.raises(TooLargeError, match=rf"{spins} spins .* ({memory}); the limit is 20"):
            metropolis.sample(IsingProblem(np.zeros((2, spins))))
    few = np.arange(30) < 3
    absent = IsingProblem(np.ones(30), present=few)
    assert (metropolis.sample(absent, seed=0).magnetization > 0).sum() == 3


def test_chunks_of_proposals_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    h = rng.normal(0, 0.6, (3, 5, 4))
    J, K = 0.4 * symmetric(rng, (3, 1), 4, 2), 0.3 * symmetric(rng, (3, 1), 4, 3)
    problem = IsingProblem(h, J, K)
    metropolis = IndependenceMetropolis(DQA(num_steps=5, engine="statevector"), 20, 30)
    whole = metropolis.sample(problem, seed=1)
    for queries in (1, 3, 7):
        monkeypatch.setattr(metropolis_module, "_CHUNK_BYTES", queries * 160 * 2**4)
        parts = metropolis.sample(problem, seed=1)
        np.testing.assert_array_equal(parts.samples, whole.samples)
        np.testing.assert_allclose(
            parts.info["total_variation"], whole.info["total_variation"], atol=1e-12
        )


def test_wrappers_close_what_they_hold() -> None:
    closed = []

    class Closing(AllUp):
        def close(self) -> None:
            closed.append(1)

        def distribution(self) -> None: ...

    for wrapper in (Refine, IndependenceMetropolis):
        with wrapper(Closing()):
            pass
    assert closed == [1, 1]


def test_strong_fields_do_not_overflow() -> None:
    problem = IsingProblem([1e200, -1e200])
    result = Refine(AllUp(num_reads=5)).sample(problem)
    assert (result.samples == [1, -1]).all()
