"""Monte Carlo as array operations: the code that runs on GPUs, here on the CPU as well."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isingsample import Exact, Gibbs, IsingProblem, Minimizer, ParallelTempering, SimulatedAnnealing
from isingsample._core.arrays import is_torch, to_numpy
from isingsample._core.blocks import split
from isingsample._core.streams import philox
from isingsample.samplers.monte_carlo.device.sweeps import Replicas
from support.fixtures import KNOWN, Known
from support.monte_carlo import (
    MONTE_CARLO,
    assert_distribution,
    assert_within_errors,
    boltzmann,
    glass,
    ignore_unconverged,
    monte_carlo,
    tensors,
)
from support.strategies import LIBRARIES

READS = 4000
LADDERS = {"num_replicas": 3, "burn_in": 20, "num_sweeps": 40}


def on_device(make: Any, **options: Any) -> Minimizer:
    """The sampler as tensors on a GPU have it; ladders are short ones."""
    short = LADDERS if make is ParallelTempering else {}
    device: Minimizer = make(**{**short, **options})._on_device()
    return device


@pytest.mark.parametrize("library", LIBRARIES)
def test_uniforms_are_those_of_philox(library: str) -> None:
    problem = tensors(library, glass(6, batch=(3,)))
    block = split(problem)[0]
    found = to_numpy(Replicas(block, (123, 456), 2, purpose=1).uniforms(5, 6))
    assert found.shape == (1, 3, 2, 6)
    counter = np.array([1, 0, 2, 16 * 5 + 1], np.uint64)  # spins 4 ... 7 of replica 0, problem 2
    words = philox(counter, (123, 456))
    np.testing.assert_allclose(found[0, 2, 0, 4:], (words[:2] + 0.5) / 2**32)


@monte_carlo
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_known_moments(make: Any, library: str, known: Known) -> None:
    problem = tensors(library, IsingProblem(known.h / 0.5, known.J / 0.5))
    result = on_device(make, num_reads=READS).sample(problem, beta=0.5, seed=1)
    assert is_torch(result.magnetization) == is_torch(result.samples) == (library == "torch")
    m = to_numpy(result.magnetization)
    assert (np.abs(m - known.magnetization) < 5 * to_numpy(result.std_error)).all()
    gap = np.abs(to_numpy(result.correlation) - known.correlation)
    assert (gap <= 5 * np.sqrt((1 - known.correlation**2) / READS) + 1e-12).all()
    assert result.info["sampler"] == make.name
    assert result.info["options"]["num_reads"] == READS
    assert result.info["converged"]


@monte_carlo
@pytest.mark.parametrize("random_order", [False, True])
def test_the_full_distribution(make: Any, random_order: bool) -> None:
    problem = glass(5, seed=3, K=0.2)
    reads = 5000 if make is ParallelTempering else 20_000
    sampler = on_device(make, num_reads=reads, num_sweeps=40, random_order=random_order)
    assert_distribution(sampler.sample(problem, beta=0.8, seed=2).samples, boltzmann(problem, 0.8))


def test_error_bars_hold() -> None:
    problem = glass(5, seed=1, batch=(300,))
    result = on_device(Gibbs, num_reads=200).sample(problem, beta=0.8, seed=6)
    z = (result.magnetization - Exact().sample(problem, beta=0.8).magnetization) / result.std_error
    assert abs((z**2).mean() - 1) < 5 * np.sqrt(2 / 300)


@monte_carlo
def test_items_do_not_depend_on_their_neighbours(make: Any) -> None:
    problem = glass(4, batch=(3,))
    sampler = on_device(make, num_reads=9, num_sweeps=20)
    whole = sampler.sample(problem, seed=1).samples
    part = sampler.sample(IsingProblem(problem.h[:2], problem.J), seed=1).samples
    np.testing.assert_array_equal(part, whole[:2])
    assert len(np.unique(whole.reshape(-1, 4), axis=0)) > 8


@ignore_unconverged
def test_few_reads_first_states_and_masks() -> None:
    present = np.array([[True, True, True], [True, False, True]])
    problem = IsingProblem(np.zeros((2, 3)), 50 * (np.ones((3, 3)) - np.eye(3)), present=present)
    for make in MONTE_CARLO.values():
        options = {"num_reads": 1, "num_sweeps": 2, "initial_states": [1, 1, 1]}
        if make is ParallelTempering:
            options |= {"betas": [0.5, 1.0]}
        result = on_device(make, **options).sample(problem, seed=0)
        np.testing.assert_array_equal(result.samples[:, 0], present)
    result = on_device(Gibbs, num_reads=1).sample(problem, seed=0)
    assert np.isnan(result.std_error[present]).all()
    one = on_device(SimulatedAnnealing, num_reads=1).sample(problem, seed=0)
    assert np.isnan(one.std_error[present]).all()
    with pytest.raises(ValueError, match=r"initial_states\[0\] is 0"):
        on_device(Gibbs, num_reads=1, initial_states=[0, 1, 1]).sample(problem)


def test_tensors_with_history_are_sampled_without_it() -> None:
    torch = pytest.importorskip("torch")
    h = torch.tensor([0.3, -0.2], requires_grad=True)
    result = on_device(Gibbs, num_reads=8).sample(IsingProblem(h), seed=0)
    assert not result.magnetization.requires_grad


@monte_carlo
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("random_order", [False, True])
def test_minimize(make: Any, library: str, random_order: bool) -> None:
    problem = glass(8, seed=5, batch=(2, 3), K=0.2)
    present = np.ones((2, 3, 8), bool)
    present[0, 1, 3:] = False
    masked = IsingProblem(problem.h, problem.J, problem.K, present=present)
    sampler = on_device(make, num_reads=60, random_order=random_order)
    state, energy = sampler.minimize(tensors(library, masked), seed=0)
    assert is_torch(state) == is_torch(energy) == (library == "torch")
    expected_state, expected_energy = Exact().minimize(masked)
    np.testing.assert_array_equal(to_numpy(state), expected_state)
    np.testing.assert_allclose(to_numpy(energy), expected_energy)
    again = sampler.minimize(tensors(library, masked), seed=0)[0]
    np.testing.assert_array_equal(to_numpy(again), to_numpy(state))


@pytest.mark.parametrize("library", LIBRARIES)
def test_metropolis_leaves_boltzmann_as_it_is(library: str) -> None:
    """Anneals that stay at one temperature sample it."""
    problem, order = glass(4, seed=3, K=0.3), np.arange(4)
    replicas = Replicas(split(tensors(library, problem))[0], (1, 2), READS)
    states = replicas.first(None)
    for number in range(1, 40):
        replicas.descend(states, 0.8, number, order)
    assert_distribution(to_numpy(states)[0, 0].astype(np.int8), boltzmann(problem, 0.8))


@monte_carlo
def test_minimize_scales_with_the_problem(make: Any) -> None:
    """Weak fields hold too, and a spin without any field is no trouble at infinite cold."""
    signs = np.random.default_rng(0).choice([-1, 1], size=20)
    for scale in (1e-30, 1.0, 1e30):
        problem = IsingProblem(scale * np.append(signs, 0))
        state, _ = on_device(make, num_reads=4).minimize(tensors("torch", problem), seed=1)
        np.testing.assert_array_equal(to_numpy(state)[:-1], signs)
        assert abs(int(state[-1])) == 1


def cuda(problem: IsingProblem) -> IsingProblem:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    return tensors("torch", problem, device="cuda")


@pytest.mark.gpu
@monte_carlo
def test_on_a_gpu(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the kernels of the host, which nothing here needs."""
    known = KNOWN["ASYM3"]
    problem = cuda(known.problem())
    monkeypatch.setitem(sys.modules, "isingsample.samplers.monte_carlo.compiled.chain_runs", None)
    sampler = make(num_reads=READS)
    result = sampler.sample(problem, seed=1)
    assert result.magnetization.device.type == result.samples.device.type == "cuda"
    assert result.correlation.device.type == "cuda"
    assert_within_errors(result_on_host(result), known.magnetization, READS)
    state, energy = sampler.minimize(problem, seed=1)
    assert state.device.type == energy.device.type == "cuda"
    np.testing.assert_array_equal(to_numpy(state), Exact().minimize(known.problem())[0])


