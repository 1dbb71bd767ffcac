"""Whether the reads that were asked for fit into memory."""

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
