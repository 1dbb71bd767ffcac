import pickle
from copy import deepcopy

import pytest

from attention_bridge import BoltzmannAttention, boltzmann_attention
from isingsample import Transfer
from support.attention_cases import Drawn, torch

pytestmark = pytest.mark.usefixtures("seeded")
KINDS = [{"coupling": "dense"}, {"coupling": "banded", "reach": 2}, {"coupling": "relative"}]


def test_its_parts():
    layer = BoltzmannAttention(8, 2, 6, coupling_init=0.5)
    x = torch.randn(3, 4, 8)
    output, weights = layer(x, is_causal=True, average_attn_weights=False)
    assert output.shape == (3, 4, 8)
    assert weights.shape == (3, 2, 4, 4)
    heads = (
        projection(x).reshape(3, 4, 2, 4).transpose(1, 2)
        for projection in (layer.query_projection, layer.key_projection, layer.value_projection)
    )
    J = layer.coupling.weight[:, :4, :4]
    attended = boltzmann_attention(*heads, coupling=J, is_causal=True)
    expected = layer.output_projection(attended.transpose(1, 2).reshape(3, 4, 8))
    torch.testing.assert_close(output, expected)
    averaged = layer(x, is_causal=True)[1]
    torch.testing.assert_close(averaged, weights.mean(1))
    assert layer(x, need_weights=False)[1] is None


def test_the_normaliser_can_be_left_out():
    layer = BoltzmannAttention(8, 2, 6, normalize=False)
    plain = layer(torch.zeros(1, 6, 8))[1]  # no fields but those of the biases, no couplings
    assert (plain.sum(-1) > 1).all()
    layer.normalize = True
    torch.testing.assert_close(layer(torch.zeros(1, 6, 8))[1].sum(-1), torch.ones(1, 6))


@pytest.mark.parametrize("mask", ["none", "bool", "float"])
def test_masks(mask):
    layer = BoltzmannAttention(8, 2, 6, coupling_init=0.5)
    x = torch.randn(3, 6, 8)
    padding = torch.zeros(3, 6, dtype=torch.bool)
    padding[1, 4:] = True
    keep = torch.ones(6, 6, dtype=torch.bool).tril()
    floats = torch.zeros(6, 6).masked_fill(~keep, -torch.inf)
    attn_mask = {"none": None, "bool": keep, "float": floats}[mask]
    alone, _ = layer(x[1, :4], is_causal=True)  # without a batch axis
    whole, _ = layer(x[0], is_causal=True)
    for key_padding_mask in (padding, torch.zeros(3, 6).masked_fill(padding, -torch.inf)):
        padded, _ = layer(
            x, None, None, key_padding_mask, True, attn_mask, is_causal=mask == "none"
        )
        torch.testing.assert_close(padded[1, :4], alone)
        torch.testing.assert_close(padded[0], whole)


def test_copies_and_saved_states():
    def fresh():
        return BoltzmannAttention(
            8, 2, 6, three_body="dense", sampler=Drawn(num_reads=50), dtype=torch.float64
        )

    layer, loaded = fresh(), fresh()
    loaded.load_state_dict(layer.state_dict())
    x = torch.randn(3, 6, 8, dtype=torch.float64)
    torch.manual_seed(1)
    expected, _ = layer(x)
    assert expected.dtype == torch.float64
    for copy in (deepcopy(layer), pickle.loads(pickle.dumps(layer)), loaded):
        torch.manual_seed(1)
        torch.testing.assert_close(copy(x)[0], expected)


@pytest.mark.parametrize("options", [{"max_length": 7}, {"coupling": "relative"}])
def test_states_of_other_sizes_are_refused(options):
    saved = BoltzmannAttention(8, 2, 6).state_dict()
    other = BoltzmannAttention(8, 2, **{"max_length": 6} | options)
    with pytest.raises(RuntimeError, match=r"coupling.weight was saved by .*Couplings\(2, "):
        other.load_state_dict(saved)


def test_names_of_the_state():
    names = set(BoltzmannAttention(8, 2, 6, three_body="relative").state_dict())
    linear = {
        f"{part}_projection.{name}"
        for part in ("query", "key", "value", "output")
        for name in ("weight", "bias")
    }
    assert names == linear | {"coupling.weight", "three_body.weight"}


def test_parameters_can_be_reset():
    layer = BoltzmannAttention(8, 2, 6, coupling_init=torch.full((6, 6), 0.3), three_body="dense")
    before = deepcopy(layer.state_dict())
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter += 1
    layer.reset_parameters()
    assert (layer.coupling.weight == 0.3).all()
    assert (layer.three_body.weight == 0).all()
    assert not torch.equal(layer.query_projection.weight, before["query_projection.weight"])
    assert layer.query_projection.weight.abs().max() < 1


def test_drops_out_in_training_only():
    layer = BoltzmannAttention(8, 2, 6, dropout=0.5)
    x = torch.randn(3, 6, 8)
    assert not torch.equal(layer(x)[0], layer(x)[0])
    layer.eval()
    assert torch.equal(layer(x)[0], layer(x)[0])


