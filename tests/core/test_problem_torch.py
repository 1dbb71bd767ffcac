"""IsingProblem of PyTorch tensors: kinds, mixtures, and how couplings share their gradient."""

import copy
from itertools import permutations

import numpy as np
import pytest

from isingsample import Exact, Gibbs, IsingProblem, MeanField
from support.fixtures import ASYM3, three_body

torch = pytest.importorskip("torch")

H = torch.tensor(ASYM3.h)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("float64", "float64"),
        ("float32", "float32"),
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("int64", "float64"),
        ("uint8", "float64"),
        ("bool", "float64"),
    ],
)
def test_dtypes(given: str, kept: str) -> None:
    problem = IsingProblem(torch.tensor([1, 0, 1]).to(getattr(torch, given)))
    assert problem.h.dtype == problem.J.dtype == problem.offset.dtype == getattr(torch, kept)
    assert problem.h.tolist() == [1.0, 0.0, 1.0]


def test_complex_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match="J must hold real numbers; it is complex"):
        IsingProblem(H, torch.zeros(3, 3, dtype=torch.complex64))


def test_tensors_on_two_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="J is on device meta but the other tensors are on cpu"):
        IsingProblem(H, torch.zeros(3, 3, device="meta"))


def test_one_tensor_makes_the_whole_problem_tensors() -> None:
    for h, J in ((H, ASYM3.J), (ASYM3.h, torch.tensor(ASYM3.J)), (H, ASYM3.J.tolist())):
        problem = IsingProblem(h, J, K=np.zeros((3, 3, 3)), offset=1)
        for array in (problem.h, problem.J, problem.K, problem.offset):
            assert isinstance(array, torch.Tensor)
            assert array.dtype == torch.float64
        np.testing.assert_array_equal(problem.J, ASYM3.J)


def test_numpy_layouts_that_torch_does_not_take() -> None:
    mirrored = ASYM3.J[::-1, ::-1].copy()
    frozen = ASYM3.J.copy()
    frozen.flags.writeable = False
    for J in (mirrored[::-1, ::-1], frozen, np.broadcast_to(ASYM3.J, (2, 3, 3))):
        np.testing.assert_array_equal(IsingProblem(H, J).J, J)


def test_huge_couplings_do_not_overflow_when_symmetrised() -> None:
    J = torch.tensor([[0, 3e38], [3e38, 0]])
    assert torch.equal(IsingProblem(torch.zeros(2), J).J, J)


def test_energy_takes_states_of_either_library() -> None:
    problem = IsingProblem(H, ASYM3.J)
    states = np.array([[1, -1, 1], [1, 1, 1]], dtype=np.int8)
    energy = problem.energy(torch.tensor(states))
    assert energy.dtype == torch.float64
    assert torch.equal(energy, problem.energy(states))
    np.testing.assert_allclose(energy, ASYM3.problem().energy(states))


def test_energy_refuses_another_batch() -> None:
    with pytest.raises(ValueError, match="they have shape"):
        IsingProblem(torch.zeros(5, 3)).energy(torch.ones(4, 3))


def test_to_numpy_leaves_autograd_behind() -> None:
    h = H.clone().requires_grad_()
    problem = IsingProblem(h, ASYM3.J, present=torch.tensor([True, True, False]), offset=h.sum())
    host = problem.to_numpy()
    np.testing.assert_array_equal(host.h, ASYM3.h)
    np.testing.assert_array_equal(host.present, [True, True, False])
    assert isinstance(host.offset, np.ndarray)


def test_entries_of_a_pair_carry_half_of_its_gradient_each() -> None:
    J = torch.tensor(ASYM3.J, requires_grad=True)
    IsingProblem(H, J).energy([1, -1, 1]).backward()
    products = np.outer([1, -1, 1], [1, -1, 1]) * (1 - np.eye(3))
    np.testing.assert_array_equal(J.grad, -0.5 * products)


def test_entries_of_a_triple_carry_a_sixth_of_its_gradient_each() -> None:
    K = torch.tensor(three_body(4, {(0, 1, 2): 0.3, (1, 2, 3): -0.2}), requires_grad=True)
    state = [1, -1, 1, -1]
    IsingProblem(torch.zeros(4, dtype=torch.float64), K=K).energy(state).backward()
    expected = np.zeros((4, 4, 4))
    for j, k, m in permutations(range(4), 3):
        expected[j, k, m] = -state[j] * state[k] * state[m] / 6
    np.testing.assert_allclose(K.grad, expected, rtol=1e-14)


def test_couplings_are_still_symmetric_after_a_step_of_an_optimiser() -> None:
    J = torch.tensor(ASYM3.J, requires_grad=True)
    K = torch.tensor(three_body(3, {(0, 1, 2): 0.3}), requires_grad=True)
    optimiser = torch.optim.Adam([J, K], lr=0.1)
    IsingProblem(H, J, K).energy([1, -1, 1]).square().backward()
    optimiser.step()
    stepped = IsingProblem(H, J, K)  # refuses couplings that are not symmetric
    assert not np.allclose(stepped.J.detach(), ASYM3.J)
    np.testing.assert_array_equal(J.detach().diagonal(), 0)


def test_deep_copies_are_constants() -> None:
    """PyTorch itself refuses to copy a tensor that was computed."""
    leaf = H.clone().requires_grad_()
    beta = (2 * leaf[0]).detach().requires_grad_() * 1.0
    for h in (leaf, leaf * 2):
        problem = IsingProblem(h, torch.tensor(ASYM3.J))
        twin = copy.deepcopy(problem)
        assert twin.h is not problem.h
        assert twin.h.requires_grad == (h is leaf)
        torch.testing.assert_close(twin.h, problem.h)
        for sampler in (Exact(), Exact(num_reads=5), MeanField(), Gibbs(num_reads=9)):
            result = sampler.sample(problem, beta=beta, seed=0)
            copied = copy.deepcopy(result)
            for name in ("magnetization", "correlation", "correlation_error"):
                assert not getattr(copied, name).requires_grad
                torch.testing.assert_close(
                    getattr(copied, name), getattr(result, name), equal_nan=True
                )
            assert result.magnetization.requires_grad == sampler.differentiable


def test_copies_in_a_container_are_made_once() -> None:
    problem = IsingProblem(H.clone().requires_grad_() * 1.0)
    first, second = copy.deepcopy([problem, problem])
    assert first is second
