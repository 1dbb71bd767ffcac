"""Couplings that depend on the distances between positions, as matrices and cubes."""

import math

import torch
from torch import Tensor, nn


def shapes(length: int, order: int, reach: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Of each pair (or triple) of positions: the number of its distances, and its last position.

    Sets of distances from the last position to the others are numbered by their largest, and
    then the next, so that a set has the same number whatever the reach. Where an index repeats or
    the reach is exceeded, the number is one past the last.

    Returns:
        two arrays with `order` axes of the given length.
    """
    place = torch.arange(length, device=device)
    axes = [
        place.reshape([length if a == axis else 1 for a in range(order)]).expand([length] * order)
        for axis in range(order)
    ]
    ordered = torch.stack(axes).sort(dim=0).values
    last = ordered[-1]
    far, near = last - ordered[0], last - ordered[-2]
    number = near - 1 if order == 2 else (far - 1) * (far - 2) // 2 + near - 1
    coupled = (near > 0) & (far <= reach) & ((near < far) | (order == 2))
    return number.masked_fill(~coupled, math.comb(reach, order - 1)), last


def look_up(table: Tensor, index: Tensor) -> Tensor:
    """Entries of a table (heads, rows, columns) at places of it in one row after the last too,
    which is 0: (heads, *index.shape)."""
    padded = nn.functional.pad(table, (0, 0, 0, 1)).flatten(1)
    return padded.index_select(1, index.flatten()).reshape(len(table), *index.shape)
