"""Fields as couplings to one more spin: the same problem in another form."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from isingsample import (
    DQA,
    Exact,
    GaugeSpin,
    IsingProblem,
    MeanField,
    distance_to_boltzmann,
    get_sampler,
)
from isingsample._core.arrays import is_torch, to_numpy
from isingsample._core.states import spin_table
from isingsample.samplers.wrappers.gauge_spin import with_gauge_spin, without_gauge_spin
from isingsample.testing import enumerate_moments
from support import fixtures
from support.strategies import LIBRARIES, in_library, problems, symmetric


def test_energies_are_those_of_the_folded_states() -> None:
    rng = np.random.default_rng(0)
    problem = IsingProblem(rng.normal(size=(2, 3)), symmetric(rng, (2,), 3, 2), offset=[1.0, -2.0])
    states = np.broadcast_to(spin_table(4), (2, 16, 4))
    encoded = with_gauge_spin(problem)
    assert not encoded.h.any()
    expected = problem.energy(without_gauge_spin(states))
    np.testing.assert_allclose(encoded.energy(states), expected)


@given(problems(max_spins=4, three_body=False, scales=(0.0, 0.3, 1.0)))
def test_exact_moments_stay_what_they_are(problem: IsingProblem) -> None:
    result, truth = GaugeSpin(Exact()).sample(problem, beta=0.7), enumerate_moments(problem, 0.7)
    for name in ("magnetization", "probability", "correlation", "log_partition"):
        found = getattr(result, name)
        assert is_torch(found) == is_torch(problem.h)
        assert found.dtype == problem.h.dtype
        np.testing.assert_allclose(to_numpy(found), getattr(truth, name), atol=2e-5)
    assert result.thermal
    assert not to_numpy(result.std_error).any()
    assert result.problem is problem


def test_reads_are_folded() -> None:
    reads = 4000
    h = np.array([[0.9, -0.4, 0.1], [0.0, 0.2, -0.3]])
    present = np.array([[True, True, True], [True, False, True]])
    problem = IsingProblem(h, fixtures.ASYM3.J, present=present)
    result = GaugeSpin(Exact(num_reads=reads)).sample(problem, seed=1)
    truth = enumerate_moments(problem)
    assert result.samples.shape == (2, reads, 3)
    m, C = truth.magnetization, truth.correlation
    assert (abs(result.magnetization - m) <= 5 * np.sqrt((1 - m**2) / reads)).all()
    assert (abs(result.correlation - C) <= 5 * np.sqrt(abs(1 - C**2) / reads)).all()
    assert result.magnetization[1, 1] == result.probability[1, 1] == result.std_error[1, 1] == 0
    assert (result.std_error[present] > 0).all()


def test_an_anneal_has_one_temperature() -> None:
    """That of couplings, where bare fields have another one."""
    weak = IsingProblem([0.001, -0.002], [[0, 0.003], [0.003, 0]])
    options: dict[str, Any] = {"total_time": 3.0, "trotter_order": 2, "calibration": "none"}
    anneal = DQA(**options, engine="statevector")
    m = GaugeSpin(anneal).sample(weak).magnetization
    np.testing.assert_allclose(m / weak.h, anneal._anneal.betas.J, rtol=0.01)
    plain = anneal.sample(weak).magnetization
    np.testing.assert_allclose(plain / weak.h, anneal._anneal.betas.h, rtol=0.02)


@pytest.mark.parametrize("library", LIBRARIES)
def test_distributions_are_folded(library: str) -> None:
    asym3 = {"h": fixtures.ASYM3.h, "J": fixtures.ASYM3.J}
    problem = IsingProblem(**in_library(library, asym3))
    found = GaugeSpin(Exact()).distribution(problem, beta=0.7)
    np.testing.assert_allclose(found, Exact().distribution(problem, beta=0.7), atol=1e-14)
    anneal = GaugeSpin(DQA(engine="statevector"))
    m = to_numpy(anneal.distribution(problem)) @ spin_table(3)
    np.testing.assert_allclose(m, anneal.sample(problem).magnetization, atol=1e-12)
    assert distance_to_boltzmann(anneal, problem).total_variation < 0.1
    with pytest.raises(TypeError, match="has a distribution"):
        GaugeSpin(get_sampler("gibbs")).distribution(problem)


def test_gradients_go_through_correlations() -> None:
    torch = pytest.importorskip("torch")
    h = torch.tensor(fixtures.ASYM3.h, requires_grad=True)
    gauge = GaugeSpin(Exact())
    assert gauge.differentiable
    m = gauge.sample(IsingProblem(h, fixtures.ASYM3.J)).magnetization
    rows = [torch.autograd.grad(x, h, retain_graph=True)[0].numpy() for x in m]
    np.testing.assert_allclose(rows, fixtures.ASYM3_JACOBIAN, atol=1e-10)
    assert not GaugeSpin(DQA()).differentiable


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="four spins"):
        GaugeSpin(Exact()).sample(IsingProblem(np.zeros(3), K=np.zeros((3, 3, 3))))
    with pytest.raises(TypeError, match="must be a Sampler"):
        GaugeSpin("exact")
    assert not GaugeSpin(MeanField()).thermal
    assert GaugeSpin(Exact()).sample(IsingProblem(np.zeros((0, 3)))).magnetization.shape == (0, 3)
