"""Arrays of any numbers as Ising couplings."""

from itertools import combinations, permutations

import torch
from torch import Tensor


def _sum_in_any_order(tensors: list[Tensor]) -> Tensor:
    """The sum of up to six tensors, rounded alike in whichever order they come.

    Entries are sorted before they are added: those of one triple, whose orders hold the same six
    numbers, then come out equal bit by bit, as a symmetric array has to be.
    """
    if len(tensors) == 2:
        return tensors[0] + tensors[1]
    return torch.stack(tensors).sort(dim=0).values.sum(0)


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
    mean = _sum_in_any_order(turned) / len(turned)
    same = torch.eye(n, dtype=torch.bool, device=couplings.device)
    for pair in combinations(range(order), 2):
        # Filled, not multiplied by 0: whatever stands on a diagonal is of no consequence.
        mean = mean.masked_fill(same.reshape([n if a in pair else 1 for a in range(order)]), 0.0)
    return mean
