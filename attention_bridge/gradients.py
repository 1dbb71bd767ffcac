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
- "correlation": the two lines above, covariances over the samples of the forward pass (elsewhere
  called the covariance or fluctuation-response estimator). Unbiased where the samples are
  Boltzmann and g does not depend on them; a nonlinear loss of the same samples leaves a bias of
  order 1/reads. The noise falls as 1/sqrt(reads).
- "straight_through": the sampler's moments forward, and backward as if m = tanh(beta (h + J m))
  with the m on the right held fixed. Adds no noise but that of m, and is biased where spins are
  correlated: nothing passes from one spin to another. The slope is beta (1 - m^2) where the
  sampler is thermal; elsewhere, that of tanh at beta (h + J m).
- "straight_through_hard": the same backward; forward the first read of each query instead of
  averages, so that a key is attended to or not.
- "mean_field": the sampler's moments forward, and backward the response of all spins together in
  adaptive mean-field theory, (diag(x) - beta J)^-1 g with the x that gives it the diagonal 1 - m^2
  (Opper & Winther 2001). What passes between spins is right to first order in J, and stable for
  any. It needs no samples, and n**3 operations for each query.
- "auto": exact where the sampler is differentiable, correlation for thermal samples of two reads
  or more, straight_through for all else.

All but exact give first derivatives only. Where a sampler is not thermal, straight_through and
mean_field take tanh(beta (h + J m)) in place of its m, the average of each spin given the others:
an anneal does not saturate in strong fields, and a 1 - m^2 that stays large makes scores run away.
They do so too where a single read is all that a sampler gives. With R independent thermal reads
1 - m^2 comes out too small by the factor 1 - 1/R. A symmetric J stores each
pair twice, so each of its entries carries half of the pair's derivative; each of the six entries
of a triple in K carries a sixth.
"""

import dataclasses

import torch
from torch import Tensor
from torch.autograd import forward_ad

from attention_bridge._estimators import RESPONSES, Averages, Correlation, Response
from isingsample import Exact, IsingProblem, Sampler, Transfer

GRADIENTS = ("auto", "exact", "correlation", *RESPONSES)


def up_probability(
    problem: IsingProblem, sampler: Sampler, *, beta: float, seed: int, gradient: str
) -> Tensor:
    """P(s_j = +1) of each problem, differentiable in h, J and K by the named estimator.

    Args:
        problem: the batch, in tensors.
        sampler: called once; the backward pass works on what it returned.
        beta: inverse temperature, in units of 1/energy.
        seed: for the sampler.
        gradient: one of GRADIENTS. With "straight_through_hard" 0 and 1 stand in place of P.

    Returns:
        (..., n), in the dtype of problem.h; 0 at absent spins.

    Raises:
        ValueError: the estimator does not suit the sampler, or a gradient is needed and there
            are too few reads to estimate it.
    """
    if gradient == "exact" and not sampler.differentiable:
        others = ", ".join(repr(name) for name in GRADIENTS if name != "exact")
        raise ValueError(
            f"gradient='exact' needs a sampler that autograd can see through, which "
            f"{sampler.name!r} is not; use one of {others}"
        )
    up: Tensor
    if gradient == "exact" or (gradient == "auto" and sampler.differentiable):
        up = _without_reads(sampler).sample(problem, beta=beta, seed=seed).probability
        return up
    parameters = [t for t in (problem.h, problem.J, problem.K) if t is not None]
    if any(map(_has_tangent, parameters)):
        raise ValueError(
            f"estimators such as gradient={gradient!r} have no forward-mode derivatives; use "
            f"reverse mode, or a differentiable sampler such as 'exact'"
        )
    needed = torch.is_grad_enabled() and any(t.requires_grad for t in parameters)
    least = {"correlation": 2 if needed else 0, "straight_through_hard": 1}.get(gradient, 0)
    promised = getattr(sampler, "num_reads", None)
    if promised is not None and promised < least:  # before work that may be slow, or paid for
        raise _too_few_reads(gradient, sampler, promised)
    with torch.no_grad():
        chosen = sampler if least else _without_reads(sampler)
        result = chosen.sample(problem, beta=beta, seed=seed)
    reads = 0 if result.samples is None else result.samples.shape[-2]
    if reads < least:
        raise _too_few_reads(gradient, sampler, reads)
    if least and result.info["options"].get("chain_break_method") == "discard":
        raise ValueError(
            f"gradient={gradient!r} takes all reads of a problem, of which "
            f"chain_break_method='discard' leaves some out; use 'majority_vote', or "
            f"gradient='straight_through'"
        )
    up = result.probability
    if gradient == "straight_through_hard":
        up = (result.samples[..., 0, :] > 0).to(up.dtype)  # type: ignore[index]
    if not needed:
        return up
    if gradient == "auto":
        gradient = "correlation" if result.thermal and reads > 1 else "straight_through"
    leaves = problem.h, problem.J, problem.K
    if gradient == "correlation":
        up = Correlation.apply(*leaves, up, result.samples, beta)  # type: ignore[no-untyped-call]
    else:
        around = Averages.of(result)
        up = Response.apply(*leaves, up, around, problem, beta, gradient)  # type: ignore[no-untyped-call]
    return up


def _without_reads(sampler: Sampler) -> Sampler:
    """The same moments without the samples that nobody asked for."""
    if isinstance(sampler, Exact | Transfer):  # whose moments do not come from reads
        return dataclasses.replace(sampler, num_reads=None)
    return sampler


def _has_tangent(tensor: Tensor) -> bool:
    """Whether forward-mode differentiation is going on through a tensor."""
    dual = forward_ad.unpack_dual(tensor)  # type: ignore[no-untyped-call]
    return dual.tangent is not None


def _too_few_reads(gradient: str, sampler: Sampler, reads: int) -> ValueError:
    gives = f"but {sampler.name!r} gives {reads or 'no samples'}; raise num_reads"
    if gradient == "straight_through_hard":
        return ValueError(f"gradient={gradient!r} attends by a read of each problem, {gives} to 1")
    return ValueError(
        f"gradient={gradient!r} estimates covariances from two reads or more of each problem, "
        f"{gives}, or use gradient='straight_through'; under torch.no_grad() any number of reads "
        f"will do"
    )
