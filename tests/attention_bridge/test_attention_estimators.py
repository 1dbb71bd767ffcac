"""Straight-through and correlation gradients beside their formulas and the exact gradient."""

import math

import pytest

from attention_bridge import boltzmann_attention, symmetrised
from isingsample import Exact, IsingProblem
from support.attention_cases import (
    Approximate,
    Biased,
    Drawn,
    grads_of,
    learned_qkv,
    random_couplings,
    torch,
    up,
)

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.mark.parametrize("sampler", [Exact(), Approximate()], ids=["thermal", "not thermal"])
def test_straight_through_is_its_formula(sampler):
    generator = torch.Generator().manual_seed(4)
    h = torch.randn(2, 5, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    W, K = random_couplings(4, 4), random_couplings(4, 4, 4, scale=0.3)
    beta = 0.7
    options = {"beta": beta, "sampler": sampler}
    m = 2 * up(h, W, three_body=K, gradient="straight_through", **options) - 1

    exact = Exact().sample(
        IsingProblem(h.detach(), symmetrised(W.detach()), symmetrised(K.detach(), order=3)),
        beta=beta,
    )
    fixed = exact.magnetization
    torch.testing.assert_close(m.detach(), fixed)

    def field(m):
        pairs = torch.einsum("...k,...l->...kl", m, m)
        by_triples = torch.einsum("jkl,...kl->...j", symmetrised(K, order=3), pairs)
        return h + m @ symmetrised(W) + 0.5 * by_triples

    # The mean-field equation around averages of thermal samplers, to first order in h, J and K;
    # around those of each spin given the others where m is not to be trusted.
    if not sampler.thermal:
        fixed = torch.tanh(beta * field(fixed)).detach()
    around = (1 - fixed**2) * beta * field(fixed)
    named = grads_of(m, h, W, K)
    for ours, expected in zip(named, grads_of(around, h, W, K), strict=True):
        torch.testing.assert_close(ours, expected)
    if not sampler.thermal:  # these get it by default
        auto = grads_of(2 * up(h, W, three_body=K, **options) - 1, h, W, K)
        assert all(torch.equal(a, b) for a, b in zip(auto, named, strict=True))


def test_straight_through_is_exact_without_couplings():
    h = torch.tensor([[0.3, -0.8, 1.5]], dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(3, 3)
    (ours,) = grads_of(up(h, zero, sampler=Approximate(), gradient="straight_through"), h)
    (exact,) = grads_of(up(h, zero), h)
    torch.testing.assert_close(ours, exact)


def gradients_and_tolerances(h, W, K, g, reads, copies, beta):
    """Mean of correlation gradients over independent copies, and five standard errors of it.

    A covariance of u and x from R reads has variance (mu22 - cov^2)/R + (var_u var_x + cov^2) /
    (R (R-1)); with x = +-1, mu22 <= 4 var_u and both others are at most var_u. A pair's
    derivative has half of it in each entry of J, a triple's a sixth in each of K.
    """
    many = h.detach().expand(copies, *h.shape).clone().requires_grad_()
    sampler = Exact(num_reads=reads)
    p = up(many, W, three_body=K, beta=beta, sampler=sampler, gradient="correlation")
    to_h, to_W, to_K = torch.autograd.grad((p * g).sum(), (many, W, K))
    J, K = symmetrised(W.detach()), symmetrised(K.detach(), order=3)
    solved = Exact().sample(IsingProblem(h.detach(), J, K), beta=beta)
    m = solved.magnetization
    covariance = solved.correlation - m[..., :, None] * m[..., None, :]
    var_u = 0.25 * torch.einsum("qj,qjk,qk->q", g, covariance, g)  # P = (m + 1) / 2
    variance = beta**2 * var_u * (4 / reads + 2 / (reads * (reads - 1))) / copies
    one_query, all_queries = 5 * variance[:, None].sqrt(), 5 * variance.sum().sqrt()
    return (to_h.mean(0), to_W / copies, to_K / copies), (
        one_query,
        all_queries / 2,
        all_queries / 6,
    )


@pytest.mark.parametrize(("reads", "copies"), [(2, 50000), (3, 25000), (100, 1000)])
def test_correlation_is_the_exact_gradient(reads, copies):
    torch.manual_seed(reads)
    generator = torch.Generator().manual_seed(6)
    h = torch.randn(2, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    g = torch.randn(2, 4, generator=generator, dtype=torch.float64)
    W, K = random_couplings(4, 4), random_couplings(4, 4, 4)
    beta = 0.8
    p = up(h, W, three_body=K, beta=beta)
    exact = torch.autograd.grad((p * g).sum(), (h, W, K))
    found, tolerances = gradients_and_tolerances(h, W, K, g, reads, copies, beta)
    for ours, expected, tolerance in zip(found, exact, tolerances, strict=True):
        assert ((ours - expected).abs() <= tolerance).all()
        # The tolerance is small enough to tell a missing R/(R-1), 1/2 or beta.
        assert (tolerance < expected.abs().max() / 8).all()


def test_correlation_is_its_formula_on_the_samples_of_the_forward_pass():
    reads, beta = 7, 0.8
    h, W = random_couplings(5, 4), random_couplings(4, 4)
    g = random_couplings(5, 4, seed=3).detach()
    torch.manual_seed(11)
    p = up(h, W, beta=beta, sampler=Drawn(num_reads=reads), gradient="correlation")
    to_h, to_W = torch.autograd.grad((p * g).sum(), (h, W))
    torch.manual_seed(11)
    seed = int(torch.randint(2**63 - 1, ()))
    problem = IsingProblem(h.detach(), symmetrised(W.detach()))
    result = Drawn(num_reads=reads).sample(problem, beta=beta, seed=seed)
    s = result.samples.double()  # (queries, reads, n)
    u = (s * 0.5 * g[:, None]).sum(-1)  # P = (m + 1) / 2
    unbiased = beta * reads / (reads - 1)

    def covariance(x):  # (queries, reads, ...) with u, over reads
        return unbiased * (
            torch.einsum("qr,qr...->q...", u, x) / reads
            - torch.einsum("q,q...->q...", u.mean(1), x.mean(1))
        )

    torch.testing.assert_close(p, result.probability)
    torch.testing.assert_close(to_h, covariance(s))
    pairs = covariance(s[..., :, None] * s[..., None, :]).sum(0)
    torch.testing.assert_close(to_W, 0.5 * pairs.fill_diagonal_(0.0))


def test_correlation_with_couplings_per_head():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(6)
    heads, copies, reads = 2, 5000, 100
    h = torch.randn(heads, 1, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    W = random_couplings(heads, 4, 4)
    g = torch.randn(heads, 1, 4, generator=generator, dtype=torch.float64)
    (exact,) = torch.autograd.grad((up(h, W) * g).sum(), W)
    many = h.detach().expand(copies, heads, 1, 4)
    p = up(many, W, sampler=Exact(num_reads=reads), gradient="correlation")
    (found,) = torch.autograd.grad((p * g).sum() / copies, W)
    # As above with Var(u) <= (sum of |g|/2)^2, and half of it in each entry.
    tolerance = 5 * 0.25 * g.abs().sum(-1, keepdim=True) * math.sqrt(4.1 / (copies * reads))
    assert (tolerance < exact.abs().amax((-1, -2), keepdim=True) / 4).all()
    assert ((found - exact).abs() <= tolerance).all()


def test_auto_takes_correlation_for_thermal_samples_alone():
    query, key, value = learned_qkv(2)
    W = random_couplings(4, 4)

    def grads(gradient, reads, kind=Drawn):
        torch.manual_seed(0)
        sampler = kind(num_reads=reads)
        return grads_of(
            boltzmann_attention(query, key, value, coupling=W, sampler=sampler, gradient=gradient),
            W,
        )[0]

    assert torch.equal(grads("auto", 2), grads("correlation", 2))
    assert torch.equal(grads("auto", 1), grads("straight_through", 1))
    assert grads("auto", 1).isfinite().all()
    assert torch.equal(grads("auto", 9, Biased), grads("straight_through", 9, Biased))


def test_one_read_is_refused_up_front():
    query, key, value = learned_qkv(2)
    options = {"coupling": random_couplings(4, 4), "gradient": "correlation"}
    sampler = Drawn(num_reads=1)
    with pytest.raises(ValueError, match=r"two reads or more.*'drawn' gives 1; raise num_reads"):
        boltzmann_attention(query, key, value, sampler=sampler, **options)
    assert not sampler.calls
    with torch.no_grad():
        assert boltzmann_attention(query, key, value, sampler=sampler, **options).isfinite().all()
    with pytest.raises(ValueError, match="'approximate' gives no samples"):
        boltzmann_attention(query, key, value, sampler=Approximate(), **options)
    with pytest.raises(ValueError, match="'exact' gives no samples"):
        boltzmann_attention(query, key, value, sampler=Exact(), **options)
