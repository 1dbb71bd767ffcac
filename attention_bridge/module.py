"""A Boltzmann attention layer: projections, couplings as parameters, any sampler."""

import math
from typing import Any, Self

import torch
from torch import Tensor, nn

from attention_bridge._masks import by_head, combined
from attention_bridge._solver import exact_solver, within_reach
from attention_bridge._torch_layer import NOT_PACKED, learned_of, options_of, state_of
from attention_bridge.coupling_tables import couplings_of_kind
from attention_bridge.couplings import Couplings
from attention_bridge.functional import CLOSED_FORMS, MODES, boltzmann_attention
from attention_bridge.gradients import GRADIENTS
from isingsample import Sampler, Transfer, get_sampler
from isingsample._core import checks as check


class BoltzmannAttention(nn.Module):
    """Multi-head attention by sampling, with couplings between key positions that are learned.

    Takes the place of `torch.nn.MultiheadAttention`: the same arguments and results but for three
    things. batch_first is True by default. In a bool attn_mask True means attend, as in
    scaled_dot_product_attention. And there is max_length. See
    `attention_bridge.boltzmann_attention` for what a head computes.

    Attributes:
        coupling: the `Couplings` of J, or None.
        three_body: the `Couplings` of K, or None.

    Args:
        embed_dim: width of the query and the output, a multiple of num_heads.
        num_heads: heads.
        max_length: the largest number of keys; "relative" couplings go on beyond it.
        coupling: J: "dense", a number for each pair of keys; "banded", for each pair at most
            reach apart; "relative", for each distance; `Couplings` of your own; or None,
            for modes and three_body that do without.
        three_body: K, likewise; None for none.
        reach: the largest distance of keys that are coupled, for "banded"; for "relative"
            max_length - 1 by default.
        shared: one set of couplings for all heads instead of one for each.
        coupling_init: standard deviation of the initial J; 0 starts without any, as an attention
            by independent keys. Or its values, a tensor that broadcasts against the weights.
        three_body_init: likewise of K.
        mode: "h+J", "h", "J" or "softmax".
        sampler: a Sampler, the name of one with its default options, or "auto": exact, by
            `Transfer` where couplings reach few of the keys, otherwise by `Exact`.
        gradient: "auto", "exact", "correlation", "straight_through", "straight_through_hard" or
            "mean_field"; see `attention_bridge.gradients`.
        beta: inverse temperature.
        normalize: divide the weights of each query by their sum.
        dropout: share of the weights set to 0 in training.
        bias: whether the projections have biases.
        add_bias_kv: must be False: a key without a position would have no couplings.
        add_zero_attn: must be False, for the same reason.
        kdim: width of the key; embed_dim by default.
        vdim: width of the value; embed_dim by default.
        batch_first: (batch, positions, width) rather than (positions, batch, width).
        device: of the parameters.
        dtype: of the parameters.

    Raises:
        ValueError: an unknown name, or sizes that do not fit.
        TypeError: an argument of the wrong kind.
    """

    # What torch.nn.TransformerEncoder and its layers ask their attention, to choose softmax kernels
    # and packed batches, or not.
    in_proj_bias = None
    in_proj_weight = NOT_PACKED
    _qkv_same_embed_dim = False

    query_projection: nn.Linear
    key_projection: nn.Linear
    value_projection: nn.Linear
    output_projection: nn.Linear

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        max_length: int,
        *,
        coupling: str | Couplings | None = "dense",
        three_body: str | Couplings | None = None,
        reach: int | None = None,
        shared: bool = False,
        coupling_init: float | Tensor = 0.0,
        three_body_init: float | Tensor = 0.0,
        mode: str = "h+J",
        sampler: str | Sampler = "auto",
        gradient: str = "auto",
        beta: float = 1.0,
        normalize: bool = True,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.embed_dim = check.check_count("embed_dim", embed_dim)
        self.num_heads = check.check_count("num_heads", num_heads)
        self.max_length = check.check_count("max_length", max_length)
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is not a multiple of num_heads {num_heads}")
        _refuse_keys_without_position(add_bias_kv=add_bias_kv, add_zero_attn=add_zero_attn)
        self.mode = check.check_choice("mode", mode, MODES)
        _check_kinds(coupling, three_body, reach, mode)
        self.sampler = sampler if sampler == "auto" else _sampler(sampler)
        self.gradient = check.check_choice("gradient", gradient, GRADIENTS)
        self.beta = check.check_number("beta", beta, minimum=0.0)
        self.normalize = normalize
        self.dropout = check.check_number("dropout", dropout, minimum=0.0, maximum=1.0)
        self.batch_first = batch_first

        where: dict[str, Any] = {"device": device, "dtype": dtype}
        widths = {"query": embed_dim, "key": kdim, "value": vdim, "output": embed_dim}
        for name, width in widths.items():
            projection = nn.Linear(width or embed_dim, embed_dim, bias=bias, **where)
            self.add_module(f"{name}_projection", projection)
        sizes = num_heads, max_length, reach
        options = {"shared": shared, **where}
        self.coupling = _couplings("coupling", coupling, 2, sizes, init=coupling_init, **options)
        self.three_body = _couplings(
            "three_body", three_body, 3, sizes, init=three_body_init, **options
        )

    @classmethod
    def from_torch(cls, attention: nn.MultiheadAttention, max_length: int, **options: Any) -> Self:
        """A layer with the projections of a `torch.nn.MultiheadAttention`.

        In mode="softmax" it computes the same.

        Args:
            attention: whose weights are copied, with its sizes, dropout and batch_first.
            max_length: the largest number of keys.
            **options: any others of this class.

        Raises:
            ValueError: it has add_bias_kv or add_zero_attn.
            TypeError: it is another kind of module.
        """
        if not isinstance(attention, nn.MultiheadAttention):
            raise TypeError(
                f"from_torch takes a torch.nn.MultiheadAttention, not {type(attention).__name__}"
            )
        embed_dim, num_heads = attention.embed_dim, attention.num_heads
        layer = cls(embed_dim, num_heads, max_length, **options_of(attention) | options)
        layer.load_state_dict(layer.state_dict() | state_of(attention))
        for name, needed in learned_of(attention).items():
            layer.get_parameter(name).requires_grad_(needed)
        return layer.train(attention.training)

    def reset_parameters(self) -> None:
        """Set all parameters to initial values again."""
        for projection in self._projections():
            projection.reset_parameters()
        for couplings in (self.coupling, self.three_body):
            if couplings is not None:
                couplings.reset_parameters()

    def coupling_matrix(self, length: int | None = None) -> Tensor:
        """J as the samplers see it: (heads, length, length), symmetric, diagonal 0.

        Args:
            length: of the sequence; max_length by default.

        Raises:
            ValueError: the layer has no couplings, or none for such a length.
        """
        length = self.max_length if length is None else check.check_count("length", length)
        if self.coupling is None:
            raise ValueError("this layer has no couplings: coupling is None")
        return self.coupling.matrix(length)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        *,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from each position of query to those of key.

        Args:
            query: (..., queries, embed_dim), usually (batch, queries, embed_dim); without
                batch_first (queries, batch, embed_dim), or (queries, embed_dim).
            key: (..., keys, kdim), likewise; query by default.
            value: (..., keys, vdim), likewise; key by default.
            key_padding_mask: (..., keys): bool, True = ignore this key (the opposite of
                attn_mask, as ever in torch); or float, like a float attn_mask.
            need_weights: whether to return the weights.
            attn_mask: broadcast against (..., num_heads, queries, keys), or in torch's shape
                (batch * num_heads, queries, keys): bool, True = attend, as for
                scaled_dot_product_attention and unlike torch.nn.MultiheadAttention; or float,
                added to h, where -inf removes the key.
            average_attn_weights: return the mean of the weights over the heads.
            is_causal: query i attends to keys 0 ... i; may be combined with the masks.
            generator: draws the sampler's seed; torch's own by default.

        Returns:
            the output, like query; and the weights before dropout, (..., queries, keys), not
            averaged (..., num_heads, queries, keys), or None if not needed.

        Raises:
            ValueError: more keys than there are couplings for, or shapes that do not fit.
        """
        key = query if key is None else key
        value = key if value is None else value
        for name, tensor in (("query", query), ("key", key), ("value", value)):
            if not isinstance(tensor, Tensor) or tensor.ndim < 2:
                raise ValueError(
                    f"{name} must be a tensor (..., positions, width); it is "
                    f"{getattr(tensor, 'shape', type(tensor).__name__)}"
                )
        if not self.batch_first:
            query, key, value = (_batch_axis_swapped(t) for t in (query, key, value))
        keys, batch = key.shape[-2], math.prod(query.shape[:-2])
        J, K = (
            None if couplings is None else couplings.of_length(keys)
            for couplings in (self.coupling, self.three_body)
        )
        heads = (
            self._split_heads(projection(tensor))
            for projection, tensor in zip(self._projections(), (query, key, value), strict=False)
        )
        output, weights = boltzmann_attention(
            *heads,
            coupling=J,
            three_body=K,
            attn_mask=combined(
                by_head(attn_mask, self.num_heads, batch), key_padding_mask, key.shape[:-1]
            ),
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=is_causal,
            beta=self.beta,
            mode=self.mode,
            normalize=self.normalize,
            sampler=self._sampler_for(keys),
            gradient=self.gradient,
            generator=generator,
            return_weights=True,
        )
        merged: Tensor = self.output_projection(output.transpose(-3, -2).flatten(-2))
        merged = merged if self.batch_first else _batch_axis_swapped(merged)
        if not need_weights:
            return merged, None
        return merged, weights.mean(dim=-3) if average_attn_weights else weights

    def extra_repr(self) -> str:
        """The options, for repr."""
        shown_beta = self.beta.item() if isinstance(self.beta, Tensor) else self.beta
        return (
            f"{self.embed_dim}, num_heads={self.num_heads}, max_length={self.max_length}, "
            f"mode={self.mode!r}, sampler={self.sampler!r}, gradient={self.gradient!r}, "
            f"beta={shown_beta:g}, normalize={self.normalize}, dropout={self.dropout:g}, "
            f"batch_first={self.batch_first}"
        )

    @property
    def out_proj(self) -> nn.Linear:
        """The output projection by the name it has in torch's layer."""
        return self.output_projection

    def _projections(self) -> tuple[nn.Linear, nn.Linear, nn.Linear, nn.Linear]:
        return (
            self.query_projection,
            self.key_projection,
            self.value_projection,
            self.output_projection,
        )

    def _split_heads(self, x: Tensor) -> Tensor:
        """(..., positions, embed_dim) to (..., num_heads, positions, embed_dim / num_heads)."""
        width = self.embed_dim // self.num_heads
        return x.reshape(*x.shape[:-1], self.num_heads, width).transpose(-3, -2)

    def _sampler_for(self, keys: int) -> str | Sampler:
        couplings = [c for c in (self.coupling, self.three_body) if c is not None]
        if isinstance(self.sampler, Transfer):
            return within_reach(self.sampler, couplings)
        if self.sampler != "auto":
            return self.sampler
        if self.mode in CLOSED_FORMS:  # nothing for the compiler to see
            return "exact"
        return exact_solver(couplings, keys)


