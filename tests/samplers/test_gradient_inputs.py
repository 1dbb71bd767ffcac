"""First and second derivatives, whichever of a problem's inputs require them.

Frozen couplings, frozen scores or a learned beta alone are ordinary: the others are constants
then, and a derivative that does not exist must not be asked for on the way.
"""

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from isingsample import Exact, IsingProblem, MeanField, Transfer
from support.strategies import symmetric

torch = pytest.importorskip("torch")
functional = torch.autograd.functional

SAMPLERS = {
    "exact": Exact(),
    "transfer": Transfer(reach=2),
    "mean_field": MeanField(tolerance=1e-13, damping=0.1),
    "tap": MeanField(equation="tap", tolerance=1e-13, damping=0.1),
}
# Which queries have which spins: all of them, or causal prefixes, which share tables.
MASKS = {"whole": None, "causal": np.tri(3, dtype=bool)}
INPUTS = ("h", "J", "beta")


def free_inputs(names: tuple[str, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    values = {
        "h": rng.normal(size=(3, 3)),
        "J": 0.2 * symmetric(rng, (), 3, 2),
        "beta": np.asarray(0.8),
        "K": 0.2 * symmetric(rng, (), 3, 3),
    }
    return {name: torch.tensor(values[name]) for name in names}


def moments_of(
    sampler: Any, mask: Any, inputs: dict[str, Any], learned: tuple[str, ...]
) -> Callable[..., tuple[Any, ...]]:
    """The moments as a function of the learned inputs alone."""

    def moments(*values: Any) -> tuple[Any, ...]:
        given = {**inputs, **dict(zip(learned, values, strict=True))}
        J = 0.5 * (given["J"] + given["J"].mT) * (1 - torch.eye(3))
        K = given.get("K")
        if K is not None:  # symmetric perturbations alone: the mean of all orders
            orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
            K = sum(K.permute(order) for order in orders) / 6 * (inputs["K"] != 0)
        problem = IsingProblem(given["h"], J, K, present=mask)
        result = sampler.sample(problem, beta=given["beta"])
        found = (result.magnetization, result.probability, result.log_partition)
        return tuple(moment for moment in found if moment is not None)

    return moments


def subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [chosen for size in range(1, len(names) + 1) for chosen in combinations(names, size)]


CASES = [
    pytest.param(
        SAMPLERS[name], MASKS[mask], INPUTS, learned, id=f"{name}-{mask}-{'+'.join(learned)}"
    )
    for name, mask, learned in product(SAMPLERS, MASKS, subsets(INPUTS))
    if mask == "whole" or name in ("exact", "transfer")
] + [
    pytest.param(SAMPLERS[name], None, (*INPUTS, "K"), learned, id=f"{name}-K-{'+'.join(learned)}")
    for name, learned in product(("exact", "transfer", "mean_field"), [("h",), ("J",), ("K",)])
]


@pytest.mark.parametrize(("sampler", "mask", "names", "learned"), CASES)
def test_every_set_of_learned_inputs(
    sampler: Any, mask: Any, names: tuple[str, ...], learned: tuple[str, ...]
) -> None:
    inputs = free_inputs(names)
    moments = moments_of(sampler, mask, inputs, learned)
    leaves = [inputs[name].clone().requires_grad_() for name in learned]
    # fast_mode: one random direction, in which every derivative counts.
    assert torch.autograd.gradcheck(moments, leaves, fast_mode=True)
    assert torch.autograd.gradgradcheck(moments, leaves, fast_mode=True, atol=1e-4)


def test_second_derivative_of_a_single_spin() -> None:
    """d2 tanh(h) / dh2 = -2 m (1 - m^2), the couplings being constants."""
    h = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    for sampler in SAMPLERS.values():
        m = sampler.sample(IsingProblem(h, torch.zeros(1, 1, dtype=torch.float64))).magnetization
        (slope,) = torch.autograd.grad(m.sum(), h, create_graph=True)
        (bend,) = torch.autograd.grad(slope.sum(), h)
        np.testing.assert_allclose(bend, -0.726861981384, rtol=1e-10)


@pytest.mark.parametrize("learned", ["h", "J"])
@pytest.mark.parametrize("name", ["exact", "transfer"])
def test_hessians_of_log_partition_are_covariances(name: str, learned: str) -> None:
    """d2 ln Z / dh2 is the covariance of the spins, and half of that of products with J."""
    inputs = free_inputs(INPUTS)
    inputs["h"] = inputs["h"][0]
    moments = moments_of(SAMPLERS[name], None, inputs | {"beta": 1.0}, (learned,))

    def log_partition(x: Any) -> Any:
        return moments(x)[2]

    hessian = functional.hessian(log_partition, inputs[learned])
    direction = torch.randn(inputs[learned].shape, dtype=torch.float64)
    product = functional.hvp(log_partition, inputs[learned], direction)[1]
    flat = hessian.reshape(direction.numel(), -1) @ direction.flatten()
    torch.testing.assert_close(product.flatten(), flat)
    if learned == "h":
        result = SAMPLERS[name].sample(IsingProblem(inputs["h"], inputs["J"]))
        m = result.magnetization
        torch.testing.assert_close(hessian, result.correlation - m[:, None] * m)


def test_couplings_computed_from_the_fields_are_counted_once() -> None:
    """A gradient of h flows through J too, where J depends on h: once, in each order."""
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)

    def log_partition(x: Any, sampler: Any) -> Any:
        J = torch.outer(x, x) * (1 - torch.eye(3))
        return sampler.sample(IsingProblem(x, J)).log_partition

    for sampler in (Exact(), Transfer()):
        assert torch.autograd.gradgradcheck(lambda x, s=sampler: log_partition(x, s), (x,))
