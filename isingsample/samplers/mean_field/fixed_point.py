"""Fixed points of many queries at once, by damped iteration."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isingsample._core.arrays import Array, like, namespace, to_numpy


@dataclass(frozen=True)
class Settled:
    """Where the iterations of some queries ended.

    Attributes:
        x: (groups, queries, n).
        converged: (groups, queries) NumPy bool.
        iterations: (groups, queries) NumPy int, the steps that each query took.
    """

    x: Array
    converged: np.ndarray
    iterations: np.ndarray


@dataclass(frozen=True)
class DampedIteration:
    """x <- damping x + (1 - damping) step(x), until step(x) = x.

    Each query stops at its own convergence, so that its result depends on no other; and those
    that have stopped are left behind, so that a few slow ones do not hold up the batch.

    Attributes:
        max_iterations: steps after which a query counts as not converged.
        damping: share of x kept at each step, in [0, 1).
        tolerance: largest |step(x) - x| of a converged query, relative to its largest |x| where
            that is above 1.
    """

    max_iterations: int
    damping: float
    tolerance: float

    def settle(
        self,
        step: Callable[..., Array],
        x: Array,
        by_query: tuple[Array, ...],
        by_group: tuple[Array, ...],
        taken: int = 0,
    ) -> Settled:
        """The fixed point of each query that iterations from x lead to.

        Args:
            step: step(x, *by_query, *by_group), of the shape of x; called with parts of the batch.
            x: where to start, (groups, queries, n).
            by_query: what else a step needs of each query, (groups, queries, n).
            by_group: what it needs of each group, (groups, ...).
            taken: how many of the max_iterations were taken on the way to x.
        """
        xp = namespace(x)
        moving = np.ones(x.shape[:2], bool)
        iterations = np.zeros(x.shape[:2], int)
        for count in range(taken, self.max_iterations + 1):
            change = step(x, *by_query, *by_group) - x
            largest = xp.max(xp.abs(x), axis=-1)
            bound = self.tolerance * xp.where(largest > 1, largest, xp.ones_like(largest))
            # Said this way round, a NaN never counts as converged.
            moving = moving & ~to_numpy(xp.max(xp.abs(change), axis=-1) <= bound)
            if count == self.max_iterations or not moving.any():
                break
            iterations += moving
            on = like(moving, x, keep_dtype=True)[..., None]
            x = xp.where(on, x + (1 - self.damping) * change, x)
            # The smallest rectangle that holds all that move. Those that fill it up stand still.
            groups, width = np.flatnonzero(moving.any(axis=1)), moving.sum(axis=1).max()
            if 2 * len(groups) * width <= moving.size:
                queries = np.argsort(~moving[groups], axis=1, kind="stable")[:, :width]
                rest = (groups[:, None], queries)
                at = tuple(like(index, x, keep_dtype=True) for index in rest)
                later = self.settle(
                    step,
                    x[at],
                    tuple(array[at] for array in by_query),
                    tuple(array[at[0][:, 0]] for array in by_group),
                    count + 1,
                )
                x[at] = later.x
                moving[rest] = ~later.converged
                iterations[rest] += later.iterations
                break
        return Settled(x, ~moving, iterations)