def _refuse_keys_without_position(**wanted: bool) -> None:
    """ValueError for options of torch's layer that add keys which no coupling belongs to."""
    for name, is_wanted in wanted.items():
        if is_wanted:
            raise ValueError(
                f"{name}=True would add a key without a position, and so without couplings; "
                f"put a learned token at the start of the sequence instead"
            )


def _check_kinds(
    coupling: str | Couplings | None,
    three_body: str | Couplings | None,
    reach: int | None,
    mode: str,
) -> None:
    """ValueError where couplings, their reach and the mode do not fit together."""
    if reach is not None and not {"banded", "relative"} & {coupling, three_body}:
        raise ValueError(
            f"reach={reach} is for 'banded' and 'relative' couplings, which this layer "
            f"does not have"
        )
    if coupling is None and three_body is None and mode not in CLOSED_FORMS:
        raise ValueError(
            f"mode={mode!r} needs couplings, and both coupling and three_body are None; "
            f"mode='h' does without"
        )


def _couplings(
    name: str,
    kind: str | Couplings | None,
    order: int,
    sizes: tuple[int, int, int | None],
    **options: Any,
) -> Couplings | None:
    """The couplings of a layer: made by the name of their kind, or the caller's own."""
    if isinstance(kind, str):
        return couplings_of_kind(kind, *sizes, order=order, **options)
    if kind is None or (isinstance(kind, Couplings) and kind.order == order):
        return kind
    raise TypeError(f"{name} must be a name or Couplings of order {order}, not {kind!r}")


def _sampler(sampler: str | Sampler) -> Sampler:
    if isinstance(sampler, Sampler):
        return sampler
    if not isinstance(sampler, str):
        raise TypeError(f"sampler must be a Sampler or the name of one, not {sampler!r}")
    return get_sampler(sampler)


def _batch_axis_swapped(x: Tensor) -> Tensor:
    """(positions, batch, width) to (batch, positions, width) and back; without a batch, as is."""
    if x.ndim > 3:
        raise ValueError(
            f"with batch_first=False tensors have at most 3 axes, (positions, batch, width), not "
            f"{tuple(x.shape)}"
        )
    return x.transpose(0, 1) if x.ndim == 3 else x
