"""Our own engine against Qiskit Aer's, and its gradient."""

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_bridge import boltzmann_attention
from isingsample import DQA, IsingProblem, Schedule, TooLargeError
from isingsample._core.arrays import to_numpy
from isingsample._core.states import spin_table
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.engines import amplitudes, statevector
from support import fixtures
from support.dqa_cases import ASYM3, TROT3_OPTIONS
from support.strategies import symmetric

# Circuits of a few steps are far from Boltzmann, and say so; here they are compared.
pytestmark = pytest.mark.filterwarnings("ignore::isingsample.errors.StrongFieldWarning")

CURVED = Schedule(lambda s: 1.2 - s**2, lambda s: 0.1 + s)


def a_batch(n: int, *, batch: tuple[int, int] = (2, 3), three_body: bool = False) -> IsingProblem:
    rng = np.random.default_rng(0)
    K = 0.3 * symmetric(rng, (), n, 3) if three_body else None
    h, J = rng.normal(0, 0.6, (*batch, n)), 0.4 * symmetric(rng, (batch[0], 1), n, 2)
    return IsingProblem(h, J, K)


def in_torch(problem: IsingProblem, dtype: torch.dtype, **options: Any) -> IsingProblem:
    arrays = (problem.h, problem.J, problem.K)
    return IsingProblem(
        *(None if a is None else torch.tensor(a, dtype=dtype, **options) for a in arrays)
    )


# --- the same circuit ----------------------------------------------------------------------------


@settings(max_examples=20)
@given(
    batch=st.sampled_from([(2, 3), (1, 1)]),
    num_spins=st.integers(1, 9),
    order=st.sampled_from([1, 2]),
    schedule=st.sampled_from(["linear", "trained", CURVED]),
    three_body=st.booleans(),
    steps=st.sampled_from([1, 2, 3, 130]),
    library=st.sampled_from(["numpy", "torch"]),
)
def test_agrees_with_aer(
    batch: tuple[int, int],
    num_spins: int,
    order: int,
    schedule: Any,
    three_body: bool,
    steps: int,
    library: str,
) -> None:
    problem = a_batch(num_spins, batch=batch, three_body=three_body)
    options: dict[str, Any] = {"trotter_order": order, "schedule": schedule, "num_steps": steps}
    expected = DQA(**options).sample(problem, beta=0.8)
    ours = DQA(**options, engine="statevector")
    for dtype, tolerance in (("float64", 1e-12), ("float32", 3e-5)):
        if library == "numpy":
            arrays = (problem.h, problem.J, problem.K)
            given_problem = IsingProblem(*(None if a is None else a.astype(dtype) for a in arrays))
        else:
            given_problem = in_torch(problem, getattr(torch, dtype))
        found = ours.sample(given_problem, beta=0.8)
        for name in ("magnetization", "probability", "correlation"):
            array = getattr(found, name)
            assert str(array.dtype).removeprefix("torch.") == dtype
            np.testing.assert_allclose(to_numpy(array), getattr(expected, name), atol=tolerance)


def test_reads_are_those_of_aer() -> None:
    problem = a_batch(5)
    expected = DQA(num_reads=200).sample(problem, seed=4)
    ours = DQA(num_reads=200, engine="statevector")
    np.testing.assert_array_equal(ours.sample(problem, seed=4).samples, expected.samples)
    tensors = ours.sample(in_torch(problem, torch.float64), seed=4)
    assert tensors.samples.dtype == torch.int8
    assert tensors.magnetization.dtype == tensors.correlation.dtype == torch.float64
    np.testing.assert_array_equal(tensors.samples, expected.samples)
    np.testing.assert_allclose(tensors.correlation, expected.correlation)


def test_reads_do_not_depend_on_the_batch_in_single_precision_either() -> None:
    h = a_batch(6).h.reshape(6, 6).astype(np.float32)
    ours = DQA(num_reads=5000, engine="statevector")
    whole = ours.sample(IsingProblem(h), seed=4).samples
    for size in (1, 2, 5):
        np.testing.assert_array_equal(
            ours.sample(IsingProblem(h[:size]), seed=4).samples, whole[:size]
        )


