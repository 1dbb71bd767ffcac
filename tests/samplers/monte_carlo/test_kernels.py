"""The compiled kernels, piece by piece, and the Python that they are compiled from."""

import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest

from isingsample import IsingProblem
from isingsample._core.blocks import split
from isingsample._core.streams import Streams, philox
from isingsample.samplers._shared.threads import LANES
from isingsample.samplers.monte_carlo.chain_moments import blank_tally
from isingsample.samplers.monte_carlo.compiled import anneal_runs, ladder_runs
from isingsample.samplers.monte_carlo.compiled import chain_runs as kernel_runs
from isingsample.samplers.monte_carlo.compiled import inputs as _kernel_inputs
from isingsample.samplers.monte_carlo.compiled import kernels as _kernels
from isingsample.samplers.monte_carlo.compiled.inputs import kernel_inputs
from support.monte_carlo import assert_distribution, boltzmann, glass

MASK = 2**32 - 1
KERNELS = (_kernels, kernel_runs, anneal_runs, ladder_runs)
GO_ON = np.zeros(1, np.uint8)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, ...]]:
    """The kernels as plain Python functions, module by module of KERNELS."""
    modules = []
    with monkeypatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        for module in KERNELS:
            spec = importlib.util.spec_from_file_location(module.__name__, module.__file__)
            again = importlib.util.module_from_spec(spec)
            patch.setitem(sys.modules, module.__name__, again)  # later ones import earlier ones
            spec.loader.exec_module(again)
            modules.append(again)
    with np.errstate(over="ignore"):  # words of random bits wrap around
        yield tuple(modules)


def seeded(index: int = 3) -> np.ndarray:
    words = np.zeros((4, LANES), np.uint32)
    key = np.array([123, 456], np.uint64)
    for lane in range(LANES):
        _kernels.seed_lane(words, lane, key, lane, 1, index)
    return words


@pytest.mark.parametrize("index", [0, 3, 2**40 + 5])
def test_lanes_are_seeded_by_philox(index: int) -> None:
    counter = np.zeros((4, LANES), np.uint64)
    counter[0], counter[1] = np.arange(LANES), 1
    counter[2], counter[3] = index & MASK, index >> 32
    np.testing.assert_array_equal(seeded(index), philox(counter, (123, 456)))


def test_words_are_those_of_xoshiro128() -> None:
    """Against whole-number arithmetic as its authors define it."""

    def rotated(x: int, k: int) -> int:
        return ((x << k) | (x >> (32 - k))) & MASK

    words = seeded()
    a, b, c, d = (int(word) for word in words[:, 5])
    for _ in range(200):
        expected = (rotated((a + d) & MASK, 7) + a) & MASK
        shifted = (b << 9) & MASK
        c, d = c ^ a, d ^ b
        b, a = b ^ c, a ^ d
        c, d = c ^ shifted, rotated(d, 11)
        assert int(_kernels.next_word(words, 5)) == expected


def test_the_exponential_is_good_to_float32() -> None:
    x = np.concatenate([np.linspace(0, 83, 5001), np.geomspace(1e-8, 1, 500)]).astype(np.float32)
    found = np.array([_kernels.exp_minus(value) for value in x])
    np.testing.assert_allclose(found, np.exp(-x.astype(float)), rtol=6e-6)
    small = x < 10
    np.testing.assert_allclose(found[small], np.exp(-x[small].astype(float)), rtol=1e-6)
    assert _kernels.exp_minus(np.float32(3e38)) == np.float32(2.0**-120)
    assert _kernels.exp_minus(np.float32(np.inf)) == np.float32(2.0**-120)
    assert _kernels.exp_minus(np.float32(0)) == 1


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_energies_of_whole_states(scale: float, rng: np.random.Generator) -> None:
    small = glass(9, batch=(3,), K=0.4)
    problem = IsingProblem(scale * small.h, scale * small.J, scale * small.K)
    problems, couplings = kernel_inputs(split(problem)[0], Streams.from_seed(0))
    states = rng.choice([-1, 1], size=(9, LANES)).astype(np.float32)
    pull, energy = np.empty(LANES, np.float32), np.empty(LANES)
    for query in range(3):
        _kernels.measure(
            problems.group[query], couplings, problems.share[query], problems.h[query],
            states, pull, energy,
        )  # fmt: skip
        expected = IsingProblem(problem.h[query], problem.J, problem.K).energy(states.T)
        np.testing.assert_allclose(
            energy * problems.unit[query], expected, atol=1e-5 * scale, rtol=1e-5
        )


def test_only_couplings_that_are_not_zero_are_kept(rng: np.random.Generator) -> None:
    dense = np.triu(rng.normal(size=(2, 7, 7)) * (rng.random((2, 7, 7)) < 0.4), 1)
    J = dense + np.swapaxes(dense, 1, 2)
    _, couplings = kernel_inputs(split(IsingProblem(np.zeros((2, 7)), J))[0], Streams.from_seed(0))
    for group in range(2):
        scale = 2.0 ** _kernel_inputs._exponent(np.abs(J[group]).max())
        for spin in range(7):
            row = slice(*couplings.rows[group, spin : spin + 2])
            assert row.start % _kernels.GROUP == 0
            kept = couplings.weights[row] != 0
            np.testing.assert_array_equal(
                couplings.neighbours[row][kept], np.flatnonzero(J[group, spin])
            )
            np.testing.assert_allclose(
                couplings.weights[row][kept] * scale, J[group, spin][J[group, spin] != 0], rtol=1e-6
            )


