"""Derivatives of mean-field solutions in PyTorch: the only file of the package that imports it.

It is loaded when a sampler has met a tensor, so PyTorch is there already.

With D = 1 - m^2 and B the symmetric matrix df/dm, a solution m = tanh f(m; p) moves with its
parameters as dm = R (df/dp) dp, where R = (1/D - B)^-1. So a gradient g arriving at m becomes
v = R g at the field, and passes on to the parameters as through f alone. v itself is the fixed
point of v = D (g + B v), hence differentiable in the same way, and so on to any order.
"""

from typing import Any, Protocol

import torch
from torch import Tensor


class Equation(Protocol):
    """m = tanh field(m), as `isingsample.samplers.mean_field.MeanField` has it."""

    def field(self, m: Tensor, h: Tensor, J: Tensor, K: Tensor | None = None) -> Tensor:
        """f(m; h, J, K)."""

    def bend(self, v: Tensor, m: Tensor, J: Tensor, K: Tensor | None = None) -> Tensor:
        """B v."""

    def response(self, g: Tensor, m: Tensor, *couplings: Tensor) -> Tensor:
        """R g."""


def implicit(equation: Equation, m: Tensor, h: Tensor, *couplings: Tensor) -> Tensor:
    """A solution m, found without autograd, as a function of its parameters.

    Args:
        equation: what m solves.
        m: (groups, queries, n).
        h: (groups, queries, n).
        couplings: J (groups, n, n), and K (groups, n(n-1)/2, n) where there is any.

    Returns:
        m, differentiable in h and couplings to any order.
    """
    solution: Tensor = _Solution.apply(equation, m, h, *couplings)  # type: ignore[no-untyped-call]
    return solution


class _Solution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, equation: Equation, m: Tensor, *parameters: Tensor) -> Tensor:
        solution = m.clone()
        ctx.equation = equation
        ctx.save_for_backward(solution, *parameters)
        return solution

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        m, *parameters = ctx.saved_tensors
        _, *couplings = parameters
        with torch.autocast(g.device.type, enabled=False):
            v = _Response.apply(ctx.equation, g, m, *couplings)  # type: ignore[no-untyped-call]
            _, pull = torch.func.vjp(lambda *p: ctx.equation.field(m, *p), *parameters)
            return None, None, *pull(v)


class _Response(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, equation: Equation, g: Tensor, m: Tensor, *couplings: Tensor) -> Tensor:
        v = equation.response(g, m, *couplings)
        ctx.equation = equation
        ctx.save_for_backward(v, g, m, *couplings)
        return v

    @staticmethod
    def backward(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:
        v, g, m, *couplings = ctx.saved_tensors
        equation = ctx.equation

        def step(g: Tensor, m: Tensor, *couplings: Tensor) -> Tensor:
            return (1 - m * m) * (g + equation.bend(v, m, *couplings))

        with torch.autocast(w.device.type, enabled=False):
            # The gradient at the step is y = w + B D y; with u = D y that is R once more.
            u = _Response.apply(equation, w, m, *couplings)  # type: ignore[no-untyped-call]
            y = w + equation.bend(u, m, *couplings)
            _, pull = torch.func.vjp(step, g, m, *couplings)
            return None, *pull(y)
