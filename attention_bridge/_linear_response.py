"""How averages respond to fields, from the averages and the couplings alone.

With B = df/dm of the mean-field equation m = tanh f(m), the response R = dm/df has the inverse
1/D - B where D = 1 - m^2. That is right to first order in B but breaks down early: R grows without
bound long before the spins order. In the exact response R_jj = D_j, whatever the couplings; so
the diagonal is chosen for that to hold (adaptive TAP: Opper & Winther, Phys. Rev. E 64, 056131
(2001)):

    R = (diag(x) - B)^-1   with   R_jj = D_j.

There is one such x, the minimum of the convex -ln det(diag(x) - B) + D.x, so the response is
stable for couplings of any strength. Newton's method finds it, with the step that is safe for a
self-concordant function (Nesterov & Nemirovskii 1994; Boyd & Vandenberghe, Convex Optimization,
2004, section 9.6).
"""

import torch
from torch import Tensor

_LARGEST_STEPS = 1000  # for rigid problems; 20 are many
_TOLERANCE = 1e-8  # of the Newton decrement, in float64
_RIGID = 1e4
_QUADRATIC = 0.25  # a Newton decrement below which full steps converge


def responses(g: Tensor, slope: Tensor, B: Tensor) -> Tensor:
    """R g of each query.

    Args:
        g: (..., n).
        slope: D, (..., n), from 0 to 1.
        B: (..., n, n), symmetric with zero diagonal.

    Returns:
        (..., n) in g's dtype; computed in float64, in (..., n, n) numbers and n**3 operations.
    """
    # Scaled by the root of D, where D may be 0: diag(y) - S B S has an inverse with diagonal 1.
    root = slope.double().clamp(min=0).sqrt()
    scaled = root[..., :, None] * B.double() * root[..., None, :]
    # Spins coupled so strongly move as one, to 1e-4; stronger ones would only lose digits.
    scaled = scaled.clamp(-_RIGID, _RIGID)
    inverse = _with_unit_diagonal(scaled)
    found = root * (inverse @ (root * g.double())[..., None])[..., 0]
    return found.to(g.dtype)


def _with_unit_diagonal(B: Tensor) -> Tensor:
    """(diag(y) - B)^-1 with the y for which its diagonal is 1: (..., n, n)."""
    y = _start(B)
    for _ in range(_LARGEST_STEPS):
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(torch.diag_embed(y) - B))
        missing = inverse.diagonal(dim1=-2, dim2=-1) - 1
        curvature = torch.linalg.cholesky(inverse.square())
        step = torch.cholesky_solve(missing[..., None], curvature)[..., 0]
        decrement = (missing * step).sum(-1, keepdim=True).clamp(min=0).sqrt()
        if not (decrement > _TOLERANCE).any():
            break
        y = y + step / torch.where(decrement > _QUADRATIC, 1 + decrement, 1.0)
    return inverse


def _start(B: Tensor) -> Tensor:
    """Some y for which diag(y) - B is positive: (..., n)."""
    # The first terms of the answer for weak B (Thouless, Anderson & Palmer), where that will do;
    # otherwise what dominates each row.
    weak, safe = 1 + B.square().sum(-1), 1 + B.abs().sum(-1)
    failed = torch.linalg.cholesky_ex(torch.diag_embed(weak) - B).info > 0
    return torch.where(failed[..., None], safe, weak)
