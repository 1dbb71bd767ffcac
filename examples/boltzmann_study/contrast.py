r"""Attention that learns without backpropagation through its sampler, in ways of this study.

"nudged": with g the gradient arriving at m = <s>, from the layers above,

.. math::

    \frac{\partial L}{\partial J_{jk}} = \lim_{\epsilon \to 0} \frac{1}{2 \epsilon} \left(
        \langle s_j s_k \rangle_{h + \epsilon g} - \langle s_j s_k \rangle_{h - \epsilon g} \right)

and likewise dL/dh from <s>: what equilibrium propagation (Scellier & Bengio 2017) is for thermal
spins. "matched": correlation matching with a data phase,

.. math::

    \frac{\partial L}{\partial J_{jk}} =
        \langle s_j s_k \rangle_\text{model} - \langle s_j s_k \rangle_\text{data},

whose L is minus the log-likelihood of the data's spin patterns, not the loss of the layers above.
Both hold for any sampler of Boltzmann distributions, and need nothing of it but moments.

"borrowed": the sampler's moments forward, and backward those of the exact solver at the same
fields and couplings. A straight-through gradient, for samplers near Boltzmann.
"""

from typing import Any

import torch
from torch import Tensor

from isingsample import Exact, IsingProblem, Sampler

CONTRASTS = ("nudged", "matched", "borrowed")
STRENGTH = 0.1  # largest nudge of a field; the error is of its second order


def contrast_weights(
    h: Tensor,
    J: Tensor,
    present: Tensor | None,
    patterns: Tensor,
    *,
    sampler: Sampler,
    kind: str,
    seed: int,
    strength: float = STRENGTH,
) -> Tensor:
    """P(s = +1) of each problem, (members, questions, T), with one of the gradients above.

    Args:
        h: (members, questions, T).
        J: (members, T, T), symmetric with zero diagonal.
        present: (members, questions, T) spins that are not removed, or None.
        patterns: (members, questions, T) of -1 and +1, the data phase of "matched".
        sampler: called once forward, and for "nudged" twice backward, with the same seed.
        kind: "nudged", "matched" or "borrowed".
        seed: for the sampler.
        strength: of the nudge.
    """
    if kind == "borrowed":
        problem = IsingProblem(h, J[:, None], None, present)
        exact: Tensor = Exact().sample(problem).probability
        with torch.no_grad():
            error: Tensor = sampler.sample(problem, seed=seed).probability - exact
        return exact + error
    up: Tensor = _Contrast.apply(  # type: ignore[no-untyped-call]
        h, J, present, patterns, sampler, kind, seed, strength
    )
    return up


class _Contrast(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        J: Tensor,
        present: Tensor | None,
        patterns: Tensor,
        sampler: Sampler,
        kind: str,
        seed: int,
        strength: float,
    ) -> Tensor:
        def phase(fields: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            """P(s = +1), <s> of each question, and <s s> summed over the questions that share J."""
            with torch.no_grad():
                result = sampler.sample(IsingProblem(fields, J[:, None], None, present), seed=seed)
                return result.probability, result.magnetization, result.correlation.sum(1)

        up, m, pairs = phase(h)
        ctx.kind, ctx.strength, ctx.phase = kind, strength, phase
        ctx.save_for_backward(h, m, pairs, patterns if present is None else patterns * present)
        return up.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        h, m, pairs, patterns = ctx.saved_tensors
        if ctx.kind == "matched":
            data = patterns.to(h.dtype)
            share = 1 / h.shape[1]  # the mean over questions, as of the layers' loss
            grad_h, grad_J = share * (m - data), share * (pairs - data.mT @ data)
        else:
            g = grad / 2  # P = (m + 1) / 2
            # One size of nudge for each member, so that its questions keep their shares.
            largest = g.abs().amax(dim=(1, 2), keepdim=True)
            size = ctx.strength / largest.clamp_min(torch.finfo(g.dtype).tiny ** 0.5)
            (_, above, pairs_above), (_, below, pairs_below) = (
                ctx.phase(h + sign * size * g) for sign in (1, -1)
            )
            grad_h, grad_J = (above - below) / (2 * size), (pairs_above - pairs_below) / (2 * size)
        diagonal = torch.eye(h.shape[-1], dtype=torch.bool)
        # Each of a pair's two entries in J carries half of its derivative.
        return grad_h, (grad_J / 2).masked_fill(diagonal, 0.0), *[None] * 6
