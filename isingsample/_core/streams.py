"""One seed, one independent random stream per problem of a batch.

A stream is addressed by (seed, problem index, purpose), never by the order of calls, so the
samples of a problem do not depend on the size of its batch, on its neighbours or on threads.
That needs a counter-based generator: Philox4x32-10 of Salmon et al., "Parallel random numbers:
as easy as 1, 2, 3" (SC 2011), evaluated for whole arrays of counters at once.
"""

import numbers
import secrets
from collections.abc import Callable
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

# Any integer, a NumPy generator (advanced by one draw, so that a second call differs), or None.
Seed: TypeAlias = int | np.random.Generator | None

_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_KEY_STEPS = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
_ROUNDS = 10


def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Philox4x32-10: four 32-bit words of randomness for each 128-bit counter.

    Args:
        counter: (4, ...) uint64, each entry below 2**32.
        key: two 32-bit words.

    Returns:
        (4, ...) uint64, each entry below 2**32.
    """
    x0, x1, x2, x3 = counter
    k0, k1 = np.uint64(key[0]), np.uint64(key[1])
    for _ in range(_ROUNDS):
        left, right = _MULTIPLIERS[0] * x0, _MULTIPLIERS[1] * x2
        x0, x1, x2, x3 = (
            (right >> _HALF) ^ x1 ^ k0,
            right & _WORD,
            (left >> _HALF) ^ x3 ^ k1,
            left & _WORD,
        )
        k0, k1 = (k0 + _KEY_STEPS[0]) & _WORD, (k1 + _KEY_STEPS[1]) & _WORD
    return np.stack([x0, x1, x2, x3])


class Streams:
    """The random streams of one call to a sampler.

    Args:
        key: two 32-bit words that the seed was hashed to; or a function giving them, called at
            the first draw, since hashing takes longer than an exact sampler with few queries.
    """

    def __init__(self, key: tuple[int, int] | Callable[[], tuple[int, int]]) -> None:
        self._key = key

    @cached_property
    def key(self) -> tuple[int, int]:
        """Two 32-bit words that the seed was hashed to."""
        return self._key() if callable(self._key) else self._key

    @classmethod
    def from_seed(cls, seed: Seed) -> "Streams":
        """Streams for a seed.

        Args:
            seed: an integer of any size and sign (equal integers give equal streams, NumPy
                integers included), a numpy.random.Generator, or None for fresh entropy.

        Raises:
            TypeError: seed is anything else.
        """
        if seed is None:
            return cls(partial(_hashed, secrets.randbits(128)))
        if isinstance(seed, np.random.Generator):
            return cls(partial(_hashed, seed.integers(0, 2**32, size=4).tolist()))
        if isinstance(seed, numbers.Integral) and not isinstance(seed, bool):
            # The sign first: SeedSequence ignores trailing zeros.
            return cls(partial(_hashed, [int(seed < 0), abs(int(seed))]))
        raise TypeError(f"seed must be an integer, a numpy.random.Generator or None, not {seed!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Streams) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Streams(key={self.key})"

    def uniforms(
        self, index: np.ndarray, num: int, purpose: int = 0, *, skip: int = 0
    ) -> np.ndarray:
        """num uniform numbers in [0, 1) for each problem.

        Args:
            index: (...) integers, the problems' positions in their batch.
            num: how many numbers for each problem; a longer request begins with a shorter one.
            purpose: a small integer that separates draws made for different ends.
            skip: how many numbers at the beginning of each stream to leave out.

        Returns:
            (..., num) float64 with 53 random bits each.
        """
        first, odd = divmod(skip, 2)
        words = self._words(index, -(-(num + odd) // 2), purpose, first)
        high, low = words[..., 0::2] >> np.uint64(5), words[..., 1::2] >> np.uint64(6)
        return ((high * 2.0**26 + low) * 2.0**-53)[..., odd : odd + num]

    def integers(self, index: np.ndarray, purpose: int = 0) -> np.ndarray:
        """One seed in [0, 2**31) for each problem, for a foreign generator: (...) int64."""
        return (self._words(index, 1, purpose)[..., 0] >> np.uint64(1)).astype(np.int64)

    def _words(self, index: np.ndarray, blocks: int, purpose: int, first: int = 0) -> np.ndarray:
        """(..., 4 * blocks) words, each below 2**32, from a stream's first-th block on."""
        position = np.asarray(index).astype(np.uint64)[..., None]
        block = np.arange(first, first + blocks, dtype=np.uint64)
        shape = np.broadcast_shapes(position.shape, block.shape)
        counter = np.empty((4, *shape), np.uint64)
        counter[0], counter[1] = block, purpose
        counter[2], counter[3] = position & _WORD, position >> _HALF
        words = philox(counter, self.key)
        return np.moveaxis(words, 0, -1).reshape(*shape[:-1], 4 * blocks)


def _hashed(entropy: int | list[int]) -> tuple[int, int]:
    first, second = np.random.SeedSequence(entropy).generate_state(2, np.uint32)
    return int(first), int(second)
