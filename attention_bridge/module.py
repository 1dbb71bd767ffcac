"""A Boltzmann attention layer: projections, couplings as parameters, any sampler."""

import math

import torch
from torch import Tensor, nn

from attention_bridge.functional import MODES, boltzmann_attention
from attention_bridge.gradients import GRADIENTS, symmetrised
from isingsample import Sampler, get_sampler
from isingsample import _validation as check


class BoltzmannAttention(nn.Module):
    """Multi-head attention by sampling, with couplings between key positions that are learned.

    Takes the place of `torch.nn.MultiheadAttention(batch_first=True)`; see
    `attention_bridge.boltzmann_attention` for what it computes. Sequences shorter than max_length
    use the leading corner of the couplings.

    Attributes:
        coupling: (num_heads, max_length, max_length) parameter; its symmetric part without the
            diagonal is J.

    Args:
        embed_dim: width of the input and the output, a multiple of num_heads.
        num_heads: heads, each with couplings of its own.
        max_length: the largest number of keys.
        mode: "h+J", "h", "J" or "softmax".
        sampler: a Sampler, or the name of one with its default options.
        gradient: "auto", "exact", "correlation" or "straight_through".
        beta: inverse temperature.
        bias: whether the projections have biases.
        dropout: share of the weights set to 0 in training.
        coupling_std: standard deviation of the initial couplings; 0 starts without any, as an
            attention by independent keys.
        device: of the parameters.
        dtype: of the parameters.

    Raises:
        ValueError: an unknown name, or sizes that do not fit.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        max_length: int,
        *,
        mode: str = "h+J",
        sampler: str | Sampler = "exact",
        gradient: str = "auto",
        beta: float = 1.0,
        bias: bool = True,
        dropout: float = 0.0,
        coupling_std: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.embed_dim = check.check_count("embed_dim", embed_dim)
        self.num_heads = check.check_count("num_heads", num_heads)
        self.max_length = check.check_count("max_length", max_length)
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is not a multiple of num_heads {num_heads}")
        self.mode = check.check_choice("mode", mode, MODES)
        self.sampler = get_sampler(sampler) if isinstance(sampler, str) else sampler
        self.gradient = check.check_choice("gradient", gradient, GRADIENTS)
        self.beta = check.check_number("beta", beta, minimum=0.0)
        self.dropout = check.check_number("dropout", dropout, minimum=0.0)
        self.coupling_std = check.check_number("coupling_std", coupling_std, minimum=0.0)

        def projection() -> nn.Linear:
            return nn.Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)

        self.query_projection = projection()
        self.key_projection = projection()
        self.value_projection = projection()
        self.output_projection = projection()
        self.coupling = nn.Parameter(
            torch.empty(num_heads, max_length, max_length, device=device, dtype=dtype)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for projection in self.children():
            assert isinstance(projection, nn.Linear)
            projection.reset_parameters()
        # The mean of W and W^T has 1/sqrt(2) of W's standard deviation.
        nn.init.normal_(self.coupling, std=math.sqrt(2) * self.coupling_std)

    def coupling_matrix(self) -> Tensor:
        """J as the samplers see it: (num_heads, max_length, max_length), symmetric, diagonal 0."""
        return symmetrised(self.coupling)

    def forward(
        self,
        x: Tensor,
        *,
        key: Tensor | None = None,
        value: Tensor | None = None,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from each position of x to those of key (of x itself by default).

        Args:
            x: (..., queries, embed_dim).
            key: (..., keys, embed_dim); x by default.
            value: (..., keys, embed_dim); key by default.
            attn_mask: broadcast against (..., num_heads, queries, keys): bool, True = attend; or
                float, added to h, where -inf removes the key; as for `boltzmann_attention`.
            is_causal: query i attends to keys 0 ... i.
            key_padding_mask: (..., keys) bool, True = ignore this key, as in torch's
                MultiheadAttention (and the opposite of attn_mask).
            need_weights: also return the weights.

        Returns:
            (..., queries, embed_dim), and with need_weights (..., num_heads, queries, keys).

        Raises:
            ValueError: more than max_length keys, or shapes that do not fit.
        """
        key = x if key is None else key
        value = key if value is None else value
        keys = key.shape[-2]
        if keys > self.max_length:
            raise ValueError(
                f"the sequence has {keys} keys, but this layer holds couplings for "
                f"max_length = {self.max_length}"
            )
        output, weights = boltzmann_attention(
            self._split_heads(self.query_projection(x)),
            self._split_heads(self.key_projection(key)),
            self._split_heads(self.value_projection(value)),
            coupling=self.coupling[:, :keys, :keys],
            attn_mask=_combined(attn_mask, key_padding_mask),
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=is_causal,
            beta=self.beta,
            mode=self.mode,
            sampler=self.sampler,
            gradient=self.gradient,
            return_weights=True,
        )
        merged: Tensor = self.output_projection(output.transpose(-3, -2).flatten(-2))
        return (merged, weights) if need_weights else merged

    def extra_repr(self) -> str:
        """The options, for repr."""
        return (
            f"{self.embed_dim}, num_heads={self.num_heads}, max_length={self.max_length}, "
            f"mode={self.mode!r}, sampler={self.sampler!r}, gradient={self.gradient!r}, "
            f"beta={self.beta:g}, dropout={self.dropout:g}"
        )

    def _split_heads(self, x: Tensor) -> Tensor:
        """(..., positions, embed_dim) to (..., num_heads, positions, embed_dim / num_heads)."""
        width = self.embed_dim // self.num_heads
        return x.reshape(*x.shape[:-1], self.num_heads, width).transpose(-3, -2)


def _combined(attn_mask: Tensor | None, key_padding_mask: Tensor | None) -> Tensor | None:
    """One mask in attn_mask's meaning."""
    if key_padding_mask is None:
        return attn_mask
    if key_padding_mask.dtype != torch.bool:
        raise TypeError(f"key_padding_mask must be bool, not {key_padding_mask.dtype}")
    ignored = key_padding_mask[..., None, None, :]  # for all heads and queries
    if attn_mask is None:
        return ~ignored
    if attn_mask.dtype == torch.bool:
        return attn_mask & ~ignored
    return attn_mask.masked_fill(ignored, -math.inf)
