import pickle
from copy import deepcopy
from itertools import permutations

import numpy as np
import pytest
from attention_cases import ASYM3_M, Approximate, Drawn, asym3, magnetization, torch, up
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_bridge import BoltzmannAttention, boltzmann_attention, symmetrised
from isingsample import Exact, IsingProblem
from isingsample.testing import enumerate_moments

F = torch.nn.functional


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def qkv(*lead, queries=5, keys=6, dim=4, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(*lead, length, dim, generator=generator, dtype=dtype)
        for length in (queries, keys, keys)
    )


def reference(query, key, value, coupling, present=None, K=None, beta=1.0):
    """Output and weights by enumeration, in float64."""
    h = query @ key.mT / query.shape[-1] ** 0.5
    J = symmetrised(coupling)
    J = J[:, None] if J.ndim > 2 else J
    problem = IsingProblem(h.double(), J.double(), K, present)
    alpha = enumerate_moments(problem, beta).probability
    total = alpha.sum(-1, keepdims=True)
    weights = torch.from_numpy(alpha / np.where(total > 0, total, 1))
    return weights @ value.double(), weights


# --- what it computes


@pytest.mark.parametrize("per_head", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_weights_are_normalised_boltzmann_probabilities(per_head, is_causal):
    query, key, value = qkv(2, 3, dtype=torch.float64)
    W = torch.randn((3, 6, 6) if per_head else (6, 6), dtype=torch.float64)
    present = torch.ones(5, 6, dtype=torch.bool).tril() if is_causal else None
    output, weights = boltzmann_attention(
        query, key, value, coupling=W, is_causal=is_causal, beta=0.7, return_weights=True
    )
    expected, expected_weights = reference(query, key, value, W, present, beta=0.7)
    torch.testing.assert_close(weights, expected_weights)
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 5, dtype=torch.float64))


def test_asym3():
    h, J = asym3()
    np.testing.assert_allclose(magnetization(h, J).detach(), ASYM3_M, atol=1e-11)


def test_any_square_matrix_is_symmetrised_and_its_diagonal_dropped():
    h, J = asym3()
    upper = 2 * J.detach().triu() + torch.diag(torch.tensor([3.0, float("nan"), float("inf")]))
    torch.testing.assert_close(up(h[None], upper), up(h[None], J))


def test_any_cube_is_symmetrised():
    generator = torch.Generator().manual_seed(3)
    query, key, value = qkv(2, 3, dtype=torch.float64)
    cube = torch.randn(3, 6, 6, 6, generator=generator, dtype=torch.float64)
    K = sum(cube.permute(0, *axes) for axes in permutations((1, 2, 3))) / 6
    index = torch.arange(6)
    same = index[:, None] == index
    repeats = same[:, :, None] | same[:, None, :] | same[None]
    K = K.masked_fill(repeats, 0.0)
    torch.testing.assert_close(symmetrised(cube, order=3), K)
    output = boltzmann_attention(query, key, value, coupling=None, three_body=cube)
    expected, _ = reference(query, key, value, torch.zeros(6, 6), K=K[:, None])
    torch.testing.assert_close(output, expected)


def test_modes():
    query, key, value = qkv(2, 3, dtype=torch.float64)
    W = torch.randn(3, 6, 6, dtype=torch.float64)
    scores = query @ key.mT / 2

    def weights(**options):
        options = {"coupling": W, "return_weights": True} | options
        return boltzmann_attention(query, key, value, **options)[1]

    independent = torch.sigmoid(2 * 0.7 * scores)
    torch.testing.assert_close(weights(mode="h", beta=0.7, normalize=False), independent)
    torch.testing.assert_close(
        weights(mode="h", beta=0.7), independent / independent.sum(-1, keepdim=True)
    )
    torch.testing.assert_close(weights(mode="h"), weights(coupling=torch.zeros(6, 6)))
    torch.testing.assert_close(weights(mode="h"), weights(mode="h", coupling=None))
    torch.testing.assert_close(weights(mode="softmax", beta=0.7), (0.7 * scores).softmax(-1))
    without_fields = boltzmann_attention(
        0 * query, key, value, coupling=W, return_weights=True, is_causal=True
    )
    torch.testing.assert_close(weights(mode="J", is_causal=True), without_fields[1])
    # A float mask is a field in every mode.
    bias = torch.randn(5, 6, dtype=torch.float64)
    biased = boltzmann_attention(
        0 * query, key, value, coupling=W, return_weights=True, attn_mask=bias
    )
    torch.testing.assert_close(weights(mode="J", attn_mask=bias), biased[1])


