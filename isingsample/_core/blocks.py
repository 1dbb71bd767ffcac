"""A batch of problems, cut into rectangular blocks that solvers can work on directly.

A sampler never sees masks or broadcasting. `split` removes absent spins (problems with the same
mask go together: causal prefixes and padding have few distinct masks) and lays each block out as
(groups, queries, spins), so that couplings which a batch shares appear once per group.
`Blocks.join` puts the solutions back into the order and shape of the batch.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from isingsample._core.arrays import Array, concat, like, namespace, to_numpy
from isingsample._core.problem import IsingProblem
from isingsample._core.sparse import Entries, SparseCouplings


@dataclass(frozen=True)
class Block:
    """Problems without absent spins: groups of queries, each group with its own couplings.

    Attributes:
        h: (groups, queries, n).
        J: (groups, n, n); or SparseCouplings, of the one group that there is then.
        K: (groups, n, n, n) or None.
        index: (groups, queries) NumPy integers, each query's position in the flattened batch.
        spins: (n,) NumPy integers, the problem's spins that this block keeps.
        labels: their names.
    """

    h: Array
    J: Array
    K: Array | None
    index: np.ndarray
    spins: np.ndarray
    labels: tuple[Hashable, ...]

    @property
    def num_spins(self) -> int:
        """n, the number of spins present."""
        return len(self.spins)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to decide: no spins or no queries."""
        return self.num_spins == 0 or self.index.size == 0

    def couplings(self, group: int) -> Array:
        """J of one group: (n, n), or SparseCouplings."""
        return self.J if isinstance(self.J, SparseCouplings) else self.J[group]

    def entries(self) -> Entries:
        """The entries of a NumPy block's J other than zero, rows counted through the groups.

        Whatever is computed from them is the same for a dense and a sparse J.
        """
        if isinstance(self.J, SparseCouplings):
            return self.J.entries
        at = np.flatnonzero(self.J)
        return Entries(*np.divmod(at, max(self.num_spins, 1)), self.J.ravel()[at])

    def coupling_sums(self) -> np.ndarray:
        """sum_k |J_jk| of each spin of a NumPy block, in float64: (groups, n)."""
        row, _, value = self.entries()
        shape = (len(self.index), self.num_spins)
        size = np.abs(value).astype(float)
        # One after the other, as bincount does it, for the sums not to depend on the zeros.
        return np.bincount(row, size, minlength=shape[0] * shape[1]).reshape(shape)

    @np.errstate(over="ignore")  # what overflows, a sampler refuses by `check_in_range`
    def times(self, beta: Any) -> "Block":
        """The same block with fields and couplings times beta."""
        K = None if self.K is None else beta * self.K
        return replace(self, h=beta * self.h, J=beta * self.J, K=K)

    def to_numpy(self) -> "Block":
        """The same block in float64 NumPy arrays on the host."""
        K = None if self.K is None else to_numpy(self.K).astype(float)
        J = self.J if isinstance(self.J, SparseCouplings) else to_numpy(self.J)
        h, J = to_numpy(self.h).astype(float), J.astype(float)
        return Block(h, J, K, self.index, self.spins, self.labels)


class Blocks(Sequence[Block]):
    """The blocks of one batch, and the way back from them to its order and shape.

    Args:
        parts: the blocks; each problem of the batch is in one of them.
        problem: the batch.
    """

    def __init__(self, parts: Sequence[Block], problem: IsingProblem) -> None:
        self._parts, self._problem = tuple(parts), problem

    @overload
    def __getitem__(self, at: int) -> Block: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Block]: ...
    def __getitem__(self, at: int | slice) -> Block | Sequence[Block]:
        return self._parts[at]

    def __len__(self) -> int:
        return len(self._parts)

    @cached_property
    def _order(self) -> np.ndarray | None:
        """Where each problem of the batch is among the blocks' queries; None where in order."""
        order = np.argsort(np.concatenate([block.index.ravel() for block in self._parts]))
        return None if np.array_equal(order, np.arange(len(order))) else order

    def join(self, values: Sequence[Array], spin_axes: int) -> Array:
        """Per-query values of all blocks as one array in the order and shape of the batch.

        Args:
            values: for each block (groups, queries, ...), its last spin_axes axes of length n.
            spin_axes: how many trailing axes run over spins; absent spins are filled with 0.

        Returns:
            (..., any further axes), in the library of the values.
        """
        xp = namespace(values[0])
        flat = []
        for value, block in zip(values, self._parts, strict=True):
            rows = xp.reshape(value, (block.index.size, *value.shape[2:]))
            for axis in range(rows.ndim - spin_axes, rows.ndim):
                rows = spread(rows, axis, block.spins, self._problem.num_spins)
            flat.append(rows)
        stacked = concat(flat, axis=0)
        if self._order is not None:
            stacked = xp.take(stacked, like(self._order, stacked, keep_dtype=True), axis=0)
        return xp.reshape(stacked, (*self._problem.batch_shape, *stacked.shape[1:]))


