import pytest

from attention_bridge import BoltzmannAttention, boltzmann_attention
from support.attention_cases import qkv, torch, up

pytestmark = pytest.mark.usefixtures("seeded")

# Masks are filled with the lowest number of a model's dtype, and then perhaps cast to another.
LOWEST = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}


@pytest.mark.parametrize("three_body", [False, True])
@pytest.mark.parametrize("mask", ["bool", "float", *LOWEST])
def test_a_masked_key_is_removed(mask, three_body):
    query, key, value = qkv(2, dtype=torch.float64)
    W = torch.randn(6, 6, dtype=torch.float64)
    cube = torch.randn(6, 6, 6, dtype=torch.float64) if three_body else None
    keep = [0, 1, 3, 5]
    present = torch.zeros(6, dtype=torch.bool)
    present[keep] = True
    removing = torch.finfo(LOWEST[mask]).min if mask in LOWEST else -torch.inf
    floats = torch.zeros(6).masked_fill(~present, removing)
    output, weights = boltzmann_attention(
        query,
        key,
        value,
        coupling=W,
        three_body=cube,
        attn_mask=present if mask == "bool" else floats,
        return_weights=True,
    )
    smaller = boltzmann_attention(
        query,
        key[:, keep],
        value[:, keep],
        coupling=W[keep][:, keep],
        three_body=None if cube is None else cube[keep][:, keep][:, :, keep],
    )
    torch.testing.assert_close(output, smaller)
    assert (weights[..., ~present] == 0).all()


def test_what_a_removed_key_scores_is_of_no_consequence():
    query, key, value = qkv()
    key[3] = torch.nan
    mask = torch.tensor([True, True, True, False, True, True])
    assert (
        boltzmann_attention(query, key, value, coupling=torch.zeros(6, 6), attn_mask=mask)
        .isfinite()
        .all()
    )


def test_a_finite_float_mask_adds_to_the_fields():
    query, key, value = qkv(2, 3, dtype=torch.float64)
    W = torch.randn(6, 6, dtype=torch.float64)
    bias = torch.randn(2, 1, 5, 6, dtype=torch.float64)
    output = boltzmann_attention(query, key, value, coupling=W, attn_mask=bias)
    h = query @ key.mT / 2 + bias
    expected = up(h, W, normalize=True) @ value
    torch.testing.assert_close(output, expected)


def test_causal_goes_with_a_mask():
    query, key, value = qkv(2, queries=6)
    W = torch.randn(6, 6)
    padding = torch.tensor([True, True, False, True, True, True])
    both = boltzmann_attention(query, key, value, coupling=W, attn_mask=padding, is_causal=True)
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    joined = boltzmann_attention(query, key, value, coupling=W, attn_mask=padding & causal)
    torch.testing.assert_close(both, joined)


@pytest.mark.parametrize("mode", ["h+J", "h", "J", "softmax"])
def test_a_fully_masked_row_gives_zero(mode):
    query, key, value = qkv(2)
    mask = torch.ones(5, 6, dtype=torch.bool)
    mask[2] = False
    output = boltzmann_attention(
        query, key, value, coupling=torch.randn(6, 6), attn_mask=mask, mode=mode
    )
    assert (output[:, 2] == 0).all()
    assert output.isfinite().all()
    assert (output[:, [0, 1, 3, 4]] != 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_masks_of_different_dtypes(dtype):
    layer = BoltzmannAttention(8, 2, 6, coupling_init=0.5)
    x = torch.randn(2, 6, 8)
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    narrow = torch.zeros(6, 6, dtype=dtype).masked_fill(~causal, torch.finfo(dtype).min)
    bias = torch.randn(2, 6)
    expected, _ = layer(x, attn_mask=bias[:, None, None].masked_fill(~causal, -torch.inf))
    torch.testing.assert_close(layer(x, attn_mask=narrow, key_padding_mask=bias)[0], expected)


@pytest.mark.parametrize("mask", [[[True] * 6] * 5, torch.ones(5, 6, dtype=torch.uint8)])
def test_what_is_no_mask_is_refused(mask):
    query, key, value = qkv(2)
    with pytest.raises(TypeError, match="attn_mask must be"):
        boltzmann_attention(query, key, value, coupling=torch.zeros(6, 6), attn_mask=mask)


def test_a_padding_mask_that_does_not_fit_is_named():
    layer = BoltzmannAttention(8, 2, 6)
    with pytest.raises(ValueError, match=r"key_padding_mask must .* it has shape \(6, 2\)"):
        layer(torch.randn(2, 6, 8), key_padding_mask=torch.zeros(6, 2, dtype=torch.bool))
    with pytest.raises(TypeError, match="key_padding_mask must be bool or float, not list"):
        layer(torch.randn(2, 6, 8), key_padding_mask=[[True] * 6])
