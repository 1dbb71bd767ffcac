"""Transfer is differentiable: the published Jacobian, gradcheck to second order, hard ranges."""

from typing import Any

import numpy as np
import pytest

from isingsample import Exact, IsingProblem, Sampler, TooLargeError, Transfer
from isingsample.samplers.transfer import sampler as transfer
from support.banded import band
from support.fixtures import ASYM3, ASYM3_BY_J01, ASYM3_JACOBIAN

torch = pytest.importorskip("torch")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(array: Any, dtype: str = "float64") -> Any:
    return torch.tensor(array, dtype=getattr(torch, dtype), requires_grad=True)


def test_published_jacobian() -> None:
    h, J = leaf(ASYM3.h), leaf(ASYM3.J)

    def magnetization(h: Any, J: Any) -> Any:
        return Transfer().sample(IsingProblem(h, J)).magnetization

    by_h, by_J = torch.autograd.functional.jacobian(magnetization, (h, J))
    np.testing.assert_allclose(by_h, ASYM3_JACOBIAN, atol=1e-10)
    # A symmetric J holds the pair twice; each entry carries half.
    np.testing.assert_allclose(by_J[:, 0, 1], ASYM3_BY_J01 / 2, atol=1e-10)
    np.testing.assert_array_equal(by_J, by_J.mT)
    np.testing.assert_array_equal(by_J.diagonal(dim1=-2, dim2=-1), 0)


@pytest.mark.parametrize(
    "output", ["magnetization", "probability", "correlation", "log_partition", "entropy"]
)
@pytest.mark.parametrize("masked", [False, True])
def test_gradcheck(rng: np.random.Generator, output: str, masked: bool) -> None:
    present = np.array([[True, False, True, True, True], [True] * 5]) if masked else None
    inside, triples = (torch.tensor(band(rng, 5, 2, rank)) for rank in (2, 3))
    inputs = (leaf(rng.normal(size=(2, 5))), leaf(0.5), leaf(0.2), leaf(0.7))

    def moments(h: Any, pair: Any, triple: Any, beta: Any) -> Any:
        problem = IsingProblem(h, pair * inside + pair**2 * inside**3, triple * triples, present)
        return getattr(Transfer(reach=2).sample(problem, beta=beta), output)

    assert gradcheck(moments, inputs, fast_mode=True)
    assert gradgradcheck(moments, inputs, fast_mode=True)


def test_gradcheck_where_everything_is_zero() -> None:
    # |h| and |J| have kinks at 0, where models begin.
    inputs = (leaf(np.zeros(4)), leaf(np.zeros((4, 4))))

    def moments(h: Any, free: Any) -> Any:
        inside = 1 - torch.eye(4, dtype=free.dtype)
        result = Transfer().sample(IsingProblem(h, (free + free.mT) * inside))
        return result.magnetization, result.log_partition

    assert gradcheck(moments, inputs)
    assert gradgradcheck(moments, inputs, fast_mode=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [0.5, 20.0])
@pytest.mark.parametrize("reach", [3, None])
def test_gradients_are_those_of_exact(
    rng: np.random.Generator, reach: int | None, scale: float, dtype: str
) -> None:
    values, weights = rng.normal(size=(2, 3, 9)), torch.tensor(rng.normal(size=(2, 3, 9)))
    pairs, triples = 0.5 * scale * band(rng, 9, 3, size=(2, 1)), 0.3 * band(rng, 9, 3, rank=3)

    def gradients(sampler: Sampler, dtype: str) -> Any:
        inputs = [leaf(x, dtype) for x in (scale * values, pairs, triples, 0.8)]
        result = sampler.sample(IsingProblem(*inputs[:3]), beta=inputs[3])
        loss = (weights * result.probability).sum() + result.log_partition.square().sum() / scale**2
        return torch.autograd.grad(loss, inputs)

    ours, theirs = gradients(Transfer(reach=reach), dtype), gradients(Exact(), "float64")
    declared = reach is not None
    tolerance = 1e-9 if dtype == "float64" else 2e-4
    for given, found, expected in zip((None, pairs, triples, None), ours, theirs, strict=True):
        if declared and given is not None:  # beyond the declared band couplings stay zero
            expected = expected * torch.tensor(given != 0)
        torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)


