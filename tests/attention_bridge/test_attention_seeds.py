import pytest

from attention_bridge import boltzmann_attention
from isingsample import Exact
from support.attention_cases import Approximate, Drawn, qkv, torch

pytestmark = pytest.mark.usefixtures("seeded")


def weights_of(sampler, **options):
    query, key, value = qkv(2)
    return boltzmann_attention(query, key, value, coupling=torch.eye(6), sampler=sampler, **options)


def test_one_seed_per_forward_from_torch():
    sampler = Drawn(num_reads=20)
    torch.manual_seed(5)
    first, second = weights_of(sampler), weights_of(sampler)
    torch.manual_seed(5)
    again = weights_of(sampler)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)


def test_a_generator_of_ones_own():
    sampler = Drawn(num_reads=20)
    state = torch.random.get_rng_state()
    first, second = (
        weights_of(sampler, generator=torch.Generator().manual_seed(5)) for _ in range(2)
    )
    assert torch.equal(first, second)
    assert torch.equal(state, torch.random.get_rng_state())


def test_ranks_draw_different_samples_from_one_seed(monkeypatch):
    sampler = Drawn(num_reads=20)
    outputs = []
    for rank in range(3):
        monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        torch.manual_seed(5)
        outputs.append(weights_of(sampler))
    assert len(set(sampler.calls)) == 3
    assert not torch.equal(outputs[0], outputs[1])
    monkeypatch.undo()
    torch.manual_seed(5)
    assert torch.equal(weights_of(sampler), outputs[0])


def test_samplers_by_name_and_by_object():
    by_name = weights_of("exact")
    torch.testing.assert_close(by_name, weights_of(Exact()))
    torch.testing.assert_close(by_name, weights_of(Approximate()))
    torch.testing.assert_close(by_name, weights_of(Drawn(num_reads=4000)), atol=0.15, rtol=0)
