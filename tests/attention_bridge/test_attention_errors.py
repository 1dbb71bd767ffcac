import pytest

from attention_bridge import boltzmann_attention
from support.attention_cases import Approximate, qkv, torch

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"coupling": torch.zeros(5, 5)}, ValueError, r"coupling .* with 6 keys.*\(5, 5\)"),
        ({"coupling": torch.zeros(6)}, ValueError, "coupling must have shape"),
        ({"coupling": torch.zeros(4, 6, 6)}, ValueError, "leading axes"),
        ({"coupling": torch.zeros(2, 2, 3, 6, 6)}, ValueError, "leading axes"),
        ({"coupling": None}, ValueError, "coupling is None"),
        ({"coupling": torch.full((6, 6), torch.nan)}, ValueError, r"J must be finite"),
        ({"coupling": [[0.0] * 6] * 6}, TypeError, "coupling must be a tensor of real .* list"),
        ({"coupling": torch.zeros(6, 6) * 1j}, TypeError, "numbers, not torch.complex64"),
        ({"scale": "a"}, TypeError, "scale must be a number, not 'a'"),
        ({"scale": torch.nan}, ValueError, "scale must be finite"),
        ({"generator": 3}, TypeError, "generator must be a torch.Generator, not int"),
        ({"three_body": torch.zeros(6, 6)}, ValueError, "three_body must have shape"),
        ({"mode": "softmacs"}, ValueError, "did you mean 'softmax'"),
        ({"gradient": "straight-through"}, ValueError, "did you mean 'straight_through'"),
        ({"sampler": "exakt"}, ValueError, "did you mean 'exact'"),
        ({"sampler": 3}, TypeError, "sampler must be a Sampler"),
        ({"sampler": Approximate(), "gradient": "exact"}, ValueError, "autograd can see through"),
        ({"beta": -1.0}, ValueError, "beta must be at least 0"),
        ({"beta": torch.ones(3)}, TypeError, "beta must be a number"),
        ({"beta": torch.tensor(torch.nan)}, ValueError, "beta must be finite"),
        ({"attn_mask": torch.ones(5, 5, dtype=torch.bool)}, ValueError, "attn_mask must broadcast"),
        ({"attn_mask": torch.ones(5, 6, dtype=torch.int64)}, TypeError, "attn_mask must be bool"),
        ({"attn_mask": torch.full((5, 6), torch.nan)}, ValueError, "h must be finite"),
        ({"dropout_p": 1.5}, ValueError, "dropout"),
        ({"key": torch.zeros(2, 3, 6, 3)}, ValueError, "one width"),
        ({"value": torch.zeros(2, 3, 5, 4)}, ValueError, "one number of keys"),
        ({"value": torch.zeros(2, 3, 6, 4).double()}, TypeError, "value is torch.float64"),
        ({"query": torch.zeros(4)}, ValueError, "query must have shape"),
        ({"query": torch.zeros(2, 3, 5, 4, dtype=torch.int64)}, TypeError, "query must be"),
        ({"query": torch.zeros(2, 6, 5, 4)}, ValueError, "enable_gqa=True"),
        ({"query": torch.zeros(2, 5, 5, 4), "enable_gqa": True}, ValueError, "multiple of key's"),
    ],
)
def test_what_does_not_fit_is_refused(change, error, message):
    query, key, value = qkv(2, 3)
    arguments = {"query": query, "key": key, "value": value, "coupling": torch.zeros(6, 6)}
    with pytest.raises(error, match=message):
        boltzmann_attention(**(arguments | change))


def test_too_many_keys_for_exact_is_refused_at_once():
    query, key, value = qkv(keys=40)
    with pytest.raises(ValueError, match="40 spins"):
        boltzmann_attention(query, key, value, coupling=torch.zeros(40, 40))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # torch's own
def test_forward_mode_is_refused_where_it_would_be_dropped() -> None:
    from torch.autograd import forward_ad

    query, key, value = torch.randn(3, 1, 4, 2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(query, torch.ones_like(query))
        with pytest.raises(ValueError, match="no forward-mode derivatives"):
            boltzmann_attention(dual, key, value, coupling=torch.zeros(4, 4), sampler="sa")
