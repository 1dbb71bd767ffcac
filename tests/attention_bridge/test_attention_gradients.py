import math

import numpy as np
import pytest

from attention_bridge import BoltzmannAttention, boltzmann_attention
from support.attention_cases import (
    ASYM3_DM_DH,
    ASYM3_DM_DJ01,
    GRADIENTS,
    Drawn,
    asym3,
    grads_of,
    learned_qkv,
    magnetization,
    random_couplings,
    torch,
    up,
)

pytestmark = pytest.mark.usefixtures("seeded")


def jacobian(of, *inputs):
    """d of / d each input, one row for each entry of `of`."""
    rows = [torch.autograd.grad(entry, inputs, retain_graph=True) for entry in of]
    return [torch.stack(column) for column in zip(*rows, strict=True)]


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
    query, key, value = learned_qkv(1, 2, queries=3, keys=3)
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
    query, key, value = learned_qkv(queries=2, keys=3)

    def attend(K, mask):
        return boltzmann_attention(query, key, value, coupling=None, three_body=K, attn_mask=mask)

    mask = torch.tensor([[0.3, -0.2, 0.1], [0.0, -math.inf, 0.2]], dtype=torch.float64)
    finite = mask.isfinite()
    offset = random_couplings(2, 3)
    assert check(
        lambda K, b: attend(K, torch.where(finite, b, mask)), (random_couplings(3, 3, 3), offset)
    )


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_couplings_stay_symmetric_with_zero_diagonal(gradient, sampler):
    torch.manual_seed(0)
    query, key, value = learned_qkv(2, 2)
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
    query, key, value = learned_qkv(2)
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
    query, key, value = learned_qkv(2)
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
    query, key, value = learned_qkv(2)
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
    query, key, value = learned_qkv(2, 3)
    W = random_couplings(3, 4, 4)
    torch.manual_seed(0)
    output = boltzmann_attention(query, key, value, coupling=W, sampler=sampler, gradient=gradient)
    (to_W,) = torch.autograd.grad(output[:, 1].sum(), W)
    assert (to_W[[0, 2]] == 0).all()
    assert (to_W[1, 0, 1] != 0).all()


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_shared_couplings_sum_over_batch_heads_and_queries(gradient, sampler):
    query, key, value = learned_qkv(2, 3)
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
    query, key, value = learned_qkv(2, queries=1, keys=1)  # one key: nothing to couple
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
    query, key, value = learned_qkv(0)
    W = random_couplings(4, 4)
    boltzmann_attention(query, key, value, coupling=W).sum().backward()
    assert (W.grad == 0).all()


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_gradients_stay_float32_under_autocast(half, gradient, sampler):
    torch.manual_seed(0)
    layer = BoltzmannAttention(8, 2, 4, sampler=sampler, gradient=gradient, coupling_init=0.3)
    x = torch.randn(2, 4, 8)
    with torch.autocast("cpu", dtype=half):
        output, _ = layer(x, is_causal=True)
    assert output.dtype == half
    output.float().square().sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad.dtype == torch.float32, name
        assert parameter.grad.isfinite().all(), name
    assert (layer.coupling.weight.grad != 0).any()
