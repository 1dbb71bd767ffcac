"""One problem of a batch."""

import numbers
from typing import Any

import numpy as np

from isingsample._core.problem import IsingProblem


def single(problem: IsingProblem, index: tuple[int, ...] | int = ()) -> IsingProblem:
    """One problem of a batch, in NumPy, its absent spins left out.

    Raises:
        ValueError: index does not name exactly one problem.
    """
    batch = problem.batch_shape
    at = as_tuple(index)
    if len(at) != len(batch):
        raise ValueError(
            f"index {at} must have {len(batch)} entries to pick one problem of batch {batch}"
        )
    if any(not -size <= i < size for i, size in zip(at, batch, strict=True)):
        raise ValueError(f"index {at} is outside batch {batch}")
    local, n = problem.to_numpy(), problem.num_spins
    keep = np.arange(n)
    if local.present is not None:
        keep = np.flatnonzero(np.broadcast_to(local.present, (*batch, n))[at])
    pick = {
        name: np.broadcast_to(array, (*batch, *[n] * core))[at]
        for name, array, core in (
            ("h", local.h, 1),
            ("J", None if local.is_sparse else local.J, 2),
            ("K", local.K, 3),
            ("offset", local.offset, 0),
        )
        if array is not None
    }
    return IsingProblem(
        pick["h"][keep],
        local.J.among(keep) if local.is_sparse else pick["J"][np.ix_(keep, keep)],
        pick["K"][np.ix_(keep, keep, keep)] if "K" in pick else None,
        labels=[problem.labels[i] for i in keep],
        offset=pick["offset"],
    )


def as_tuple(index: Any) -> tuple[int, ...]:
    """An index of one axis or several, Python's or NumPy's."""
    return (int(index),) if isinstance(index, numbers.Integral) else tuple(index)