def test_shuffles_are_uniform() -> None:
    words = seeded()[:, :1].copy()
    counts = np.zeros((4, 4))
    order = np.arange(4)
    for _ in range(8000):
        order[:] = np.arange(4)
        _kernels.shuffle(order, words)
        counts[np.arange(4), order] += 1
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(8000 * 3 / 16)


def test_the_worst_spin_is_the_one_whose_chains_disagree(rng: np.random.Generator) -> None:
    history = rng.normal(size=(16, 5, 8)).astype(np.float32)
    history[:, 3] += np.repeat([0, 3], 4)
    history[:, 1] = 7.0
    assert _kernels.worst_spin(history) == 3
    history[:, 1] += np.arange(8)  # constant chains that differ
    assert _kernels.worst_spin(history) == 1


def chain_arguments(runs: Any, problem: IsingProblem, fresh: bool) -> list[Any]:
    problems, couplings = kernel_inputs(split(problem)[0], Streams.from_seed(3))
    queries, n = problems.h.shape
    reads, sweeps, kept = 3, 6, 5
    samples = np.ones((queries, reads, n), np.int8)
    tally = blank_tally(queries, samples, kept, np.triu_indices(n, 1), watched=2)
    betas = np.linspace(0.1, 1, sweeps)[None]
    return [0, queries, GO_ON, problems, couplings, betas, kept, True, fresh, samples, tally]


def test_sums_of_many_sweeps_are_carried_over(plain: Any) -> None:
    """As if whole numbers of float32 ended after two sweeps."""
    compiled = chain_arguments(kernel_runs, glass(4, batch=(2,)), True)
    kernel_runs.run_chains(*compiled)
    plain[1].EXACT_SWEEPS = 2
    python = chain_arguments(plain[1], glass(4, batch=(2,)), True)
    plain[1].run_chains(*python)
    np.testing.assert_array_equal(python[-1].pairs, compiled[-1].pairs)
    np.testing.assert_array_equal(python[-1].pair_squares, compiled[-1].pair_squares)


@pytest.mark.parametrize("fresh", [True, False])
def test_chains_in_plain_python_are_those_compiled(plain: Any, fresh: bool) -> None:
    problem = glass(4, batch=(2,), K=0.3)
    compiled = chain_arguments(kernel_runs, problem, fresh)
    kernel_runs.run_chains(*compiled)
    python = chain_arguments(plain[1], problem, fresh)
    plain[1].run_chains(*python)
    np.testing.assert_array_equal(python[-2], compiled[-2])
    for ours, theirs in zip(python[-1], compiled[-1], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_ladders_in_plain_python_are_those_compiled(plain: Any) -> None:
    found = []
    for ladders in (ladder_runs, plain[3]):
        problems, couplings = kernel_inputs(split(glass(3, batch=(2,)))[0], Streams.from_seed(3))
        rungs = np.empty((2, 2, 4, 3), np.int8)
        accepted, lowest = np.zeros((2, 3), np.int64), np.empty((2, 3), np.int8)
        tally = blank_tally(2, rungs[:, :, -1], 4, np.triu_indices(3, 1), watched=2)
        betas = np.tile(np.linspace(0, 2, 4), (2, 1))
        ladders.run_tempering(
            0,
            2,
            GO_ON,
            problems,
            couplings,
            betas,
            6,
            4,
            True,
            True,
            rungs,
            accepted,
            lowest,
            tally,
        )
        found.append([rungs, accepted, lowest, *tally])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert plain[0].worst_spin(np.zeros((4, 2, 2), np.float32)) == 0


@pytest.mark.parametrize("fresh", [True, False])
def test_anneals_in_plain_python_are_those_compiled(plain: Any, fresh: bool) -> None:
    problems, couplings = kernel_inputs(split(glass(4, batch=(2,), K=0.3))[0], Streams.from_seed(3))
    betas = np.array([[0.1, 1.0, 2.0, np.inf], [0.2, 0.1, 1.0, 2.0]])
    found = []
    for runs in (anneal_runs, plain[2]):
        samples = np.ones((2, 3, 4), np.int8)
        runs.run_anneals(0, 2, GO_ON, problems, couplings, betas, True, fresh, samples)
        found.append(samples)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("K", [0.0, 0.3])
@pytest.mark.parametrize("random_order", [True, False])
def test_metropolis_leaves_boltzmann_as_it_is(K: float, random_order: bool) -> None:
    """Anneals that stay at one temperature sample it."""
    problem, reads = glass(5, seed=3, K=K), 20_000
    problems, couplings = kernel_inputs(split(problem)[0], Streams.from_seed(1))
    samples = np.empty((1, reads, 5), np.int8)
    betas, tasks = np.full((1, 60), 0.8), -(-reads // LANES)
    anneal_runs.run_anneals(
        0, tasks, GO_ON, problems, couplings, betas, random_order, True, samples
    )
    assert_distribution(samples[0], boltzmann(problem, 0.8))
