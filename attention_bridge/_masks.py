"""What masks mean: which keys are removed, and what is added to their fields."""

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention.bias import CausalBias, CausalVariant


def masked(h: Tensor, attn_mask: Tensor | None, is_causal: bool) -> tuple[Tensor, Tensor | None]:
    """h with the finite part of a float mask added, and which keys are present; None for all."""
    present = None
    if attn_mask is not None:
        attn_mask = plain("attn_mask", attn_mask)
        if not _fits(attn_mask.shape, h.shape):
            raise ValueError(
                f"attn_mask must broadcast against (..., queries, keys) = {tuple(h.shape)}; "
                f"it has shape {tuple(attn_mask.shape)}"
            )
        if attn_mask.dtype == torch.bool:
            present = attn_mask.expand(np.broadcast_shapes(attn_mask.shape, h.shape[-2:]))
        elif attn_mask.is_floating_point():
            removed = _removes(attn_mask)
            present = ~removed.expand(np.broadcast_shapes(attn_mask.shape, h.shape[-2:]))
            h = h + attn_mask.to(h.dtype).masked_fill(removed, 0.0)
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


def plain(name: str, mask: Tensor) -> Tensor:
    """A mask as a tensor of numbers; PyTorch's causal biases become the bool masks they stand for.

    Raises:
        TypeError: what is no tensor, or one whose entries are not all there: nested, sparse, masked
            or on the meta device.
    """
    if isinstance(mask, CausalBias):
        ones = torch.ones(mask.seq_len_q, mask.seq_len_kv, dtype=torch.bool, device=mask.device)
        lower_right = mask.variant == CausalVariant.LOWER_RIGHT
        return ones.tril(diagonal=mask.seq_len_kv - mask.seq_len_q if lower_right else 0)
    if not isinstance(mask, Tensor):
        kind, remedy = type(mask).__name__, ""
        if kind == "BlockMask":
            remedy = "; make one by torch.nn.attention.flex_attention.create_mask"
        raise TypeError(f"{name} must be a tensor, not {kind}{remedy}")
    kind = ""
    if mask.is_nested:
        kind = "nested"
    elif mask.layout != torch.strided:
        kind = "sparse"
    elif mask.device.type == "meta" and not torch.compiler.is_compiling():
        kind = "meta (it has no entries)"
    elif type(mask).__name__ == "MaskedTensor":
        kind = "masked"
    if kind:
        raise TypeError(f"{name} must be a plain tensor of bools or floats, and is {kind}")
    return mask


def only_present(present: Tensor | None, values: Tensor) -> Tensor:
    """values where present, 0 elsewhere."""
    return values if present is None else values.masked_fill(~present, 0.0)


def by_head(mask: Tensor | None, num_heads: int, batch: int) -> Tensor | None:
    """A mask in torch's shape (batch * num_heads, queries, keys) with its heads apart.

    Args:
        mask: attn_mask, or None.
        num_heads: of the layer.
        batch: items of the query's batch; 1 where it has no such axis.
    """
    mask = None if mask is None else plain("attn_mask", mask)
    if mask is None or mask.ndim != 3 or mask.shape[0] == 1:
        return mask
    if mask.shape[0] == num_heads:
        if batch == num_heads:
            raise ValueError(
                f"attn_mask of shape {tuple(mask.shape)} may be meant by head or by item of the "
                f"batch, for there are {num_heads} of both: write attn_mask[None] for one by head, "
                f"or attn_mask[:, None] for one by item"
            )
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
    key_padding_mask = plain("key_padding_mask", key_padding_mask)
    if not (key_padding_mask.dtype == torch.bool or key_padding_mask.is_floating_point()):
        raise TypeError(f"key_padding_mask must be bool or float, not {key_padding_mask.dtype}")
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
