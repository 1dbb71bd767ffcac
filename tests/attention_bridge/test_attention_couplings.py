import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attention_bridge import (
    BandedCouplings,
    BoltzmannAttention,
    Couplings,
    DenseCouplings,
    RelativeCouplings,
    parameter_groups,
    symmetrised,
)
from isingsample import Exact, Transfer
from support.attention_cases import torch

pytestmark = pytest.mark.usefixtures("seeded")


class Decaying(Couplings):
    """J falls off with the distance; one strength for each head."""

    def __init__(self, num_heads):
        super().__init__()
        self.strength = nn.Parameter(torch.full((num_heads, 1, 1), 0.5))

    def forward(self, length):
        place = torch.arange(length)
        return self.strength / (1 + (place[:, None] - place).abs())


# --- the arrays


def entry(couplings, head, places):
    """The coupling of some positions in rising order, straight from the definition of weight."""
    weight, back = couplings.weight[head], [places[-1] - p for p in reversed(places[:-1])]
    if isinstance(couplings, DenseCouplings):
        orders = [weight[order] for order in permutations(places)]
        return sum(orders) / len(orders)
    if back[-1] > couplings.reach:
        return 0.0
    number = back[0] - 1
    if len(back) == 2:
        number += (back[1] - 1) * (back[1] - 2) // 2
    return (
        weight[number] if isinstance(couplings, RelativeCouplings) else weight[number, places[-1]]
    )


@given(
    kind=st.sampled_from([DenseCouplings, BandedCouplings, RelativeCouplings]),
    order=st.sampled_from([2, 3]),
    length=st.integers(1, 6),
    longer=st.integers(0, 2),
    reach=st.integers(1, 7),
    shared=st.booleans(),
)
def test_matrix(kind, order, length, longer, reach, shared):
    sizes = {
        DenseCouplings: (length + longer,),
        BandedCouplings: (length + longer, reach),
        RelativeCouplings: (reach,),
    }[kind]
    couplings = kind(2, *sizes, order=order, shared=shared, init=1.0, dtype=torch.float64)
    found = couplings.matrix(length).detach()
    assert found.shape == (1 if shared else 2, *[length] * order)
    expected = torch.zeros_like(found)
    for head in range(len(found)):
        for places in combinations(range(length), order):
            for indices in permutations(places):
                expected[head, *indices] = entry(couplings, head, places)
    torch.testing.assert_close(found, expected)
    # Of third-party kinds too: nothing but the symmetric part counts.
    torch.testing.assert_close(symmetrised(found, order), found)


@pytest.mark.parametrize("order", [2, 3])
def test_relative_couplings_go_on_at_any_length(order):
    couplings = RelativeCouplings(1, 3, order=order, init=1.0)
    short, long = couplings.matrix(5), couplings.matrix(20)
    assert couplings.max_length is None
    for start in (0, 7, 15):
        at = slice(start, start + 5)
        torch.testing.assert_close(long[(0, *[at] * order)], short[0])


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize(
    "make",
    [
        lambda **options: DenseCouplings(2, 30, **options),
        lambda **options: BandedCouplings(2, 40, 12, **options),
        lambda **options: RelativeCouplings(40, 20, **options),
    ],
)
def test_spread_of_initial_couplings(make, order):
    J = make(order=order, init=0.5).matrix(25).detach()
    values = J[J != 0].round(decimals=5).unique()  # each pair once, or each distance
    tolerance = 5 * 0.5 / math.sqrt(2 * len(values))
    assert values.std().item() == pytest.approx(0.5, abs=tolerance)
    assert (make(order=order).matrix(25) == 0).all()


