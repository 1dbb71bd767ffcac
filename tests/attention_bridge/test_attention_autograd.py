"""Checkpointing, compilation, function transforms, repeated and second derivatives."""

import pytest

from attention_bridge import BoltzmannAttention, boltzmann_attention
from support.attention_cases import GRADIENTS, Drawn, grads_of, learned_qkv, random_couplings, torch

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_backward_twice_gives_the_same(gradient, sampler):
    query, key, value = learned_qkv(2)
    W = random_couplings(4, 4)
    output = boltzmann_attention(query, key, value, coupling=W, sampler=sampler, gradient=gradient)
    loss = output.square().sum()
    first = torch.autograd.grad(loss, (query, W), retain_graph=True)
    second = torch.autograd.grad(loss, (query, W))
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)


def test_samples_are_stored_and_not_redrawn():
    query, key, value = learned_qkv(2)
    sampler = Drawn(num_reads=10)
    output = boltzmann_attention(
        query, key, value, coupling=random_couplings(4, 4), sampler=sampler
    )
    output.square().sum().backward()
    assert len(sampler.calls) == 1


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS[1:])
def test_second_derivatives_of_estimates_are_refused(gradient, sampler):
    query, key, value = learned_qkv(2)
    W = random_couplings(4, 4)
    output = boltzmann_attention(query, key, value, coupling=W, sampler=sampler, gradient=gradient)
    for loss in (output.square().sum(), output.sum()):  # also where what arrives is a constant
        (grad,) = torch.autograd.grad(loss, W, create_graph=True)
        with pytest.raises(RuntimeError, match=f"'{gradient}' estimates first derivatives only"):
            grad.sum().backward()


@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_checkpointing_repeats_the_samples(gradient, sampler, use_reentrant):
    query, key, value = learned_qkv(2)
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
    layer = BoltzmannAttention(8, 2, 4, sampler=sampler, gradient=gradient, coupling_init=0.3)
    x = torch.randn(2, 4, 8)
    torch._dynamo.reset()
    results = []
    for run in (layer, torch.compile(layer, backend="aot_eager")):
        layer.zero_grad()
        torch.manual_seed(7)
        output, _ = run(x, is_causal=True)
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
    query, key, value = learned_qkv(2)

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


@pytest.mark.parametrize("mode", ["h", "softmax"])
def test_layers_of_closed_forms_compile_whole(mode):
    layer, x = BoltzmannAttention(8, 2, 6, mode=mode), torch.randn(2, 5, 8)
    padding = torch.arange(5) >= torch.tensor([5, 3])[:, None]
    torch._dynamo.reset()
    whole = torch.compile(layer, backend="aot_eager", fullgraph=True)
    options = {"key_padding_mask": padding, "is_causal": True}
    torch.testing.assert_close(whole(x, **options), layer(x, **options))


@pytest.mark.parametrize(("gradient", "sampler"), GRADIENTS)
def test_function_transforms_are_refused(gradient, sampler):
    query, key, value = (t.detach() for t in learned_qkv(2))
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
    query, key, value = (t.detach() for t in learned_qkv(2))

    def attend(query, key, value):
        return boltzmann_attention(query, key, value, coupling=None, mode=mode, is_causal=True)

    torch.testing.assert_close(
        torch.func.vmap(attend)(query, key, value), attend(query, key, value)
    )
    grad = torch.func.grad(lambda q: attend(q, key, value).square().sum())(query)
    query.requires_grad_()
    (expected,) = torch.autograd.grad(attend(query, key, value).square().sum(), query)
    torch.testing.assert_close(grad, expected)
