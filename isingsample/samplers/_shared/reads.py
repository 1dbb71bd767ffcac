"""Whether the reads and sweeps that were asked for fit into memory."""

import math

from isingsample._core.memory import available_memory, readable_bytes
from isingsample._core.problem import IsingProblem
from isingsample.errors import TooLargeError

# Copies of the reads alive at once while they are put into the order of the batch.
_COPIES = 3
_SMALL_BYTES = 2**24


def check_reads_fit(problem: IsingProblem, num_reads: int | None) -> None:
    """Refuse reads that would not fit into memory, one byte for each spin.

    Raises:
        TooLargeError: there is less memory than they take.
    """
    if num_reads is None:
        return
    needed = float(_COPIES * num_reads * problem.num_spins * math.prod(problem.batch_shape))
    # Asking the system takes longer than a small problem does.
    if needed > _SMALL_BYTES and needed > available_memory():
        raise TooLargeError(
            f"num_reads={num_reads} of {problem.num_spins} spins for each of "
            f"{math.prod(problem.batch_shape)} problems need about {readable_bytes(needed)} of "
            f"memory, where {readable_bytes(available_memory())} are available; ask for fewer "
            f"reads, or sample fewer problems at a time"
        )


def check_sweeps_fit(num_sweeps: int, schedules: int = 1) -> None:
    """Refuse schedules of temperatures, one for each sweep, that would not fit into memory.

    Args:
        num_sweeps: sweeps of a call, burn-in included.
        schedules: how many different ones there are.

    Raises:
        TooLargeError: there is less memory than they take.
    """
    needed = float(_COPIES * 8 * num_sweeps * schedules)
    if needed > _SMALL_BYTES and needed > available_memory():
        raise TooLargeError(
            f"num_sweeps: temperatures of {num_sweeps} sweeps in {schedules} schedules need about "
            f"{readable_bytes(needed)} of memory, where {readable_bytes(available_memory())} are "
            f"available; ask for fewer sweeps, or for fewer problems at a time"
        )
