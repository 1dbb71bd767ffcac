"""One seed, one independent random stream per problem of a batch.

A stream is addressed by (seed, problem index, purpose), never by the order of calls, so the
samples of a problem do not depend on the size of its batch, on its neighbours or on threads.
That needs a counter-based generator: Philox4x32-10 of Salmon et al., "Parallel random numbers:
as easy as 1, 2, 3" (SC 2011), evaluated for whole arrays of counters at once.
"""

import numbers
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Streams:
    """The random streams of one call to a sampler.

    Attributes:
        key: two 32-bit words that the seed was hashed to.
    """

    key: tuple[int, int]

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
            sequence = np.random.SeedSequence()
        elif isinstance(seed, np.random.Generator):
            sequence = np.random.SeedSequence(seed.integers(0, 2**32, size=4).tolist())
        elif isinstance(seed, numbers.Integral) and not isinstance(seed, bool):
            # The sign first: SeedSequence ignores trailing zeros.
            sequence = np.random.SeedSequence([int(seed < 0), abs(int(seed))])
        else:
            raise TypeError(
                f"seed must be an integer, a numpy.random.Generator or None, not {seed!r}"
            )
        first, second = sequence.generate_state(2, np.uint32)
        return cls((int(first), int(second)))

    def uniforms(self, index: np.ndarray, num: int, purpose: int = 0) -> np.ndarray:
        """num uniform numbers in [0, 1) for each problem.

        Args:
            index: (...) integers, the problems' positions in their batch.
            num: how many numbers for each problem; a longer request begins with a shorter one.
            purpose: a small integer that separates draws made for different ends.

        Returns:
            (..., num) float64 with 53 random bits each.
        """
        words = self._words(index, -(-num // 2), purpose)
        high, low = words[..., 0::2] >> np.uint64(5), words[..., 1::2] >> np.uint64(6)
        return ((high * 2.0**26 + low) * 2.0**-53)[..., :num]

    def integers(self, index: np.ndarray, purpose: int = 0) -> np.ndarray:
        """One seed in [0, 2**31) for each problem, for a foreign generator: (...) int64."""
        return (self._words(index, 1, purpose)[..., 0] >> np.uint64(1)).astype(np.int64)

    def _words(self, index: np.ndarray, blocks: int, purpose: int) -> np.ndarray:
        """(..., 4 * blocks) words, each below 2**32."""
        position = np.asarray(index).astype(np.uint64)[..., None]
        block = np.arange(blocks, dtype=np.uint64)
        shape = np.broadcast_shapes(position.shape, block.shape)
        counter = np.empty((4, *shape), np.uint64)
        counter[0], counter[1] = block, purpose
        counter[2], counter[3] = position & _WORD, position >> _HALF
        words = philox(counter, self.key)
        return np.moveaxis(words, 0, -1).reshape(*shape[:-1], 4 * blocks)
