import math

import numpy as np
import pytest
from attention_cases import (
    ASYM3_DM_DH,
    ASYM3_DM_DJ01,
    Approximate,
    Biased,
    Drawn,
    asym3,
    magnetization,
    torch,
    up,
)

from attention_bridge import BoltzmannAttention, boltzmann_attention, symmetrised
from isingsample import Exact, IsingProblem

GRADIENTS = [
    ("exact", Exact()),
    ("correlation", Exact(num_reads=50)),
    ("correlation", Drawn(num_reads=50)),
    ("straight_through", Approximate()),
]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def qkv(*lead, queries=4, keys=4, dim=3, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(*lead, length, dim, generator=generator, dtype=dtype).requires_grad_()
        for length in (queries, keys, keys)
    )


def random_couplings(*shape, scale=0.5, dtype=torch.float64, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(*shape, generator=generator, dtype=dtype)).requires_grad_()


def jacobian(of, *inputs):
    """d of / d each input, one row for each entry of `of`."""
    rows = [torch.autograd.grad(entry, inputs, retain_graph=True) for entry in of]
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def grads_of(output, *inputs, seed=2):
    """Gradients of a fixed random projection of output."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(output.shape, generator=generator, dtype=output.dtype)
    return torch.autograd.grad((output * weights).sum(), inputs)


# --- exact


def test_jacobian_of_asym3():
    h, J = asym3()
    to_h, to_J = jacobian(magnetization(h, J), h, J)
    np.testing.assert_allclose(to_h, ASYM3_DM_DH, atol=1e-10, rtol=0)
    np.testing.assert_allclose(to_J[:, 0, 1], 0.5 * np.array(ASYM3_DM_DJ01), atol=1e-10, rtol=0)
    assert torch.equal(to_J, to_J.mT)
    assert (to_J.diagonal(dim1=-2, dim2=-1) == 0).all()


def test_beta_carries_its_factor():
    h, J = asym3()
    to_h, to_J = jacobian(magnetization(h / 2, J / 2, beta=2.0), h, J)
    np.testing.assert_allclose(to_h, ASYM3_DM_DH, atol=1e-10, rtol=0)
    np.testing.assert_allclose(to_J[:, 0, 1], 0.5 * np.array(ASYM3_DM_DJ01), atol=1e-10, rtol=0)


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"mode": "J"}, {"mode": "h"}])
def test_gradcheck(check, options):
    query, key, value = qkv(1, 2, queries=3, keys=3)
    mask = torch.ones(3, 3, dtype=torch.bool)
    mask[1, 2] = False

    def attend(query, key, value, W, beta):
        return boltzmann_attention(
            query, key, value, coupling=W, beta=beta, attn_mask=mask, **options
        )

    beta = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    assert check(attend, (query, key, value, random_couplings(2, 3, 3), beta))


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
def test_gradcheck_of_three_body_couplings_and_a_learned_mask(check):
    query, key, value = qkv(queries=2, keys=3)

    def attend(K, mask):
        return boltzmann_attention(query, key, value, coupling=None, three_body=K, attn_mask=mask)

    mask = torch.tensor([[0.3, -0.2, 0.1], [0.0, -math.inf, 0.2]], dtype=torch.float64)
    finite = mask.isfinite()
    offset = random_couplings(2, 3)
    assert check(
        lambda K, b: attend(K, torch.where(finite, b, mask)), (random_couplings(3, 3, 3), offset)
    )


# --- what holds for every estimator


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_couplings_stay_symmetric_with_zero_diagonal(gradient, sampler):
    torch.manual_seed(0)
    query, key, value = qkv(2, 2)
    J = torch.zeros(2, 4, 4, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([J], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        output = boltzmann_attention(
            query, key, value, coupling=J, sampler=sampler, gradient=gradient
        )
        output.square().sum().backward()
        optimizer.step()
    assert torch.equal(J, J.mT)
    assert (J.diagonal(dim1=-2, dim2=-1) == 0).all()
    assert (J[:, 0, 1] != 0).all()


@pytest.mark.parametrize("three_body", [False, True])
@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_a_masked_key_gets_gradient_zero(gradient, sampler, three_body):
    torch.manual_seed(0)
    query, key, value = qkv(2)
    W, K = random_couplings(4, 4), random_couplings(4, 4, 4) if three_body else None
    mask = torch.tensor([True, True, False, True])
    output = boltzmann_attention(
        query,
        key,
        value,
        coupling=W,
        three_body=K,
        attn_mask=mask,
        sampler=sampler,
        gradient=gradient,
    )
    leaves = [query, key, value, W] + ([K] if three_body else [])
    to_query, to_key, to_value, to_W, *to_K = grads_of(output, *leaves)
    assert (to_key[:, 2] == 0).all()
    assert (to_value[:, 2] == 0).all()
    assert (to_W[2] == 0).all()
    assert (to_W[:, 2] == 0).all()
    assert (to_W[0, 1], to_query[0, 0, 0], to_key[0, 0, 0]) != (0, 0, 0)
    for grad in to_K:
        assert (grad[2] == 0).all()
        assert grad[0, 1, 3] != 0


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_a_fully_masked_row_has_finite_gradients(gradient, sampler):
    query, key, value = qkv(2)
    W = random_couplings(4, 4)
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[1] = False
    for attn_mask in (mask, torch.zeros_like(mask)):
        output = boltzmann_attention(
            query, key, value, coupling=W, attn_mask=attn_mask, sampler=sampler, gradient=gradient
        )
        grads = grads_of(output, query, key, value, W)
        assert all(grad.isfinite().all() for grad in grads)
        assert (grads[0][:, 1] == 0).all()
    assert all((grad == 0).all() for grad in grads)


@pytest.mark.parametrize("mode", ["h+J", "J", "h", "softmax"])
def test_a_fully_masked_row_in_every_mode(mode):
    query, key, value = qkv(2)
    W = random_couplings(4, 4)
    mask = torch.ones(4, 4).masked_fill(torch.eye(4)[:, :1] == 1, -math.inf)
    output = boltzmann_attention(query, key, value, coupling=W, attn_mask=mask, mode=mode)
    assert (output[:, 0] == 0).all()
    assert all(grad.isfinite().all() for grad in grads_of(output, query, key, value, W))


@pytest.mark.parametrize("field", [100.0, -100.0, -47.0, -45.0, -43.5, -20.0])
@pytest.mark.parametrize(("gradient", "sampler"), [*GRADIENTS, ("auto", Drawn(num_reads=2))])
def test_saturated_spins(gradient, sampler, field):
    h = torch.full((2, 3), field, requires_grad=True)
    W = torch.zeros(3, 3, requires_grad=True)
    weights = up(h, W, normalize=True, sampler=sampler, gradient=gradient)
    grads = grads_of(100 * weights, h, W)
    assert weights.isfinite().all()
    assert all(grad.isfinite().all() for grad in grads)
    if abs(field) == 100:
        assert all((grad == 0).all() for grad in grads)


def test_h_minus_20_has_the_gradient_of_softmax():
    h = torch.tensor([[-20.0, -20.5, -21.0]], requires_grad=True)
    (ours,) = grads_of(up(h, torch.zeros(3, 3), normalize=True), h)
    (theirs,) = grads_of(torch.softmax(2 * h, dim=-1), h)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_couplings_per_head_get_the_gradient_of_their_head(gradient, sampler):
    query, key, value = qkv(2, 3)
    W = random_couplings(3, 4, 4)
    torch.manual_seed(0)
    output = boltzmann_attention(query, key, value, coupling=W, sampler=sampler, gradient=gradient)
    (to_W,) = torch.autograd.grad(output[:, 1].sum(), W)
    assert (to_W[[0, 2]] == 0).all()
    assert (to_W[1, 0, 1] != 0).all()


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_shared_couplings_sum_over_batch_heads_and_queries(gradient, sampler):
    query, key, value = qkv(2, 3)
    W, K = random_couplings(4, 4), random_couplings(4, 4, 4, scale=0.3)

    def grads(W, K):
        torch.manual_seed(0)
        output = boltzmann_attention(
            query, key, value, coupling=W, three_body=K, sampler=sampler, gradient=gradient
        )
        return grads_of(output, W, K)

    shared = grads(W, K)
    for lead in ((3,), (1, 3), (2, 1), (2, 3)):
        own = [t.detach().expand(*lead, *t.shape).clone().requires_grad_() for t in (W, K)]
        each = grads(*own)
        for together, apart in zip(shared, each, strict=True):
            summed = apart.sum(tuple(range(len(lead))))
            torch.testing.assert_close(together, summed, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("mode", ["h+J", "h", "J", "softmax"])
@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_every_parameter_gets_a_gradient(gradient, sampler, mode):
    query, key, value = qkv(2, queries=1, keys=1)  # one key: nothing to couple
    W, K = random_couplings(1, 1), random_couplings(1, 1, 1)
    output = boltzmann_attention(
        query,
        key,
        value,
        coupling=W,
        three_body=K,
        mode=mode,
        sampler=sampler,
        gradient=gradient,
        normalize=False,
    )
    output.sum().backward()
    assert (W.grad == 0).all()
    assert (K.grad == 0).all()
    assert query.grad is not None
    assert (query.grad == 0).all() == (mode in ("J", "softmax"))


def test_an_empty_batch_gives_zeros_too():
    query, key, value = qkv(0)
    W = random_couplings(4, 4)
    boltzmann_attention(query, key, value, coupling=W).sum().backward()
    assert (W.grad == 0).all()


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_gradients_stay_float32_under_autocast(half, gradient, sampler):
    torch.manual_seed(0)
    layer = BoltzmannAttention(8, 2, 4, sampler=sampler, gradient=gradient, coupling_std=0.3)
    x = torch.randn(2, 4, 8)
    with torch.autocast("cpu", dtype=half):
        output = layer(x, is_causal=True)
    assert output.dtype == half
    output.float().square().sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad.dtype == torch.float32, name
        assert parameter.grad.isfinite().all(), name
    assert (layer.coupling.grad != 0).any()


# --- straight-through


def test_straight_through_is_its_formula():
    generator = torch.Generator().manual_seed(4)
    h = torch.randn(2, 5, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    W, K = random_couplings(4, 4), random_couplings(4, 4, 4, scale=0.3)
    beta = 0.7
    options = {"beta": beta, "sampler": Approximate()}
    m = 2 * up(h, W, three_body=K, gradient="straight_through", **options) - 1

    exact = Exact().sample(
        IsingProblem(h.detach(), symmetrised(W.detach()), symmetrised(K.detach(), order=3)),
        beta=beta,
    )
    fixed = exact.magnetization
    torch.testing.assert_close(m.detach(), fixed)
    # The mean-field equation around the sampler's m, to first order in h, J and K.
    pairs = torch.einsum("...k,...l->...kl", fixed, fixed)
    field = h + fixed @ symmetrised(W)
    field = field + 0.5 * torch.einsum("jkl,...kl->...j", symmetrised(K, order=3), pairs)
    around = (1 - fixed**2) * beta * field
    named = grads_of(m, h, W, K)
    for ours, expected in zip(named, grads_of(around, h, W, K), strict=True):
        torch.testing.assert_close(ours, expected)
    # Samplers without thermal samples get it by default.
    auto = grads_of(2 * up(h, W, three_body=K, **options) - 1, h, W, K)
    assert all(torch.equal(a, b) for a, b in zip(auto, named, strict=True))


def test_straight_through_is_exact_without_couplings():
    h = torch.tensor([[0.3, -0.8, 1.5]], dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(3, 3)
    (ours,) = grads_of(up(h, zero, sampler=Approximate(), gradient="straight_through"), h)
    (exact,) = grads_of(up(h, zero), h)
    torch.testing.assert_close(ours, exact)


# --- correlation


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
    query, key, value = qkv(2)
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
    query, key, value = qkv(2)
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


# --- autograd's other uses


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_backward_twice_gives_the_same(gradient, sampler):
    query, key, value = qkv(2)
    W = random_couplings(4, 4)
    output = boltzmann_attention(query, key, value, coupling=W, sampler=sampler, gradient=gradient)
    loss = output.square().sum()
    first = torch.autograd.grad(loss, (query, W), retain_graph=True)
    second = torch.autograd.grad(loss, (query, W))
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)


def test_samples_are_stored_and_not_redrawn():
    query, key, value = qkv(2)
    sampler = Drawn(num_reads=10)
    output = boltzmann_attention(
        query, key, value, coupling=random_couplings(4, 4), sampler=sampler
    )
    output.square().sum().backward()
    assert len(sampler.calls) == 1


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS[1:])
def test_second_derivatives_of_estimates_are_refused(gradient, sampler):
    query, key, value = qkv(2)
    W = random_couplings(4, 4)
    output = boltzmann_attention(query, key, value, coupling=W, sampler=sampler, gradient=gradient)
    (grad,) = torch.autograd.grad(output.square().sum(), W, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_checkpointing_repeats_the_samples(gradient, sampler, use_reentrant):
    query, key, value = qkv(2)
    W = random_couplings(4, 4)

    def attend(query, key, value, W):
        return boltzmann_attention(
            query, key, value, coupling=W, dropout_p=0.2, sampler=sampler, gradient=gradient
        )

    def grads(output):
        for leaf in (query, key, value, W):
            leaf.grad = None
        output.square().sum().backward()
        return [leaf.grad for leaf in (query, key, value, W)]

    torch.manual_seed(3)
    plain = grads(attend(query, key, value, W))
    torch.manual_seed(3)
    checkpointed = torch.utils.checkpoint.checkpoint(
        attend, query, key, value, W, use_reentrant=use_reentrant
    )
    for a, b in zip(grads(checkpointed), plain, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(("gradient", "sampler"), [GRADIENTS[0], GRADIENTS[2]])
# Dynamo looks at .grad of the tensors it resumes with after a pause, and warns of that itself.
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_compile_is_eager(gradient, sampler):
    torch.manual_seed(0)
    layer = BoltzmannAttention(8, 2, 4, sampler=sampler, gradient=gradient, coupling_std=0.3)
    x = torch.randn(2, 4, 8)
    torch._dynamo.reset()
    results = []
    for run in (layer, torch.compile(layer, backend="aot_eager")):
        layer.zero_grad()
        torch.manual_seed(7)
        output = run(x, is_causal=True)
        output.square().sum().backward()
        results.append([output.detach(), *(p.grad.clone() for p in layer.parameters())])
    for eager, compiled in zip(*results, strict=True):
        torch.testing.assert_close(eager, compiled)
    torch._dynamo.reset()
    whole = torch.compile(layer, backend="aot_eager", fullgraph=True)
    with pytest.raises(Exception, match=r"torch\.compiler\.disable"):
        whole(x)


@pytest.mark.parametrize("mode", ["h", "softmax"])
def test_closed_forms_compile_whole(mode):
    query, key, value = qkv(2)

    def attend(query, key, value):
        return boltzmann_attention(query, key, value, coupling=None, mode=mode, is_causal=True)

    torch._dynamo.reset()
    whole = torch.compile(attend, backend="aot_eager", fullgraph=True)(query, key, value)
    eager = attend(query, key, value)
    torch.testing.assert_close(whole, eager)
    for ours, expected in zip(
        grads_of(whole, query, key, value), grads_of(eager, query, key, value), strict=True
    ):
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_function_transforms_are_refused(gradient, sampler):
    query, key, value = (t.detach() for t in qkv(2))
    W = random_couplings(4, 4).detach()

    def attend(query, key, value):
        return boltzmann_attention(
            query, key, value, coupling=W, sampler=sampler, gradient=gradient
        )

    with pytest.raises(RuntimeError, match="leading axes"):
        torch.func.vmap(attend)(query, key, value)
    with pytest.raises(RuntimeError, match=r"torch\.autograd"):
        torch.func.grad(lambda q: attend(q, key, value).sum())(query)


@pytest.mark.parametrize("mode", ["h", "softmax"])
def test_function_transforms_of_closed_forms(mode):
    query, key, value = (t.detach() for t in qkv(2))

    def attend(query, key, value):
        return boltzmann_attention(query, key, value, coupling=None, mode=mode, is_causal=True)

    torch.testing.assert_close(
        torch.func.vmap(attend)(query, key, value), attend(query, key, value)
    )
    grad = torch.func.grad(lambda q: attend(q, key, value).square().sum())(query)
    query.requires_grad_()
    (expected,) = torch.autograd.grad(attend(query, key, value).square().sum(), query)
    torch.testing.assert_close(grad, expected)
