"""Banded couplings: how far a block's reach, and cut out of their dense arrays."""

from dataclasses import dataclass

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import Array, detach, like, namespace, records_gradient, to_numpy
from isingsample._core.blocks import Block
from isingsample._core.prefix_blocks import PrefixBlock
from isingsample._core.sparse import SparseCouplings
from isingsample._core.states import pair_products, spin_table


@dataclass(frozen=True)
class Outermost:
    """The term of J or K whose spins are furthest apart.

    Attributes:
        distance: largest difference between its spins' places in the block; 0 without couplings.
        name: "J" or "K".
        spins: the indices of its spins in the problem.
        learned: whether it counts because it requires a gradient, be it zero or not.
    """

    distance: int
    name: str
    spins: tuple[int, ...]
    learned: bool


def outermost(block: Block, *, learned: bool) -> Outermost:
    """The term of a block that reaches furthest; of J, if one of K reaches as far.

    Args:
        block: its couplings are searched for entries other than zero.
        learned: count every entry of an array that requires a gradient, for that of an entry is
            not zero where the entry is.
    """
    if isinstance(block.J, SparseCouplings):
        return _longest_edge(block.J, block.spins)
    arrays = {"J": block.J} if block.K is None else {"J": block.J, "K": block.K}
    terms = []
    for name, couplings in arrays.items():
        if learned and records_gradient(couplings):
            ends = (*block.spins[: couplings.ndim - 2], block.spins[-1])
            terms.append(Outermost(block.num_spins - 1, name, tuple(map(int, ends)), True))
        else:
            terms.append(_outermost(name, to_numpy(couplings) != 0, block.spins))
    return max(terms, key=lambda term: term.distance)


def _longest_edge(J: SparseCouplings, spins: np.ndarray) -> Outermost:
    if not J.num_edges:
        return Outermost(0, "J", (int(spins[0]), int(spins[0])), False)
    at = int((J.second - J.first).argmax())
    first, second = int(J.first[at]), int(J.second[at])
    return Outermost(second - first, "J", (int(spins[first]), int(spins[second])), False)


def _outermost(name: str, couples: np.ndarray, spins: np.ndarray) -> Outermost:
    """The furthest term where couples, (groups, n, n[, n]) and symmetric, is True."""
    pairs = couples if couples.ndim == 3 else couples.any(axis=-1)
    first = pairs.argmax(axis=-1)  # each spin's first partner: (groups, n)
    reach = np.where(pairs.any(axis=-1), np.arange(pairs.shape[-1]) - first, 0)
    group, last = np.unravel_index(reach.argmax(), reach.shape)
    places = [first[group, last], last]
    if couples.ndim == 4:
        places.insert(1, couples[group, *places].argmax())
    distance = max(0, int(reach[group, last]))
    return Outermost(distance, name, tuple(int(spins[place]) for place in places), False)


