"""Exact is differentiable: the published Jacobian, gradcheck to second order, and hard ranges."""

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from isingsample import Exact, IsingProblem
from isingsample._core.states import spin_table
from isingsample.samplers.exact import marginals
from support.fixtures import ASYM3, ASYM3_BY_J01, ASYM3_JACOBIAN, couplings, three_body
from support.strategies import symmetric

torch = pytest.importorskip("torch")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(array: Any, dtype: str = "float64") -> Any:
    return torch.tensor(array, dtype=getattr(torch, dtype), requires_grad=True)


def coupling(free: Any) -> Any:
    """A symmetric J of zero diagonal from any square matrix."""
    half = free.tril(-1) + free.triu(1).mT
    return 0.5 * (half + half.mT)


def triples(free: Any) -> Any:
    """A symmetric K from any cube, zero where an index repeats."""
    n = free.shape[-1]
    distinct = three_body(n, dict.fromkeys(combinations(range(n), 3), 1.0))
    return sum(free.permute(order) for order in permutations(range(3))) * torch.tensor(distinct)


def test_published_jacobian() -> None:
    h, J = leaf(ASYM3.h), leaf(ASYM3.J)

    def magnetization(h: Any, J: Any) -> Any:
        return Exact().sample(IsingProblem(h, J)).magnetization

    by_h, by_J = torch.autograd.functional.jacobian(magnetization, (h, J))
    np.testing.assert_allclose(by_h, ASYM3_JACOBIAN, atol=1e-10)
    # A symmetric J holds the pair twice; each entry carries half.
    np.testing.assert_allclose(by_J[:, 0, 1], ASYM3_BY_J01 / 2, atol=1e-10)
    np.testing.assert_array_equal(by_J, by_J.mT)
    np.testing.assert_array_equal(by_J.diagonal(dim1=-2, dim2=-1), 0)


def test_gradient_of_log_partition_is_the_moments_times_beta() -> None:
    h, J, offset = leaf(ASYM3.h), leaf(ASYM3.J), leaf(0.3)
    result = Exact().sample(IsingProblem(h, J, offset=offset), beta=1.3)
    result.log_partition.backward()
    np.testing.assert_allclose(h.grad, 1.3 * result.magnetization.detach(), rtol=1e-12)
    pairs = result.correlation.detach() * (1 - torch.eye(3))
    np.testing.assert_allclose(J.grad, 1.3 / 2 * pairs, rtol=1e-12)
    assert offset.grad.item() == -1.3


@pytest.mark.parametrize("output", ["magnetization", "probability", "correlation", "log_partition"])
@pytest.mark.parametrize("masked", [False, True])
def test_gradcheck(rng: np.random.Generator, output: str, masked: bool) -> None:
    present = np.array([[True, False, True, True], [True] * 4]) if masked else None
    inputs = (
        leaf(rng.normal(size=(2, 4))),
        leaf(0.5 * rng.normal(size=(4, 4))),
        leaf(0.2 * rng.normal(size=(4, 4, 4))),
        leaf(0.7),
    )

    def moments(h: Any, pairs: Any, cube: Any, beta: Any) -> Any:
        problem = IsingProblem(h, coupling(pairs), triples(cube), present)
        return getattr(Exact().sample(problem, beta=beta), output)

    assert gradcheck(moments, inputs, fast_mode=True)
    assert gradgradcheck(moments, inputs, fast_mode=True)


def test_gradcheck_without_fields() -> None:
    # |h| has a kink at 0, where models without fields live.
    inputs = (torch.zeros(3, dtype=torch.float64, requires_grad=True), leaf(ASYM3.J))

    def moments(h: Any, free: Any) -> Any:
        result = Exact().sample(IsingProblem(h, coupling(free)))
        return result.magnetization, result.log_partition

    assert gradcheck(moments, inputs)
    assert gradgradcheck(moments, inputs, fast_mode=True)


def test_gradients_in_the_log_domain_are_those_of_the_products(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, weights = rng.normal(size=(3, 5)), torch.tensor(rng.normal(size=(3, 5)))
    free = 0.5 * rng.normal(size=(5, 5))

    def gradients() -> list[Any]:
        h, W = leaf(values), leaf(free)
        result = Exact().sample(IsingProblem(h, coupling(W)))
        loss = (weights * result.magnetization).sum() + result.log_partition.square().sum()
        loss = loss + result.correlation.square().sum()
        first = torch.autograd.grad(loss, (h, W), create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), (h, W))
        return [tensor.detach() for tensor in (*first, *second)]

    products = gradients()
    monkeypatch.setitem(marginals._SAFE_SUM, "float64", np.inf)
    for ours, expected in zip(gradients(), products, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-12)


