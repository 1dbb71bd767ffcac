"""The layer in the place of torch.nn.MultiheadAttention."""

import warnings
from copy import deepcopy

import pytest
from torch import nn

from attention_bridge import BoltzmannAttention, boltzmann_attention
from support.attention_cases import torch

pytestmark = pytest.mark.usefixtures("seeded")

SIZES = [{}, {"bias": False}, {"kdim": 5, "vdim": 3}, {"batch_first": False}]


def pair(**options):
    """torch's layer, and ours with its weights."""
    theirs = nn.MultiheadAttention(8, 2, **{"batch_first": True} | options)
    with torch.no_grad():
        for parameter in theirs.parameters():  # biases too, which begin at 0
            parameter.normal_(std=0.5)
    return theirs, BoltzmannAttention.from_torch(theirs, 6, mode="softmax")


def inputs(theirs):
    """(batch, positions, width) of query, key and value, or as theirs wants them."""
    tensors = [torch.randn(3, 4, 8), torch.randn(3, 6, theirs.kdim), torch.randn(3, 6, theirs.vdim)]
    return tensors if theirs.batch_first else [tensor.transpose(0, 1) for tensor in tensors]


@pytest.mark.parametrize("average_attn_weights", [True, False])
@pytest.mark.parametrize("options", SIZES)
def test_softmax_mode_is_torch(options, average_attn_weights):
    theirs, ours = pair(**options)
    tensors = inputs(theirs)
    padding = torch.tensor([[False] * 6, [False] * 5 + [True], [False] * 2 + [True] * 4])
    options = {"key_padding_mask": padding, "average_attn_weights": average_attn_weights}
    for found, expected in zip(ours(*tensors, **options), theirs(*tensors, **options), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)
    assert ours(*tensors, need_weights=False)[1] is theirs(*tensors, need_weights=False)[1] is None


def test_without_a_batch():
    theirs, ours = pair()
    x = torch.randn(5, 8)
    for found, expected in zip(ours(x), theirs(x, x, x), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)


def test_masks():
    theirs, ours = pair()
    x = torch.randn(3, 6, 8)
    keep = (torch.rand(3 * 2, 6, 6) < 0.7) | torch.eye(6, dtype=torch.bool)
    bias = torch.randn(3 * 2, 6, 6).masked_fill(~keep, -torch.inf)
    expected = theirs(x, x, x, attn_mask=bias)[0]
    torch.testing.assert_close(ours(x, attn_mask=bias)[0], expected)
    # The one difference: True = attend here, as in scaled_dot_product_attention.
    expected = theirs(x, x, x, attn_mask=~keep)[0]
    torch.testing.assert_close(ours(x, attn_mask=keep)[0], expected)
    torch.testing.assert_close(ours(x, attn_mask=keep.reshape(3, 2, 6, 6))[0], expected)
    with pytest.raises(ValueError, match=r"three axes must be .* attn_mask\[:, None\]"):
        ours(x, attn_mask=keep[:5])


@pytest.mark.parametrize("training", [True, False])
def test_inside_an_encoder(training):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    theirs = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).train(training)
    ours = deepcopy(theirs)
    for block in ours.layers:
        block.self_attn = BoltzmannAttention.from_torch(block.self_attn, 6, mode="softmax")
    x = torch.randn(3, 6, 8)
    causal = nn.Transformer.generate_square_subsequent_mask(6)
    padding = torch.zeros(3, 6).masked_fill(torch.arange(6) >= 4, -torch.inf)
    options = {"mask": causal, "is_causal": True, "src_key_padding_mask": padding}
    torch.testing.assert_close(ours(x, **options), theirs(x, **options), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_inside_an_encoder_that_packs_padded_batches(training):
    theirs = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2
    ).train(training)
    ours = deepcopy(theirs)
    for block in ours.layers:
        block.self_attn = BoltzmannAttention.from_torch(block.self_attn, 6, mode="softmax")
    x, padding = torch.randn(3, 6, 8), torch.arange(6) >= torch.tensor([4, 6, 2])[:, None]
    with torch.no_grad():
        found = ours(x, src_key_padding_mask=padding)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")  # torch packs
            expected = theirs(x, src_key_padding_mask=padding)
    torch.testing.assert_close(found[~padding], expected[~padding], atol=1e-5, rtol=1e-5)


def test_inside_a_decoder():
    theirs = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    ours = deepcopy(theirs)
    for name in ("self_attn", "multihead_attn"):
        attention = getattr(ours, name)
        setattr(ours, name, BoltzmannAttention.from_torch(attention, 6, mode="softmax"))
    x, memory = torch.randn(3, 6, 8), torch.randn(3, 4, 8)
    causal = nn.Transformer.generate_square_subsequent_mask(6)
    found, expected = (model(x, memory, tgt_mask=causal) for model in (ours, theirs))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_options_beside_the_weights():
    theirs = nn.MultiheadAttention(8, 2, dropout=0.3, batch_first=True, dtype=torch.float64).eval()
    ours = BoltzmannAttention.from_torch(theirs, 6, coupling_init=0.5, dropout=0.1)
    assert ours.dropout == 0.1
    assert not ours.training
    assert ours.coupling.weight.dtype == torch.float64
    assert (ours.coupling.weight != 0).all()
    for option in ("add_bias_kv", "add_zero_attn"):
        with pytest.raises(ValueError, match=option):
            BoltzmannAttention.from_torch(nn.MultiheadAttention(8, 2, **{option: True}), 6)


def test_only_torchs_layer_can_be_taken_over():
    with pytest.raises(TypeError, match=r"takes a torch.nn.MultiheadAttention, not Linear"):
        BoltzmannAttention.from_torch(nn.Linear(8, 8), 6)


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_an_encoder_built_around_our_layer(nested, training):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    layer.self_attn = BoltzmannAttention(8, 2, 6, coupling_init=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that it will not pack
        encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested).train(training)
    x, padding = torch.randn(3, 6, 8), torch.arange(6) >= torch.tensor([4, 6, 2])[:, None]
    for grad in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with grad():
            expected = x
            for block in encoder.layers:
                expected = block(expected, src_key_padding_mask=padding)
            found = encoder(x, src_key_padding_mask=padding)
        torch.testing.assert_close(found[~padding], expected[~padding])


@pytest.mark.parametrize("kdim", [None, 6])
def test_frozen_projections_stay_frozen(kdim):
    theirs = nn.MultiheadAttention(8, 2, kdim=kdim, batch_first=True)
    theirs.out_proj.requires_grad_(False)
    frozen = theirs.in_proj_weight if kdim is None else theirs.k_proj_weight
    frozen.requires_grad_(False)
    ours = BoltzmannAttention.from_torch(theirs, 6)
    assert not ours.output_projection.weight.requires_grad
    assert not ours.output_projection.bias.requires_grad
    assert not ours.key_projection.weight.requires_grad
    assert ours.query_projection.weight.requires_grad == (kdim is not None)
    assert ours.query_projection.bias.requires_grad


def test_a_learned_beta_is_shown():
    layer = BoltzmannAttention(8, 2, 6)
    del layer.beta
    layer.beta = nn.Parameter(torch.tensor(0.5))
    assert "beta=0.5" in repr(layer)


def test_tensors_of_no_width_are_refused():
    empty = torch.randn(2, 3, 0)
    with pytest.raises(ValueError, match=r"query has width 0: shape \(2, 3, 0\)"):
        boltzmann_attention(empty, empty, empty, coupling=None, mode="h")