def split(problem: IsingProblem) -> Blocks:
    """The blocks of a problem; at least one, which is empty for an empty batch."""
    whole, present = whole_batch(problem)
    if present is None:
        return Blocks([whole], problem)
    parts = [part for mask, rows in _by_mask(present) for part in restrict(whole, mask, rows)]
    return Blocks(parts, problem)


def whole_batch(problem: IsingProblem) -> tuple[Block, np.ndarray | None]:
    """All queries as one block, and which spins are present, (groups, queries, n); None for all."""
    batch = problem.batch_shape
    grouped = _grouped_axes(problem)
    shared = [axis for axis in range(len(batch)) if axis not in grouped]
    groups = int(np.prod([batch[axis] for axis in grouped], dtype=int))

    def arrange(array: Array, core: int, axes: list[int]) -> Array:
        """array as (groups, product of the other axes, its last `core` axes)."""
        xp = namespace(array)
        lead = (1,) * (len(batch) + core - array.ndim) + tuple(array.shape[: array.ndim - core])
        tail = tuple(array.shape[array.ndim - core :])
        full = xp.reshape(array, lead + tail)
        wanted = tuple(batch[i] if i in grouped + axes else 1 for i in range(len(batch)))
        full = xp.broadcast_to(full, wanted + tail)
        order = (*grouped, *shared, *range(len(batch), len(batch) + core))
        rest = int(np.prod([batch[axis] for axis in axes], dtype=int))
        return xp.reshape(xp.permute_dims(full, order), (groups, rest, *tail))

    h = arrange(problem.h, 1, shared)
    J = problem.J if problem.is_sparse else arrange(problem.J, 2, [])[:, 0]
    K = None if problem.K is None else arrange(problem.K, 3, [])[:, 0]
    index = arrange(np.arange(int(np.prod(batch, dtype=int))).reshape(batch), 0, shared)
    whole = Block(h, J, K, index, np.arange(problem.num_spins), tuple(problem.labels))
    if problem.present is None or problem.present.all() or index.size == 0:
        return whole, None
    return whole, arrange(problem.present, 1, shared)


def _grouped_axes(problem: IsingProblem) -> list[int]:
    """Batch axes along which the couplings differ; along all others they are shared."""
    rank = len(problem.batch_shape)
    couplings = [(problem.J, 2)] + ([] if problem.K is None else [(problem.K, 3)])
    return sorted(
        {
            axis + rank - (array.ndim - core)
            for array, core in couplings
            for axis in range(array.ndim - core)
            if array.shape[axis] != 1
        }
    )


def _by_mask(present: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Each distinct mask (n,) with the (groups, queries) rows that have it."""
    groups, queries, num_spins = present.shape
    masks, which = np.unique(present.reshape(-1, num_spins), axis=0, return_inverse=True)
    which = which.reshape(groups, queries)
    return [(mask, which == number) for number, mask in enumerate(masks)]


def restrict(whole: Block, mask: np.ndarray, rows: np.ndarray) -> list[Block]:
    """The rows of a block with the spins of mask alone, as rectangular blocks.

    Groups may hold different numbers of such rows; those with equal numbers go together.
    """
    spins = np.flatnonzero(mask)
    keep = like(spins, whole.h, keep_dtype=True)
    counts = rows.sum(axis=1)
    parts = []
    for count in np.unique(counts[counts > 0]):
        groups = np.flatnonzero(counts == count)
        queries = np.nonzero(rows[groups])[1].reshape(len(groups), count)
        at = like(groups, whole.h, keep_dtype=True)
        if isinstance(whole.J, SparseCouplings):
            J: Array = whole.J.among(spins)
        else:
            J = whole.J[at][:, keep][:, :, keep]
        cells = (at[:, None], like(queries, whole.h, keep_dtype=True))
        parts.append(
            Block(
                h=whole.h[cells][..., keep],
                J=J,
                K=None if whole.K is None else whole.K[at][:, keep][:, :, keep][..., keep],
                index=whole.index[groups[:, None], queries],
                spins=spins,
                labels=tuple(whole.labels[spin] for spin in spins),
            )
        )
    return parts


def spread(rows: Array, axis: int, spins: np.ndarray, num_spins: int) -> Array:
    """rows with axis widened from the kept spins, or pairs, to all, zeros elsewhere."""
    if len(spins) == num_spins:
        return rows
    xp = namespace(rows)
    shape = list(rows.shape)
    shape[axis] = 1
    padded = xp.concat([rows, like(np.zeros(shape), rows)], axis=axis)
    source = np.full(num_spins, len(spins))
    source[spins] = np.arange(len(spins))
    return xp.take(padded, like(source, rows, keep_dtype=True), axis=axis)
