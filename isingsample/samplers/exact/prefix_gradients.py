"""The moments of prefix_moments.py as a function that PyTorch can differentiate.

Loaded when the exact sampler has met a tensor that requires a gradient, so PyTorch is there
already.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from isingsample._core.arrays import is_transformed
from isingsample._core.autograd import pull_through
from isingsample.samplers.exact.prefix_moments import Part, Solved, pull

Moments = tuple[Tensor, Tensor, Tensor]
Formula = Callable[[Tensor, Tensor], Moments]


def differentiable(
    solved: Solved, lengths: np.ndarray, formula: Formula, h: Tensor, J: Tensor
) -> Moments:
    """Moments that were found without autograd, as functions of h and J.

    Args:
        solved: what `solve` found for h, J and lengths.
        lengths: (queries,).
        formula: the same moments by operations that autograd can follow, for second derivatives.
        h: (groups, queries, n).
        J: (groups, n, n).
    """
    moments: Moments = _Moments.apply(  # type: ignore[no-untyped-call]
        solved, lengths, formula, h, J
    )
    return moments


class _Moments(torch.autograd.Function):
    """Magnetization, P(s = +1) and ln Z."""

    @staticmethod
    def forward(
        ctx: Any, solved: Solved, lengths: np.ndarray, formula: Formula, h: Tensor, J: Tensor
    ) -> Moments:
        ctx.set_materialize_grads(False)
        ctx.lengths, ctx.formula = lengths, formula
        parts = [
            array
            for part in solved.parts
            for array in (part.left, part.right, part.on_left, part.on_right)
        ]
        ctx.save_for_backward(h, J, solved.probability, solved.weights, *parts)
        return solved.magnetization, solved.probability, solved.log_partition

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        h, J, probability, weights, *arrays = ctx.saved_tensors
        given = [gradient for gradient in gradients if gradient is not None]
        if not given:
            return None, None, None, None, None
        if torch.is_grad_enabled() or any(map(is_transformed, given)):
            return None, None, None, *pull_through(ctx.formula, (h, J), gradients)
        parts = [Part(*arrays[i : i + 4]) for i in range(0, len(arrays), 4)]
        with torch.autocast(probability.device.type, enabled=False):
            return None, None, None, *pull(gradients, ctx.lengths, probability, weights, parts)
