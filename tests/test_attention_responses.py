"""Mean-field responses, reads as attention patterns, and what a single read gives."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from attention_cases import (
    Approximate,
    Drawn,
    grads_of,
    learned_qkv,
    random_couplings,
    torch,
    up,
)

from attention_bridge import boltzmann_attention, symmetrised
from isingsample import Exact, IsingProblem, MeanField, Sampler, Transfer

pytestmark = pytest.mark.usefixtures("seeded")


@dataclass(frozen=True)
class Disguised(Sampler):
    """Mean field that keeps quiet about being differentiable."""

    name: ClassVar[str] = "disguised"
    thermal: ClassVar[bool] = False

    def _solve(self, block, beta, streams):
        return MeanField(tolerance=1e-12)._solve(block.to_numpy(), beta, streams)


def fields(*shape, seed=4):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("heads", [(), (2,)])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("three_body", [False, True])
def test_response_around_a_mean_field_solution_is_its_gradient(heads, is_causal, three_body):
    h = fields(3, 2, 5, 5)
    W = random_couplings(*heads, 5, 5, scale=0.3)
    K = random_couplings(*heads, 5, 5, 5, scale=0.1) if three_body else None
    leaves = [t for t in (h, W, K) if t is not None]
    options = {"beta": 0.8, "three_body": K, "is_causal": is_causal}
    expected = grads_of(up(h, W, sampler=MeanField(tolerance=1e-12), **options), *leaves)
    found = grads_of(up(h, W, sampler=Disguised(), gradient="mean_field", **options), *leaves)
    for ours, theirs in zip(found, expected, strict=True):
        # The response is solved for to 1e-6 of the gradient that arrives.
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-4)
        assert theirs.abs().max() > 0.1


def test_response_around_other_averages_is_a_linear_solve():
    h, W, beta = fields(6, 4), random_couplings(4, 4, scale=0.4), 0.7
    J = symmetrised(W.detach())
    m = Exact().sample(IsingProblem(h.detach(), J), beta=beta).magnetization
    g = random_couplings(6, 4, seed=3).detach()
    p = up(h, W, beta=beta, sampler=Approximate(), gradient="mean_field")
    to_h, to_W = torch.autograd.grad((p * g).sum(), (h, W))
    stiffness = torch.diag_embed(1 / (1 - m**2)) - beta * J
    v = beta * torch.linalg.solve(stiffness, 0.5 * g)
    torch.testing.assert_close(to_h, v, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(to_W, symmetrised(v.mT @ m), rtol=1e-5, atol=1e-5)


def test_order_of_the_bias_in_couplings():
    h, W = fields(6, 4), random_couplings(4, 4)

    def bias(gradient, scale):
        couplings = scale * W
        (exact,) = grads_of(up(h, couplings), h)
        (ours,) = grads_of(up(h, couplings, sampler=Approximate(), gradient=gradient), h)
        return (ours - exact).norm().item()

    small, half = 0.02, 0.01
    assert bias("straight_through", small) / bias("straight_through", half) == pytest.approx(
        2, rel=0.05
    )
    assert bias("mean_field", small) / bias("mean_field", half) == pytest.approx(4, rel=0.05)


def test_without_a_stable_response_it_is_straight_through():
    h = torch.tensor([[0.1, -0.2, 0.05], [4.0, 4.0, 4.0]], dtype=torch.float64).requires_grad_()
    W = (3 * torch.ones(3, 3, dtype=torch.float64)).requires_grad_()
    with pytest.warns(UserWarning, match="gradient of 1 of 2 problems did not converge"):
        found = grads_of(up(h, W, sampler=Approximate(), gradient="mean_field"), h)[0]
    alone = grads_of(up(h, W, sampler=Approximate(), gradient="straight_through"), h)[0]
    torch.testing.assert_close(found[0], alone[0])
    assert not torch.equal(found[1], alone[1])


def test_a_hard_pattern_is_a_read_and_its_gradient_that_of_averages():
    query, key, value = learned_qkv(2)
    W = random_couplings(4, 4)
    options = {"coupling": W, "normalize": False, "return_weights": True, "is_causal": True}

    def attend(gradient, sampler):
        torch.manual_seed(5)
        return boltzmann_attention(query, key, value, gradient=gradient, sampler=sampler, **options)

    output, weights = attend("straight_through_hard", Exact(num_reads=3))
    torch.manual_seed(5)
    seed = int(torch.randint(2**63 - 1, ()))
    there = np.tril(np.ones((4, 4), bool))
    problem = IsingProblem(
        (query @ key.mT / np.sqrt(3)).detach(), symmetrised(W.detach()), present=there
    )
    read = Exact(num_reads=3).sample(problem, seed=seed).samples[..., 0, :]
    assert torch.equal(weights, (read > 0).to(weights.dtype))
    torch.testing.assert_close(output, weights @ value)
    soft = attend("straight_through", Exact())[1]
    for ours, expected in zip(
        grads_of(weights, query, key, W), grads_of(soft, query, key, W), strict=True
    ):
        torch.testing.assert_close(ours, expected)
    with torch.no_grad():  # the same model in evaluation
        assert torch.equal(attend("straight_through_hard", Exact(num_reads=3))[1], weights)


def test_hard_patterns_that_attend_to_nothing():
    query, key, value = learned_qkv(2)
    far = torch.full_like(value, -20.0)
    output = boltzmann_attention(
        query, key, value, coupling=random_couplings(4, 4), attn_mask=far[..., :1].expand(2, 4, 4),
        sampler=Exact(num_reads=1), gradient="straight_through_hard",
    )  # fmt: skip
    assert not output.any()
    assert all(grad.isfinite().all() for grad in grads_of(output, query, key))


@pytest.mark.parametrize("gradient", ["straight_through", "straight_through_hard", "mean_field"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_one_read_without_couplings_has_the_exact_gradient(gradient, is_causal):
    h = fields(4, 4)
    zero = torch.zeros(4, 4, dtype=torch.float64)
    (exact,) = grads_of(up(h, zero, is_causal=is_causal), h)
    p = up(h, zero, sampler=Drawn(num_reads=1), gradient=gradient, is_causal=is_causal)
    torch.testing.assert_close(grads_of(p, h)[0], exact)


def test_one_read_feels_the_others_in_its_average():
    h, W, beta = fields(5, 3), random_couplings(3, 3), 0.6
    torch.manual_seed(1)
    p = up(h, W, beta=beta, sampler=Drawn(num_reads=1), gradient="straight_through")
    read = 2 * p.detach() - 1
    average = torch.tanh(beta * (h.detach() + read @ symmetrised(W.detach())))
    (found,) = torch.autograd.grad(p.sum(), h)
    torch.testing.assert_close(found, 0.5 * beta * (1 - average**2))


@pytest.mark.parametrize("sampler", [Exact(num_reads=9), Transfer(num_reads=9)])
@pytest.mark.parametrize("gradient", ["auto", "exact", "straight_through", "mean_field"])
def test_samples_that_nobody_needs_are_not_drawn(monkeypatch, sampler, gradient):
    def refuse(*_):
        raise AssertionError("drawn")

    monkeypatch.setattr(type(sampler), "_draw", refuse)
    h, W = fields(5, 3), random_couplings(3, 3, scale=0.1)
    torch.autograd.grad(up(h, W, sampler=sampler, gradient=gradient).sum(), (h, W))
    with torch.no_grad():
        up(h, W, sampler=sampler, gradient="correlation")
    with pytest.raises(AssertionError, match="drawn"):
        up(h, W, sampler=sampler, gradient="correlation")


def test_hard_needs_a_read():
    h, W = fields(5, 3), random_couplings(3, 3)
    for sampler in (Approximate(), Exact()):
        with pytest.raises(ValueError, match=r"attends by a read of each.*gives no samples.* to 1"):
            up(h, W, sampler=sampler, gradient="straight_through_hard")