def test_gradients_where_leading_terms_underflow() -> None:
    # In float32 the second query is solved in the log domain, in float64 neither is.
    fields, signs = [[0.4, -0.3], [60.0, -60.3]], couplings(2, {(0, 1): 1.0})

    def solve(dtype: str) -> tuple[Any, Any, Any]:
        h, J = leaf(fields, dtype), leaf(59.5 * signs, dtype)
        result = Exact().sample(IsingProblem(h, J))
        (result.magnetization[:, 0].sum() + result.log_partition.sum()).backward()
        return result.magnetization.detach(), h.grad, J.grad

    for narrow, wide in zip(solve("float32"), solve("float64"), strict=True):
        torch.testing.assert_close(narrow.double(), wide, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [100.0, 1e9, 3e38])
def test_saturated_spins_have_gradient_zero(size: float) -> None:
    h, J = leaf([size, -size, 0.5], "float32"), leaf(0.3 * (1 - np.eye(3)), "float32")
    m = Exact().sample(IsingProblem(h, J)).magnetization
    assert m.tolist()[:2] == [1, -1]
    m.sum().backward()
    slope = 1 - np.tanh(0.5) ** 2
    np.testing.assert_allclose(h.grad, [0, 0, slope], atol=1e-6)
    np.testing.assert_allclose(J.grad[2], [slope / 2, -slope / 2, 0], atol=1e-6)


def test_absent_spins_get_gradient_zero_and_empty_rows_are_finite() -> None:
    present = np.array([[True, True, False], [False, False, False]])
    h, J = leaf(np.stack([ASYM3.h, ASYM3.h])), leaf(ASYM3.J)
    K = leaf(three_body(3, {(0, 1, 2): 0.4}))
    result = Exact().sample(IsingProblem(h, J, K, present))
    total = result.magnetization.sum() + result.correlation.sum() + result.log_partition.sum()
    total.backward()
    assert torch.isfinite(total)
    assert h.grad[0, 2] == 0
    assert not h.grad[1].any()
    assert h.grad[0, :2].all()
    assert not J.grad[2].any()
    assert not J.grad[:, 2].any()
    assert J.grad[0, 1] != 0
    assert not K.grad.any()


def test_shared_couplings_sum_their_gradient_over_the_batch(rng: np.random.Generator) -> None:
    fields = rng.normal(size=(2, 3, 4))
    shared = leaf(0.3 * symmetric(rng, (), 4, 2))
    heads = leaf(np.broadcast_to(shared.detach(), (2, 1, 4, 4)))
    for J in (shared, heads):
        Exact().sample(IsingProblem(torch.tensor(fields), J)).probability[..., 0].sum().backward()
    torch.testing.assert_close(heads.grad.sum(dim=(0, 1)), shared.grad)
    alone = leaf(shared.detach().numpy())
    problem = IsingProblem(torch.tensor(fields[1]), alone)
    Exact().sample(problem).probability[..., 0].sum().backward()
    torch.testing.assert_close(heads.grad[1, 0], alone.grad)


def test_coupling_of_one_spin_gets_zeros_not_none() -> None:
    h, J = leaf([[0.5], [0.2]]), leaf([[0.0]])
    Exact().sample(IsingProblem(h, J)).probability.sum().backward()
    assert J.grad.tolist() == [[0.0]]


def test_beta_as_a_tensor() -> None:
    beta, problem = leaf(0.8), IsingProblem(leaf(ASYM3.h), ASYM3.J)
    result = Exact(num_reads=2).sample(problem, beta=beta, seed=0)
    result.log_partition.backward()
    energy = problem.energy(spin_table(3)).detach()
    mean = (Exact().distribution(problem, beta=0.8).detach() * energy).sum()
    torch.testing.assert_close(beta.grad, -mean)


def test_beta_as_a_tensor_is_a_number_where_nothing_is_differentiated() -> None:
    expected = Exact().sample(ASYM3.problem(), beta=0.5).magnetization
    for dtype in (torch.float32, torch.float64):
        found = Exact().sample(ASYM3.problem(), beta=torch.tensor(0.5, dtype=dtype))
        assert isinstance(found.magnetization, np.ndarray)
        np.testing.assert_allclose(found.magnetization, expected, rtol=1e-14)
        single = IsingProblem(torch.tensor(ASYM3.h, dtype=torch.float32))
        result = Exact().sample(single, beta=torch.tensor(0.5, dtype=dtype))
        assert result.magnetization.dtype == torch.float32
