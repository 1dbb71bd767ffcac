"""Backward passes for samplers that autograd cannot see through; see `gradients` for their maths.

Each is linear in the gradient g that arrives at m = <s>, half of that at P = (m + 1) / 2. Absent
spins neither count nor receive anything.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attention_bridge._linear_response import responses
from attention_bridge.symmetry import symmetrised
from isingsample import IsingProblem, SampleResult
from isingsample._core.autograd import once_only
from isingsample._core.blocks import split
from isingsample._core.states import pair_indices
from isingsample.samplers.mean_field.equation import Equation
from isingsample.samplers.mean_field.fixed_point import DampedIteration


class Correlation(torch.autograd.Function):
    """P of the sampler; backward fluctuation-response over its samples."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, J: Tensor, K: Tensor | None, up: Tensor, samples: Tensor, beta: float
    ) -> Tensor:
        ctx.save_for_backward(samples, h, J, K)
        ctx.beta = beta
        return up.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        samples, *parameters = ctx.saved_tensors
        _, for_J, for_K, *_ = ctx.needs_input_grad
        _, J, K = parameters
        J_grad = K_grad = None
        with torch.no_grad(), torch.autocast(grad.device.type, enabled=False):
            spins = samples.to(grad.dtype)  # (..., reads, n), 0 where absent
            g = 0.5 * grad
            # u relative to the first read, which a covariance does not notice: exactly 0 where
            # all reads agree.
            u = ((spins - spins[..., :1, :]) @ g[..., None])[..., 0]  # (..., reads)
            # reads - 1 in place of reads makes the covariance unbiased.
            share = ctx.beta / (spins.shape[-2] - 1) * (u - u.mean(-1, keepdim=True))
            nudged = share[..., None] * spins  # (..., reads, n)
            if for_J:
                J_grad = symmetrised(_pair_sums(nudged, spins, J.shape)) / 2
            if for_K:
                K_grad = symmetrised(_triple_sums(nudged, spins, K.shape), order=3) / 6
            found = nudged.sum(-2), J_grad, K_grad
        return *_first_only("correlation", found, grad, parameters), None, None, None


