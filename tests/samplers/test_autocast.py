"""PyTorch's contexts around a sampler: autocast does not reach it, torch.func is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isingsample import DQA, GaugeSpin, IsingProblem, Sampler, get_sampler
from support import fixtures

torch = pytest.importorskip("torch")

ANNEAL = DQA(num_steps=20, engine="statevector")
SAMPLERS: dict[str, Sampler] = {
    "exact": get_sampler("exact"),
    "exact, reads": get_sampler("exact", num_reads=5),
    "transfer": get_sampler("transfer"),
    "mean_field": get_sampler("mean_field"),
    "gibbs": get_sampler("gibbs", num_reads=5),
    "dqa": ANNEAL,
    "dqa, second order": DQA.preset("boltzmann", engine="statevector"),
    "dqa, reads": DQA(num_steps=20, num_reads=5, engine="statevector"),
    "gauge spin": GaugeSpin(ANNEAL),
}
HALVES = pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])


def a_problem() -> IsingProblem:
    h, J = fixtures.ASYM3.h, fixtures.ASYM3.J
    fields = torch.tensor(np.stack([h, -h, h[::-1]]), dtype=torch.float32, requires_grad=True)
    return IsingProblem(fields, torch.tensor(J, dtype=torch.float32, requires_grad=True))


def figures(sampler: Sampler, problem: IsingProblem) -> list[Any]:
    """All that depends on numbers."""
    result = sampler.sample(problem, seed=0)
    found = [result.magnetization, result.probability]
    if sampler.name != "mean_field":
        found.append(result.correlation)
    if result.samples is not None:
        found += [result.samples, result.energy]
    return found


def gradients(sampler: Sampler, problem: IsingProblem, moment: Any) -> list[Any]:
    """Those of a moment, where it has any."""
    if not sampler.differentiable:
        return []
    return list(torch.autograd.grad(moment[:, 0].sum(), [problem.h, problem.J]))


@HALVES
@pytest.mark.parametrize("name", SAMPLERS)
def test_autocast_does_not_reach_a_sampler(name: str, half: Any) -> None:
    sampler, problem = SAMPLERS[name], a_problem()
    outside = figures(sampler, problem)
    with torch.autocast("cpu", dtype=half):
        inside = figures(sampler, problem)
    # Backward passes belong outside of autocast, as PyTorch's own.
    for figures_ in (inside, outside):
        figures_ += gradients(sampler, problem, figures_[0])
    for found, expected in zip(inside, outside, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


@HALVES
def test_nor_distributions_nor_ground_states(half: Any) -> None:
    asked: list[Callable[[], Any]] = [
        lambda: ANNEAL.distribution(a_problem()),
        lambda: get_sampler("exact").distribution(a_problem()),
        lambda: get_sampler("exact").minimize(a_problem())[1],
        lambda: get_sampler("sa").minimize(a_problem(), seed=0)[1],
    ]
    for figure in asked:
        with torch.autocast("cpu", dtype=half):
            found = figure()
        torch.testing.assert_close(found, figure(), rtol=0, atol=0)


@pytest.mark.parametrize("name", ["exact", "gibbs", "dqa"])
@pytest.mark.parametrize("transform", [torch.func.vmap, torch.func.grad, torch.func.jacrev])
def test_transforms_are_refused_with_what_to_do(name: str, transform: Any) -> None:
    h = torch.tensor(fixtures.ASYM3.h)[None]

    def moment(h: Any) -> Any:
        return SAMPLERS[name].sample(IsingProblem(h), seed=0).magnetization.sum()

    with pytest.raises(RuntimeError, match=r"torch.func's transforms.*leading axes"):
        transform(moment)(h)