def test_a_generator_of_ones_own():
    layer = BoltzmannAttention(8, 2, 6, sampler=Drawn(num_reads=50))
    x = torch.randn(3, 6, 8)
    state = torch.random.get_rng_state()
    first, second = (layer(x, generator=torch.Generator().manual_seed(5))[0] for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("mode", ["h+J", "h", "J", "softmax"])
def test_a_single_key_gives_couplings_zeros(options, mode):
    layer = BoltzmannAttention(8, 2, 6, mode=mode, three_body="dense", **options)
    layer(torch.randn(3, 1, 8))[0].sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
    assert (layer.coupling.weight.grad == 0).all()
    assert (layer.three_body.weight.grad == 0).all()


def test_gradients_accumulate():
    layer = BoltzmannAttention(8, 2, 6, coupling_init=0.3, dtype=torch.float64)
    x = torch.randn(4, 6, 8, dtype=torch.float64)

    def grads(*batches):
        layer.zero_grad()
        for batch in batches:
            layer(batch, is_causal=True)[0].square().sum().backward()
        return [parameter.grad for parameter in layer.parameters()]

    for whole, parts in zip(grads(x), grads(x[:1], x[1:]), strict=True):
        torch.testing.assert_close(whole, parts)


def test_runs_on_other_parameters():
    layer = BoltzmannAttention(8, 2, 6)
    other = BoltzmannAttention(8, 2, 6, coupling_init=0.5)
    x = torch.randn(3, 6, 8)
    called = torch.func.functional_call(layer, dict(other.named_parameters()), (x,))
    torch.testing.assert_close(called[0], other(x)[0])


def test_shows_its_options():
    shown = repr(BoltzmannAttention(8, 2, 6, sampler="exact", beta=0.5, three_body="relative"))
    parts = ("num_heads=2", "max_length=6", "mode='h+J'", "Exact(", "beta=0.5")
    assert "sampler='auto'" in repr(BoltzmannAttention(8, 2, 6))
    for part in (*parts, "DenseCouplings(2, 6, 6, order=2)", "RelativeCouplings(2, 10, order=3)"):
        assert part in shown


@pytest.mark.parametrize(
    ("sizes", "options", "error", "message"),
    [
        ((8, 3, 6), {}, ValueError, "multiple of num_heads"),
        ((8, 2, 0), {}, ValueError, "max_length must be at least 1"),
        ((8, 2, 6), {"mode": "h-J"}, ValueError, "mode must be one of"),
        ((8, 2, 6), {"gradient": "corelation"}, ValueError, "did you mean 'correlation'"),
        ((8, 2, 6), {"sampler": "exakt"}, ValueError, "did you mean 'exact'"),
        ((8, 2, 6), {"sampler": 3}, TypeError, "sampler must be a Sampler"),
        ((8, 2, 6), {"coupling": "bandet"}, ValueError, "did you mean 'banded'"),
        ((8, 2, 6), {"coupling": 3}, TypeError, "coupling must be a name or Couplings of order 2"),
        ((8, 2, 6), {"coupling": "banded"}, ValueError, "need reach"),
        ((8, 2, 6), {"reach": 3}, ValueError, "reach=3 is for 'banded'"),
        ((8, 2, 6), {"coupling": None}, ValueError, r"mode='h\+J' needs couplings"),
        ((8, 2, 6), {"dropout": 1.5}, ValueError, "dropout must be at most 1, not 1.5"),
        ((8, 2, 6), {"add_bias_kv": True}, ValueError, "add_bias_kv=True .* learned token"),
        ((8, 2, 6), {"add_zero_attn": True}, ValueError, "add_zero_attn=True .* learned token"),
    ],
)
def test_what_does_not_fit_is_refused(sizes, options, error, message):
    with pytest.raises(error, match=message):
        BoltzmannAttention(*sizes, **options)


def test_inputs_that_do_not_fit_are_refused():
    layer = BoltzmannAttention(8, 2, 6)
    with pytest.raises(ValueError, match=r"7 keys.*max_length = 6"):
        layer(torch.randn(1, 7, 8))
    for wrong in (torch.randn(8), [[0.0] * 8]):
        with pytest.raises(ValueError, match="query must be a tensor"):
            layer(wrong)
    with pytest.raises(TypeError, match="key_padding_mask must be bool or float"):
        layer(torch.randn(1, 3, 8), key_padding_mask=torch.zeros(1, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"7 keys.*max_length = 6"):
        layer.coupling_matrix(7)
    with pytest.raises(ValueError, match="coupling is None"):
        BoltzmannAttention(8, 2, 6, coupling=None, mode="h").coupling_matrix()
    with pytest.raises(ValueError, match="at most 3 axes"):
        BoltzmannAttention(8, 2, 6, batch_first=False)(torch.randn(1, 2, 3, 8))


def test_an_empty_batch():
    layer = BoltzmannAttention(8, 2, 4)
    output, weights = layer(torch.randn(0, 3, 8))
    assert output.shape == (0, 3, 8)
    assert weights.shape == (0, 3, 3)


@pytest.fixture
def process_group():
    """A distributed job of one process."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("mode", ["h+J", "h", "J", "softmax"])
def test_data_parallel_training(process_group, mode):
    layer = BoltzmannAttention(8, 2, 6, mode=mode, three_body="relative")
    parallel = torch.nn.parallel.DistributedDataParallel(layer)
    for length in (1, 4, 1):  # it refuses the step after one that left a parameter without gradient
        parallel(torch.randn(3, length, 8))[0].sum().backward()


def test_transfer_by_name_knows_how_far_couplings_reach():
    """Learned couplings of 20 keys would else count as dense, and be refused."""
    layer = BoltzmannAttention(8, 2, 20, coupling="relative", reach=3, sampler="transfer")
    x = torch.randn(2, 20, 8)
    output = layer(x, is_causal=True)[0]
    output.sum().backward()
    auto = BoltzmannAttention(8, 2, 20, coupling="relative", reach=3)
    auto.load_state_dict(layer.state_dict())
    torch.testing.assert_close(output, auto(x, is_causal=True)[0])
    assert layer.coupling.weight.grad.abs().sum() > 0
    given = BoltzmannAttention(8, 2, 6, coupling="banded", reach=2, sampler=Transfer(reach=4))
    assert given._sampler_for(6).reach == 4