def test_initial_values_of_ones_own():
    given_J = symmetrised(torch.randn(5, 5))
    dense = DenseCouplings(2, 5, init=given_J)
    torch.testing.assert_close(dense.matrix(5), given_J.expand(2, 5, 5))
    by_distance = torch.tensor([0.3, -0.1])
    banded = BandedCouplings(2, 5, 2, init=by_distance[:, None])
    relative = RelativeCouplings(2, 2, init=by_distance)
    torch.testing.assert_close(banded.matrix(5), relative.matrix(5))
    given_J.zero_()  # what happens to the caller's tensor later does not matter
    dense.reset_parameters()
    assert (dense.weight != 0).any()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: DenseCouplings(2, 0), ValueError, "max_length must be at least 1"),
        (lambda: DenseCouplings(2, 5, order=4), ValueError, "order must be 2, for J, or 3"),
        (lambda: DenseCouplings(2, 5, init=torch.zeros(4, 4)), ValueError, "init must broadcast"),
        (lambda: DenseCouplings(2, 5, init=torch.full((5, 5), torch.nan)), ValueError, r"init\[0"),
        (lambda: DenseCouplings(2, 5, init=-1.0), ValueError, "init must be at least 0"),
        (lambda: DenseCouplings(2, 5, init="zeros"), TypeError, "init must be a number"),
        (lambda: BandedCouplings(2, 5, 0), ValueError, "reach must be at least 1"),
        (lambda: RelativeCouplings(0, 5), ValueError, "num_heads must be at least 1"),
    ],
)
def test_what_does_not_fit_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


# --- in a layer


def moments(layer, x, sampler="auto"):
    """The layer's output by another sampler."""
    layer.sampler = sampler
    return layer(x, need_weights=False)[0]


@pytest.mark.parametrize("three_body", [None, "banded"])
@pytest.mark.parametrize("kind", ["banded", "relative"])
def test_narrow_couplings_are_solved_window_by_window(kind, three_body):
    layer = BoltzmannAttention(
        8,
        2,
        80,
        coupling=kind,
        reach=2,
        coupling_init=0.5,
        three_body=three_body,
        three_body_init=0.5,
        dtype=torch.float64,
    )
    x = torch.randn(1, 10, 8, dtype=torch.float64)
    both = [moments(layer, x, sampler) for sampler in (Exact(), Transfer(reach=2))]
    torch.testing.assert_close(*both)
    long = torch.randn(1, 80, 8, dtype=torch.float64)
    torch.testing.assert_close(moments(layer, long), moments(layer, long, Transfer(reach=2)))
    grads = [torch.autograd.grad(o.square().sum(), layer.coupling.weight)[0] for o in both]
    torch.testing.assert_close(*grads)
    assert (grads[0] != 0).any()


def test_the_solver_suits_the_length():
    layer = BoltzmannAttention(8, 2, 100, coupling="banded", reach=4)
    assert layer._sampler_for(8) == Exact()
    assert layer._sampler_for(100) == Transfer(reach=4)
    wide = BoltzmannAttention(8, 2, 100, coupling="relative")
    assert wide._sampler_for(20) == Exact()
    cube = DenseCouplings(2, 8, order=3)
    mixed = BoltzmannAttention(8, 2, 100, coupling="banded", reach=4, three_body=cube)
    assert mixed._sampler_for(8) == Exact()
    named = BoltzmannAttention(8, 2, 100, coupling="banded", reach=4, sampler="mean_field")
    assert named._sampler_for(8).name == "mean_field"


def test_relative_couplings_beyond_max_length():
    layer = BoltzmannAttention(8, 2, 4, coupling="relative", coupling_init=0.5)
    assert layer(torch.randn(1, 40, 8))[0].shape == (1, 40, 8)
    assert layer.coupling_matrix(9).shape == (2, 9, 9)


def test_couplings_of_ones_own():
    layer = BoltzmannAttention(8, 2, 6, coupling=Decaying(2))
    J = layer.coupling_matrix()
    assert torch.equal(J, J.mT)
    np.testing.assert_allclose(J[0, 0].detach(), [0, 1 / 4, 1 / 6, 1 / 8, 1 / 10, 1 / 12])
    layer(torch.randn(2, 5, 8))[0].square().sum().backward()
    assert (layer.coupling.strength.grad != 0).all()
    layer.reset_parameters()


