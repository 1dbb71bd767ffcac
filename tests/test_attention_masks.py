import pytest
from attention_cases import qkv, torch, up

from attention_bridge import boltzmann_attention

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.mark.parametrize("three_body", [False, True])
@pytest.mark.parametrize("mask", ["bool", "float", "lowest"])
def test_a_masked_key_is_removed(mask, three_body):
    query, key, value = qkv(2, dtype=torch.float64)
    W = torch.randn(6, 6, dtype=torch.float64)
    cube = torch.randn(6, 6, 6, dtype=torch.float64) if three_body else None
    keep = [0, 1, 3, 5]
    present = torch.zeros(6, dtype=torch.bool)
    present[keep] = True
    removing = torch.finfo(torch.float32).min if mask == "lowest" else -torch.inf
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
