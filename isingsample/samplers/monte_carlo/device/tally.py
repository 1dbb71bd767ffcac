"""What sweeps of array operations leave behind: moments, and diagnostics of their chains."""

from typing import Any

import numpy as np

from isingsample._core.arrays import Array, like, namespace, to_numpy
from isingsample.samplers._shared.pairs import SUBSETS, chain_pairs, unseen_error
from isingsample.samplers.monte_carlo.diagnostics import chain_diagnostics

_WATCHED, _DRAWS = 32, 32


class DeviceTally:
    """Sums over the sweeps that count, on the device.

    Args:
        kept: how many sweeps will be added.
        reads: chains of each query.
    """

    def __init__(self, kept: int, reads: int) -> None:
        self._kept, self._reads = kept, reads
        self._up: Array = 0.0
        self._pairs: Array = 0.0
        self._part: Array = 0.0
        self._draws: list[Array] = []
        self._stride = max(1, kept // _DRAWS)
        self._added = 0

    def add(self, chance: Array, states: Array) -> None:
        """One more sweep.

        Args:
            chance: (groups, queries, reads, n), P(s = +1) that each spin was drawn with.
            states: (groups, queries, reads, n) after the sweep.
        """
        xp = namespace(states)
        self._up = self._up + xp.astype(chance, xp.float64)
        subsets = self._dealt(states)
        self._pairs = self._pairs + xp.matmul(xp.permute_dims(subsets, (0, 1, 2, 4, 3)), subsets)
        self._part = self._part + chance[:, :, :_WATCHED]
        self._added += 1
        if self._added % self._stride == 0:
            self._draws.append(self._part / self._stride)
            self._part = 0.0

    def moments(self) -> tuple[Array, Array]:
        """P(s = +1) and the standard error of m, from the mean of every chain: (..., n) each."""
        means = self._up / self._kept
        xp = namespace(means)
        probability = xp.mean(means, axis=2)
        if self._reads == 1:
            return probability, probability * np.nan
        spread = 2 * xp.std(means, axis=2, correction=1) / np.sqrt(self._reads)
        unseen = unseen_error(xp.minimum(probability, 1 - probability), self._reads)
        return probability, xp.maximum(spread, unseen)

    def correlation(self) -> Array:
        """<s_j s_k> over sweeps and chains: (groups, queries, n, n)."""
        return self._correlations()[0]

    def correlation_error(self) -> Array:
        """Its standard error, from the spread between subsets of the chains."""
        return self._correlations()[1]

    def _correlations(self) -> tuple[Array, Array]:
        xp, dtype = namespace(self._pairs), self._pairs.dtype
        # Whole numbers, exact in float32; the small difference of their squares would not be.
        pairs = xp.astype(self._pairs, xp.float64)
        counts = [len(part) for part in np.array_split(np.arange(self._reads), self._subsets)]
        members = like(np.array(counts).reshape(-1, 1, 1), pairs)
        total, squares = xp.sum(pairs, axis=2), xp.sum(pairs**2 / members, axis=2)
        mean, error = chain_pairs(total, squares, self._subsets, self._reads, self._kept)
        return xp.astype(mean, dtype), xp.astype(error, dtype)

    @property
    def _subsets(self) -> int:
        return min(self._reads, SUBSETS)

    def _dealt(self, states: Array) -> Array:
        """Reads as subsets, filled up with zeros: (groups, queries, subsets, members, n)."""
        xp, missing = namespace(states), -self._reads % self._subsets
        blank = xp.zeros_like(states[:, :, :1])
        filled = xp.concat([states, *[blank] * missing], axis=2) if missing else states
        groups, queries, _, num_spins = states.shape
        by_member = xp.reshape(filled, (groups, queries, -1, self._subsets, num_spins))
        return xp.permute_dims(by_member, (0, 1, 3, 2, 4))

    def diagnosed(self) -> dict[str, Any]:
        """Diagnostics of the spin whose chains agree least, on the host: (groups, queries) each."""
        series = np.stack([to_numpy(draw) for draw in self._draws], axis=-1)
        half = series.shape[-1] // 2  # of the draws of (groups, queries, chains, n, draws)
        halves = np.stack([series[..., :half], series[..., half : 2 * half]], axis=-2)
        worst = np.zeros(series.shape[:2], int)
        if half > 1:
            between = halves.mean(axis=-1).var(axis=(2, 4))
            within = halves.var(axis=-1).mean(axis=(2, 4))
            worst = np.where(between < 1e-12, 0.0, between / (within + 1e-12)).argmax(axis=-1)
        at = worst[:, :, None, None, None]
        chosen = np.take_along_axis(series, at, axis=3)[:, :, :, 0]
        return chain_diagnostics(chosen.reshape(-1, *chosen.shape[2:]), self._reads, worst.shape)