@dataclass(frozen=True)
class Band:
    """Groups of queries whose spins couple to the `width` spins before them, and no others.

    Attributes:
        h: (groups, queries, n).
        couplings: (groups, n, features), what each spin's sign is multiplied by besides h: J to
            the `width` spins before it, oldest first, then, with three-body couplings, K to the
            pairs of them in the order of `pair_products`. Zero before the first spin.
        width: length of the window, at least 1.
        lengths: (queries,) NumPy integers, in rising order: a query has its first so many spins
            alone, and fields of 0 at the others.
    """

    h: Array
    couplings: Array
    width: int
    lengths: np.ndarray

    @classmethod
    def cut(cls, block: Block, width: int) -> "Band":
        """The band of a block that has no couplings outside it."""
        width, h = max(1, width), block.h
        lengths = np.full(h.shape[1], block.num_spins)
        if isinstance(block, PrefixBlock):
            lengths = block.lengths
            h = h * like(_present(lengths, block.num_spins), h)
        if isinstance(block.J, SparseCouplings):
            J = block.J
            oldest_first = np.zeros((1, block.num_spins, width))
            oldest_first[0, J.second, width - (J.second - J.first)] = J.values
            return cls(h, like(oldest_first, h), width, lengths)
        sites = np.arange(block.num_spins)[:, None]
        window = sites - width + np.arange(width)  # (n, width)

        def entries(couplings: Array, *others: np.ndarray) -> Array:
            places = [like(np.maximum(s, 0), block.h, keep_dtype=True) for s in (*others, sites)]
            return couplings[:, *places] * like(others[0] >= 0, block.h)

        couplings = entries(block.J, window)
        if block.K is not None:
            first, second = np.triu_indices(width, 1)
            triples = entries(block.K, window[:, first], window[:, second])
            couplings = namespace(block.h).concat([couplings, triples], axis=-1)
        return cls(h, couplings, width, lengths)

    def at(self, groups: slice, queries: slice) -> "Band":
        """Some of its queries."""
        h, couplings = self.h[groups, queries], self.couplings[groups]
        return Band(h, couplings, self.width, self.lengths[queries])

    @property
    def starts(self) -> np.ndarray:
        """Of each spin that any query has, the first query that has it: all further ones do."""
        return np.searchsorted(self.lengths, np.arange(self.lengths[-1]), side="right")

    @property
    def present(self) -> Array:
        """1 where a query has a spin, else 0: (queries, n)."""
        return like(_present(self.lengths, self.h.shape[-1]), self.h)

    def to_numpy(self) -> "Band":
        """The same band in float64 NumPy arrays on the host."""
        h, couplings = (to_numpy(array).astype(float) for array in (self.h, self.couplings))
        return Band(h, couplings, self.width, self.lengths)

    @np.errstate(over="ignore")  # refused below
    def scaled(self, beta: Array) -> "Band":
        """The band with fields and couplings times beta.

        Raises:
            ValueError: they leave the range of their dtype.
        """
        h, couplings = beta * self.h, beta * self.couplings
        xp = namespace(h)
        # Windows differ by what the couplings of `width` spins cost, and a sign adds its own: twice
        # their sizes each.
        costs = xp.sum(xp.abs(detach(couplings)), axis=-1) * (4 * self.width + 4)
        check.check_in_range(detach(h), costs)
        return Band(h, couplings, self.width, self.lengths)

    def costs(self) -> tuple[Array, Array, Array]:
        """The logarithmic weight of each sign of each spin, given the window before it.

        Relative to the most that each term could give: minus twice those that oppose the sign, and
        so free of the cancellation that would drown ordinary terms beside a huge one (-1e9 is a
        customary mask).

        Returns:
            of the couplings, (n, 2, groups, 1, 2, 2**(width-1)), where the axes are the spin,
            its sign (-1, +1), and the window's state: its oldest spin and the other spins;
            of the fields, (n, 2, groups, queries, 1, 1);
            and what to add to both: the sum of all absolute values, (groups, queries), of the
            terms of the spins that a query has.
        """
        xp = namespace(self.h)
        up, down = _parts(self.couplings)
        states = spin_table(self.width)
        features = states
        if self.couplings.shape[-1] > self.width:
            features = np.concatenate([states, pair_products(states)], axis=-1)
        opposed = like(np.concatenate([features - 1, -1 - features], axis=-1).T, self.h)
        signs = [xp.concat(pair, axis=-1) @ opposed for pair in ([down, up], [up, down])]
        tables = xp.permute_dims(xp.stack(signs), (2, 0, 1, 3))  # (n, 2, groups, 2**width)
        tables = xp.reshape(tables, (*tables.shape[:-1], 1, 2, -1))
        h_up, h_down = _parts(self.h)
        fields = -2 * xp.permute_dims(xp.stack([h_up, h_down]), (3, 0, 1, 2))
        best = xp.sum(h_up + h_down, axis=-1) + xp.sum(up + down, axis=-1) @ self.present.mT
        return tables, fields[..., None, None], best


def _present(lengths: np.ndarray, num_spins: int) -> np.ndarray:
    return np.arange(num_spins) < lengths[:, None]


def _parts(x: Array) -> tuple[Array, Array]:
    """x as the difference of its positive and negative part.

    Their derivatives at 0, where that of up is 0, are right only together.
    """
    xp = namespace(x)
    up = xp.where(x > 0, x, xp.zeros_like(x))
    return up, up - x
