"""What attention shares with torch's scaled_dot_product_attention: masks, causality, dropout."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_bridge import boltzmann_attention
from support.attention_cases import qkv, torch

F = torch.nn.functional

pytestmark = pytest.mark.usefixtures("seeded")


@settings(max_examples=40, deadline=None)
@given(
    lead=st.lists(st.integers(0, 3), max_size=3).map(tuple),
    queries=st.integers(1, 5),
    keys=st.integers(1, 5),
    mask=st.sampled_from(["none", "bool", "float"]),
    scale=st.sampled_from([None, 0.3]),
    seed=st.integers(0, 2**31),
)
def test_softmax_mode_is_torch(lead, queries, keys, mask, scale, seed):
    query, key, value = qkv(*lead, queries=queries, keys=keys, seed=seed)
    generator = torch.Generator().manual_seed(seed + 1)
    keep = torch.rand(queries, keys, generator=generator) < 0.8
    bias = torch.randn(queries, keys, generator=generator).masked_fill(~keep, -torch.inf)
    options = {"attn_mask": {"none": None, "bool": keep, "float": bias}[mask], "scale": scale}
    ours = boltzmann_attention(query, key, value, coupling=None, mode="softmax", **options)
    theirs = F.scaled_dot_product_attention(query, key, value, **options)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("queries", "keys"), [(4, 4), (3, 5), (5, 3)])
def test_causal_is_torch(queries, keys):
    query, key, value = qkv(2, 3, queries=queries, keys=keys)
    ours = boltzmann_attention(query, key, value, coupling=None, mode="softmax", is_causal=True)
    theirs = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_grouped_queries_are_torch():
    query, _, _ = qkv(2, 6)
    _, key, value = qkv(2, 3)
    ours = boltzmann_attention(query, key, value, coupling=None, mode="softmax", enable_gqa=True)
    theirs = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)
    W = torch.randn(6, 6, 6)
    grouped = boltzmann_attention(query, key, value, coupling=W, enable_gqa=True)
    repeated = (t.repeat_interleave(2, dim=1) for t in (key, value))
    torch.testing.assert_close(grouped, boltzmann_attention(query, *repeated, coupling=W))


def test_dropout_is_torch():
    query, key, value = qkv(2, 3)
    torch.manual_seed(0)
    ours = boltzmann_attention(query, key, value, coupling=None, mode="softmax", dropout_p=0.3)
    weights = (query @ key.mT / 2).softmax(-1)
    torch.manual_seed(0)
    torch.testing.assert_close(ours, F.dropout(weights, 0.3) @ value)
