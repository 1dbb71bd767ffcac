"""Monte Carlo as array operations: the code that runs on GPUs, here on the CPU as well."""

from typing import Any

import numpy as np
import pytest
from fixtures import KNOWN, Known
from monte_carlo import assert_distribution, boltzmann, glass, ignore_unconverged
from strategies import LIBRARIES, in_library

from isingsample import Exact, IsingProblem
from isingsample._arrays import is_torch, to_numpy
from isingsample.blocks import split
from isingsample.samplers._device_sweeps import Replicas
from isingsample.samplers._on_device import OnDevice
from isingsample.samplers.annealing import SimulatedAnnealing
from isingsample.samplers.gibbs import Gibbs
from isingsample.streams import philox

SAMPLERS = {"gibbs": Gibbs, "sa": SimulatedAnnealing}
both = pytest.mark.parametrize("make", SAMPLERS.values(), ids=SAMPLERS)
READS = 4000


def tensors(library: str, problem: IsingProblem, device: str = "cpu") -> IsingProblem:
    fields = {"h": problem.h, "J": problem.J, "K": problem.K, "present": problem.present}
    fields = in_library(library, {k: np.array(a) for k, a in fields.items() if a is not None})
    if library == "torch":
        fields = {name: a if name == "present" else a.to(device) for name, a in fields.items()}
    return IsingProblem(**fields)


@pytest.mark.parametrize("library", LIBRARIES)
def test_uniforms_are_those_of_philox(library: str) -> None:
    problem = tensors(library, glass(6, batch=(3,)))
    block = split(problem)[0]
    found = to_numpy(Replicas(block, (123, 456), 2, purpose=1).uniforms(5, 6))
    assert found.shape == (1, 3, 2, 6)
    counter = np.array([1, 0, 2, 16 * 5 + 1], np.uint64)  # spins 4 ... 7 of replica 0, problem 2
    words = philox(counter, (123, 456))
    np.testing.assert_allclose(found[0, 2, 0, 4:], (words[:2] + 0.5) / 2**32)


@both
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_known_moments(make: Any, library: str, known: Known) -> None:
    problem = tensors(library, IsingProblem(known.h / 0.5, known.J / 0.5))
    result = OnDevice(make(num_reads=READS)).sample(problem, beta=0.5, seed=1)
    assert is_torch(result.magnetization) == is_torch(result.samples) == (library == "torch")
    m = to_numpy(result.magnetization)
    assert (np.abs(m - known.magnetization) < 5 * to_numpy(result.std_error)).all()
    gap = np.abs(to_numpy(result.correlation) - known.correlation)
    assert (gap <= 5 * np.sqrt((1 - known.correlation**2) / READS) + 1e-12).all()
    assert result.info["sampler"] == make.name
    assert result.info["options"]["num_reads"] == READS
    assert result.info["converged"]


@both
@pytest.mark.parametrize("random_order", [False, True])
def test_the_full_distribution(make: Any, random_order: bool) -> None:
    problem = glass(5, seed=3, K=0.2)
    sampler = OnDevice(make(num_reads=20_000, num_sweeps=60, random_order=random_order))
    assert_distribution(sampler.sample(problem, beta=0.8, seed=2).samples, boltzmann(problem, 0.8))


def test_error_bars_hold() -> None:
    problem = glass(5, seed=1, batch=(300,))
    result = OnDevice(Gibbs(num_reads=200)).sample(problem, beta=0.8, seed=6)
    z = (result.magnetization - Exact().sample(problem, beta=0.8).magnetization) / result.std_error
    assert abs((z**2).mean() - 1) < 5 * np.sqrt(2 / 300)


@both
def test_items_do_not_depend_on_their_neighbours(make: Any) -> None:
    problem = glass(4, batch=(3,))
    sampler = OnDevice(make(num_reads=9, num_sweeps=20))
    whole = sampler.sample(problem, seed=1).samples
    part = sampler.sample(IsingProblem(problem.h[:2], problem.J), seed=1).samples
    np.testing.assert_array_equal(part, whole[:2])
    assert len(np.unique(whole.reshape(-1, 4), axis=0)) > 8


@ignore_unconverged
def test_few_reads_first_states_and_masks() -> None:
    present = np.array([[True, True, True], [True, False, True]])
    problem = IsingProblem(np.zeros((2, 3)), 50 * (np.ones((3, 3)) - np.eye(3)), present=present)
    sampler = Gibbs(num_reads=1, num_sweeps=2, initial_states=[1, 1, 1])
    result = OnDevice(sampler).sample(problem, seed=0)
    np.testing.assert_array_equal(result.samples[:, 0], present)
    assert np.isnan(result.std_error[present]).all()
    one = OnDevice(SimulatedAnnealing(num_reads=1)).sample(problem, seed=0)
    assert np.isnan(one.std_error[present]).all()
    with pytest.raises(ValueError, match=r"initial_states\[0\] is 0"):
        OnDevice(Gibbs(num_reads=1, initial_states=[0, 1, 1])).sample(problem)


def test_tensors_with_history_are_sampled_without_it() -> None:
    torch = pytest.importorskip("torch")
    h = torch.tensor([0.3, -0.2], requires_grad=True)
    result = OnDevice(Gibbs(num_reads=8)).sample(IsingProblem(h), seed=0)
    assert not result.magnetization.requires_grad


@pytest.mark.gpu
@both
def test_on_a_gpu(make: Any) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    known = KNOWN["ASYM3"]
    problem = tensors("torch", known.problem(), device="cuda")
    result = make(num_reads=READS).sample(problem, seed=1)
    assert result.magnetization.device.type == result.samples.device.type == "cuda"
    m, error = to_numpy(result.magnetization), to_numpy(result.std_error)
    assert (np.abs(m - known.magnetization) < 5 * error).all()
