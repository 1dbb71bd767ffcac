"""How compiled work is shared out: replicas in lanes, blocks of them on threads.

Threads are Python's own, started for each call: numba's are not safe in forked processes or when
several threads call at once.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from isingsample._core.progress import track

# Replicas of a problem that one update draws together: longer runs of the vector registers cost
# less each, but a block of replicas is one thread's work, and few reads leave lanes idle.
LANES = 128
# Enough ranges for an even load and a smooth progress bar.
_RANGES = 64


def num_threads() -> int:
    """numba's: NUMBA_NUM_THREADS in the environment, or all cores that the process may use."""
    from numba import config

    return int(config.NUMBA_NUM_THREADS)


def run_tasks(kernel: Callable[..., None], tasks: int, description: str, *arguments: Any) -> None:
    """kernel(first, last, stop, *arguments) for ranges that make up 0 ... tasks, on all threads.

    The caller's own thread only waits, so that Ctrl-C reaches it; kernels then end with the sweeps
    that they are in.
    """
    threads = max(1, min(num_threads(), tasks))
    stop = np.zeros(1, np.uint8)
    bounds = [tasks * i // _RANGES for i in range(_RANGES + 1)]
    ranges = [(a, b) for a, b in pairwise(bounds) if a < b]
    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(kernel, a, b, stop, *arguments) for a, b in ranges]
        try:
            for future in track(running, description):
                future.result()
        finally:
            stop[0] = 1
            for future in running:
                future.cancel()
