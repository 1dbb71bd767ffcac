"""Derivatives of mean-field solutions in PyTorch.

This file is loaded when a sampler has met a tensor, so PyTorch is there already.

With D = 1 - m^2 and the symmetric B = df/dm, a solution of m = tanh f(m; p) moves with its
parameters as dm = R (df/dp) dp, where R = (1/D - B)^-1 (implicit function theorem). So a gradient
g arriving at m becomes v = R g at the field, and goes on to the parameters as through f with m
held fixed. v is itself the fixed point of v = D (g + B v), hence differentiable in the same way,
and so on to any order.
"""

from typing import Any

import torch
from torch import Tensor

from isingsample._core.autograd import pull_through
from isingsample.samplers.mean_field.equation import Equation


def implicit(equation: Equation, m: Tensor, h: Tensor, *couplings: Tensor) -> Tensor:
    """A solution m that was found without autograd, as a function of its parameters.

    Args:
        equation: what m solves.
        m: (groups, queries, n).
        h: (groups, queries, n).
        couplings: J, and K where there is any, as the equation has them.

    Returns:
        m, differentiable in h and couplings to any order.
    """
    solution: Tensor = _Solution.apply(equation, m, h, *couplings)  # type: ignore[no-untyped-call]
    return solution


class _Solution(torch.autograd.Function):
    """m(h, J, K)."""

    @staticmethod
    def forward(ctx: Any, equation: Equation, m: Tensor, *parameters: Tensor) -> Tensor:
        solution = m.clone()
        ctx.equation = equation
        ctx.save_for_backward(solution, *parameters)
        return solution

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        m, h, *couplings = ctx.saved_tensors
        with torch.autocast(g.device.type, enabled=False):
            v = _Response.apply(ctx.equation, g, m, *couplings)  # type: ignore[no-untyped-call]
            return (
                None,
                None,
                *pull_through(lambda *p: ctx.equation.field(m, *p), (h, *couplings), v),
            )


class _Response(torch.autograd.Function):
    """v = R g, as a function of g, m, J and K."""

    @staticmethod
    def forward(ctx: Any, equation: Equation, g: Tensor, m: Tensor, *couplings: Tensor) -> Tensor:
        v: Tensor = equation.response(g, m, *couplings)
        ctx.equation = equation
        ctx.save_for_backward(v, g, m, *couplings)
        return v

    @staticmethod
    def backward(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:
        equation = ctx.equation
        v, *inputs = ctx.saved_tensors
        _, m, *couplings = inputs

        def step(g: Tensor, m: Tensor, *couplings: Tensor) -> Tensor:
            moved: Tensor = (1 - m * m) * (g + equation.bend(v, m, *couplings))
            return moved

        with torch.autocast(w.device.type, enabled=False):
            # What arrives at the step is y = w + B D y: with u = D y, y = w + B u and u = R w.
            u = _Response.apply(equation, w, m, *couplings)  # type: ignore[no-untyped-call]
            return None, *pull_through(step, inputs, w + equation.bend(u, m, *couplings))
