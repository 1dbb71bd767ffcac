"""What only PyTorch needs: forward mode noticed, second derivatives refused in plain words.

Loaded when a gradient is on its way, so PyTorch is there already.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad


def once_only(found: Tensor, depends_on: Sequence[Tensor], why: str) -> Tensor:
    """A first derivative as it is, whose own derivative is a RuntimeError.

    torch.autograd.function.once_differentiable refuses only where the gradient that arrives is
    itself a function of something, and in words that help nobody.

    Args:
        found: the derivative, computed without being recorded.
        depends_on: what it is a function of: the gradient that arrived, and the parameters.
        why: the error's message, with what to do instead.
    """
    total: Tensor = _Once.apply(why, found, *depends_on)  # type: ignore[no-untyped-call]
    return total


def has_tangent(*tensors: Tensor) -> bool:
    """Whether forward-mode differentiation is going on, which needs the formula."""
    return any(
        forward_ad.unpack_dual(tensor).tangent is not None  # type: ignore[no-untyped-call]
        for tensor in tensors
    )


class _Once(torch.autograd.Function):
    """The identity in its second argument, and an error backward."""

    @staticmethod
    def forward(ctx: Any, why: str, found: Tensor, *depends_on: Tensor) -> Tensor:
        ctx.why = why
        return found.view_as(found)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        raise RuntimeError(ctx.why)
