r"""Gradients of spin probabilities, also for samplers that autograd cannot see through.

With g the gradient arriving at m = <s> and u = g.s, the moments of a Boltzmann distribution obey

.. math::

    \frac{\partial L}{\partial h_j} = \beta (\langle u s_j\rangle - \langle u\rangle m_j), \qquad
    \frac{\partial L}{\partial J_{jk}} =
        \beta (\langle u s_j s_k\rangle - \langle u\rangle \langle s_j s_k\rangle)

for each unordered pair. The first is the fluctuation-response relation; the second is correlation
matching between a phase nudged by g and the free phase (Kim & Park 2026, arXiv 2606.12478).

The estimators, by name:

- "exact": autograd through the sampler itself, for those that are `differentiable` (`exact`
  twice).
- "correlation": the two lines above, over the samples of the forward pass. Unbiased where the
  samples are Boltzmann and g does not depend on them; a nonlinear loss of the same samples leaves
  a bias of order 1/reads. The noise falls as 1/sqrt(reads).
- "straight_through": the sampler's moments forward, and backward as if m = tanh(beta (h + J m))
  with the m on the right held fixed. Needs no samples and adds no noise, but is biased where spins
  are correlated.
- "auto": exact where the sampler is differentiable, correlation for thermal samples of two reads
  or more, straight-through for all else.

A symmetric J stores each pair twice, so each of its entries carries half of the pair's
derivative; each of the six entries of a triple in K carries a sixth.
"""

from itertools import combinations, permutations
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import once_differentiable

from isingsample import IsingProblem, Sampler, SampleResult

GRADIENTS = ("auto", "exact", "correlation", "straight_through")


def up_probability(
    problem: IsingProblem, sampler: Sampler, *, beta: float, seed: int, gradient: str
) -> Tensor:
    """P(s_j = +1) of each problem, differentiable in h, J and K by the named estimator.

    Args:
        problem: the batch, in tensors.
        sampler: called once; the backward pass works on what it returned.
        beta: inverse temperature, in units of 1/energy.
        seed: for the sampler.
        gradient: one of GRADIENTS.

    Returns:
        (..., n), in the dtype of problem.h; 0 at absent spins.

    Raises:
        ValueError: the estimator does not suit the sampler, or a gradient is needed and there
            are too few reads to estimate it.
    """
    up: Tensor
    if gradient == "exact" and not sampler.differentiable:
        raise ValueError(
            f"gradient='exact' needs a sampler that autograd can see through, which "
            f"{sampler.name!r} is not; use 'auto', 'correlation' or 'straight_through'"
        )
    if gradient == "exact" or (gradient == "auto" and sampler.differentiable):
        up = sampler.sample(problem, beta=beta, seed=seed).probability
        return up
    parameters = [t for t in (problem.h, problem.J, problem.K) if t is not None]
    if any(map(_has_tangent, parameters)):
        raise ValueError(
            f"estimators such as gradient={gradient!r} have no forward-mode derivatives; use "
            f"reverse mode, or a differentiable sampler such as 'exact'"
        )
    needed = torch.is_grad_enabled() and any(t.requires_grad for t in parameters)
    if needed and gradient == "correlation" and getattr(sampler, "num_reads", None) == 1:
        raise _too_few_reads(sampler, 1)  # before a sampler that may be slow, or paid for
    with torch.no_grad():
        result = sampler.sample(problem, beta=beta, seed=seed)
    if not needed:
        up = result.probability
        return up
    reads = 0 if result.samples is None else result.samples.shape[-2]
    if gradient == "auto":
        gradient = "correlation" if result.thermal and reads > 1 else "straight_through"
    if gradient == "correlation" and reads < 2:
        raise _too_few_reads(sampler, reads)
    estimator = _Correlation if gradient == "correlation" else _StraightThrough
    up = estimator.apply(  # type: ignore[no-untyped-call]
        problem.h, problem.J, problem.K, result, beta
    )
    return up


def symmetrised(couplings: Tensor, order: int = 2) -> Tensor:
    """The mean over all orders of the last `order` axes, and 0 where an index repeats.

    What any array of pair (or, with order 3, triple) parameters means as an Ising coupling:
    (W + W^T)/2 without its diagonal.

    Args:
        couplings: (..., n, n), or (..., n, n, n) with order 3.
        order: how many spins a coupling joins.

    Returns:
        The same shape.
    """
    lead, n = couplings.ndim - order, couplings.shape[-1]
    turned = [
        couplings.permute(*range(lead), *axes) for axes in permutations(range(lead, couplings.ndim))
    ]
    mean = torch.stack(turned).mean(0)
    same = torch.eye(n, dtype=torch.bool, device=couplings.device)
    for pair in combinations(range(order), 2):
        # Filled, not multiplied by 0: whatever stands on a diagonal is of no consequence.
        mean = mean.masked_fill(same.reshape([n if a in pair else 1 for a in range(order)]), 0.0)
    return mean


