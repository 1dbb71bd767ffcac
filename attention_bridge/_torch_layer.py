"""What is known here of the inside of torch.nn.MultiheadAttention."""

from typing import Any

from torch import Tensor, nn


class _NotPacked:
    """In the place of torch's packed projections, where a TransformerEncoder looks for them.

    It packs padded batches into nested tensors for kernels of its own attention, and leaves that
    where anything in the place of a weight has ways of its own.
    """

    def __torch_function__(self, *call: object) -> object:
        return NotImplemented


NOT_PACKED = _NotPacked()


def options_of(attention: nn.MultiheadAttention) -> dict[str, Any]:
    """The options of torch's layer, by their names in ours."""
    like: Tensor = attention.out_proj.weight
    return {
        "dropout": attention.dropout,
        "bias": attention.in_proj_bias is not None,
        "add_bias_kv": attention.bias_k is not None,
        "add_zero_attn": attention.add_zero_attn,
        "kdim": attention.kdim,
        "vdim": attention.vdim,
        "batch_first": attention.batch_first,
        "device": like.device,
        "dtype": like.dtype,
    }


def state_of(attention: nn.MultiheadAttention) -> dict[str, Tensor]:
    """The projections of torch's layer, by their names in ours."""
    theirs: dict[str, Tensor] = attention.state_dict()
    names = [f"{name}_projection" for name in ("query", "key", "value")]
    if "in_proj_weight" in theirs:
        weights = list(theirs["in_proj_weight"].chunk(3))
    else:
        weights = [theirs[f"{letter}_proj_weight"] for letter in "qkv"]
    found = {f"{name}.weight": weight for name, weight in zip(names, weights, strict=True)}
    if "in_proj_bias" in theirs:
        biases = theirs["in_proj_bias"].chunk(3)
        found |= {f"{name}.bias": bias for name, bias in zip(names, biases, strict=True)}
    output = {key: value for key, value in theirs.items() if key.startswith("out_proj.")}
    return found | {key.replace("out_proj", "output_projection"): v for key, v in output.items()}


def learned_of(attention: nn.MultiheadAttention) -> dict[str, bool]:
    """Whether the projections of torch's layer require gradients, by their names in ours."""
    names = [f"{name}_projection" for name in ("query", "key", "value")]
    packed = attention.in_proj_weight is not None
    weights = ["in_proj_weight"] * 3 if packed else [f"{letter}_proj_weight" for letter in "qkv"]
    theirs = {name: p.requires_grad for name, p in attention.named_parameters()}
    found = {f"{name}.weight": theirs[weight] for name, weight in zip(names, weights, strict=True)}
    if attention.in_proj_bias is not None:
        found |= {f"{name}.bias": theirs["in_proj_bias"] for name in names}
    output = {key: value for key, value in theirs.items() if key.startswith("out_proj.")}
    return found | {key.replace("out_proj", "output_projection"): v for key, v in output.items()}
