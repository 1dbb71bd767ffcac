"""Sweeps as array operations on whatever device the arrays are on.

What the compiled kernels do for 128 replicas in a core's registers, these do for all replicas of
all queries of a block at once, one spin after the other. Random numbers are Philox4x32-10 of (spin,
replica, problem, sweep), as in `_core.streams`, in the 64-bit integers that PyTorch has: they do
not depend on the batch either.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample._core.arrays import Array, like, namespace
from isingsample._core.blocks import Block
from isingsample._core.states import interactions

_WORD = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_START = 0  # the sweep number of first states


@dataclass(frozen=True)
class Replicas:
    """Replicas of all queries of a block, and where their random numbers come from.

    Attributes:
        block: on the device.
        key: two 32-bit words, the seed.
        count: replicas of each query.
        purpose: a small number that separates runs of one seed.
    """

    block: Block
    key: tuple[int, int]
    count: int
    purpose: int = 0

    def uniforms(self, sweep: int, num: int) -> Array:
        """(groups, queries, count, num) numbers in (0, 1], of h's dtype."""
        h, index = self.block.h, self.block.index
        xp = namespace(h)
        quads = -(-num // 4)  # a counter gives four words
        counter = np.broadcast_arrays(
            np.arange(quads),
            np.arange(self.count)[:, None],
            index[..., None, None],
            np.int64(16 * sweep + self.purpose),
        )
        words = _philox(
            [like(np.asarray(c, np.int64), h, keep_dtype=True) for c in counter], self.key
        )
        mixed = xp.reshape(xp.stack(words, axis=-1), (*index.shape, self.count, 4 * quads))
        return (xp.astype(mixed[..., :num], h.dtype) + 0.5) * 2.0**-32

    def first(self, given: np.ndarray | None) -> Array:
        """(groups, queries, count, n) of -1 and +1: the given states, or fair coins."""
        if given is not None:
            return like(given.reshape(*self.block.index.shape, self.count, -1), self.block.h)
        xp = namespace(self.block.h)
        coins = self.uniforms(_START, self.block.num_spins)
        return xp.where(coins < 0.5, xp.ones_like(coins), -xp.ones_like(coins))

    def sweep(self, states: Array, beta: Array, number: int, order: np.ndarray) -> Array:
        """Draw each spin in turn from its distribution given the others.

        Args:
            states: (groups, queries, count, n), changed.
            beta: inverse temperature, broadcast against (groups, queries, count).
            number: of the sweep, from 1.
            order: (n,) in which spins are drawn.

        Returns:
            (groups, queries, count, n): P(s = +1) that each spin was drawn with.
        """
        xp = namespace(states)
        uniforms = self.uniforms(number, self.block.num_spins)
        up = xp.empty_like(states)
        for spin in order.tolist():
            field = self.field(states, spin)
            chance = 1 / (1 + xp.exp(xp.clip(-2 * beta * field, max=80.0)))
            up[..., spin] = chance
            ones = xp.ones_like(chance)
            states[..., spin] = xp.where(uniforms[..., spin] <= chance, ones, -ones)
        return up

    def descend(self, states: Array, beta: Array, number: int, order: np.ndarray) -> None:
        """Offer each spin in turn a flip, by Metropolis; arguments as for `sweep`."""
        xp = namespace(states)
        uniforms = self.uniforms(number, self.block.num_spins)
        for spin in order.tolist():
            now = states[..., spin]
            cost = xp.clip(2 * beta * self.field(states, spin) * now, 0.0, 80.0)
            turns = uniforms[..., spin] < xp.exp(-cost)
            states[..., spin] = xp.where(turns, -now, now)

    def field(self, states: Array, spin: int) -> Array:
        """What acts on a spin in each state: (groups, queries, count)."""
        xp, block = namespace(states), self.block
        pull = xp.matmul(states, block.J[:, None, :, spin, None])[..., 0]
        if block.K is not None:
            triples = xp.matmul(states, block.K[:, None, spin])
            pull = pull + xp.sum(triples * states, axis=-1) / 2
        return pull + block.h[..., None, spin]

    def energy(self, states: Array) -> Array:
        """Of whole states: (groups, queries, count)."""
        xp, block = namespace(states), self.block
        K = None if block.K is None else block.K[:, None]
        fields = xp.sum(states * block.h[..., None, :], axis=-1)
        return -fields - interactions(states, block.J[:, None], K)


def coldest(states: Array, energy: Array) -> tuple[Array, Array]:
    """The lowest of each query's states (groups, queries, count, n), and its energy."""
    xp = namespace(states)
    at = xp.argmin(energy, axis=-1)[..., None]
    chosen = like(np.arange(energy.shape[-1]), at) == at
    best = xp.sum(xp.where(chosen[..., None], states, xp.zeros_like(states)), axis=2)
    return best, xp.min(energy, axis=-1)


def _philox(counter: list[Any], key: tuple[int, int]) -> list[Any]:
    """Philox4x32-10 of four int64 arrays of 32-bit words."""
    x0, x1, x2, x3 = counter
    k0, k1 = key
    for _ in range(10):
        # Products wrap around at 2**63; their bits, which are all that counts, are right.
        left, right = _MULTIPLIERS[0] * x0, _MULTIPLIERS[1] * x2
        x0, x1 = ((right >> 32) & _WORD) ^ x1 ^ k0, right & _WORD
        x2, x3 = ((left >> 32) & _WORD) ^ x3 ^ k1, left & _WORD
        k0, k1 = (k0 + _KEY_STEPS[0]) & _WORD, (k1 + _KEY_STEPS[1]) & _WORD
    return [x0, x1, x2, x3]
