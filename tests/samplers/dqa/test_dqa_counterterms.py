"""Calibration to second order: numbers from the steps against differences of probabilities."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isingsample import DQA, IsingProblem, Schedule, distance_to_boltzmann
from isingsample._core.states import spin_table
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.calibration.counterterms import Counterterms, second_order
from support.fixtures import couplings
from support.strategies import symmetric


def ours(**options: Any) -> DQA:
    return DQA(**options, engine="statevector")


def strengths(number: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(0.2, 1.0), min_size=number, max_size=number)


def mixed_difference(anneal: DQA, problem: Any, spins: list[int], step: float = 1e-3) -> float:
    """The derivative, by both of its arguments, of what problem(x, y) gives s_j... in ln P."""
    total = 0.0
    for x, y in product((-1, 1), repeat=2):
        logs = np.log(anneal.distribution(problem(x * step, y * step)))
        total += x * y * (logs @ spin_table(3)[:, spins].prod(axis=1)) / 8
    return total / (4 * step**2)


@settings(max_examples=15, deadline=None)
@given(A=strengths(4), B=strengths(4), steps=st.integers(2, 9), order=st.sampled_from([1, 2]))
def test_second_order_is_that_of_the_probabilities(
    A: list[float], B: list[float], steps: int, order: int
) -> None:
    schedule = Schedule.table(np.linspace(0, 1, 4), A, B)
    options = {"total_time": 2.0, "num_steps": steps, "trotter_order": order}
    anneal = Anneal(**options, schedule=schedule)
    raw = ours(**options, schedule=schedule, calibration="none")

    def chain(x: float, y: float) -> IsingProblem:
        return IsingProblem(np.zeros(3), couplings(3, {(0, 1): x, (1, 2): y}))

    def neighbour(x: float, y: float) -> IsingProblem:
        return IsingProblem([x, 0, 0], couplings(3, {(0, 1): y}))

    turned = np.cumsum(-0.5 * anneal.driver_angles[::-1])[::-1]
    beta_h, beta_J = (-(anneal.problem_angles * np.sin(2 * k * turned)).sum() for k in (1, 2))
    found = second_order(anneal)
    scale = np.abs(anneal.problem_angles).sum() ** 2
    for mine, theirs in (
        (found.h * beta_h * beta_J, mixed_difference(raw, neighbour, [1])),
        (found.J * beta_J**2, mixed_difference(raw, chain, [0, 2])),
    ):
        assert mine == pytest.approx(theirs, abs=1e-5 * scale)


@pytest.mark.parametrize("schedule", ["linear", Schedule.power(2.0)])
def test_what_is_left_is_of_third_order(schedule: Any) -> None:
    rng = np.random.default_rng(0)
    h, J = 0.2 * rng.normal(size=(4, 6)), 0.1 * symmetric(rng, (), 6, 2)
    left = {}
    for terms in (None, "analytic"):
        anneal = ours(num_steps=800, trotter_order=2, schedule=schedule, counterterms=terms)
        whole, half = (
            distance_to_boltzmann(anneal, IsingProblem(x * h, x * J)).total_variation.mean()
            for x in (1.0, 0.5)
        )
        left[terms] = np.log2(whole / half), whole
    assert left[None][0] == pytest.approx(2, abs=0.35)
    assert left["analytic"][0] == pytest.approx(3, abs=0.35)
    assert left["analytic"][1] < left[None][1] / 2


def test_what_is_annealed() -> None:
    rng = np.random.default_rng(1)
    h, J, K = rng.normal(size=(3, 4)), symmetric(rng, (), 4, 2), 0.1 * symmetric(rng, (), 4, 3)
    beta, terms = 0.7, (0.2, -0.1)
    options: dict[str, Any] = {"num_steps": 20, "total_time": 3.0}
    result = ours(**options, counterterms=terms).sample(IsingProblem(h, J, K), beta=beta)
    square = J @ J
    np.fill_diagonal(square, 0)
    changed = IsingProblem(h - 0.2 * beta * h @ J, J + 0.1 * beta * square, K)
    plain = ours(**options).sample(changed, beta=beta)
    np.testing.assert_allclose(result.magnetization, plain.magnetization, atol=1e-12)
    assert result.info["counterterms"] == terms
    assert "counterterms" not in plain.info
    on_aer = DQA(**options, counterterms=terms).sample(IsingProblem(h, J, K), beta=beta)
    np.testing.assert_allclose(on_aer.magnetization, result.magnetization, atol=1e-9)


def test_gradients_pass_through() -> None:
    rng = np.random.default_rng(2)
    h = torch.tensor(0.3 * rng.normal(size=(2, 3)), requires_grad=True)
    strength = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    pattern = torch.tensor(symmetric(rng, (), 3, 2))
    anneal = ours(num_steps=8, total_time=2.0, counterterms=(0.2, 0.1))

    def moments(h: torch.Tensor, strength: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = anneal.sample(IsingProblem(h, strength * pattern)).magnetization
        return found

    assert torch.autograd.gradcheck(moments, (h, strength))


def test_counterterms_are_checked() -> None:
    linear = second_order(Anneal(5.0, 200, 1, "linear"))
    np.testing.assert_allclose(linear, Counterterms(h=-0.391, J=-0.203), atol=0.005)
    huge = IsingProblem(np.zeros(3), couplings(3, {(0, 1): 1e200, (1, 2): 1e200}))
    with pytest.raises(ValueError, match="leaves the range of float64"):
        ours(counterterms=(0.2, 0.1)).sample(huge)
    with pytest.raises(ValueError, match="did you mean 'analytic'"):
        ours(counterterms="analytical")
    with pytest.raises(ValueError, match=r"counterterms\[1\] must be finite"):
        ours(counterterms=(0.1, np.nan))
    with pytest.raises(TypeError, match="a pair of numbers or None"):
        ours(counterterms=(0.1,))
    with pytest.raises(ValueError, match="go with calibration='analytic'"):
        ours(counterterms="analytic", calibration="none")
    with pytest.raises(ValueError, match=r"cannot be calibrated.*to h is 0"):
        ours(counterterms="analytic", schedule=(lambda s: 1 - s, lambda s: 0.0))
