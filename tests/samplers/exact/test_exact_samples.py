"""Exact's samples: the right distribution, and the same ones whatever else is in the batch."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isingsample import Exact, IsingProblem
from isingsample._core.arrays import to_numpy
from isingsample.samplers._shared.inverse_cdf import invert
from isingsample.samplers.exact import halves
from isingsample.testing import enumerate_moments
from support.fixtures import ASYM3, KNOWN, Known, three_body
from support.strategies import LIBRARIES, in_library, problems, symmetric

READS = 20_000


def frequencies(samples: np.ndarray) -> np.ndarray:
    """How often each state occurs, in the order of spin_table: (..., reads, n) to (..., 2**n)."""
    n = samples.shape[-1]
    rows = (samples > 0) @ 2 ** np.arange(n)[::-1]
    return np.stack([np.bincount(row, minlength=2**n) for row in rows.reshape(-1, rows.shape[-1])])


@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("num_spins", [1, 2, 3, 5])
def test_samples_follow_the_distribution(
    rng: np.random.Generator, num_spins: int, three: bool
) -> None:
    K = 0.2 * symmetric(rng, (), num_spins, 3) if three else None
    J = 0.3 * symmetric(rng, (2, 1), num_spins, 2)
    problem = IsingProblem(0.3 * rng.normal(size=(2, 2, num_spins)), J, K)
    samples = Exact(num_reads=READS).sample(problem, beta=0.8, seed=1).samples
    expected = READS * Exact().distribution(problem, beta=0.8).reshape(4, -1)
    assert expected.min() > 5  # so that chi square holds
    chi_square = ((frequencies(samples) - expected) ** 2 / expected).sum()
    # Its mean is the degrees of freedom f, its variance 2 f.
    freedom = 4 * (2**num_spins - 1)
    assert chi_square < freedom + 5 * np.sqrt(2 * freedom)
    assert chi_square > freedom - 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_moments_of_samples_are_the_published_ones(known: Known, library: str) -> None:
    problem = IsingProblem(**in_library(library, {"h": known.h, "J": known.J}))
    samples = to_numpy(Exact(num_reads=READS).sample(problem, seed=2).samples).astype(float)
    error = np.abs(samples.mean(axis=0) - known.magnetization)
    assert (error <= 5 * np.sqrt((1 - known.magnetization**2) / READS)).all()
    error = np.abs(samples.T @ samples / READS - known.correlation)
    assert (error <= 5 * np.sqrt((1 - known.correlation**2) / READS) + 1e-12).all()


@given(problems(max_spins=5), st.integers(1, 6))
def test_samples_are_spins_where_spins_are(problem: IsingProblem, reads: int) -> None:
    result = Exact(num_reads=reads).sample(problem, seed=0)
    samples, n = to_numpy(result.samples), problem.num_spins
    assert samples.dtype == np.int8
    assert samples.shape == (*problem.batch_shape, reads, n)
    present = np.ones(n, bool) if problem.present is None else problem.present
    np.testing.assert_array_equal(
        np.abs(samples), np.broadcast_to(present[..., None, :], samples.shape)
    )
    np.testing.assert_array_equal(to_numpy(result.energy), to_numpy(problem.energy(samples)))


@given(problems(max_spins=4, batches=((5,), (2, 3))), st.integers(-(2**70), 2**70))
def test_one_seed_gives_the_same_samples_again(problem: IsingProblem, seed: int) -> None:
    sampler = Exact(num_reads=7)
    first, second = (sampler.sample(problem, seed=seed).samples for _ in range(2))
    np.testing.assert_array_equal(first, second)
    host = sampler.sample(problem.to_numpy(), seed=seed).samples
    np.testing.assert_array_equal(first, host)


def test_a_problem_does_not_notice_its_neighbours(rng: np.random.Generator) -> None:
    h = rng.normal(size=(6, 3))
    sampler = Exact(num_reads=50)
    together = sampler.sample(IsingProblem(h, ASYM3.J), seed=4).samples
    fewer = sampler.sample(IsingProblem(h[:2], ASYM3.J), seed=4).samples
    np.testing.assert_array_equal(together[:2], fewer)
    h[1] += 1
    changed = sampler.sample(IsingProblem(h, ASYM3.J), seed=4).samples
    np.testing.assert_array_equal(np.delete(changed, 1, axis=0), np.delete(together, 1, axis=0))
    each = IsingProblem(h, np.stack([ASYM3.J] * 6))  # the same couplings, once per problem
    np.testing.assert_array_equal(sampler.sample(each, seed=4).samples, changed)


def test_equal_problems_of_a_batch_and_their_reads_differ() -> None:
    samples = Exact(num_reads=64).sample(IsingProblem(np.zeros((8, 6))), seed=5).samples
    assert len(np.unique(samples.reshape(8, -1), axis=0)) == 8
    assert all(len(np.unique(reads, axis=0)) > 20 for reads in samples)


def test_more_reads_begin_with_the_same_reads() -> None:
    problem = ASYM3.problem()
    few, many = (Exact(num_reads=r).sample(problem, seed=6).samples for r in (10, 100))
    np.testing.assert_array_equal(few, many[:10])


def test_samples_of_a_spin_pinned_by_a_huge_field() -> None:
    problem = IsingProblem([-1e9, 0.3, 1e30, -0.2], K=three_body(4, {(0, 1, 2): 0.5}))
    samples = Exact(num_reads=READS).sample(problem, seed=7).samples
    np.testing.assert_array_equal(samples[:, [0, 2]], np.tile([-1, 1], (READS, 1)))
    m = np.array([np.tanh(0.3 - 0.5), np.tanh(-0.2)])
    error = np.abs(samples[:, [1, 3]].mean(axis=0) - m)
    assert (error <= 5 * np.sqrt((1 - m**2) / READS)).all()


def test_samples_of_strong_couplings_against_their_fields() -> None:
    problem = IsingProblem([400.0, -400.2], [[0, 390.0], [390.0, 0]])
    truth = enumerate_moments(problem)
    samples = Exact(num_reads=READS).sample(problem, seed=8).samples
    m = truth.magnetization
    assert (np.abs(samples.mean(axis=0) - m) <= 5 * np.sqrt((1 - m**2) / READS)).all()


@given(problems(max_spins=4, batches=((7,), (3, 2))))
def test_samples_do_not_depend_on_how_the_work_is_cut(problem: IsingProblem) -> None:
    whole = Exact(num_reads=5).sample(problem, seed=3).samples
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halves, "CHUNK_ENTRIES", 2**4)
        pieces = Exact(num_reads=5).sample(problem, seed=3).samples
    np.testing.assert_array_equal(pieces, whole)


def test_states_without_weight_are_never_drawn() -> None:
    cumulative = np.cumsum([0.0, 0.0, 0.3, 0.0, 0.0, 0.5, 0.0, 0.0])
    uniforms = np.array([0.0, 0.2, 0.3 / 0.8, 0.9, 1 - 2.0**-53])
    assert invert(cumulative, uniforms).tolist() == [2, 2, 5, 5, 5]


def test_no_reads_no_samples() -> None:
    result = Exact().sample(ASYM3.problem())
    assert result.samples is None
    assert result.energy is None


def test_threads_get_the_samples_of_a_single_thread(rng: np.random.Generator) -> None:
    sampler, problem = Exact(num_reads=200), IsingProblem(rng.normal(size=(3, 6)))

    def draw(seed: int) -> np.ndarray:
        return np.asarray(sampler.sample(problem, seed=seed).samples)

    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(draw, range(16)))
    np.testing.assert_array_equal(threaded, [draw(seed) for seed in range(16)])


def test_results_and_samplers_can_be_pickled() -> None:
    sampler = pickle.loads(pickle.dumps(Exact(num_reads=3)))
    assert sampler == Exact(num_reads=3)
    result = sampler.sample(ASYM3.problem(), seed=9)
    twin = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(twin.samples, result.samples)
    np.testing.assert_allclose(twin.correlation, ASYM3.correlation, atol=1e-12)
    np.testing.assert_array_equal(twin.energy, result.energy)
