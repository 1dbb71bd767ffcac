import pytest
from torch.masked import masked_tensor
from torch.nn.attention import bias

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
    with pytest.raises(TypeError, match="key_padding_mask must be a tensor, not list"):
        layer(torch.randn(2, 6, 8), key_padding_mask=[[True] * 6])


@pytest.mark.parametrize("mode", ["softmax", "h", "h+J"])
@pytest.mark.parametrize("lower_right", [True, False])
def test_causal_biases_of_torch_are_the_masks_they_stand_for(mode: str, lower_right: bool) -> None:
    make = bias.causal_lower_right if lower_right else bias.causal_upper_left
    query, key, value = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    keep = torch.ones(3, 5, dtype=torch.bool).tril(diagonal=2 if lower_right else 0)
    options = {"mode": mode, "coupling": torch.randn(5, 5)}
    found = boltzmann_attention(query, key, value, attn_mask=make(3, 5), **options)
    assert type(found) is torch.Tensor
    expected = boltzmann_attention(query, key, value, attn_mask=keep, **options)
    torch.testing.assert_close(found, expected)


def test_causal_biases_go_into_the_layer() -> None:
    layer = BoltzmannAttention(8, 2, 4)
    x = torch.randn(3, 4, 8)
    found = layer(x, attn_mask=bias.causal_upper_left(4, 4))[0]
    torch.testing.assert_close(found, layer(x, is_causal=True)[0])


STRANGE = {
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)]),
    "sparse": lambda: torch.ones(4, 4).to_sparse(),
    "meta": lambda: torch.ones(4, 4, device="meta"),
    "masked": lambda: masked_tensor(torch.ones(4, 4), torch.ones(4, 4, dtype=torch.bool)),
    "no tensor": lambda: [[True] * 4] * 4,
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of (nested|MaskedTensors)")
@pytest.mark.parametrize("kind", list(STRANGE))
def test_masks_without_plain_entries_are_refused(kind: str) -> None:
    x = torch.randn(4, 8)
    message = "must be a tensor, not list" if kind == "no tensor" else f"and is {kind}"
    with pytest.raises(TypeError, match=f"attn_mask.*{message}"):
        boltzmann_attention(x, x, x, coupling=None, mode="h", attn_mask=STRANGE[kind]())
    layer = BoltzmannAttention(8, 2, 4)
    with pytest.raises(TypeError, match=f"attn_mask.*{message}"):
        layer(x[None], attn_mask=STRANGE[kind]())
    with pytest.raises(TypeError, match=f"key_padding_mask.*{message}"):
        layer(x[None], key_padding_mask=STRANGE[kind]())


@pytest.mark.parametrize("shape", [(4, 1), (1, 1), (), (2, 1, 4, 1)])
@pytest.mark.parametrize("mode", ["softmax", "h", "J", "h+J"])
def test_masks_broadcast_alike_in_all_modes(mode: str, shape: tuple[int, ...]) -> None:
    x = torch.randn(2, 3, 4, 8)
    for mask in (torch.rand(shape) < 0.7, torch.randn(shape)):
        options = {"mode": mode, "coupling": torch.randn(4, 4)}
        found = boltzmann_attention(x, x, x, attn_mask=mask, **options)
        whole = boltzmann_attention(x, x, x, attn_mask=mask.expand(2, 3, 4, 4), **options)
        torch.testing.assert_close(found, whole)


def test_a_mask_by_head_or_by_item_must_say_which() -> None:
    layer, x, keep = BoltzmannAttention(8, 2, 4), torch.randn(2, 4, 8), torch.rand(2, 4, 4) < 0.7
    with pytest.raises(ValueError, match=r"by head or by item of the batch.*attn_mask\[None\]"):
        layer(x, attn_mask=keep)
    by_head, by_item = (layer(x, attn_mask=m)[0] for m in (keep[None], keep[:, None]))
    torch.testing.assert_close(by_head[1], layer(x[1:], attn_mask=keep)[0][0])
    torch.testing.assert_close(by_item[1], layer(x[1:], attn_mask=keep[1])[0][0])


@pytest.mark.parametrize("field", [-37.0, -80.0, -1000.0])
def test_fields_alone_are_normalised_in_the_log_domain(field: float) -> None:
    scores = torch.tensor([[field, field + 1, field - 2]])
    _, weights = boltzmann_attention(
        torch.ones(1, 1),
        scores.T,
        torch.ones(3, 1),
        coupling=None,
        mode="h",
        scale=1.0,
        return_weights=True,
    )
    expected = torch.softmax(torch.nn.functional.logsigmoid(2 * scores.double()), -1)
    torch.testing.assert_close(weights.double(), expected, rtol=1e-5, atol=1e-7)
