"""States that chains start from, as a caller gives them."""

from typing import Any

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import to_numpy
from isingsample._core.problem import IsingProblem


def own_states(states: Any) -> np.ndarray:
    """States to start from as int8 of our own, which stay as they are whatever the caller does.

    Raises:
        TypeError: not numbers.
        ValueError: entries other than -1 and +1, or 0 for spins that may be absent.
    """
    values = to_numpy(check.real_array("initial_states", states))
    check.check_spins("initial_states", values, values != 0)
    owned = values.astype(np.int8)
    owned.flags.writeable = False
    return owned


def check_initial_states(values: np.ndarray, num_reads: int, problem: IsingProblem) -> None:
    """Refuse states to start from that do not fit the problem and the number of reads.

    Raises:
        ValueError: a shape other than (n,), (num_reads, n) or (..., num_reads, n), or entries
            other than -1 and +1 at spins that are present.
    """
    n = problem.num_spins
    shapes = ((n,), (num_reads, n), (*problem.batch_shape, num_reads, n))
    if values.shape not in shapes:
        listed = ", ".join(str(shape) for shape in dict.fromkeys(shapes))
        raise ValueError(
            f"initial_states must have one of the shapes {listed}: a state for all reads, for "
            f"each read or for each read of each problem; it has shape {values.shape}"
        )
    present: Any = True
    if problem.present is not None:
        present = problem.present[..., None, :]
        if values.ndim < 3:  # the same states for all problems
            present = problem.present.reshape(-1, n).any(axis=0)
    exists = np.broadcast_to(present, values.shape)
    check.check_spins("initial_states", np.where(exists, values, 0), exists)
