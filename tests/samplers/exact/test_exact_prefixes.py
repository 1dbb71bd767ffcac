"""Queries that have their first few spins alone, as causal masks leave them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isingsample import Exact, IsingProblem
from isingsample._core.blocks import Block
from isingsample._core.prefix_blocks import PrefixBlock, prefixes
from isingsample.samplers.exact import prefix_moments
from isingsample.testing import enumerate_moments
from support.checks import MOMENTS, assert_exact, rounding

torch = pytest.importorskip("torch")


def problem(lengths, num_spins, groups=1, seed=0, scale=0.5, dtype=np.float64):
    """A batch (groups, queries), each group with couplings of its own."""
    rng = np.random.default_rng(seed)
    h = scale * rng.normal(size=(groups, len(lengths), num_spins))
    J = scale * rng.normal(size=(groups, 1, num_spins, num_spins))
    J = np.triu(J, 1) + np.swapaxes(np.triu(J, 1), -2, -1)
    present = np.arange(num_spins) < np.asarray(lengths)[:, None]
    return IsingProblem(h.astype(dtype), J.astype(dtype), present=present)


def leaves(given_problem, dtype=torch.float64):
    return tuple(
        torch.tensor(array, dtype=dtype, requires_grad=True)
        for array in (given_problem.h, given_problem.J)
    )


def moments_of(present, beta=1.0):
    """Magnetization, probability and ln Z of h and J, which need not be symmetric."""

    def of(h, J):
        J = torch.triu(J, 1)
        found = Exact().sample(IsingProblem(h, J + J.mT, present=present), beta=beta)
        return found.magnetization, found.probability, found.log_partition

    return of


@given(
    num_spins=st.integers(1, 9),
    groups=st.integers(1, 3),
    data=st.data(),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_moments(num_spins, groups, data, dtype):
    lengths = data.draw(st.lists(st.integers(1, num_spins), min_size=1, max_size=12))
    batch = problem(lengths, num_spins, groups, dtype=dtype)
    whole = prefixes(batch)
    assert (whole is None) == (set(lengths) == {num_spins})
    assert_exact(batch, beta=0.7)
    learned = IsingProblem(*leaves(batch), present=batch.present)
    truth = enumerate_moments(batch, 0.7)
    found = Exact().sample(learned, beta=0.7)
    for name in (*MOMENTS, "entropy"):
        ours = getattr(found, name).detach().numpy()
        expected = getattr(Exact().sample(batch, beta=0.7), name)
        np.testing.assert_allclose(
            ours, expected, rtol=0, atol=rounding(batch, 0.7, with_offset=True)
        )
        if name in MOMENTS:
            tolerance = rounding(batch, 0.7, with_offset=True)
            np.testing.assert_allclose(ours, getattr(truth, name), rtol=0, atol=tolerance)


@pytest.mark.parametrize("lengths", [[1, 2, 3, 4, 5], [5, 5], [3, 1, 4, 1], [2, 2]], ids=str)
@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
def test_gradients(lengths, check):
    batch = problem(lengths, 5)
    assert check(moments_of(batch.present, beta=0.7), leaves(batch))


@pytest.mark.parametrize("lengths", [[1, 2, 3, 4, 5, 6, 7], [7, 7, 7]], ids=str)
def test_gradients_are_those_of_the_formula(lengths, monkeypatch):
    batch = problem(lengths, 7, groups=2)
    h, J = leaves(batch)
    generator = torch.Generator().manual_seed(0)

    def grads():
        moments = moments_of(batch.present)(h, J)
        sizes = [torch.randn(m.shape, generator=generator.manual_seed(1)) for m in moments]
        loss = sum((size * m).sum() for size, m in zip(sizes, moments, strict=True))
        return torch.autograd.grad(loss, (h, J))

    by_hand = grads()
    monkeypatch.setattr(prefix_moments, "MAX_SPINS", 0)
    for ours, expected in zip(by_hand, grads(), strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # torch's own
def test_forward_mode_and_batched_gradients():
    batch = problem([1, 3, 5], 5)
    h, J = leaves(batch)
    rows = torch.autograd.functional.jacobian(lambda h: moments_of(batch.present)(h, J)[0], h)
    batched = torch.autograd.functional.jacobian(
        lambda h: moments_of(batch.present)(h, J)[0], h, vectorize=True
    )
    torch.testing.assert_close(batched, rows)
    with torch.autograd.forward_ad.dual_level():
        tangent = torch.randn_like(h)
        dual = torch.autograd.forward_ad.make_dual(h.detach(), tangent)
        moved = torch.autograd.forward_ad.unpack_dual(moments_of(batch.present)(dual, J)[0])
    torch.testing.assert_close(moved.tangent, torch.einsum("abcdef,def->abc", rows, tangent))


def test_one_solution_serves_two_backward_passes():
    batch = problem([1, 3, 5], 5)
    h, J = leaves(batch)
    loss = sum(moment.square().sum() for moment in moments_of(batch.present)(h, J))
    first = torch.autograd.grad(loss, (h, J), retain_graph=True)
    for ours, again in zip(first, torch.autograd.grad(loss, (h, J)), strict=True):
        assert torch.equal(ours, again)


@pytest.mark.parametrize("scale", [30.0, 1e3])
def test_sums_that_underflow_are_done_again(scale):
    batch = problem([1, 2, 4, 6, 8], 8, scale=scale, dtype=np.float32)
    assert_exact(batch)
    h, J = leaves(batch, torch.float32)
    moments = moments_of(batch.present)(h, J)
    for grad in torch.autograd.grad(sum(m.sum() for m in moments), (h, J)):
        assert grad.isfinite().all()


def test_what_is_no_prefix_goes_its_usual_way():
    h = np.random.default_rng(0).normal(size=(4, 5))
    ends = np.arange(5) < np.array([[1], [2], [5], [5]])
    holes = ends.copy()
    holes[3, 1] = False
    nobody = ends.copy()
    nobody[0] = False
    assert [*map(type, prefixes(IsingProblem(h, present=ends)))] == [PrefixBlock]
    assert [*map(type, prefixes(IsingProblem(h, present=nobody)))] == [PrefixBlock, Block]
    assert_exact(IsingProblem(h, present=nobody))
    for present in (holes, np.ones((4, 5), bool), None):
        assert prefixes(IsingProblem(h, present=present)) is None
        assert_exact(IsingProblem(h, present=present))
    each = np.zeros((4, 5, 5))  # couplings of each query's own, and different lengths
    assert prefixes(IsingProblem(h, each, present=ends)) is None


def test_large_batches_come_in_steps(monkeypatch):
    batch = problem(np.repeat([2, 5, 6], 40), 6, groups=2)
    moments = moments_of(batch.present)
    h, J = leaves(batch)
    whole = torch.autograd.grad(moments(h, J)[0].square().sum(), (h, J))
    monkeypatch.setattr(prefix_moments, "_STEP_ENTRIES", 100)
    for ours, expected in zip(
        torch.autograd.grad(moments(h, J)[0].square().sum(), (h, J)), whole, strict=True
    ):
        torch.testing.assert_close(ours, expected)