def test_beta_may_be_a_tensor():
    query, key, value = qkv(2, dtype=torch.float64)
    W = torch.randn(6, 6, dtype=torch.float64)
    for mode in ("h+J", "h", "J", "softmax"):
        number = boltzmann_attention(query, key, value, coupling=W, beta=0.7, mode=mode)
        tensor = boltzmann_attention(
            query, key, value, coupling=W, beta=torch.tensor(0.7, dtype=torch.float64), mode=mode
        )
        torch.testing.assert_close(number, tensor)


# --- torch's scaled_dot_product_attention


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


# --- masks


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


# --- range and dtype


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


# --- shapes


@settings(max_examples=30, deadline=None)
@given(
    lead=st.lists(st.integers(0, 2), max_size=3).map(tuple),
    queries=st.integers(0, 3),
    keys=st.integers(1, 4),
    own_couplings=st.integers(0, 3),
    is_causal=st.booleans(),
)
def test_any_leading_axes(lead, queries, keys, own_couplings, is_causal):
    query, key, value = qkv(*lead, queries=queries, keys=keys)
    W = torch.randn(*lead[max(0, len(lead) - own_couplings) :], keys, keys, requires_grad=True)
    output = boltzmann_attention(query, key, value, coupling=W, is_causal=is_causal)
    assert output.shape == (*lead, queries, 4)
    assert output.isfinite().all()
    output.sum().backward()
    assert W.grad.shape == W.shape


def test_a_problem_does_not_depend_on_its_neighbours():
    query, key, value = qkv(4, 3)
    W = torch.randn(3, 6, 6)
    whole = boltzmann_attention(query, key, value, coupling=W)
    part = boltzmann_attention(query[2], key[2], value[2], coupling=W)
    torch.testing.assert_close(whole[2], part)


# --- seeds


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


# --- what is refused


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"coupling": torch.zeros(5, 5)}, ValueError, r"coupling .* with 6 keys.*\(5, 5\)"),
        ({"coupling": torch.zeros(6)}, ValueError, "coupling must have shape"),
        ({"coupling": torch.zeros(4, 6, 6)}, ValueError, "leading axes"),
        ({"coupling": torch.zeros(2, 2, 3, 6, 6)}, ValueError, "leading axes"),
        ({"coupling": None}, ValueError, "coupling is None"),
        ({"coupling": torch.full((6, 6), torch.nan)}, ValueError, r"J must be finite"),
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


# --- the module


def test_module_is_its_parts():
    torch.manual_seed(0)
    layer = BoltzmannAttention(8, 2, 6, coupling_std=0.5)
    x = torch.randn(3, 4, 8)
    output, weights = layer(x, is_causal=True, need_weights=True)
    assert output.shape == (3, 4, 8)
    assert weights.shape == (3, 2, 4, 4)
    heads = (
        projection(x).reshape(3, 4, 2, 4).transpose(1, 2)
        for projection in (layer.query_projection, layer.key_projection, layer.value_projection)
    )
    attended = boltzmann_attention(*heads, coupling=layer.coupling[:, :4, :4], is_causal=True)
    expected = layer.output_projection(attended.transpose(1, 2).reshape(3, 4, 8))
    torch.testing.assert_close(output, expected)


def test_module_in_softmax_mode_is_torch():
    torch.manual_seed(0)
    ours = BoltzmannAttention(8, 2, 6, mode="softmax")
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    projections = (ours.query_projection, ours.key_projection, ours.value_projection)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        theirs.out_proj.load_state_dict(ours.output_projection.state_dict())
    x, memory = torch.randn(3, 4, 8), torch.randn(3, 6, 8)
    padding = torch.tensor([[False] * 6, [False] * 5 + [True], [False] * 2 + [True] * 4])
    output, _ = theirs(x, memory, memory, key_padding_mask=padding)
    torch.testing.assert_close(ours(x, key=memory, key_padding_mask=padding), output)