def test_couplings_that_are_learned_are_couplings_also_where_they_are_zero() -> None:
    h, J = leaf(np.full(30, 0.5)), leaf(np.zeros((30, 30)))
    with pytest.raises(TooLargeError, match=r"J\[0, 29\] .* As J requires a gradient, .* reach"):
        Transfer().sample(IsingProblem(h, J))
    with torch.no_grad():
        Transfer().sample(IsingProblem(h, J))
    Transfer(reach=2).sample(IsingProblem(h, J)).log_partition.backward()
    distance = np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    expected = np.where((distance == 1) | (distance == 2), np.tanh(0.5) ** 2 / 2, 0)
    np.testing.assert_allclose(J.grad, expected, atol=1e-14)


@pytest.mark.parametrize("size", [100.0, 1e9, 3e38])
def test_saturated_spins_have_gradient_zero(size: float) -> None:
    h, J = leaf([size, -size, 0.5], "float32"), leaf(0.3 * (1 - np.eye(3)), "float32")
    m = Transfer().sample(IsingProblem(h, J)).magnetization
    assert m.tolist()[:2] == [1, -1]
    first = torch.autograd.grad(m.sum(), (h, J), create_graph=True)
    t = np.tanh(0.5)
    np.testing.assert_allclose(first[0].detach(), [0, 0, 1 - t**2], atol=1e-6)
    np.testing.assert_allclose(
        first[1][2].detach(), (1 - t**2) * np.array([0.5, -0.5, 0]), atol=1e-6
    )
    (second,) = torch.autograd.grad(first[0].sum(), h)
    np.testing.assert_allclose(second, [0, 0, -2 * t * (1 - t**2)], atol=1e-6)


def test_absent_spins_get_gradient_zero_and_empty_rows_are_finite() -> None:
    present = np.array([[True, True, False], [False, False, False]])
    h, J = leaf(np.stack([ASYM3.h, ASYM3.h])), leaf(ASYM3.J)
    result = Transfer().sample(IsingProblem(h, J, present=present))
    total = result.magnetization.sum() + result.correlation.sum() + result.log_partition.sum()
    total.backward()
    assert torch.isfinite(total)
    assert h.grad[0, :2].all()
    assert not h.grad[0, 2]
    assert not h.grad[1].any()
    assert not J.grad[2].any()
    assert J.grad[0, 1] != 0


def test_gradients_of_a_long_chain_are_its_responses(rng: np.random.Generator) -> None:
    n = 300
    h, J = leaf(rng.normal(size=n), "float32"), leaf(0.4 * band(rng, n, 2), "float32")
    result = Transfer(reach=2).sample(IsingProblem(h, J))
    (by_h,) = torch.autograd.grad(result.magnetization[150], h, retain_graph=True)
    m, C = (x.detach() for x in (result.magnetization, result.correlation))
    torch.testing.assert_close(by_h, C[150] - m[150] * m, rtol=1e-3, atol=1e-5)
    by_h, by_J = torch.autograd.grad(result.log_partition, (h, J))
    torch.testing.assert_close(by_h, m, rtol=1e-4, atol=1e-5)
    inside = torch.tensor(band(rng, n, 2) != 0)
    torch.testing.assert_close(by_J, C * inside / 2, rtol=1e-4, atol=1e-5)


def test_gradients_of_large_batches_are_computed_in_portions(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """The gradient keeps the problems and no windows, and is the same, of either order."""
    J = leaf(band(rng, 6, 2))
    h = leaf(rng.normal(size=(9, 6)))

    def found() -> tuple[list[Any], int]:
        kept: dict[int, int] = {}

        def pack(tensor: Any) -> Any:
            storage = tensor.untyped_storage()
            kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            result = Transfer(reach=2).sample(IsingProblem(h, J))
        loss = (result.magnetization**3).sum() + result.log_partition.sum()
        first = torch.autograd.grad(loss, (h, J), create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), (h, J))
        return [*first, *second], sum(kept.values())

    whole, kept_whole = found()
    monkeypatch.setattr(transfer, "_KEPT_ENTRIES", 2 * 6 * 8)  # two queries at a time
    parts, kept_parts = found()
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other)
    assert kept_parts < kept_whole / 4
