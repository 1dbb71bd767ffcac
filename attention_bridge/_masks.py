"""What masks mean: which keys are removed, and what is added to their fields."""

import math

import numpy as np
import torch
from torch import Tensor


def masked(h: Tensor, attn_mask: Tensor | None, is_causal: bool) -> tuple[Tensor, Tensor | None]:
    """h with the finite part of a float mask added, and which keys are present; None for all."""
    present = None
    if attn_mask is not None:
        if not isinstance(attn_mask, Tensor):
            raise TypeError(f"attn_mask must be a tensor, not {type(attn_mask).__name__}")
        if not _fits(attn_mask.shape, h.shape):
            raise ValueError(
                f"attn_mask must broadcast against (..., queries, keys) = {tuple(h.shape)}; "
                f"it has shape {tuple(attn_mask.shape)}"
            )
        if attn_mask.dtype == torch.bool:
            present = attn_mask
        elif attn_mask.is_floating_point():
            present = ~_removes(attn_mask)
            h = h + attn_mask.to(h.dtype).masked_fill(~present, 0.0)
        else:
            raise TypeError(
                f"attn_mask must be bool (True = attend) or float (added to h, -inf = removed), "
                f"not {attn_mask.dtype}"
            )
    if is_causal:
        causal = torch.ones(h.shape[-2:], dtype=torch.bool, device=h.device).tril()
        present = causal if present is None else present & causal
    # Scores of removed keys are of no consequence, even where they are not numbers.
    return only_present(present, h), present


def only_present(present: Tensor | None, values: Tensor) -> Tensor:
    """values where present, 0 elsewhere."""
    return values if present is None else values.masked_fill(~present, 0.0)


def by_head(mask: Tensor | None, num_heads: int) -> Tensor | None:
    """A mask in torch's shape (batch * num_heads, queries, keys) with its heads apart."""
    if not isinstance(mask, Tensor) or mask.ndim != 3 or mask.shape[0] in (1, num_heads):
        return mask
    if mask.shape[0] % num_heads:
        raise ValueError(
            f"attn_mask with three axes must be (num_heads or batch * num_heads, queries, keys), "
            f"with num_heads = {num_heads}; it has shape {tuple(mask.shape)}. One for each item of "
            f"the batch is attn_mask[:, None]"
        )
    return mask.reshape(-1, num_heads, *mask.shape[1:])


def combined(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, keys: torch.Size
) -> Tensor | None:
    """One mask in attn_mask's meaning.

    Args:
        attn_mask: broadcast against (..., num_heads, queries, keys).
        key_padding_mask: broadcast against (..., keys).
        keys: (..., keys), the shape of the keys without their width.
    """
    if key_padding_mask is None:
        return attn_mask
    if not isinstance(key_padding_mask, Tensor) or not (
        key_padding_mask.dtype == torch.bool or key_padding_mask.is_floating_point()
    ):
        found = getattr(key_padding_mask, "dtype", type(key_padding_mask).__name__)
        raise TypeError(f"key_padding_mask must be bool or float, not {found}")
    if not _fits(key_padding_mask.shape, keys):
        raise ValueError(
            f"key_padding_mask must broadcast against (..., keys) = {tuple(keys)}; it has shape "
            f"{tuple(key_padding_mask.shape)}"
        )
    padding = key_padding_mask[..., None, None, :]  # for all heads and queries
    if padding.dtype == torch.bool:
        if attn_mask is None:
            return ~padding
        if attn_mask.dtype == torch.bool:
            return attn_mask & ~padding
        return attn_mask.masked_fill(padding, -math.inf)
    if attn_mask is None:
        return padding
    if attn_mask.dtype == torch.bool:
        return padding.masked_fill(~attn_mask, -math.inf)
    # A sum, in the wider dtype, could hide the lowest number of the narrower one.
    first, second = (m.masked_fill(_removes(m), -math.inf) for m in (attn_mask, padding))
    return first + second


def _removes(mask: Tensor) -> Tensor:
    """Where a float mask is -inf, or the lowest number of a dtype, it may be another one's."""
    # All of float32's and float64's are below bfloat16's. (NaN stays, to be refused as a field.)
    lowest, half = (torch.finfo(dtype).min for dtype in (torch.bfloat16, torch.float16))
    return (mask <= lowest) | (mask == half)


def _fits(shape: torch.Size, against: torch.Size) -> bool:
    """Whether one shape broadcasts against another without changing it."""
    try:
        return np.broadcast_shapes(shape, against) == against
    except ValueError:
        return False
