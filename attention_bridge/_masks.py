"""What masks mean: which keys are removed, and what is added to their fields."""

import math

import numpy as np
import torch
from torch import Tensor


def masked(h: Tensor, attn_mask: Tensor | None, is_causal: bool) -> tuple[Tensor, Tensor | None]:
    """h with the finite part of a float mask added, and which keys are present; None for all."""
    present = None
    if attn_mask is not None:
        try:
            fits = np.broadcast_shapes(attn_mask.shape, h.shape) == h.shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"attn_mask must broadcast against (..., queries, keys) = {tuple(h.shape)}; "
                f"it has shape {tuple(attn_mask.shape)}"
            )
        if attn_mask.dtype == torch.bool:
            present = attn_mask
        elif attn_mask.is_floating_point():
            # (NaN stays, to be refused as a field.)
            present = ~(attn_mask <= torch.finfo(attn_mask.dtype).min)
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
    if mask is None or mask.ndim != 3 or mask.shape[0] in (1, num_heads):
        return mask
    if mask.shape[0] % num_heads:
        return mask  # refused as one that does not fit
    return mask.reshape(-1, num_heads, *mask.shape[1:])


def combined(attn_mask: Tensor | None, key_padding_mask: Tensor | None) -> Tensor | None:
    """One mask in attn_mask's meaning."""
    if key_padding_mask is None:
        return attn_mask
    padding = key_padding_mask[..., None, None, :]  # for all heads and queries
    if padding.dtype == torch.bool:
        if attn_mask is None:
            return ~padding
        if attn_mask.dtype == torch.bool:
            return attn_mask & ~padding
        return attn_mask.masked_fill(padding, -math.inf)
    if not padding.is_floating_point():
        raise TypeError(f"key_padding_mask must be bool or float, not {key_padding_mask.dtype}")
    if attn_mask is None:
        return padding
    if attn_mask.dtype == torch.bool:
        return padding.masked_fill(~attn_mask, -math.inf)
    return attn_mask + padding
