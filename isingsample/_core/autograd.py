"""What only PyTorch needs: forward mode noticed, second derivatives taken or refused.

Loaded when a gradient is on its way, so PyTorch is there already.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint


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


def pull_through(
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    gradients: Tensor | Sequence[Tensor | None],
) -> tuple[Tensor, ...]:
    """The gradients at the inputs of a function, from those at its outputs.

    For the backward pass of an autograd.Function. Each input counts by itself: what it depends on
    in turn, be it another of the inputs, gets nothing here. Where autograd is recording, the
    result can be differentiated again. Inputs that need no gradient are given one all the same,
    for a derivative of any order may ask for it.

    Args:
        function: gives a tensor or several, by operations that autograd can follow.
        inputs: tensors of floats.
        gradients: one for each output of the function; None where there is none.
    """
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        # Aliases: they keep the inputs apart here, and lead on to them in the next derivative.
        apart = [x.view_as(x) if again else x.detach() for x in inputs]
        for x in apart:
            if not x.requires_grad:
                x.requires_grad_()
        found = function(*apart)
    outputs = (found,) if isinstance(found, Tensor) else found
    given = (gradients,) if isinstance(gradients, Tensor) else gradients
    pairs = [(y, g) for y, g in zip(outputs, given, strict=True) if g is not None]
    reached, arriving = zip(*pairs, strict=True)
    return torch.autograd.grad(reached, apart, arriving, create_graph=again, materialize_grads=True)


def recomputed(function: Callable[..., Any], *inputs: Tensor) -> Any:
    """function(*inputs), of which the backward pass keeps the inputs alone and computes the rest
    again."""
    return checkpoint(function, *inputs, use_reentrant=False, preserve_rng_state=False)


class _Once(torch.autograd.Function):
    """The identity in its second argument, and an error backward."""

    @staticmethod
    def forward(ctx: Any, why: str, found: Tensor, *depends_on: Tensor) -> Tensor:
        ctx.why = why
        return found.view_as(found)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        raise RuntimeError(ctx.why)
