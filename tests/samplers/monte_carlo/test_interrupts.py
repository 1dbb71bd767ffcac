"""Ctrl-C ends compiled work within a sweep, however long it would go on."""

import subprocess
import sys

CODE = """
import signal
import numpy as np
from isingsample import Gibbs, IsingProblem, ParallelTempering, SimulatedAnnealing

def interrupt(*_): raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
problem = IsingProblem(np.zeros(64), np.ones((64, 64)) - np.eye(64))
runs = (Gibbs, "sample"), (ParallelTempering, "sample"), (SimulatedAnnealing, "minimize")
for make, run in runs:
    getattr(make(num_reads=1), run)(problem, seed=0)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        getattr(make(num_reads=1, num_sweeps=2**22), run)(problem, seed=0)
    except KeyboardInterrupt:
        print(make.name)
"""


def test_compiled_work_can_be_interrupted() -> None:
    """A whole run takes minutes; this fails by waiting for it."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE], capture_output=True, text=True, timeout=100
    )
    assert run.stdout.split() == ["gibbs", "tempering", "sa"], run.stderr
