"""Batches of small Ising problems, from any sampler.

A batch (h, J) goes in; magnetizations, correlations, samples and error bars come out, from an
exact solver, Monte Carlo, a quantum circuit, any dimod sampler or a D-Wave annealer.
Optional dependencies are loaded when a sampler needs them, never on import.
"""

from isingsample._progress import progress
from isingsample.errors import IsingSampleError, MissingExtraError, TooLargeError
from isingsample.problem import IsingProblem
from isingsample.registry import get_sampler, list_samplers
from isingsample.result import SampleResult
from isingsample.samplers.base import Minimizer, Sampler
from isingsample.samplers.exact.sampler import Exact
from isingsample.samplers.mean_field.sampler import MeanField
from isingsample.samplers.monte_carlo.annealing import SimulatedAnnealing
from isingsample.samplers.monte_carlo.gibbs import Gibbs
from isingsample.samplers.monte_carlo.tempering import ParallelTempering
from isingsample.samplers.ocean import Dimod
from isingsample.samplers.solution import Solution
from isingsample.samplers.transfer.sampler import Transfer

__version__ = "0.1.0"

__all__ = [
    "Dimod",
    "Exact",
    "Gibbs",
    "IsingProblem",
    "IsingSampleError",
    "MeanField",
    "Minimizer",
    "MissingExtraError",
    "ParallelTempering",
    "SampleResult",
    "Sampler",
    "SimulatedAnnealing",
    "Solution",
    "TooLargeError",
    "Transfer",
    "get_sampler",
    "list_samplers",
    "progress",
]
