"""Which queries the compiled kernels take, and how their work is shared out."""

import math
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from isingsample._core.arrays import Array, is_torch, like, to_numpy
from isingsample.samplers._shared.threads import num_threads, run_tasks
from isingsample.samplers.exact.marginals import is_safe

# Bytes of a table that stays in a core's own cache; matrix products take larger ones.
_LARGEST_TABLE = 2**20
# States of all queries from which the kernels are used. Fewer take the array code less time than
# loading numba does, or, once after installing, compiling. It goes by the call alone, so that equal
# calls give equal results.
_WORTH_LOADING = 2**18
# Entries of tables that a thread should pass over to be worth its start.
_WORTH_A_THREAD = 2**23


@dataclass(frozen=True)
class Kept:
    """Moments of queries (groups, queries), and what their gradients need, in NumPy.

    Attributes:
        h: (groups, queries, n).
        J: (groups, n, n).
        lengths: (queries,) how many of the first spins each query has.
        magnetization: (groups, queries, n), 0 at absent spins like probability.
        probability: (groups, queries, n).
        log_partition: (groups, queries).
        total: (groups, queries) Z, in units where no factor is above 1.
        on_high: (groups, queries, 2**a) the distribution of each half, if kept.
        on_low: (groups, queries, 2**b) likewise.
    """

    h: np.ndarray
    J: np.ndarray
    lengths: np.ndarray
    magnetization: np.ndarray
    probability: np.ndarray
    log_partition: np.ndarray
    total: np.ndarray
    on_high: np.ndarray
    on_low: np.ndarray


def takes(h: Array, num_spins: int) -> bool:
    """Whether the kernels are there, and queries h of num_spins spins are for them."""
    if is_torch(h) and h.device.type != "cpu":
        return False
    queries = math.prod(h.shape[:-1])
    fits = h.dtype.itemsize << num_spins <= _LARGEST_TABLE
    return fits and queries << num_spins >= _WORTH_LOADING and _kernels() is not None


@cache
def _kernels() -> ModuleType | None:
    try:
        from isingsample.samplers.exact.compiled import kernels
    except ImportError:
        return None
    return kernels


def solve(h: Array, J: Array, lengths: np.ndarray, *, keep: bool) -> Kept | None:
    """Moments of queries that have their first spins alone.

    Args:
        h: (groups, queries, n) fields on the host, those of absent spins of no consequence.
        J: (groups, n, n).
        lengths: (queries,) how many spins each query has.
        keep: whether gradients will be asked for.

    Returns:
        None where a sum came near the end of its dtype's range.
    """
    h, J = (np.ascontiguousarray(to_numpy(array)) for array in (h, J))
    groups, queries, num_spins = h.shape
    low = num_spins - num_spins // 2
    kept = (groups, queries) if keep else (0, 0)
    found = Kept(
        h,
        J,
        lengths,
        np.empty_like(h),
        np.empty_like(h),
        np.empty((groups, queries), h.dtype),
        np.empty((groups, queries), h.dtype),
        np.empty((*kept, 1 << (num_spins - low)), h.dtype),
        np.empty((*kept, 1 << low), h.dtype),
    )
    _run(
        "moments",
        found,
        keep,
        found.probability,
        found.magnetization,
        found.log_partition,
        found.total,
        found.on_high,
        found.on_low,
    )
    return found if is_safe(found.total).all() else None


def pull(
    gradients: tuple[Array | None, ...], found: Kept, *, wants_J: bool
) -> tuple[Array, Array | None]:
    """The gradients of h and J from those of magnetization, probability and log_partition.

    Args:
        gradients: None where there is none.
        found: by `solve`, kept.
        wants_J: whether J's is wanted.

    Returns:
        (groups, queries, n), and (groups, n, n) with half of each pair's derivative in either
        entry, or None; in the library of the gradients.
    """
    magnetization, probability, log_partition = (
        None if gradient is None else to_numpy(gradient) for gradient in gradients
    )
    # m = 2 P - 1 but for a constant, which no gradient sees.
    to_up = np.zeros_like(found.h) if probability is None else probability
    to_up = to_up if magnetization is None else to_up + 2 * magnetization
    if log_partition is None:
        log_partition = np.zeros_like(found.total)
    pieces = _pieces(found)
    groups, _, num_spins = found.h.shape
    to_h = np.empty_like(found.h)
    to_J = np.empty((groups * pieces if wants_J else 0, num_spins, num_spins), found.h.dtype)
    _run(
        "gradients",
        found,
        found.probability,
        found.total,
        found.on_high,
        found.on_low,
        np.ascontiguousarray(to_up),
        np.ascontiguousarray(log_partition),
        wants_J,
        to_h,
        to_J,
    )
    reference = next(gradient for gradient in gradients if gradient is not None)
    if not wants_J:
        return like(to_h, reference), None
    by_group = to_J.reshape(groups, pieces, num_spins, num_spins).sum(axis=1)
    return like(to_h, reference), like(by_group, reference)


def _run(kernel: str, found: Kept, *arguments: Any) -> None:
    pieces = _pieces(found)
    shared = (pieces, found.h, found.J, found.lengths)
    function, tasks = getattr(_kernels(), kernel), len(found.h) * pieces
    if tasks == 1 or _threads(found) == 1:
        function(0, tasks, np.zeros(1, np.uint8), *shared, *arguments)
    else:
        run_tasks(function, tasks, "exact", *shared, *arguments)


def _threads(found: Kept) -> int:
    """How many threads the work is for."""
    work = len(found.h) * int((1 << found.lengths).sum())
    return max(1, min(int(num_threads()), work // _WORTH_A_THREAD))


def _pieces(found: Kept) -> int:
    """Into how many tasks a group's queries are cut, each of which makes the group's tables."""
    return max(1, min(_threads(found) // len(found.h), int(found.h.shape[1])))
