"""Couplings that are entries of one parameter: dense, banded and relative ones."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attention_bridge._distances import look_up, shapes
from attention_bridge.couplings import Couplings
from isingsample._core import checks as check

KINDS = ("dense", "banded", "relative")


class _Table(Couplings):
    """Couplings that are the entries of one parameter, `weight`."""

    def __init__(
        self,
        heads: int,
        shape: tuple[int, ...],
        *,
        order: int,
        shared: bool,
        init: float | Tensor,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        self.order = _order(order)
        heads = 1 if shared else check.check_count("num_heads", heads)
        self.weight = nn.Parameter(torch.empty(heads, *shape, device=device, dtype=dtype))
        self.init = _initial(init, self.weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the initial values again."""
        with torch.no_grad():
            if isinstance(self.init, Tensor):
                self.weight.copy_(self.init.expand_as(self.weight))
            else:
                self.weight.normal_(std=self.init * self._spread())

    def _spread(self) -> float:
        """Standard deviation of weights, for couplings with a standard deviation of 1."""
        return 1.0

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        saved = state_dict.get(f"{prefix}weight")
        if saved is not None and saved.shape != self.weight.shape:
            error_msgs.append(
                f"{prefix}weight was saved by couplings of another kind or size than {self}: build "
                f"the layer with the coupling, max_length, reach and shared it had then, and "
                f"for another length copy the entries that both have"
            )
        super()._load_from_state_dict(
            dict(state_dict),
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )

    def extra_repr(self) -> str:
        """The size of the table, for repr."""
        return f"{', '.join(map(str, self.weight.shape))}, order={self.order}"


class DenseCouplings(_Table):
    """A coupling of its own for each pair (or triple) of positions.

    Shorter sequences use the leading corner.

    Attributes:
        weight: (heads, max_length, max_length), with order 3 one axis more; its symmetric part
            without the diagonal is what counts.

    Args:
        num_heads: heads, each with couplings of its own.
        max_length: the longest sequence.
        order: how many spins a coupling joins: 2 for J, 3 for K.
        shared: one set of couplings for all heads.
        init: standard deviation of the initial couplings, 0 for none; or their values, a tensor
            that broadcasts against weight.
        device: of the parameter.
        dtype: of the parameter.

    Raises:
        ValueError: a size below 1, an order other than 2 and 3, or values that do not fit.
    """

    def __init__(
        self,
        num_heads: int,
        max_length: int,
        *,
        order: int = 2,
        shared: bool = False,
        init: float | Tensor = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        max_length = check.check_count("max_length", max_length)
        super().__init__(
            num_heads,
            (max_length,) * _order(order),
            order=order,
            shared=shared,
            init=init,
            device=device,
            dtype=dtype,
        )
        self.max_length = max_length

    def forward(self, length: int) -> Tensor:
        """The leading corner of weight; see `Couplings.forward`."""
        return self.weight[(slice(None), *[slice(length)] * self.order)]

    def _spread(self) -> float:
        # A coupling is the mean of as many weights as there are orders of its indices.
        return math.sqrt(math.factorial(self.order))


class BandedCouplings(_Table):
    """A coupling of its own for each pair (or triple) of positions at most `reach` apart.

    Attributes:
        weight: (heads, reach, max_length): weight[:, d - 1, k] couples positions k - d and k.
            With order 3 (heads, reach (reach - 1) / 2, max_length), where entry
            (f - 1)(f - 2)/2 + d - 1 at k couples k - f, k - d and k, with d < f. Entries at k for
            a first position below 0 are not used.

    Args:
        num_heads: heads, each with couplings of its own.
        max_length: the longest sequence.
        reach: the largest distance between coupled positions, the reach.
        order: how many spins a coupling joins: 2 for J, 3 for K.
        shared: one set of couplings for all heads.
        init: standard deviation of the initial couplings, 0 for none; or their values, a tensor
            that broadcasts against weight.
        device: of the parameter.
        dtype: of the parameter.

    Raises:
        ValueError: a size below 1, an order other than 2 and 3, or values that do not fit.
    """

    def __init__(
        self,
        num_heads: int,
        max_length: int,
        reach: int,
        *,
        order: int = 2,
        shared: bool = False,
        init: float | Tensor = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        max_length = check.check_count("max_length", max_length)
        reach = check.check_count("reach", reach)
        super().__init__(
            num_heads,
            (math.comb(reach, _order(order) - 1), max_length),
            order=order,
            shared=shared,
            init=init,
            device=device,
            dtype=dtype,
        )
        self.max_length, self.reach = max_length, reach

    def forward(self, length: int) -> Tensor:
        """The band as a matrix (or a cube); see `Couplings.forward`."""
        assert self.reach is not None
        shape, last = shapes(length, self.order, self.reach, self.weight.device)
        return look_up(self.weight[..., :length], shape * length + last)


class RelativeCouplings(_Table):
    """Couplings that depend on the distances between positions alone, at any length.

    Attributes:
        weight: (heads, reach): weight[:, d - 1] couples all positions d apart. With order 3
            (heads, reach (reach - 1) / 2), where entry (f - 1)(f - 2)/2 + d - 1 couples k - f,
            k - d and k for all k, with d < f.

    Args:
        num_heads: heads, each with couplings of its own.
        reach: the largest distance between coupled positions.
        order: how many spins a coupling joins: 2 for J, 3 for K.
        shared: one set of couplings for all heads.
        init: standard deviation of the initial couplings, 0 for none; or their values, a tensor
            that broadcasts against weight.
        device: of the parameter.
        dtype: of the parameter.

    Raises:
        ValueError: a size below 1, an order other than 2 and 3, or values that do not fit.
    """

    def __init__(
        self,
        num_heads: int,
        reach: int,
        *,
        order: int = 2,
        shared: bool = False,
        init: float | Tensor = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        reach = check.check_count("reach", reach)
        super().__init__(
            num_heads,
            (math.comb(reach, _order(order) - 1),),
            order=order,
            shared=shared,
            init=init,
            device=device,
            dtype=dtype,
        )
        self.reach = reach

    def forward(self, length: int) -> Tensor:
        """The couplings as a matrix (or a cube); see `Couplings.forward`."""
        assert self.reach is not None
        shape, _ = shapes(length, self.order, self.reach, self.weight.device)
        return look_up(self.weight[..., None], shape)


def couplings_of_kind(
    kind: str, num_heads: int, max_length: int, reach: int | None, **options: Any
) -> Couplings:
    """Couplings by the name of their kind, with those of the sizes that it has."""
    check.check_choice("the kind of couplings", kind, KINDS)
    if kind == "dense":
        return DenseCouplings(num_heads, max_length, **options)
    if kind == "banded":
        if reach is None:
            raise ValueError("'banded' couplings need reach, the distance they reach")
        return BandedCouplings(num_heads, max_length, reach, **options)
    reach = max(1, max_length - 1) if reach is None else reach
    return RelativeCouplings(num_heads, reach, **options)


def _order(order: int) -> int:
    if order not in (2, 3):
        raise ValueError(f"order must be 2, for J, or 3, for K, not {order!r}")
    return order


def _initial(init: float | Tensor, weight: Tensor) -> float | Tensor:
    """init, once it is known to fit weight."""
    if not isinstance(init, Tensor):
        return check.check_number("init", init, minimum=0.0)
    try:
        fits = np.broadcast_shapes(init.shape, weight.shape) == weight.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"init must broadcast against the weights {tuple(weight.shape)}; it has shape "
            f"{tuple(init.shape)}"
        )
    check.check_finite("init", init)
    return init.detach().clone()
