"""The compiled kernels' moments as a function that PyTorch can differentiate.

Loaded when the exact sampler has met a tensor that requires a gradient, so PyTorch is there
already.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from isingsample._core.arrays import is_transformed
from isingsample._core.autograd import pull_through
from isingsample.samplers.exact.compiled.dispatch import Kept, pull

Moments = tuple[Tensor, Tensor, Tensor]
Formula = Callable[[Tensor, Tensor], Moments]


def differentiable(kept: Kept, formula: Formula, h: Tensor, J: Tensor) -> Moments:
    """Moments that were found without autograd, as functions of h and J.

    Args:
        kept: what `solve` found for h and J.
        formula: the same moments by operations that autograd can follow, for second derivatives.
        h: (groups, queries, n).
        J: (groups, n, n).
    """
    moments: Moments = _Moments.apply(kept, formula, h, J)  # type: ignore[no-untyped-call]
    return moments


class _Moments(torch.autograd.Function):
    """Magnetization, P(s = +1) and ln Z."""

    @staticmethod
    def forward(ctx: Any, kept: Kept, formula: Formula, h: Tensor, J: Tensor) -> Moments:
        ctx.set_materialize_grads(False)
        ctx.kept, ctx.formula = kept, formula
        ctx.save_for_backward(h, J)
        # Copies: what is kept must not change with what the caller does to the results.
        magnetization, probability, log_partition = (
            torch.from_numpy(array).clone()
            for array in (kept.magnetization, kept.probability, kept.log_partition)
        )
        return magnetization, probability, log_partition

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        h, J = ctx.saved_tensors
        given = [gradient for gradient in gradients if gradient is not None]
        if not given:
            return None, None, None, None
        if torch.is_grad_enabled() or any(map(is_transformed, given)):
            return None, None, *pull_through(ctx.formula, (h, J), gradients)
        return None, None, *pull(gradients, ctx.kept, wants_J=ctx.needs_input_grad[3])