def _has_tangent(tensor: Tensor) -> bool:
    """Whether forward-mode differentiation is going on through a tensor."""
    dual = forward_ad.unpack_dual(tensor)  # type: ignore[no-untyped-call]
    return dual.tangent is not None


class _Correlation(torch.autograd.Function):
    """Fluctuation-response over the samples of the forward pass."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, J: Tensor, K: Tensor | None, result: SampleResult, beta: float
    ) -> Tensor:
        ctx.save_for_backward(result.samples)
        ctx.beta, ctx.J_shape, ctx.K_shape = beta, J.shape, None if K is None else K.shape
        up: Tensor = result.probability.clone()
        return up

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        _, for_J, for_K, *_ = ctx.needs_input_grad
        J_grad = K_grad = None
        with torch.autocast(grad.device.type, enabled=False):
            # Samples are 0 at absent spins, which therefore neither count nor receive anything.
            spins = ctx.saved_tensors[0].to(grad.dtype)  # (..., reads, n)
            g = 0.5 * grad  # P = (m + 1) / 2
            # u relative to the first read, which a covariance does not notice: exactly 0 where
            # all reads agree.
            u = ((spins - spins[..., :1, :]) @ g[..., None])[..., 0]  # (..., reads)
            # reads - 1 in place of reads makes the covariance unbiased.
            share = ctx.beta / (spins.shape[-2] - 1) * (u - u.mean(-1, keepdim=True))
            nudged = share[..., None] * spins  # (..., reads, n)
            if for_J:
                J_grad = symmetrised(_pair_sums(nudged, spins, ctx.J_shape)) / 2
            if for_K:
                K_grad = symmetrised(_triple_sums(nudged, spins, ctx.K_shape), order=3) / 6
            return nudged.sum(-2), J_grad, K_grad, None, None


class _StraightThrough(torch.autograd.Function):
    """The sampler's moments forward, the mean-field equation backward."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, J: Tensor, K: Tensor | None, result: SampleResult, beta: float
    ) -> Tensor:
        ctx.save_for_backward(result.probability, result.magnetization)
        ctx.beta, ctx.J_shape, ctx.K_shape = beta, J.shape, None if K is None else K.shape
        up: Tensor = result.probability.clone()
        return up

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        _, for_J, for_K, *_ = ctx.needs_input_grad
        J_grad = K_grad = None
        with torch.autocast(grad.device.type, enabled=False):
            up, m = ctx.saved_tensors  # (..., n), both 0 at absent spins
            # 1 - m^2 = 4 P (1 - P) by the factor that stays precise where P is tiny.
            slope = ctx.beta * 0.5 * grad * (4 * up * (1 - up))
            response, m = slope[..., None, :], m[..., None, :]  # like one read: (..., 1, n)
            # m responds at each of the two (three) spins of a coupling: 2/2! and 3/3!.
            if for_J:
                J_grad = symmetrised(_pair_sums(response, m, ctx.J_shape))
            if for_K:
                K_grad = symmetrised(_triple_sums(response, m, ctx.K_shape), order=3) / 2
            return slope, J_grad, K_grad, None, None


def _pair_sums(left: Tensor, right: Tensor, shape: torch.Size) -> Tensor:
    """Sums of left_j right_k over reads and over the problems that share couplings.

    Args:
        left: (..., reads, n).
        right: (..., reads, n).
        shape: (..., n, n) of the couplings, shared along axes that it lacks or has with length 1.
    """
    # einsum folds all the axes it sums over into the inner dimension of one matrix product.
    axes, j, k = list(range(left.ndim)), left.ndim - 1, left.ndim
    batch, missing = axes[:-2], left.ndim - len(shape)
    kept = [axis for axis in batch if axis >= missing and shape[axis - missing] != 1]
    return torch.einsum(left, axes, right, [*axes[:-1], k], [*kept, j, k]).reshape(shape)


def _triple_sums(left: Tensor, right: Tensor, shape: torch.Size) -> Tensor:
    """Sums of left_j right_k right_l, like `_pair_sums`; one matrix product for each spin j."""
    spins = range(shape[-1])
    slices = [_pair_sums(left[..., j, None] * right, right, shape[:-1]) for j in spins]
    return torch.stack(slices, dim=-3)


def _too_few_reads(sampler: Sampler, reads: int) -> ValueError:
    return ValueError(
        f"gradient='correlation' estimates covariances from two reads or more of each problem, "
        f"but {sampler.name!r} gives {reads or 'no samples'}; raise num_reads, or use "
        f"gradient='straight_through'; under torch.no_grad() any number of reads will do"
    )