@pytest.mark.gpu
@ignore_unconverged
@monte_carlo
def test_a_batch_on_a_gpu(make: Any) -> None:
    """Float32, K and masks; the same in each of two calls, and for part of the batch."""
    host = glass(6, seed=3, batch=(5,), K=0.2)
    present = np.arange(6) < np.array([[6], [6], [4], [3], [1]])
    host = IsingProblem(
        *(np.asarray(a, np.float32) for a in (host.h, host.J, host.K)), present=present
    )
    result = make(num_reads=READS).sample(cuda(host), beta=0.8, seed=2)
    exact = Exact().sample(host, beta=0.8)
    assert_within_errors(result_on_host(result), exact.magnetization, READS)
    gap = np.abs(to_numpy(result.correlation) - exact.correlation)
    assert (gap <= 5 * np.sqrt(np.maximum(1 - exact.correlation**2, 0) / READS) + 1e-5).all()
    part = IsingProblem(host.h[:2], host.J, host.K, present=present[:2])
    again = make(num_reads=READS).sample(cuda(part), beta=0.8, seed=2)
    np.testing.assert_array_equal(to_numpy(again.samples), to_numpy(result.samples)[:2])


def result_on_host(result: Any) -> Any:
    return SimpleNamespace(
        magnetization=to_numpy(result.magnetization), std_error=to_numpy(result.std_error)
    )
