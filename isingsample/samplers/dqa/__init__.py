"""Diabatic quantum annealing on a circuit simulator.

schedule.py   A(s) and B(s), and the angles of each Trotter step
circuit.py    the circuit of a problem, or of a block of problems at once
aer.py        its exact outcome probabilities, by Qiskit Aer
readout.py    moments and reads from those probabilities
sampler.py    the sampler
"""

from isingsample.samplers.dqa.circuit import dqa_circuit
from isingsample.samplers.dqa.sampler import DQA
from isingsample.samplers.dqa.schedule import Schedule

__all__ = ["DQA", "Schedule", "dqa_circuit"]
