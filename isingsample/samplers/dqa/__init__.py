"""Diabatic quantum annealing, on Qiskit's simulators and primitives or on our own.

schedule.py     A(s) and B(s)
schedule_file.py   the columns of a file that holds them
trained_curves.py  those of the named schedules, as tables
anneal.py       the angles of each Trotter step
circuit.py      the circuit of a problem, or of a block of problems at once
engines.py      what runs it, by name:
  aer.py            exact outcome probabilities, by Qiskit Aer
  statevector.py    the same from arrays of NumPy or PyTorch, with qubits.py
  adjoint.py        their gradient in PyTorch
  primitive.py      reads, by any of Qiskit's sampler primitives
readout.py      moments and reads from probabilities
validity.py     where an anneal can be trusted
counterterms.py  calibration to second order
fitting.py      the one temperature of a whole batch, from running it
solve.py        blocks of problems through an engine
presets.py      its named settings
sampler.py      the sampler
"""

from isingsample.samplers.dqa.circuit import dqa_circuit
from isingsample.samplers.dqa.sampler import DQA
from isingsample.samplers.dqa.schedule import Schedule

__all__ = ["DQA", "Schedule", "dqa_circuit"]