@pytest.mark.parametrize("mask", ["none", "bool", "float"])
def test_module_masks(mask):
    torch.manual_seed(0)
    layer = BoltzmannAttention(8, 2, 6, coupling_std=0.5)
    x = torch.randn(3, 6, 8)
    padding = torch.zeros(3, 6, dtype=torch.bool)
    padding[1, 4:] = True
    keep = torch.ones(6, 6, dtype=torch.bool).tril()
    floats = torch.zeros(6, 6).masked_fill(~keep, -torch.inf)
    attn_mask = {"none": None, "bool": keep, "float": floats}[mask]
    padded = layer(x, attn_mask=attn_mask, key_padding_mask=padding, is_causal=mask == "none")
    alone = layer(x[1, :4], is_causal=True)  # without a batch axis
    torch.testing.assert_close(padded[1, :4], alone)
    torch.testing.assert_close(padded[0], layer(x[0], is_causal=True))


def test_module_couplings():
    assert (BoltzmannAttention(4, 2, 5).coupling == 0).all()
    torch.manual_seed(0)
    J = BoltzmannAttention(4, 2, 100, coupling_std=0.5).coupling_matrix()
    assert torch.equal(J, J.mT)
    assert (J.diagonal(dim1=-2, dim2=-1) == 0).all()
    pairs = J[:, *torch.triu_indices(100, 100, 1)]
    assert pairs.std().item() == pytest.approx(0.5, abs=5 * 0.5 / (2 * pairs.numel()) ** 0.5)


def test_module_can_be_copied_saved_and_pickled():
    layer = BoltzmannAttention(8, 2, 6, sampler=Drawn(num_reads=50), dtype=torch.float64)
    x = torch.randn(3, 6, 8, dtype=torch.float64)
    fresh = BoltzmannAttention(8, 2, 6, sampler=Drawn(num_reads=50), dtype=torch.float64)
    fresh.load_state_dict(layer.state_dict())
    torch.manual_seed(1)
    expected = layer(x)
    assert expected.dtype == torch.float64
    for copy in (deepcopy(layer), pickle.loads(pickle.dumps(layer)), fresh):
        torch.manual_seed(1)
        torch.testing.assert_close(copy(x), expected)


def test_module_drops_out_in_training_only():
    layer = BoltzmannAttention(8, 2, 6, dropout=0.5)
    x = torch.randn(3, 6, 8)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_module_shows_its_options():
    shown = repr(BoltzmannAttention(8, 2, 6, sampler="exact", beta=0.5))
    for part in ("num_heads=2", "max_length=6", "mode='h+J'", "Exact(", "beta=0.5"):
        assert part in shown


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((8, 3, 6), {}, "multiple of num_heads"),
        ((8, 2, 0), {}, "max_length must be at least 1"),
        ((8, 2, 6), {"mode": "h-J"}, "mode must be one of"),
        ((8, 2, 6), {"gradient": "corelation"}, "did you mean 'correlation'"),
        ((8, 2, 6), {"sampler": "exakt"}, "did you mean 'exact'"),
    ],
)
def test_module_refuses(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        BoltzmannAttention(*arguments, **options)


def test_module_refuses_what_is_too_long_or_not_a_mask():
    layer = BoltzmannAttention(8, 2, 6)
    with pytest.raises(ValueError, match=r"7 keys.*max_length = 6"):
        layer(torch.randn(1, 7, 8))
    with pytest.raises(TypeError, match="key_padding_mask must be bool"):
        layer(torch.randn(1, 3, 8), key_padding_mask=torch.zeros(1, 3))


def test_an_empty_batch_goes_through_the_module() -> None:
    layer = BoltzmannAttention(8, 2, 4)
    assert layer(torch.randn(0, 3, 8)).shape == (0, 3, 8)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # torch's own
def test_forward_mode_is_refused_where_it_would_be_dropped() -> None:
    from torch.autograd import forward_ad

    query, key, value = torch.randn(3, 1, 4, 2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(query, torch.ones_like(query))
        with pytest.raises(ValueError, match="no forward-mode derivatives"):
            boltzmann_attention(dual, key, value, coupling=torch.zeros(4, 4), sampler="sa")