def test_shared_couplings_are_those_of_each_head():
    J = torch.randn(1, 6, 6)
    shared, each = (
        BoltzmannAttention(8, 2, 6, shared=shared, coupling_init=J) for shared in (True, False)
    )
    each.load_state_dict(shared.state_dict() | {"coupling.weight": J.expand(2, 6, 6)})
    x = torch.randn(2, 6, 8)
    torch.testing.assert_close(shared(x)[0], each(x)[0])
    for layer in (shared, each):
        layer(x)[0].square().sum().backward()
    summed = each.coupling.weight.grad.sum(0, keepdim=True)
    torch.testing.assert_close(shared.coupling.weight.grad, summed)


@pytest.mark.parametrize("kind", ["dense", "banded", "relative"])
def test_no_keys_at_all(kind):
    reach = None if kind == "dense" else 2
    layer = BoltzmannAttention(8, 2, 6, coupling=kind, three_body=kind, reach=reach)
    output, weights = layer(torch.randn(2, 3, 8), torch.randn(2, 0, 8))
    assert (output.shape, weights.shape) == ((2, 3, 8), (2, 3, 0))
    output.sum().backward()
    assert (layer.coupling.weight.grad == 0).all()


# --- learning rates


def test_parameter_groups():
    model = nn.Sequential(
        nn.Linear(8, 8),
        nn.ModuleDict({"attention": BoltzmannAttention(8, 2, 6, three_body="relative")}),
        BoltzmannAttention(8, 2, 6, coupling=Decaying(2)),
    )
    model[0].bias.requires_grad_(False)
    others, couplings = parameter_groups(model, lr=1e-3, coupling_lr=1e-2, weight_decay=0.1)
    attention = model[1]["attention"]
    expected = {attention.coupling.weight, attention.three_body.weight, model[2].coupling.strength}
    assert set(couplings["params"]) == expected
    assert set(others["params"]) == set(model.parameters()) - expected - {model[0].bias}
    assert (others["lr"], others["weight_decay"]) == (1e-3, 0.1)
    assert (couplings["lr"], couplings["weight_decay"]) == (1e-2, 0.0)
    for optimizer in (torch.optim.AdamW, torch.optim.SGD, torch.optim.RMSprop):
        optimizer(parameter_groups(model, lr=1e-3))


def test_parameter_groups_without_couplings():
    (group,) = parameter_groups(nn.Linear(2, 2), lr=1e-3)
    assert len(group["params"]) == 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"lr": "1e-3"}, TypeError, "lr must be a number, not '1e-3'"),
        ({"lr": 1e-3, "coupling_lr": -1.0}, ValueError, "coupling_lr must be at least 0"),
        ({"lr": 1e-3, "weight_decay": math.nan}, ValueError, "weight_decay must be finite"),
    ],
)
def test_rates_that_no_optimiser_would_notice(options, error, message):
    with pytest.raises(error, match=message):
        parameter_groups(nn.Linear(2, 2), **options)
    with pytest.raises(TypeError, match=r"must be a torch\.nn\.Module, not generator"):
        parameter_groups(nn.Linear(2, 2).parameters(), lr=1e-3)


def test_couplings_of_two_layers_may_be_one():
    first, second = (BoltzmannAttention(8, 2, 6) for _ in range(2))
    second.coupling = first.coupling
    groups = parameter_groups(nn.ModuleList([first, second]), lr=torch.tensor(1e-3))
    assert [len(group["params"]) for group in groups] == [16, 1]
    torch.optim.AdamW(groups)


@pytest.mark.parametrize("seed", [54, *range(20)])
def test_triples_are_symmetric_bit_by_bit(seed):
    """What is symmetrised here must never be refused for asymmetry, whatever the rounding."""
    torch.manual_seed(seed)
    K = symmetrised(100 * torch.randn(2, 3, 3, 3) ** 3, 3)
    for order in ((0, 1, 3, 2), (0, 2, 1, 3), (0, 3, 2, 1), (0, 2, 3, 1), (0, 3, 1, 2)):
        assert torch.equal(K, K.permute(order))
    layer = BoltzmannAttention(16, 4, 16, three_body="dense", three_body_init=0.1)
    layer(torch.randn(1, 3, 16))
