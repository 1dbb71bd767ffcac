"""Couplings as parameters: kinds of J (and K) that a layer can learn.

A kind is a module whose forward(length) gives one coupling array for each head. Subclass
`Couplings` for a kind of your own; a layer takes an instance wherever it takes a kind's name.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attention_bridge.symmetry import symmetrised
from isingsample import _validation as check

KINDS = ("dense", "banded", "relative")


class Couplings(nn.Module, ABC):
    """Couplings between key positions, for sequences of any length up to max_length.

    A kind needs parameters and forward; this one lets couplings fall off with the distance:

    >>> class Decaying(Couplings):
    ...     def __init__(self, num_heads):
    ...         super().__init__()
    ...         self.strength = nn.Parameter(torch.zeros(num_heads, 1, 1))
    ...     def forward(self, length):
    ...         place = torch.arange(length, device=self.strength.device)
    ...         return self.strength / (1 + (place[:, None] - place).abs())

    Attributes:
        order: how many spins a coupling joins, 2 for J and 3 for K.
        max_length: the longest sequence there are couplings for; None for any.
        reach: spins further apart than this are never coupled, so that a sequence of any length
            can be solved exactly, window by window; None where all may be coupled.
    """

    order: int = 2
    max_length: int | None = None
    reach: int | None = None

    @abstractmethod
    def forward(self, length: int) -> Tensor:
        """Couplings of the first `length` positions.

        Returns:
            (heads, length, length), for K (heads, length, length, length), with 1 in the place of
            heads where they share couplings. It need not be symmetric: the mean over the orders
            of the indices counts, and no entry where an index repeats.
        """

    def reset_parameters(self) -> None:
        """Set the initial values again."""

    def matrix(self, length: int) -> Tensor:
        """The couplings as samplers see them: symmetric, 0 where an index repeats."""
        return symmetrised(self(length), self.order)


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
        reach: the largest distance between coupled positions, the bandwidth.
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
        shape, last = _shapes(length, self.order, self.reach, self.weight.device)
        return _look_up(self.weight[..., :length], shape * length + last)


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
        shape, _ = _shapes(length, self.order, self.reach, self.weight.device)
        return _look_up(self.weight[..., None], shape)


def couplings_of_kind(
    kind: str, num_heads: int, max_length: int, bandwidth: int | None, **options: Any
) -> Couplings:
    """Couplings by the name of their kind, with those of the sizes that it has."""
    check.check_choice("the kind of couplings", kind, KINDS)
    if kind == "dense":
        return DenseCouplings(num_heads, max_length, **options)
    if kind == "banded":
        if bandwidth is None:
            raise ValueError("'banded' couplings need bandwidth, the distance they reach")
        return BandedCouplings(num_heads, max_length, bandwidth, **options)
    reach = max(1, max_length - 1) if bandwidth is None else bandwidth
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


def _shapes(length: int, order: int, reach: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Of each pair (or triple) of positions: the number of its distances, and its last position.

    Sets of distances from the last position to the others are numbered by their largest, and
    then the next, so that a set has the same number whatever the reach. Where an index repeats or
    the reach is exceeded, the number is one past the last.

    Returns:
        two arrays with `order` axes of the given length.
    """
    place = torch.arange(length, device=device)
    axes = [
        place.reshape([-1 if a == axis else 1 for a in range(order)]).expand([length] * order)
        for axis in range(order)
    ]
    ordered = torch.stack(axes).sort(dim=0).values
    last = ordered[-1]
    far, near = last - ordered[0], last - ordered[-2]
    number = near - 1 if order == 2 else (far - 1) * (far - 2) // 2 + near - 1
    coupled = (near > 0) & (far <= reach) & ((near < far) | (order == 2))
    return number.masked_fill(~coupled, math.comb(reach, order - 1)), last


def _look_up(table: Tensor, index: Tensor) -> Tensor:
    """Entries of a table (heads, rows, columns) at places of it in one row after the last too,
    which is 0: (heads, *index.shape)."""
    padded = nn.functional.pad(table, (0, 0, 0, 1)).flatten(1)
    return padded.index_select(1, index.flatten()).reshape(-1, *index.shape)
