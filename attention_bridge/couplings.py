"""Couplings as parameters: what every kind of J (and K) that a layer can learn has in common.

A kind is a module whose forward(length) gives one coupling array for each head. Subclass
`Couplings` for a kind of your own; a layer takes an instance wherever it takes a kind's name.
"""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from attention_bridge.symmetry import symmetrised


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
        return symmetrised(self.of_length(length), self.order)

    def of_length(self, length: int) -> Tensor:
        """What forward gives, for a length of which there are couplings.

        Raises:
            ValueError: the length is above max_length.
        """
        if self.max_length is not None and length > self.max_length:
            raise ValueError(
                f"the sequence has {length} keys, but this layer holds couplings for "
                f"max_length = {self.max_length}; 'relative' ones have no such limit"
            )
        found: Tensor = self(length)
        return found
