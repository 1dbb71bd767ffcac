"""Which spins of a problem are coupled: all that an embedding depends on, besides the chip."""

import hashlib
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Structure:
    """Which spins of a problem are coupled.

    Attributes:
        num_spins: n.
        edges: pairs (j, k), j < k, in order.
    """

    num_spins: int
    edges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, J: np.ndarray) -> "Structure":
        """All pairs that any of the couplings (groups, n, n) couples."""
        coupled = np.triu((J != 0).any(axis=0), 1)
        return cls(J.shape[-1], tuple((int(j), int(k)) for j, k in np.argwhere(coupled)))

    @property
    def is_dense(self) -> bool:
        """Whether more than half of all pairs are coupled."""
        return 4 * len(self.edges) > self.num_spins * (self.num_spins - 1)

    @property
    def digest(self) -> str:
        """A short name: the same for equal structures alone."""
        return hashlib.sha256(repr((self.num_spins, self.edges)).encode()).hexdigest()[:16]

    def completed(self) -> "Structure":
        """The clique of a dense structure: one layout then serves all of this size."""
        if not self.is_dense:
            return self
        pairs = ((j, k) for j in range(self.num_spins) for k in range(j + 1, self.num_spins))
        return Structure(self.num_spins, tuple(pairs))