def test_precision_can_be_chosen() -> None:
    problem = a_batch(6)
    exact = DQA(engine="statevector").sample(problem).magnetization
    single = DQA(engine="statevector", precision="single").sample(problem).magnetization
    assert single.dtype == np.float64
    assert 1e-9 < abs(single - exact).max() < 3e-5
    narrow = IsingProblem(problem.h.astype(np.float32), problem.J.astype(np.float32))
    double = DQA(engine="statevector", precision="double").sample(narrow).magnetization
    assert double.dtype == np.float32
    np.testing.assert_allclose(double, exact, atol=1e-6)


def test_chunks_and_masks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = a_batch(5, three_body=True)
    present = np.arange(5) < np.array([[5, 3, 0], [2, 5, 1]])[..., None]
    masked = IsingProblem(problem.h, problem.J, problem.K, present)
    expected = DQA(num_steps=30).sample(masked).magnetization
    ours = DQA(num_steps=30, engine="statevector")
    np.testing.assert_allclose(ours.sample(masked).magnetization, expected, atol=1e-12)
    monkeypatch.setattr(statevector, "_CHUNK_ENTRIES", 64)
    np.testing.assert_allclose(ours.sample(masked).magnetization, expected, atol=1e-12)


def test_many_steps_are_one_run_or_many() -> None:
    anneal = Anneal(5.0, 200, 1, "linear")
    assert [length for _, length in amplitudes.runs(anneal.problem_angles, 64)] == [64] * 3 + [8]
    curved = Anneal(5.0, 7, 1, CURVED.power(2)).problem_angles
    assert [length for _, length in amplitudes.runs(curved, 64)] == [2, 2, 2, 1]
    options: dict[str, Any] = {"num_steps": 300, "trotter_order": 2, "schedule": "trained"}
    expected, found = (DQA(**options, engine=e).sample(ASYM3) for e in ("aer", "statevector"))
    np.testing.assert_allclose(found.magnetization, expected.magnetization, atol=1e-12)


def test_twenty_spins_and_no_more() -> None:
    rng = np.random.default_rng(0)
    problem = IsingProblem(rng.normal(0, 0.5, 20))
    quick = DQA(num_steps=2, engine="statevector", precision="single")
    alone = quick.sample(IsingProblem(problem.h[:, None])).magnetization[:, 0]
    np.testing.assert_allclose(quick.sample(problem).magnetization, alone, atol=1e-4)
    with pytest.raises(TooLargeError, match=r"21 spins .* max_spins=20"):
        quick.sample(IsingProblem(np.zeros(21)))
    with pytest.raises(TooLargeError, match="128 TiB"):
        DQA(engine="statevector", max_spins=50).sample(IsingProblem(np.zeros(40)))


# --- gradients -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("schedule", ["linear", CURVED])
def test_gradient_is_that_of_the_anneal(order: int, schedule: Any) -> None:
    problem = in_torch(a_batch(3, three_body=True), torch.float64, requires_grad=True)
    anneal = DQA(num_steps=9, trotter_order=order, schedule=schedule, engine="statevector")
    beta = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)

    def moments(h: Any, J: Any, K: Any, beta: Any) -> tuple[torch.Tensor, ...]:
        result = anneal.sample(IsingProblem(h, symmetrised(J), triples(K)), beta=beta)
        return result.magnetization, result.probability, result.correlation

    free_J = torch.randn(2, 1, 3, 3, dtype=torch.float64, requires_grad=True)
    free_K = torch.randn((), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(moments, (problem.h, free_J, free_K, beta))


@settings(max_examples=6, deadline=None)
@given(num_spins=st.integers(1, 5), queries=st.integers(1, 2), steps=st.integers(1, 3))
def test_gradient_by_the_angles_of_each_step(num_spins: int, queries: int, steps: int) -> None:
    torch.manual_seed(0)
    sizes = [(2**num_spins, queries), (steps,), (steps,)]
    given_ = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes]
    assert torch.autograd.gradcheck(statevector.probabilities_after, given_)
    found = statevector.probabilities_after(*given_)
    arrays = [tensor.numpy(force=True) for tensor in given_]
    np.testing.assert_allclose(
        to_numpy(found.detach()), statevector.probabilities_after(*arrays), atol=1e-12
    )
    (only,) = torch.autograd.grad(found[0, 0], given_[1:2])
    constant = [given_[0].detach(), given_[1], given_[2].detach()]
    (alone,) = torch.autograd.grad(statevector.probabilities_after(*constant)[0, 0], constant[1:2])
    torch.testing.assert_close(alone, only)


