"""A D-Wave annealer: many problems in each submission, at a known temperature and cost.

sampler.py          the sampler
arguments.py        what a solver is called with
checks.py           what it accepts
groups.py           problems that share a layout
structure.py        which of their spins are coupled
tiles.py, layout_cache.py   room for many of them on one chip, found once
layout.py           problems on qubits, and back
gauge.py            problems without fields, for fast anneals
plan.py             a whole call, settled before anything is sent
batch.py            its submissions, sent and read
readout.py          chains of qubits to spins
calibration.py      the temperature of an annealer
estimate.py         what a batch would cost
client.py, connect.py, settings.py   the connection, and how it is configured
submissions.py      what is sent, and waited for
journal.py, job.py, calls.py   calls that break off, and are finished later
failures.py         what went wrong, in plain words
"""

from isingsample.samplers.qpu.calibration import QPUCalibration
from isingsample.samplers.qpu.estimate import QPUEstimate
from isingsample.samplers.qpu.job import QPUJob
from isingsample.samplers.qpu.sampler import DWave

__all__ = ["DWave", "QPUCalibration", "QPUEstimate", "QPUJob"]