class Response(torch.autograd.Function):
    """Any values forward; backward through m = tanh(beta f(m)) around averages from a sampler."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        J: Tensor,
        K: Tensor | None,
        values: Tensor,
        around: "Averages",
        problem: IsingProblem,
        beta: float,
        gradient: str,
    ) -> Tensor:
        ctx.save_for_backward(around.up, around.m, h, J, K)
        ctx.problem = {"present": problem.present, "labels": problem.labels}
        ctx.beta, ctx.gradient = beta, gradient
        return values.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        up, m, *parameters = ctx.saved_tensors
        _, for_J, for_K, *_ = ctx.needs_input_grad
        h, J, K = parameters
        J_grad = K_grad = None
        with torch.no_grad(), torch.autocast(grad.device.type, enabled=False):
            problem = IsingProblem.unvalidated(h=h, J=J, K=K, offset=_ZERO, **ctx.problem)
            respond = RESPONSES[ctx.gradient]
            at_field = ctx.beta * respond(0.5 * grad, Averages(up, m), problem, ctx.beta)
            # Like one read each: (..., 1, n).
            moved, m = at_field[..., None, :], m[..., None, :]
            # m responds at each of the two (three) spins of a coupling: 2/2! and 3/3!.
            if for_J:
                J_grad = symmetrised(_pair_sums(moved, m, J.shape))
            if for_K:
                K_grad = symmetrised(_triple_sums(moved, m, K.shape), order=3) / 2
            found = at_field, J_grad, K_grad
        return *_first_only(ctx.gradient, found, grad, parameters), *5 * (None,)


class Averages(NamedTuple):
    """What a sampler says about each spin.

    Attributes:
        up: P(s = +1), (..., n), 0 at absent spins.
        m: <s>, likewise.
    """

    up: Tensor
    m: Tensor

    @classmethod
    def of(cls, result: SampleResult) -> "Averages":
        """The moments of a thermal result; of others, those of each spin given the others' m.

        tanh(beta f(m)) knows the temperature, which an anneal does not: its m stays away from
        +-1 in any field, so that 1 - m^2 would go on asking for stronger ones. A single read has
        1 - m^2 = 0 and would let nothing through; tanh(beta f(read)) has the right mean where
        the read is Boltzmann's.
        """
        if result.thermal and not _is_one_read(result):
            return cls(result.probability, result.magnetization)
        field = _over_blocks(result.problem, _NAIVE.field, result.magnetization)
        twice = 2 * result.beta * field
        present = result.problem.present
        if present is None:
            return cls(torch.sigmoid(twice), torch.tanh(twice / 2))
        there = torch.as_tensor(present, device=field.device)
        return cls(torch.sigmoid(twice) * there, torch.tanh(twice / 2) * there)


def _is_one_read(result: SampleResult) -> bool:
    """Whether m is a read, and not an average."""
    samples = result.samples
    if samples is None or samples.shape[-2] != 1:
        return False
    return torch.equal(samples[..., 0, :].to(result.magnetization.dtype), result.magnetization)


def _alone(g: Tensor, around: Averages, problem: IsingProblem, beta: float) -> Tensor:
    """The response of each spin by itself, D g with D = 1 - m^2."""
    # 1 - m^2 = 4 P (1 - P) by the factor that stays precise where P is tiny.
    return 4 * around.up * (1 - around.up) * g


def _together(g: Tensor, around: Averages, problem: IsingProblem, beta: float) -> Tensor:
    """The response of all spins, with D on the diagonal of its matrix."""

    def response(m: Tensor, up: Tensor, g: Tensor, h: Tensor, *couplings: Tensor) -> Tensor:
        B = beta * _NAIVE.jacobian(m, *couplings)
        return responses(g, 4 * up * (1 - up), B)

    return _over_blocks(problem, response, around.m, around.up, g)


# By the name of the estimator, the gradient at beta times the field of that at m.
RESPONSES: dict[str, Callable[[Tensor, Averages, IsingProblem, float], Tensor]] = {
    "straight_through": _alone,
    "straight_through_hard": _alone,
    "mean_field": _together,
}
_ZERO = np.zeros(())  # an offset of the energy changes no response
# Nothing is iterated here: only its fields are wanted.
_NAIVE = Equation(False, DampedIteration(max_iterations=1, damping=0.0, tolerance=1.0))


def _over_blocks(
    problem: IsingProblem, compute: Callable[..., Tensor], *by_query: Tensor
) -> Tensor:
    """compute(*by_query, h, J[, K by pairs]) of each block of a problem, put together: (..., n)."""
    fields = {"J": problem.J, "K": problem.K, "present": problem.present}
    fields |= {"labels": problem.labels, "offset": _ZERO}
    pieces = [split(IsingProblem.unvalidated(h=a, **fields)) for a in (*by_query, problem.h)]
    values = []
    for blocks in zip(*pieces, strict=True):
        J, K = blocks[0].J, blocks[0].K
        couplings = (J,) if K is None else (J, K[:, *pair_indices(J)])
        h = [block.h for block in blocks]
        values.append(h[0] if blocks[0].is_empty else compute(*h, *couplings))
    joined: Tensor = pieces[0].join(values, 1)
    return joined


def _first_only(
    gradient: str, found: Sequence[Tensor | None], grad: Tensor, parameters: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """found, whose own derivatives are refused."""
    why = (
        f"gradient={gradient!r} estimates first derivatives only, and a second one was asked for. "
        f"Take second derivatives (Hessians, gradient penalties) through a sampler that autograd "
        f"can see through: sampler='exact' with gradient='exact'"
    )
    known = [t for t in (grad, *parameters) if t is not None]
    return [None if t is None else once_only(t, known, why) for t in found]


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
