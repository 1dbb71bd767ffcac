from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_bridge import boltzmann_attention, symmetrised
from isingsample import IsingProblem
from isingsample.testing import enumerate_moments
from support.attention_cases import ASYM3_M, asym3, magnetization, qkv, torch, up

pytestmark = pytest.mark.usefixtures("seeded")


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
