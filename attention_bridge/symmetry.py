"""Arrays of any numbers as Ising couplings."""

from itertools import combinations, permutations

import torch
from torch import Tensor


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
