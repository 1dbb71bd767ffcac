"""Extreme scores, dtypes and autocast."""

import pytest

from attention_bridge import boltzmann_attention
from support.attention_cases import Drawn, qkv, torch, up

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mode", ["h+J", "h"])
def test_very_negative_scores_keep_their_ratios(dtype, mode):
    h = torch.tensor([[-20.0, -20.5, -21.0]], dtype=dtype)
    weights = up(h, torch.zeros(3, 3), normalize=True, mode=mode)
    torch.testing.assert_close(weights, torch.softmax(2 * h, dim=-1))


@pytest.mark.parametrize("field", [-40.0, -44.0, -48.0, -100.0, -1e4])
@pytest.mark.parametrize("mode", ["h+J", "h"])
def test_probabilities_that_underflow(field, mode):
    weights = up(torch.full((1, 3), field), torch.zeros(3, 3), normalize=True, mode=mode)
    assert weights.isfinite().all()
    assert (weights.sum() <= 1e-30) or (weights.sum() - 1).abs() < 1e-6


def test_reads_that_are_all_down_give_zero():
    output = up(
        torch.full((4, 3), -9.0), torch.zeros(3, 3), normalize=True, sampler=Drawn(num_reads=2)
    )
    assert (output == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_output_has_the_dtype_of_query(dtype):
    query, key, value = (t.to(dtype) for t in qkv(2, 3))
    output, weights = boltzmann_attention(
        query, key, value, coupling=torch.randn(3, 6, 6), return_weights=True
    )
    assert output.dtype == weights.dtype == dtype
    assert output.device == query.device


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_samples_in_float32(half):
    query, key, value = qkv(2, 3)
    W = torch.randn(3, 6, 6)
    plain = boltzmann_attention(query, key, value, coupling=W)
    with torch.autocast("cpu", dtype=half):
        output = boltzmann_attention(query, key, value, coupling=W)
    assert output.dtype == torch.float32
    torch.testing.assert_close(output, plain, atol=0, rtol=0)
