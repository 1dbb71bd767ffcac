"""Mean-field responses, reads as attention patterns, and what a single read gives."""

import numpy as np
import pytest

from attention_bridge import boltzmann_attention, symmetrised
from isingsample import DQA, Exact, IsingProblem, Transfer
from support.attention_cases import (
    Approximate,
    Drawn,
    grads_of,
    learned_qkv,
    random_couplings,
    torch,
    up,
)

pytestmark = pytest.mark.usefixtures("seeded")


def fields(*shape, seed=4):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("three_body", [False, True])
def test_response_has_the_right_diagonal_and_couplings(scale, is_causal, three_body):
    """Of R = dm/df: R_jj = 1 - m_j^2, and 1/R holds the couplings off its diagonal."""
    n, beta = 5, 0.8
    h, W = fields(n, n), random_couplings(n, n, scale=scale)
    K = random_couplings(n, n, n, scale=scale / 3) if three_body else None
    options = {"beta": beta, "three_body": K, "is_causal": is_causal, "sampler": Exact()}
    p = up(h, W, gradient="mean_field", **options)
    columns = [torch.autograd.grad(p[:, k].sum(), h, retain_graph=True)[0] for k in range(n)]
    R = 2 / beta * torch.stack(columns, -1)  # (queries, n, n); P = (m + 1) / 2
    m = 2 * p.detach() - 1
    J = symmetrised(W.detach()).expand(n, n, n)
    if three_body:
        J = J + torch.einsum("jkl,ql->qjk", symmetrised(K.detach(), order=3), m * (m > -1))
    for query in range(n):
        there = slice(0, query + 1 if is_causal else n)
        inside = R[query, there, there]
        assert torch.count_nonzero(R[query]) == torch.count_nonzero(inside)
        torch.testing.assert_close(inside.diagonal(), 1 - m[query, there] ** 2)
        couplings = torch.diag(torch.linalg.inv(inside).diagonal()) - torch.linalg.inv(inside)
        torch.testing.assert_close(couplings, beta * J[query, there, there], rtol=1e-5, atol=1e-6)


def test_gradient_by_couplings_is_the_response_times_the_averages():
    h, W, beta = fields(6, 4), random_couplings(4, 4, scale=0.4), 0.7
    J = symmetrised(W.detach())
    m = Exact().sample(IsingProblem(h.detach(), J), beta=beta).magnetization
    g = random_couplings(6, 4, seed=3).detach()
    p = up(h, W, beta=beta, sampler=Exact(), gradient="mean_field")
    to_h, to_W = torch.autograd.grad((p * g).sum(), (h, W))
    torch.testing.assert_close(to_W, symmetrised(to_h.mT @ m))


@pytest.mark.parametrize("strength", [0.1, 0.3, 0.6])
def test_mean_field_is_nearer_to_the_exact_gradient(strength):
    h, W = fields(20, 8), strength * 2**0.5 * random_couplings(8, 8, scale=1.0)

    def gradient(name, sampler):
        return grads_of(up(h, W, sampler=sampler, gradient=name), h, W)

    exact = gradient("exact", Exact())
    ours, straight = (gradient(name, Exact()) for name in ("mean_field", "straight_through"))
    for gain, found, other, truth in zip((2.5, 1.5), ours, straight, exact, strict=True):
        assert (found - truth).norm() < (other - truth).norm() / gain


@pytest.mark.parametrize("gradient", ["straight_through", "mean_field"])
@pytest.mark.parametrize("calibration", ["none", "analytic"])
@pytest.mark.filterwarnings("ignore::isingsample.errors.StrongFieldWarning")
def test_fields_of_anneals_do_not_run_away(gradient, calibration):
    """An anneal's m stays away from 1 in strong fields; the gradient there must be 0 all the same.

    Measured 0.02 to 0.06 of the exact gradient's norm; with 1 - m^2 of the anneal, 1.9 to 3.5.
    """
    h, W = 8 * random_couplings(8, 6, scale=1.0), random_couplings(6, 6, scale=0.2)
    anneal = DQA(engine="statevector", calibration=calibration)
    ours = grads_of(up(h, W, sampler=anneal, gradient=gradient), h, W)
    exact = grads_of(up(h, W), h, W)
    for found, truth in zip(ours, exact, strict=True):
        assert (found - truth).norm() < 0.1 * truth.norm()
    # Without couplings nothing is missing, whatever m the anneal has.
    zero = torch.zeros(6, 6, dtype=torch.float64)
    alone = grads_of(up(h, zero, sampler=anneal, gradient=gradient), h)
    torch.testing.assert_close(alone, grads_of(up(h, zero), h))


@pytest.mark.parametrize("strength", [30.0, 1e4, 1e12])
def test_response_of_saturated_and_of_rigid_spins(strength):
    h = torch.tensor([[100.0, -100.0, 0.3], [0.1, -0.2, 0.05]], requires_grad=True)
    W = torch.full((3, 3), strength, requires_grad=True)
    with torch.no_grad():
        h[0] *= strength
    found = grads_of(up(h, W, sampler=Exact(), gradient="mean_field"), h, W)
    assert all(grad.isfinite().all() for grad in found)
    assert (found[0][0].abs() < 1e-20).all()
    # Without fields all spins move as one, by as much as a spin alone.
    free = torch.zeros(1, 3, requires_grad=True)
    p = up(free, W, sampler=Exact(), gradient="mean_field")
    (found,) = torch.autograd.grad(p[0, 0], free)
    torch.testing.assert_close(found, torch.full((1, 3), 0.5), rtol=0.02, atol=0.0)


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
