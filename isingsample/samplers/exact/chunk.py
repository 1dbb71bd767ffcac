"""Some queries with the tables of their couplings, and all that follows from them exactly."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isingsample._core.arrays import Array, concat, like, namespace, slices
from isingsample._core.states import pair_products
from isingsample.samplers.exact.halves import Halves
from isingsample.samplers.exact.marginals import (
    Fields,
    joint_distribution,
    log_joint,
    log_sum,
    marginals,
    single_spins,
)


@dataclass(frozen=True)
class Chunk:
    """Queries of a block, with fields and couplings times beta.

    Attributes:
        h: (groups, queries, n).
        J: (groups, n, n).
        K: (groups, n, n, n) or None.
        halves: the tables of J and K.
        at: where in the block: (groups, queries).
    """

    h: Array
    J: Array
    K: Array | None
    halves: Halves
    at: tuple[slice, slice]

    def moments(self) -> tuple[Array, Array, Array]:
        """Magnetization, P(s = +1) and ln Z."""
        solved = marginals(self.h, self.J, self.K, self.halves, cross=False)
        return *single_spins(solved, self.halves), solved.log_partition

    def correlation(self) -> tuple[Array]:
        """<s_j s_k>: (groups, queries, n, n)."""
        xp = namespace(self.h)
        solved = marginals(self.h, self.J, self.K, self.halves, cross=True)
        inner_left, inner_right = (
            _symmetric(weights @ pair_products(states), states)
            for weights, states in (
                (solved.left / solved.total[..., None], self.halves.left),
                (solved.right / solved.total[..., None], self.halves.right),
            )
        )
        cross = solved.cross / solved.total[..., None, None]
        top = xp.concat([inner_left, cross], axis=-1)
        bottom = xp.concat([cross.mT, inner_right], axis=-1)
        return (xp.concat([top, bottom], axis=-2),)

    def entropy(self) -> tuple[Array]:
        """-sum_s P ln P, in nats: (groups, queries)."""
        return (self._by_query(_entropy),)

    def distribution(self) -> tuple[Array]:
        """P of every state, in the order of `spin_table`: (groups, queries, 2**n)."""
        return (self._by_query(_flat_joint),)

    def likeliest(self) -> tuple[Array]:
        """The row of `spin_table` that is the likeliest state: (groups, queries)."""
        return (self._by_query(_likeliest),)

    def _by_query(self, compute: Callable[[Array, Halves, Array], Array]) -> Array:
        """compute(h, halves, group) for single queries (rows, n), as (groups, queries, ...).

        For work that costs 2**n per query, a bounded number of queries at a time.
        """
        xp = namespace(self.h)
        groups, queries, num_spins = self.h.shape
        flat = xp.reshape(self.h, (groups * queries, num_spins))
        group = like(np.repeat(np.arange(groups), queries), self.h, keep_dtype=True)
        parts = [
            compute(flat[rows], self.halves, group[rows])
            for rows in slices(len(flat), self.halves.queries_at_once)
        ]
        joined = concat(parts, axis=0)
        return xp.reshape(joined, (groups, queries, *joined.shape[1:]))


def _flat_joint(h: Array, halves: Halves, group: Array) -> Array:
    return namespace(h).reshape(joint_distribution(h, halves, group), (len(h), -1))


def _likeliest(h: Array, halves: Halves, group: Array) -> Array:
    xp = namespace(h)
    fields = Fields.of(h, halves, group)
    best, place = None, None
    for rows in halves.row_blocks:
        logs = xp.reshape(log_joint(fields, halves, group, rows), (len(h), -1))
        here = xp.argmax(logs, axis=-1) + rows.start * len(halves.right)
        value = xp.max(logs, axis=-1)
        if best is None:
            best, place = value, here
        else:
            best, place = xp.where(value > best, value, best), xp.where(value > best, here, place)
    return place


def _entropy(h: Array, halves: Halves, group: Array) -> Array:
    """ln Z minus the mean of the log-weights, each block of states by its share."""
    xp = namespace(h)
    fields = Fields.of(h, halves, group)
    sums, means = [], []
    for rows in halves.row_blocks:
        logs = xp.reshape(log_joint(fields, halves, group, rows), (len(h), -1))
        sums.append(log_sum(logs, axis=-1))
        shares = xp.exp(logs - sums[-1][:, None])
        # A state that cannot be has a log-weight of minus infinity, of which 0 times is not 0.
        counted = xp.where(shares > 0, logs, xp.zeros_like(logs))
        means.append(xp.sum(shares * counted, axis=-1))
    by_block, mean = xp.stack(sums, axis=-1), xp.stack(means, axis=-1)
    log_partition = log_sum(by_block, axis=-1)
    share = xp.exp(by_block - log_partition[:, None])
    return log_partition - xp.sum(share * mean, axis=-1)


def _symmetric(pairs: Array, states: Array) -> Array:
    """Values of pairs j < k (..., n(n-1)/2) as symmetric matrices with ones on the diagonal."""
    xp = namespace(pairs)
    num_spins = states.shape[-1]
    first, second = np.triu_indices(num_spins, 1)
    place = np.full((num_spins, num_spins), len(first))  # the diagonal: one entry past the pairs
    place[first, second] = place[second, first] = np.arange(len(first))
    one = xp.ones((*pairs.shape[:-1], 1), dtype=pairs.dtype, device=pairs.device)
    padded = xp.concat([pairs, one], axis=-1)
    return padded[..., like(place, pairs, keep_dtype=True)]
