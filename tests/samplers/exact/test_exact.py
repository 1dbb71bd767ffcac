"""Exact against enumeration: shapes, masks, dtypes, scales, both libraries; and its limits."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isingsample import Exact, IsingProblem, TooLargeError
from isingsample._core.arrays import is_torch, to_numpy
from isingsample._core.states import spin_table
from isingsample.samplers.exact import halves
from isingsample.samplers.exact import sampler as exact
from isingsample.samplers.exact.sampler import moments_unchecked
from isingsample.testing import enumerate_moments
from support.checks import assert_exact, rounding
from support.fixtures import ASYM3, KNOWN, PAIR, Known, three_body
from support.strategies import LIBRARIES, in_library, problems, symmetric


@given(problems(), st.sampled_from((0.0, 0.3, 1.0, 2.5)))
def test_moments_are_those_of_enumeration(problem: IsingProblem, beta: float) -> None:
    assert_exact(problem, beta)


@given(problems(scales=(30.0, 1000.0)))
def test_moments_of_strongly_coupled_problems(problem: IsingProblem) -> None:
    assert_exact(problem)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_published_moments(known: Known, library: str) -> None:
    result = Exact().sample(IsingProblem(**in_library(library, {"h": known.h, "J": known.J})))
    np.testing.assert_allclose(result.magnetization, known.magnetization, atol=1e-12)
    np.testing.assert_allclose(result.probability, (known.magnetization + 1) / 2, atol=1e-12)
    np.testing.assert_allclose(result.correlation, known.correlation, atol=1e-12)
    np.testing.assert_allclose(result.log_partition, known.log_partition, atol=1e-11)


@pytest.mark.parametrize("num_spins", [7, 9, 10])
def test_odd_and_even_halves_with_triples(rng: np.random.Generator, num_spins: int) -> None:
    J, K = (0.4 * symmetric(rng, (), num_spins, rank) for rank in (2, 3))
    assert_exact(IsingProblem(rng.normal(size=(2, num_spins)), J, K))


@given(problems(max_spins=5, batches=((), (9,), (3, 4))))
def test_small_chunks_change_nothing(problem: IsingProblem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halves, "CHUNK_ENTRIES", 2**4)
        assert_exact(problem)


def test_caller_arrays_are_not_changed() -> None:
    h, J, K = ASYM3.h.copy(), ASYM3.J.copy(), three_body(3, {(0, 1, 2): 0.3})
    present = np.array([True, True, False])
    before = [array.copy() for array in (h, J, K, present)]
    problem = IsingProblem(h, J, K, present)
    Exact(num_reads=5).sample(problem, beta=0.5)
    Exact().minimize(problem)
    for array, copy in zip((h, J, K, present), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_mask_leaves_the_problem_of_the_other_spins() -> None:
    present = np.array([True, False, True])
    masked = Exact().sample(ASYM3.problem(present=present))
    alone = Exact().sample(IsingProblem(ASYM3.h[present], ASYM3.J[np.ix_(present, present)]))
    np.testing.assert_allclose(masked.magnetization[present], alone.magnetization, rtol=1e-14)
    np.testing.assert_allclose(masked.log_partition, alone.log_partition, rtol=1e-14)
    assert masked.magnetization[1] == masked.probability[1] == 0
    assert not masked.correlation[1].any()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (2, 0), (2, 0, 3), (0, 0)])
def test_nothing_and_next_to_nothing(shape: tuple[int, ...], library: str) -> None:
    problem = IsingProblem(**in_library(library, {"h": np.zeros(shape)}))
    result = Exact(num_reads=4).sample(problem)
    *batch, n = shape
    assert tuple(result.magnetization.shape) == tuple(result.std_error.shape) == shape
    assert tuple(result.correlation.shape) == (*shape, n)
    assert tuple(result.samples.shape) == (*batch, 4, n)
    assert tuple(result.energy.shape) == (*batch, 4)
    np.testing.assert_allclose(result.log_partition, np.full(batch, n * np.log(2)))
    assert tuple(Exact().minimize(problem)[0].shape) == shape
    assert tuple(Exact().distribution(problem).shape) == (*batch, 2**n)


def test_isolated_spins_and_spins_that_occur_in_couplings_only() -> None:
    J = np.zeros((4, 4))
    J[0, 3] = J[3, 0] = 0.7
    result = Exact().sample(IsingProblem([0, 0.5, 0, 0], J))
    np.testing.assert_allclose(result.magnetization, [0, np.tanh(0.5), 0, 0], atol=1e-15)
    np.testing.assert_allclose(result.correlation[0, 3], np.tanh(0.7), rtol=1e-14)


@pytest.mark.parametrize("num_spins", [29, 40, 64, 1500])
def test_too_many_spins_are_refused_at_once(num_spins: int) -> None:
    problem = IsingProblem(np.zeros(num_spins))
    message = rf"exact solution of {num_spins} spins sums over .* of memory, .* are available"
    with pytest.raises(TooLargeError, match=message + ".*limit is max_spins=28"):
        Exact().sample(problem)
    with pytest.raises(TooLargeError, match=f"the distribution of {num_spins} spins"):
        Exact().distribution(problem)


def test_memory_is_looked_at_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "available_memory", lambda: 2.0**26)
    message = r"24 spins sums over .* about .* MiB of memory, where .* and 64 MiB are available"
    with pytest.raises(TooLargeError, match=message):
        Exact().sample(IsingProblem(np.zeros(24)))
    Exact().sample(IsingProblem(np.zeros(16)))  # fits


def test_spins_that_are_absent_cost_nothing() -> None:
    present = np.arange(100) < 3
    h, J = np.zeros(100), np.zeros((100, 100))
    h[:3], J[:3, :3] = ASYM3.h, ASYM3.J
    result = Exact().sample(IsingProblem(h, J, present=present))
    np.testing.assert_allclose(result.magnetization[:3], ASYM3.magnetization, atol=1e-12)


def test_twenty_spins() -> None:
    # A ring has a closed form: Z = (2 cosh J)^n + (2 sinh J)^n.
    n, J = 20, 0.4
    ring = J * (np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0))
    result = Exact().sample(IsingProblem(np.zeros(n), ring))
    t = np.tanh(J)
    neighbours = (t + t ** (n - 1)) / (1 + t**n)
    np.testing.assert_allclose(result.log_partition, n * np.log(2 * np.cosh(J)) + np.log1p(t**n))
    np.testing.assert_allclose(np.diagonal(result.correlation, 1), neighbours)
    np.testing.assert_allclose(result.magnetization, np.zeros(n), atol=1e-12)


@given(problems(max_spins=5, masks=False), st.sampled_from((0.0, 0.7, 2.0)))
def test_distribution_is_boltzmann(problem: IsingProblem, beta: float) -> None:
    states = spin_table(problem.num_spins)
    rank = len(problem.batch_shape)
    energy = to_numpy(problem.energy(states.reshape(*[1] * rank, *states.shape)))
    logs = -beta * energy.astype(float)
    expected = np.exp(logs - logs.max(axis=-1, keepdims=True))
    expected /= expected.sum(axis=-1, keepdims=True)
    found = to_numpy(Exact().distribution(problem, beta=beta))
    np.testing.assert_allclose(found, expected, atol=rounding(problem, beta, with_offset=True))


def enumerated_entropy(problem: IsingProblem, beta: float) -> np.ndarray:
    """-sum P ln P over all states; each has 2**absent copies, which count as one."""
    present = np.ones(problem.num_spins, bool) if problem.present is None else problem.present
    present = np.broadcast_to(present, (*problem.batch_shape, problem.num_spins))
    states = spin_table(problem.num_spins) * present[..., None, :]
    logs = -beta * to_numpy(problem.energy(states)).astype(float)
    logs -= logs.max(axis=-1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=-1, keepdims=True))
    entropy: np.ndarray = -(np.exp(logs) * logs).sum(axis=-1)
    return entropy - (~present).sum(axis=-1) * np.log(2)


@given(problems(), st.sampled_from((0.0, 0.7, 2.0)))
def test_entropy_is_that_of_enumeration(problem: IsingProblem, beta: float) -> None:
    found = Exact().sample(problem, beta=beta).entropy
    assert found.dtype == problem.h.dtype
    assert is_torch(found) == is_torch(problem.h)
    assert tuple(found.shape) == problem.batch_shape
    tolerance = rounding(problem, beta, with_offset=True)
    expected = enumerated_entropy(problem, beta)
    np.testing.assert_allclose(to_numpy(found), expected, rtol=0, atol=tolerance)


def test_entropy_is_log_partition_and_energy(rng: np.random.Generator) -> None:
    J, K = (0.4 * symmetric(rng, (), 9, rank) for rank in (2, 3))
    problem = IsingProblem(rng.normal(size=(3, 9)), J, K, offset=rng.normal(size=3))
    result, beta = Exact().sample(problem, beta=0.8), 0.8
    distribution = Exact().distribution(problem, beta=beta)
    energy = (distribution * problem.energy(spin_table(9)[None])).sum(axis=-1)
    np.testing.assert_allclose(result.entropy, result.log_partition + beta * energy, rtol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_entropy_of_certainty_and_of_none(library: str) -> None:
    fields = {"h": np.array([[0.0] * 4, [1e9, -1e9, 1e9, 1e9]]), "J": np.zeros((4, 4))}
    found = Exact().sample(IsingProblem(**in_library(library, fields))).entropy
    np.testing.assert_allclose(found, [4 * np.log(2), 0], atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_of_entropy(rng: np.random.Generator, masked: bool) -> None:
    torch = pytest.importorskip("torch")
    pairs, triples = (torch.tensor(symmetric(rng, (), 5, rank)) for rank in (2, 3))
    present = np.array([[True, False, True, True, True], [True] * 5]) if masked else None

    def entropy(h: Any, pair: Any, triple: Any, beta: Any) -> Any:
        problem = IsingProblem(h, pair * pairs, triple * triples, present)
        return Exact().sample(problem, beta=beta).entropy

    values = (rng.normal(size=(2, 5)), 0.5, 0.2, 0.7)
    inputs = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]
    assert torch.autograd.gradcheck(entropy, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(entropy, inputs, fast_mode=True)


@pytest.mark.parametrize("size", [100.0, 1e9, 1e30, 3e38])
def test_gradient_of_entropy_is_finite_where_spins_are_pinned(size: float) -> None:
    torch = pytest.importorskip("torch")
    h = torch.tensor([0.0, size, -size, 0.5], requires_grad=True)
    J = torch.tensor(0.3 * (1 - np.eye(4)), dtype=torch.float32).requires_grad_()
    Exact().sample(IsingProblem(h, J)).entropy.backward()
    for gradient in (h.grad, J.grad):
        assert torch.isfinite(gradient).all()
    np.testing.assert_array_equal(h.grad[1:3], [0, 0])


def test_distribution_refuses_absent_spins() -> None:
    with pytest.raises(ValueError, match="distribution of problems with absent spins"):
        Exact().distribution(ASYM3.problem(present=[True, True, False]))


@given(problems(max_spins=5))
def test_minimize_finds_the_lowest_energy(problem: IsingProblem) -> None:
    state, energy = Exact().minimize(problem)
    assert str(state.dtype).removeprefix("torch.") == "int8"
    present = np.ones(problem.num_spins, bool) if problem.present is None else problem.present
    np.testing.assert_array_equal(
        np.abs(to_numpy(state)), np.broadcast_to(present, tuple(state.shape))
    )
    # ln Z at a large beta is -beta times the lowest energy, up to ln 2**n.
    beta = 1000.0
    bound = -enumerate_moments(problem, beta).log_partition / beta
    slack = rounding(problem, with_offset=True) + problem.num_spins * np.log(2) / beta
    np.testing.assert_allclose(to_numpy(energy), bound, rtol=1e-6, atol=slack)


@pytest.mark.parametrize("scale", [0.001, 1000.0])
def test_minimize_follows_the_fields_at_any_scale(rng: np.random.Generator, scale: float) -> None:
    signs = rng.choice([-1, 1], size=(3, 16))
    state, energy = Exact().minimize(IsingProblem(scale * signs))
    np.testing.assert_array_equal(state, signs)
    np.testing.assert_allclose(energy, np.full(3, -16 * scale))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("num_spins", [1, 2, 5, 14])
def test_unchecked_moments_are_the_checked_ones(
    rng: np.random.Generator, num_spins: int, three: bool, library: str, dtype: str
) -> None:
    arrays = {
        "h": rng.normal(size=(2, 3, num_spins)),
        "J": 0.3 * symmetric(rng, (), num_spins, 2),
        "K": 0.1 * symmetric(rng, (), num_spins, 3),
    }
    if not three:
        del arrays["K"]
    fields = in_library(library, {name: array.astype(dtype) for name, array in arrays.items()})
    problem = IsingProblem(**fields)
    result = Exact().sample(problem)
    found = moments_unchecked(**fields)
    expected = (result.magnetization, result.probability, result.log_partition)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == problem.h.dtype
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=rounding(problem))


@pytest.mark.parametrize("num_spins", [5, 14])
def test_unchecked_moments_are_one_graph(rng: np.random.Generator, num_spins: int) -> None:
    torch = pytest.importorskip("torch")
    arrays = (rng.normal(size=(4, num_spins)), 0.3 * symmetric(rng, (), num_spins, 2))
    weights = torch.tensor(rng.normal(size=(4, num_spins)))

    def loss_and_gradients(moments: Any) -> list[Any]:
        inputs = [torch.tensor(array, requires_grad=True) for array in arrays]
        magnetization, probability, log_partition = moments(*inputs)
        loss = (weights * (magnetization + probability.log())).sum() + log_partition.sum()
        return [loss.detach(), *torch.autograd.grad(loss, inputs)]

    torch.compiler.reset()
    whole = torch.compile(moments_unchecked, backend="aot_eager", fullgraph=True)
    for ours, expected in zip(
        loss_and_gradients(whole), loss_and_gradients(moments_unchecked), strict=True
    ):
        torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mapped", [(0, None), (None, 0), (0, 0)])
def test_unchecked_moments_can_be_mapped(
    rng: np.random.Generator, mapped: tuple[int | None, int | None]
) -> None:
    torch = pytest.importorskip("torch")
    h, J = torch.tensor(rng.normal(size=(2, 3, 14))), torch.tensor(symmetric(rng, (2,), 14, 2))
    inputs = [x if axis == 0 else x[0] for x, axis in zip((h, J), mapped, strict=True)]
    found = torch.func.vmap(moments_unchecked, in_dims=mapped)(*inputs)
    for i in range(2):
        each = (x[i] if axis == 0 else x for x, axis in zip(inputs, mapped, strict=True))
        for ours, expected in zip(found, moments_unchecked(*each), strict=True):
            torch.testing.assert_close(ours[i], expected)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_reads": 0}, ValueError, "num_reads must be at least 1, not 0"),
        ({"num_reads": 2.0}, TypeError, "num_reads must be an integer, not 2.0"),
        ({"num_reads": True}, TypeError, "num_reads must be an integer, not True"),
        ({"max_spins": 0}, ValueError, "max_spins must be at least 1"),
        ({"max_memory": 2**28 - 1}, ValueError, "max_memory must be at least 268435456"),
        ({"max_memory": 1e9}, TypeError, "max_memory must be an integer"),
        ({"num_raeds": 3}, TypeError, r"no option 'num_raeds' \(did you mean 'num_reads'\?\)"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Exact(**options)


def test_pair_of_the_other_sign_is_another_problem() -> None:
    mirrored = Exact().sample(IsingProblem(PAIR.h, -PAIR.J)).magnetization
    np.testing.assert_allclose(mirrored, (0.396811, -0.360894), atol=1e-6)
