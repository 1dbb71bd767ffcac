"""Transfer's samples: the right distribution, and the same ones whatever else is in the batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isingsample import Exact, IsingProblem, Transfer
from isingsample._core.arrays import to_numpy
from isingsample.samplers.transfer import sampler as transfer
from support.banded import band, banded_problems
from support.fixtures import ASYM3, KNOWN, Known
from support.strategies import LIBRARIES, in_library

READS = 20_000


@pytest.mark.parametrize(("num_spins", "width"), [(1, 0), (2, 1), (4, 0), (5, 2), (6, 5)])
def test_samples_follow_the_distribution(
    rng: np.random.Generator, num_spins: int, width: int
) -> None:
    J, K = 0.3 * band(rng, num_spins, width), 0.1 * band(rng, num_spins, width, rank=3)
    problem = IsingProblem(0.3 * rng.normal(size=(4, num_spins)), J, K)
    samples = Transfer(num_reads=READS).sample(problem, beta=0.8, seed=1).samples
    expected = READS * Exact().distribution(problem, beta=0.8)
    assert expected.min() > 5  # so that chi square holds
    rows = (samples > 0) @ 2 ** np.arange(num_spins)[::-1]
    counts = np.stack([np.bincount(row, minlength=2**num_spins) for row in rows])
    chi_square = ((counts - expected) ** 2 / expected).sum()
    # Its mean is the degrees of freedom f, its variance 2 f.
    freedom = 4 * (2**num_spins - 1)
    assert abs(chi_square - freedom) < 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_moments_of_samples_are_the_published_ones(known: Known, library: str) -> None:
    problem = IsingProblem(**in_library(library, {"h": known.h, "J": known.J}))
    samples = to_numpy(Transfer(num_reads=READS).sample(problem, seed=2).samples).astype(float)
    error = np.abs(samples.mean(axis=0) - known.magnetization)
    assert (error <= 5 * np.sqrt((1 - known.magnetization**2) / READS)).all()
    error = np.abs(samples.T @ samples / READS - known.correlation)
    assert (error <= 5 * np.sqrt((1 - known.correlation**2) / READS) + 1e-12).all()


def test_moments_of_samples_of_a_long_chain(rng: np.random.Generator) -> None:
    problem = IsingProblem(0.5 * rng.normal(size=(2, 150)), 0.5 * band(rng, 150, 3))
    result = Transfer(num_reads=4000).sample(problem, beta=1.2, seed=3)
    samples = result.samples.astype(float)
    for found, truth in (
        (samples.mean(axis=-2), result.magnetization),
        (samples.mT @ samples / 4000, result.correlation),
    ):
        deviation = (found - truth) / np.sqrt((1 - truth**2) / 4000 + 1e-12)
        assert np.abs(deviation).max() < 5.5  # the largest of 45000
        assert abs((deviation**2).mean() - 1) < 0.3


@given(banded_problems(max_spins=5), st.integers(1, 6))
def test_samples_are_spins_where_spins_are(problem: IsingProblem, reads: int) -> None:
    result = Transfer(num_reads=reads).sample(problem, seed=0)
    samples, n = to_numpy(result.samples), problem.num_spins
    assert samples.dtype == np.int8
    assert samples.shape == (*problem.batch_shape, reads, n)
    present = np.ones(n, bool) if problem.present is None else problem.present
    np.testing.assert_array_equal(
        np.abs(samples), np.broadcast_to(present[..., None, :], samples.shape)
    )


@given(banded_problems(max_spins=4, batches=((5,), (2, 3))), st.integers(-(2**70), 2**70))
def test_one_seed_gives_the_same_samples_again(problem: IsingProblem, seed: int) -> None:
    sampler = Transfer(num_reads=7)
    first, second = (sampler.sample(problem, seed=seed).samples for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, sampler.sample(problem.to_numpy(), seed=seed).samples)


def test_a_problem_does_not_notice_its_neighbours(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    h = rng.normal(size=(6, 3))
    sampler = Transfer(num_reads=50)
    together = sampler.sample(IsingProblem(h, ASYM3.J), seed=4).samples
    fewer = sampler.sample(IsingProblem(h[:2], ASYM3.J), seed=4).samples
    np.testing.assert_array_equal(together[:2], fewer)
    each = IsingProblem(h, np.stack([ASYM3.J] * 6))  # the same couplings, once per problem
    np.testing.assert_array_equal(sampler.sample(each, seed=4).samples, together)
    monkeypatch.setattr(transfer, "_CHUNK_ENTRIES", 300)
    np.testing.assert_array_equal(sampler.sample(each, seed=4).samples, together)


def test_equal_problems_of_a_batch_and_their_reads_differ() -> None:
    samples = Transfer(num_reads=64).sample(IsingProblem(np.zeros((8, 6))), seed=5).samples
    assert len(np.unique(samples.reshape(8, -1), axis=0)) == 8
    assert all(len(np.unique(reads, axis=0)) > 20 for reads in samples)


def test_more_reads_begin_with_the_same_reads() -> None:
    problem = ASYM3.problem()
    few, many = (Transfer(num_reads=r).sample(problem, seed=6).samples for r in (10, 100))
    np.testing.assert_array_equal(few, many[:10])


def test_no_reads_no_samples() -> None:
    assert Transfer().sample(ASYM3.problem()).samples is None
