"""Gradients of mean-field solutions: of the solution itself, exact, to second order."""

from typing import Any

import numpy as np
import pytest

from isingsample import IsingProblem, MeanField
from isingsample.samplers.mean_field.sampler import EQUATIONS
from support.fixtures import ASYM3
from support.strategies import symmetric

torch = pytest.importorskip("torch")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck

from attention_bridge.symmetry import symmetrised  # noqa: E402  (needs torch)


def leaf(array: Any, dtype: str = "float64") -> Any:
    return torch.tensor(array, dtype=getattr(torch, dtype), requires_grad=True)


@pytest.mark.parametrize("output", ["magnetization", "probability", "correlation"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", ["naive", "naive with K", "tap"])
def test_gradcheck(rng: np.random.Generator, kind: str, output: str, masked: bool) -> None:
    equation, *three_body = kind.split(" with ")
    present = np.array([[True, False, True, True], [True] * 4]) if masked else None
    inputs = [leaf(rng.normal(size=(2, 4))), leaf(0.3 * rng.normal(size=(4, 4))), leaf(0.7)]
    inputs += [leaf(0.2 * rng.normal(size=(4, 4, 4)))] if three_body else []

    def moments(h: Any, pairs: Any, beta: Any, cube: Any = None) -> Any:
        K = None if cube is None else symmetrised(cube, 3)
        problem = IsingProblem(h, symmetrised(pairs), K, present)
        return getattr(MeanField(equation, tolerance=1e-14).sample(problem, beta=beta), output)

    assert gradcheck(moments, inputs, fast_mode=True, atol=1e-8, rtol=1e-6)
    assert gradgradcheck(moments, inputs, fast_mode=True, atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_third_derivatives(equation: str) -> None:
    h, J = leaf([0.4, -0.3]), torch.tensor([[0.0, 0.2], [0.2, 0.0]], dtype=torch.float64)

    def curvature(h: Any) -> Any:
        m = MeanField(equation, tolerance=1e-14).sample(IsingProblem(h, J)).magnetization
        (first,) = torch.autograd.grad(m.sum(), h, create_graph=True)
        return torch.autograd.grad(first.square().sum(), h, create_graph=True)[0]

    assert gradcheck(curvature, (h,), atol=1e-7)


def test_gradcheck_without_fields() -> None:
    inputs = (torch.zeros(3, dtype=torch.float64, requires_grad=True), leaf(0.3 * ASYM3.J))

    def moments(h: Any, free: Any) -> Any:
        result = MeanField(tolerance=1e-14).sample(IsingProblem(h, symmetrised(free)))
        return result.magnetization, result.probability

    assert gradcheck(moments, inputs)
    assert gradgradcheck(moments, inputs, fast_mode=True)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_gradients_are_those_of_the_unrolled_iteration(
    rng: np.random.Generator, equation: str
) -> None:
    values, free = rng.normal(size=(3, 6)), 0.2 * rng.normal(size=(6, 6))
    weights = torch.tensor(rng.normal(size=(3, 6)))

    def gradients(solve: Any) -> list[Any]:
        h, W, beta = leaf(values), leaf(free), leaf(0.8)
        return list(
            torch.autograd.grad((weights * solve(h, symmetrised(W), beta)).sum(), (h, W, beta))
        )

    def unrolled(h: Any, J: Any, beta: Any) -> Any:
        m = torch.zeros_like(h)
        for _ in range(400):
            field = h + m @ J
            if equation == "tap":
                field = field - beta * m * ((1 - m * m) @ (J * J))
            m = 0.5 * m + 0.5 * torch.tanh(beta * field)
        return m

    def implicit(h: Any, J: Any, beta: Any) -> Any:
        sampler = MeanField(equation, tolerance=1e-14)
        return sampler.sample(IsingProblem(h, J), beta=beta).magnetization

    for ours, expected in zip(gradients(implicit), gradients(unrolled), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-12)


def test_jacobian_is_the_linear_response() -> None:
    h, J = leaf(ASYM3.h), leaf(0.5 * ASYM3.J)
    sampler = MeanField(tolerance=1e-14)
    m = sampler.sample(IsingProblem(h, J), beta=1.2).magnetization.detach()
    response = torch.linalg.inv(torch.diag(1 / (1 - m**2)) - 1.2 * J.detach())

    def magnetization(h: Any, J: Any) -> Any:
        return sampler.sample(IsingProblem(h, J), beta=1.2).magnetization

    by_h, by_J = torch.autograd.functional.jacobian(magnetization, (h, J))
    np.testing.assert_allclose(by_h, 1.2 * response, atol=1e-12)
    # A pair's coupling adds J m_k to one field and J m_j to the other; each entry carries half.
    pair = 1.2 * (response[:, 0] * m[1] + response[:, 1] * m[0])
    np.testing.assert_allclose(by_J[:, 0, 1], pair / 2, atol=1e-12)
    np.testing.assert_array_equal(by_J, by_J.mT)
    np.testing.assert_array_equal(by_J.diagonal(dim1=-2, dim2=-1), 0)
    correlation = sampler.sample(IsingProblem(h, J), beta=1.2).correlation.detach()
    expected = m[0] * m[1] + response[0, 1]
    np.testing.assert_allclose(correlation[0, 1], expected, atol=1e-12)


def test_the_default_tolerance_is_close_enough(rng: np.random.Generator) -> None:
    values, free = rng.normal(size=(20, 6)), 0.2 * rng.normal(size=(6, 6))

    def gradients(dtype: str, tolerance: float) -> list[Any]:
        h, W = leaf(values, dtype), leaf(free, dtype)
        result = MeanField(tolerance=tolerance).sample(IsingProblem(h, symmetrised(W)))
        return list(torch.autograd.grad(result.probability.square().sum(), (h, W)))

    for ours, exact in zip(gradients("float32", 1e-6), gradients("float64", 1e-14), strict=True):
        torch.testing.assert_close(ours.double(), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("size", [100.0, 1e9, 3e38])
def test_saturated_spins_have_gradient_zero(size: float, equation: str) -> None:
    h, J = leaf([size, -size, 0.5], "float32"), leaf(0.3 * (1 - np.eye(3)), "float32")
    result = MeanField(equation).sample(IsingProblem(h, J))
    total = result.magnetization.sum() + result.probability.sum()
    by_h, by_J = torch.autograd.grad(total, (h, J), create_graph=True)
    slope = 1.5 * (1 - np.tanh(0.5) ** 2)
    np.testing.assert_allclose(by_h.detach(), [0, 0, slope], atol=1e-6)
    np.testing.assert_allclose(by_J[2].detach(), [slope / 2, -slope / 2, 0], atol=1e-6)
    for second in torch.autograd.grad(by_h.sum() + by_J.sum(), (h, J)):
        assert torch.isfinite(second).all()


def test_gradients_of_tiny_probabilities_are_exact() -> None:
    h = leaf([-9.0, -20.0], "float32")
    up = MeanField().sample(IsingProblem(h)).probability
    up.sum().backward()
    np.testing.assert_allclose(h.grad, 2 * up.detach(), rtol=1e-6)


def test_absent_spins_get_gradient_zero_and_empty_rows_are_finite() -> None:
    present = np.array([[True, True, False], [False, False, False]])
    h, J = leaf(np.stack([ASYM3.h, ASYM3.h])), leaf(0.5 * ASYM3.J)
    result = MeanField().sample(IsingProblem(h, J, present=present))
    (result.magnetization.sum() + result.correlation.sum()).backward()
    assert h.grad[0, :2].all()
    assert h.grad[0, 2] == 0
    assert not h.grad[1].any()
    assert J.grad[0, 1] != 0
    assert not J.grad[2].any()


def test_shared_couplings_sum_their_gradient_over_the_batch(rng: np.random.Generator) -> None:
    fields = rng.normal(size=(2, 3, 4))
    shared = leaf(0.3 * symmetric(rng, (), 4, 2))
    heads = leaf(np.broadcast_to(shared.detach(), (2, 1, 4, 4)))
    for J in (shared, heads):
        result = MeanField(tolerance=1e-14).sample(IsingProblem(torch.tensor(fields), J))
        result.probability[..., 0].sum().backward()
    torch.testing.assert_close(heads.grad.sum(dim=(0, 1)), shared.grad)


def test_gradients_do_not_depend_on_neighbours(rng: np.random.Generator) -> None:
    values = rng.uniform(0, 1.5, size=(8, 1)) * rng.normal(size=(8, 6))
    J = torch.tensor(0.4 * symmetric(rng, (), 6, 2))

    def gradient(values: np.ndarray) -> Any:
        h = leaf(values)
        MeanField(tolerance=1e-3).sample(IsingProblem(h, J)).magnetization.square().sum().backward()
        return h.grad

    whole = gradient(values)
    for i, row in enumerate(values):
        torch.testing.assert_close(gradient(row), whole[i], rtol=0, atol=1e-13)


def test_the_size_of_the_gradient_does_not_matter() -> None:
    h = leaf(ASYM3.h)
    m = MeanField(tolerance=1e-10).sample(IsingProblem(h, 0.3 * ASYM3.J)).magnetization
    (one,) = torch.autograd.grad(m[0], h, retain_graph=True)
    for size in (1e-30, 1e30):
        (many,) = torch.autograd.grad(size * m[0], h, retain_graph=True)
        torch.testing.assert_close(many / size, one, rtol=1e-12, atol=0)


def test_gradients_close_to_an_instability_converge_in_float32() -> None:
    # The response is 1 / (1 - J), a hundred times the gradient that arrives.
    h, J = leaf(np.zeros(2), "float32"), leaf([[0.0, 0.99], [0.99, 0.0]], "float32")
    MeanField(max_iterations=10_000).sample(IsingProblem(h, J)).magnetization.sum().backward()
    np.testing.assert_allclose(h.grad, 100, rtol=1e-3)


def test_where_no_gradient_converges_it_is_that_of_single_spins() -> None:
    # m = 0 solves the equation, unstably: any push would grow without end.
    h, J = leaf(np.zeros(3)), leaf(1 - np.eye(3))
    result = MeanField().sample(IsingProblem(h, J), beta=0.8)
    with pytest.warns(UserWarning, match="the gradient of 1 of 1 .* raise max_iterations"):
        (3 * result.magnetization[0]).backward()
    np.testing.assert_allclose(h.grad, [3 * 0.8, 0, 0])
    np.testing.assert_array_equal(J.grad, np.zeros((3, 3)))


def test_coupling_of_one_spin_gets_zeros_not_none() -> None:
    h, J = leaf([[0.5], [0.2]]), leaf([[0.0]])
    MeanField().sample(IsingProblem(h, J)).probability.sum().backward()
    assert J.grad.tolist() == [[0.0]]


def test_nothing_is_kept_without_gradients() -> None:
    problem = IsingProblem(torch.tensor(ASYM3.h), 0.3 * ASYM3.J)
    assert not MeanField().sample(problem).magnetization.requires_grad
    with torch.no_grad():
        learned = IsingProblem(leaf(ASYM3.h), leaf(0.3 * ASYM3.J))
        assert not MeanField().sample(learned).probability.requires_grad


def test_autocast_does_not_reach_the_backward_pass() -> None:
    h, J = leaf(ASYM3.h, "float32"), leaf(0.3 * ASYM3.J, "float32")
    total = MeanField().sample(IsingProblem(h, J)).magnetization.sum()
    expected = torch.autograd.grad(total, (h, J), retain_graph=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = torch.autograd.grad(total, (h, J))
    for ours, plain in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, plain, rtol=0, atol=0)


def test_a_gradient_that_overflows_has_not_converged() -> None:
    """m = 0 solves at once; the response to a field grows by 4.5 a step, until it is NaN."""
    h = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    J = torch.tensor(-1.5 * (1 - np.eye(4)))
    m = MeanField(damping=0).sample(IsingProblem(h, J)).magnetization
    with pytest.warns(UserWarning, match="gradient of 1 of 1 problems did not converge"):
        m[0].backward()
    assert h.grad.tolist() == [1, 0, 0, 0]
