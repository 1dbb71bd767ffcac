"""Whether query, key, value and couplings fit together, and in which shapes."""

import numpy as np
import torch
from torch import Tensor

from attention_bridge.symmetry import symmetrised


def score_shape(query: Tensor, key: Tensor, value: Tensor) -> torch.Size:
    """(..., queries, keys) of tensors that fit together."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            raise TypeError(f"{name} must be a tensor of floats")
        if tensor.ndim < 2:
            raise ValueError(
                f"{name} must have shape (..., positions, width); it has {tuple(tensor.shape)}"
            )
        if tensor.dtype != query.dtype:
            raise TypeError(f"{name} is {tensor.dtype} but query is {query.dtype}")
        if tensor.shape[-1] == 0:
            raise ValueError(f"{name} has width 0: shape {tuple(tensor.shape)}")
    shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)}"
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"query and key must have one width, key and value one number of keys: {shapes}"
        )
    try:
        lead = np.broadcast_shapes(query.shape[:-2], key.shape[:-2])
        np.broadcast_shapes(lead, value.shape[:-2])
    except ValueError:
        raise ValueError(
            f"leading axes (batch, heads) do not broadcast: {shapes}; for fewer key heads than "
            f"query heads pass enable_gqa=True"
        ) from None
    return torch.Size((*lead, query.shape[-2], key.shape[-2]))


def repeat_heads(tensor: Tensor, name: str, query: Tensor) -> Tensor:
    """key or value (..., heads, keys, d) with each head repeated for its run of query heads."""
    if min(tensor.ndim, query.ndim) < 3 or query.shape[-3] % tensor.shape[-3]:
        raise ValueError(
            f"enable_gqa needs a number of query heads that is a multiple of {name}'s; query has "
            f"shape {tuple(query.shape)}, {name} {tuple(tensor.shape)}"
        )
    return tensor.repeat_interleave(query.shape[-3] // tensor.shape[-3], dim=-3)


def fitting_couplings(
    name: str, couplings: Tensor, order: int, shape: torch.Size, dtype: torch.dtype
) -> Tensor:
    """Symmetric couplings that broadcast against the batch of queries (..., queries)."""
    if not isinstance(couplings, Tensor) or couplings.is_complex():
        found = getattr(couplings, "dtype", type(couplings).__name__)
        raise TypeError(f"{name} must be a tensor of real numbers, not {found}")
    n, lead = shape[-1], couplings.shape[:-order]
    if tuple(couplings.shape[-order:]) != (n,) * order:
        wanted = ", ".join(["keys"] * order)
        raise ValueError(
            f"{name} must have shape ({wanted}) or (heads, {wanted}) with {n} keys; "
            f"it has shape {tuple(couplings.shape)}"
        )
    batch = shape[:-2][len(shape) - 2 - len(lead) :]
    if len(lead) > len(shape) - 2 or any(a not in (1, b) for a, b in zip(lead, batch, strict=True)):
        raise ValueError(
            f"the leading axes {tuple(lead)} of {name} do not broadcast against the batch and "
            f"heads {tuple(shape[:-2])} of the queries"
        )
    symmetric = symmetrised(couplings.to(dtype), order)
    return symmetric.unsqueeze(-order - 1) if lead else symmetric