def symmetrised(J: torch.Tensor) -> torch.Tensor:
    return (J + J.mT) / 2 * (1 - torch.eye(J.shape[-1], dtype=J.dtype))


def triples(number: torch.Tensor) -> torch.Tensor:
    return number * torch.tensor(fixtures.three_body(3, {(0, 1, 2): 1.0}))


def test_gradient_is_not_the_covariance() -> None:
    """Of samples that are not Boltzmann: known numbers for the short anneal."""
    problem = in_torch(ASYM3, torch.float64, requires_grad=True)
    result = DQA(**TROT3_OPTIONS, engine="statevector").sample(problem)
    (grad,) = torch.autograd.grad(result.magnetization[0], problem.h, retain_graph=True)
    assert grad[1].item() == pytest.approx(0.0322, abs=6e-5)
    m = result.magnetization.detach()
    assert (result.correlation[0, 1] - m[0] * m[1]).item() == pytest.approx(0.2119, abs=6e-5)


def test_gradients_that_memory_does_not_hold_are_refused() -> None:
    h = torch.zeros(2**20, 20, dtype=torch.float32)
    many = IsingProblem(h.requires_grad_())
    anneal = DQA(engine="statevector")
    with pytest.raises(
        TooLargeError, match=r"all 1048576 queries, for their gradients, .* 128 TiB"
    ):
        anneal.sample(many)
    few = IsingProblem(h[:1, :5])
    assert anneal.sample(few).magnetization.requires_grad


def test_second_derivatives_are_refused() -> None:
    problem = in_torch(ASYM3, torch.float64, requires_grad=True)
    up = DQA(**TROT3_OPTIONS, engine="statevector").sample(problem).probability
    (grad,) = torch.autograd.grad(up.sum(), problem.h, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiated once, not twice"):
        grad.sum().backward()


def test_what_is_differentiable_depends_on_the_options() -> None:
    assert DQA(engine="statevector").differentiable
    assert not DQA(engine="statevector").runs_on_host
    for sampler in (DQA(), DQA(engine="aer"), DQA(engine="statevector", num_reads=5)):
        assert not sampler.differentiable


def test_attention_differentiates_through_the_anneal() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 1, 4, 8, dtype=torch.float64, requires_grad=True) for _ in range(3))
    coupling = (0.1 * torch.randn(4, 4, dtype=torch.float64)).requires_grad_()
    anneal = DQA(num_steps=20, engine="statevector")

    def attend(coupling: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = boltzmann_attention(
            q, k, v, coupling=coupling, sampler=anneal, gradient="exact", is_causal=True
        )
        return out

    assert torch.autograd.gradcheck(attend, (coupling,))
    attend(coupling).sum().backward()
    assert torch.isfinite(q.grad).all()


# --- distributions -------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["aer", "statevector"])
def test_distribution_gives_the_moments(engine: str) -> None:
    problem = a_batch(4)
    anneal = DQA(num_steps=30, engine=engine)
    p = anneal.distribution(problem, beta=0.9)
    assert p.shape == (2, 3, 16)
    np.testing.assert_allclose(p.sum(axis=-1), 1)
    result = anneal.sample(problem, beta=0.9)
    np.testing.assert_allclose(p @ spin_table(4), result.magnetization, atol=1e-12)
    tensor = anneal.distribution(in_torch(problem, torch.float32))
    assert tensor.dtype == torch.float32
    assert anneal.distribution(IsingProblem(np.zeros((0, 4)))).shape == (0, 16)
    with pytest.raises(ValueError, match="absent spins"):
        anneal.distribution(IsingProblem(np.zeros(2), present=[True, False]))
    with pytest.raises(TooLargeError, match="n = 21"):
        anneal.distribution(IsingProblem(np.zeros(21)))


def test_our_engine_pickles() -> None:
    anneal = DQA(engine="statevector", schedule=Schedule.power(2.0), convention="half")
    assert pickle.loads(pickle.dumps(anneal)) == anneal
