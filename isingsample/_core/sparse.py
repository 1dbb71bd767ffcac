"""Couplings of a sparse graph: its edges, and no matrix.

Dense J is an array. A J of 10^5 spins with a few neighbours each would be 80 GB of zeros, so
`IsingProblem` keeps a sparse one as its list of edges. SciPy's matrices are read without importing
SciPy: whoever made one has it.
"""

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import Array, like, namespace
from isingsample._core.memory import readable_bytes
from isingsample.errors import TooLargeError

# Beyond this many spins, couplings that are not given as a dense array are kept as edges.
SPARSE_FROM = 1000
# The largest problem with sparse couplings that is made dense, or gets all of its correlations:
# a matrix of 512 MiB.
DENSE_LIMIT = 8192
_ENTRIES = 2**22  # of temporary arrays


class Entries(NamedTuple):
    """Entries of J other than zero, both J_jk and J_kj, row by row.

    Attributes:
        row: (entries,) j; of several groups' J, group * n + j.
        column: (entries,) k.
        value: (entries,) J_jk.
    """

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray


@dataclass(frozen=True, eq=False)
class SparseCouplings:
    """A symmetric (n, n) J with zero diagonal as its edges j < k with J_jk other than zero.

    Immutable; on the host also where the rest of its problem are tensors. `IsingProblem.J` is
    one where a sparse matrix was given, and takes one as it is.

    Attributes:
        num_spins: n.
        first: (edges,) int64, j of each edge.
        second: (edges,) int64, its k > j. Edges ascend by (j, k), and each occurs once.
        values: (edges,) float, J_jk, which counts once.
    """

    num_spins: int
    first: np.ndarray
    second: np.ndarray
    values: np.ndarray

    # Arrays leave the operators @ and * to those below.
    __array_ufunc__: ClassVar[None] = None

    def __post_init__(self) -> None:
        for array in (self.first, self.second, self.values):
            array.flags.writeable = False

    @classmethod
    def from_pairs(cls, num_spins: int, first: Any, second: Any, values: Any) -> "SparseCouplings":
        """Couplings from pairs in any order and either way round; repeated ones add up.

        Args:
            num_spins: n.
            first: (pairs,) integers below n.
            second: (pairs,), other than first.
            values: (pairs,) J of each, which counts once.

        Raises:
            ValueError: an index out of range, a spin coupled to itself, NaN or infinity.
        """
        one, other = np.asarray(first, np.int64), np.asarray(second, np.int64)
        low, high = np.minimum(one, other), np.maximum(one, other)
        listed = check.real_array("J", values)
        _check_finite(one, other, listed)
        for at in np.flatnonzero((low < 0) | (high >= num_spins))[:1]:
            raise ValueError(
                f"spins are numbered from 0 to {num_spins - 1}; pair {at} is "
                f"({one[at]}, {other[at]})"
            )
        for at in np.flatnonzero(low == high)[:1]:
            raise ValueError(check.self_coupling("J", (low[at], low[at]), listed[at]))
        key, total = _summed(low * num_spins + high, listed)
        low, high = np.divmod(key, max(num_spins, 1))
        _check_finite(low, high, total)
        kept = total != 0
        return cls(num_spins, low[kept], high[kept], total[kept])

    @classmethod
    def from_matrix(cls, matrix: Any) -> "SparseCouplings":
        """Couplings from a SciPy sparse matrix or array (n, n) of any format, which is not changed.

        Entries given twice add up, as SciPy has it; zeros are left out.

        Raises:
            TypeError: entries that are not real numbers.
            ValueError: not square, NaN or infinity, not symmetric, or a spin coupled to itself.
        """
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(
                f"a sparse J must have shape (n, n), and is shared by all problems of a batch; "
                f"it has shape {tuple(matrix.shape)}"
            )
        num_spins, listed = matrix.shape[0], matrix.tocoo()
        row, column = (np.asarray(at, np.int64) for at in (listed.row, listed.col))
        values = check.real_array("J", listed.data)
        _check_finite(row, column, values)
        key, total = _summed(row * num_spins + column, values)
        row, column = np.divmod(key, max(num_spins, 1))
        _check_finite(row, column, total)
        for at in np.flatnonzero((row == column) & (total != 0))[:1]:
            raise ValueError(check.self_coupling("J", (row[at], column[at]), total[at]))
        return cls._symmetric(num_spins, row, column, total)

    @classmethod
    def _symmetric(
        cls, num_spins: int, row: np.ndarray, column: np.ndarray, values: np.ndarray
    ) -> "SparseCouplings":
        """From distinct entries in row-major order: the mean of J_jk and J_kj, if they agree."""
        key, mirrored = row * num_spins + column, column * num_spins + row
        at = np.searchsorted(key, mirrored) % max(len(key), 1)
        paired = key[at] == mirrored
        mirror = np.where(paired, values[at], values.dtype.type(0))
        wrong = check.differ(values, mirror, np.abs(values).max(initial=0.0))
        for i in np.flatnonzero(wrong)[:1]:
            here, there = (row[i], column[i]), (column[i], row[i])
            raise ValueError(check.asymmetry("J", here, values[i], there, mirror[i]))
        mean = np.where(values == mirror, values, values / 2 + mirror / 2)
        once = (row < column) | ((row > column) & ~paired)
        return cls.from_pairs(num_spins, row[once], column[once], mean[once])

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return (self.num_spins, self.num_spins)

    @property
    def ndim(self) -> int:
        """2: one J for all problems of a batch."""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        return self.values.dtype

    @property
    def num_edges(self) -> int:
        """How many pairs are coupled."""
        return len(self.values)

    @cached_property
    def entries(self) -> Entries:
        """Both triangles of J, row by row."""
        row = np.concatenate([self.first, self.second])
        column = np.concatenate([self.second, self.first])
        order = np.lexsort([column, row])
        return Entries(row[order], column[order], np.tile(self.values, 2)[order])

    def with_values(self, values: np.ndarray) -> "SparseCouplings":
        """The same edges with other couplings (edges,), none of them zero."""
        return SparseCouplings(self.num_spins, self.first, self.second, values)

    def astype(self, dtype: Any) -> "SparseCouplings":
        """The same couplings as numbers of another kind."""
        return self.with_values(self.values.astype(dtype))

    def toarray(self) -> np.ndarray:
        """The dense (n, n) array, of whatever size."""
        dense = np.zeros(self.shape, self.dtype)
        dense[self.first, self.second] = dense[self.second, self.first] = self.values
        return dense

    def among(self, spins: np.ndarray) -> "SparseCouplings":
        """The couplings among some spins, ascending, which are then numbered from 0."""
        place = np.full(self.num_spins, -1)
        place[spins] = np.arange(len(spins))
        kept = (place[self.first] >= 0) & (place[self.second] >= 0)
        ends = (place[self.first[kept]], place[self.second[kept]])
        return SparseCouplings(len(spins), *ends, self.values[kept])

    def products(self, states: Array) -> Array:
        """sum_{j<k} J_jk s_j s_k of states (..., n), in their library and dtype: (...)."""
        xp = namespace(states)
        rows = max(1, int(np.prod(states.shape[:-1])))
        step = max(1, _ENTRIES // rows)
        total = xp.zeros_like(states[..., 0]) if self.num_spins else xp.sum(states, axis=-1)
        for start in range(0, self.num_edges, step):
            part = slice(start, start + step)
            first, second = (
                like(ends[part], states, keep_dtype=True) for ends in (self.first, self.second)
            )
            values = like(self.values[part], states)
            total = total + xp.sum(states[..., first] * states[..., second] * values, axis=-1)
        return total

    def sizes(self) -> np.ndarray:
        """The sum of each spin's absolute couplings: (n,) float64."""
        row, _, value = self.entries
        return np.bincount(row, np.abs(value).astype(float), minlength=self.num_spins)

    def __rmatmul__(self, averages: np.ndarray) -> np.ndarray:
        """m @ J: sum_k J_jk m_k of averages (..., n), in NumPy."""
        row, column, value = self.entries
        total = np.zeros(averages.shape, np.result_type(averages, self.dtype))
        if not len(row):
            return total
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        flat, sums = averages.reshape(-1, self.num_spins), total.reshape(-1, self.num_spins)
        step = max(1, _ENTRIES // len(row))
        for at in range(0, len(flat), step):
            terms = flat[at : at + step, column] * value
            sums[at : at + step, row[starts]] = np.add.reduceat(terms, starts, axis=-1)
        return total

    def __rmul__(self, factor: float) -> "SparseCouplings":
        """beta * J."""
        return self.with_values((factor * self.values).astype(self.dtype))

    def __mul__(self, other: "SparseCouplings") -> "SparseCouplings":
        """J * J, entry by entry, of two on the same edges."""
        return self.with_values(self.values * other.values)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError(
            "J is sparse, and is not made a dense array by itself; use J.toarray(), or "
            "problem.to_dense()"
        )

    def __repr__(self) -> str:
        return (
            f"SparseCouplings(num_spins={self.num_spins}, num_edges={self.num_edges}, "
            f"dtype={self.dtype})"
        )


def is_sparse(x: object) -> bool:
    """Whether x is a SciPy sparse matrix or array; SciPy is not imported to find out."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(x))


def check_dense_size(what: str, num_spins: int, remedy: str) -> None:
    """TooLargeError where an (n, n) array for a sparse problem would be too large."""
    if num_spins > DENSE_LIMIT:
        raise TooLargeError(
            f"{what} would be an array of {num_spins} x {num_spins} numbers, "
            f"{readable_bytes(8.0 * num_spins**2)}; problems with sparse couplings get one up to "
            f"{DENSE_LIMIT} spins. {remedy}"
        )


def _summed(key: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys, ascending, with the sum of the values of each."""
    order = np.argsort(key, kind="stable")
    key, values = key[order], values[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    with np.errstate(over="ignore"):
        return key[starts], np.add.reduceat(values, starts) if len(key) else values


def _check_finite(row: np.ndarray, column: np.ndarray, values: np.ndarray) -> None:
    for at in np.flatnonzero(~np.isfinite(values))[:1]:
        where = check.entry("J", (row[at], column[at]))
        raise ValueError(f"J must be finite, but {where} is {values[at]}")
