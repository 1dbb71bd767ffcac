"""Batches of small Ising problems, from any sampler.

A batch (h, J) goes in; magnetizations, correlations, samples and error bars come out, from an
exact solver, Monte Carlo, a quantum circuit, any dimod sampler or a D-Wave annealer.

This file is the public API:

- problems and results: IsingProblem, SparseCouplings, SampleResult, load_problem, FormatError,
  from_bqm, from_dicts, from_edges, from_networkx, from_qubo, to_bqm, to_dicts, to_edges, to_qubo,
  as_dimod
- samplers: get_sampler, list_samplers, Exact, Transfer, MeanField, Gibbs, SimulatedAnnealing,
  ParallelTempering, Dimod, DQA, DWave, Refine, IndependenceMetropolis, GaugeSpin
- to write a sampler: Sampler, Minimizer, HasDistribution, BlockSampler, BlockMinimizer, Solution
- anneals: Schedule, dqa_circuit, schedule_betas, ScheduleBetas, DWaveCalibration, DWaveEstimate,
  DWaveJob
- to measure and fit: compare, Row, Deviation, distance_to_boltzmann, Distance, effective_beta,
  EffectiveBeta, mean_energy, fit_couplings, Fit, FitInterrupt
- errors and warnings: IsingSampleError, MissingExtraError, TooLargeError, BackendError,
  CredentialsError, BackendConnectionError, BackendBusyError, ProblemFailedError,
  BackendTimeoutError, BackendInterrupt, StrongFieldWarning
- progress bars: progress
- modules: planted (problems whose ground state is known), testing (truth by enumeration)

Each name is loaded when it is first used (PEP 562), so that importing the package is fast and
optional dependencies wait until a sampler needs them.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isingsample import planted as planted
    from isingsample import testing as testing
    from isingsample._core.problem import IsingProblem as IsingProblem
    from isingsample._core.progress import progress as progress
    from isingsample._core.result import SampleResult as SampleResult
    from isingsample._core.sparse import SparseCouplings as SparseCouplings
    from isingsample.comparison.compare import Deviation as Deviation
    from isingsample.comparison.compare import Row as Row
    from isingsample.comparison.compare import compare as compare
    from isingsample.comparison.distance import Distance as Distance
    from isingsample.comparison.distance import distance_to_boltzmann as distance_to_boltzmann
    from isingsample.errors import IsingSampleError as IsingSampleError
    from isingsample.errors import MissingExtraError as MissingExtraError
    from isingsample.errors import StrongFieldWarning as StrongFieldWarning
    from isingsample.errors import TooLargeError as TooLargeError
    from isingsample.fit.fit import Fit as Fit
    from isingsample.fit.fit import FitInterrupt as FitInterrupt
    from isingsample.fit.fit import fit_couplings as fit_couplings
    from isingsample.formats import FormatError as FormatError
    from isingsample.formats import load_problem as load_problem
    from isingsample.interop.convert import from_bqm as from_bqm
    from isingsample.interop.convert import from_dicts as from_dicts
    from isingsample.interop.convert import from_edges as from_edges
    from isingsample.interop.convert import from_networkx as from_networkx
    from isingsample.interop.convert import from_qubo as from_qubo
    from isingsample.interop.convert import to_bqm as to_bqm
    from isingsample.interop.convert import to_dicts as to_dicts
    from isingsample.interop.convert import to_edges as to_edges
    from isingsample.interop.convert import to_qubo as to_qubo
    from isingsample.samplers.base import HasDistribution as HasDistribution
    from isingsample.samplers.base import Minimizer as Minimizer
    from isingsample.samplers.base import Sampler as Sampler
    from isingsample.samplers.block_sampler import BlockMinimizer as BlockMinimizer
    from isingsample.samplers.block_sampler import BlockSampler as BlockSampler
    from isingsample.samplers.dimod.as_dimod import as_dimod as as_dimod
    from isingsample.samplers.dimod.sampler import Dimod as Dimod
    from isingsample.samplers.dqa.circuit import dqa_circuit as dqa_circuit
    from isingsample.samplers.dqa.sampler import DQA as DQA
    from isingsample.samplers.dqa.schedule import Schedule as Schedule
    from isingsample.samplers.dqa.temperatures import ScheduleBetas as ScheduleBetas
    from isingsample.samplers.dqa.temperatures import schedule_betas as schedule_betas
    from isingsample.samplers.dwave.calibration import DWaveCalibration as DWaveCalibration
    from isingsample.samplers.dwave.call.job import DWaveJob as DWaveJob
    from isingsample.samplers.dwave.errors import BackendBusyError as BackendBusyError
    from isingsample.samplers.dwave.errors import BackendConnectionError as BackendConnectionError
    from isingsample.samplers.dwave.errors import BackendError as BackendError
    from isingsample.samplers.dwave.errors import BackendInterrupt as BackendInterrupt
    from isingsample.samplers.dwave.errors import BackendTimeoutError as BackendTimeoutError
    from isingsample.samplers.dwave.errors import CredentialsError as CredentialsError
    from isingsample.samplers.dwave.errors import ProblemFailedError as ProblemFailedError
    from isingsample.samplers.dwave.estimate import DWaveEstimate as DWaveEstimate
    from isingsample.samplers.dwave.sampler import DWave as DWave
    from isingsample.samplers.effective_beta import EffectiveBeta as EffectiveBeta
    from isingsample.samplers.effective_beta import effective_beta as effective_beta
    from isingsample.samplers.exact.mean_energy import mean_energy as mean_energy
    from isingsample.samplers.exact.sampler import Exact as Exact
    from isingsample.samplers.mean_field.sampler import MeanField as MeanField
    from isingsample.samplers.monte_carlo.annealing import SimulatedAnnealing as SimulatedAnnealing
    from isingsample.samplers.monte_carlo.gibbs import Gibbs as Gibbs
    from isingsample.samplers.monte_carlo.tempering import ParallelTempering as ParallelTempering
    from isingsample.samplers.registry import get_sampler as get_sampler
    from isingsample.samplers.registry import list_samplers as list_samplers
    from isingsample.samplers.solution import Solution as Solution
    from isingsample.samplers.transfer.sampler import Transfer as Transfer
    from isingsample.samplers.wrappers.gauge_spin import GaugeSpin as GaugeSpin
    from isingsample.samplers.wrappers.metropolis import (
        IndependenceMetropolis as IndependenceMetropolis,
    )
    from isingsample.samplers.wrappers.refine import Refine as Refine

__version__ = "0.1.0"

_PUBLIC = {
    "IsingProblem": "_core.problem",
    "progress": "_core.progress",
    "SampleResult": "_core.result",
    "SparseCouplings": "_core.sparse",
    "Deviation": "comparison.compare",
    "Row": "comparison.compare",
    "compare": "comparison.compare",
    "Distance": "comparison.distance",
    "distance_to_boltzmann": "comparison.distance",
    "IsingSampleError": "errors",
    "MissingExtraError": "errors",
    "StrongFieldWarning": "errors",
    "TooLargeError": "errors",
    "Fit": "fit.fit",
    "FitInterrupt": "fit.fit",
    "fit_couplings": "fit.fit",
    "FormatError": "formats",
    "load_problem": "formats",
    "from_bqm": "interop.convert",
    "from_dicts": "interop.convert",
    "from_edges": "interop.convert",
    "from_networkx": "interop.convert",
    "from_qubo": "interop.convert",
    "to_bqm": "interop.convert",
    "to_dicts": "interop.convert",
    "to_edges": "interop.convert",
    "to_qubo": "interop.convert",
    "HasDistribution": "samplers.base",
    "Minimizer": "samplers.base",
    "Sampler": "samplers.base",
    "BlockMinimizer": "samplers.block_sampler",
    "BlockSampler": "samplers.block_sampler",
    "as_dimod": "samplers.dimod.as_dimod",
    "Dimod": "samplers.dimod.sampler",
    "dqa_circuit": "samplers.dqa.circuit",
    "DQA": "samplers.dqa.sampler",
    "Schedule": "samplers.dqa.schedule",
    "ScheduleBetas": "samplers.dqa.temperatures",
    "schedule_betas": "samplers.dqa.temperatures",
    "DWaveCalibration": "samplers.dwave.calibration",
    "DWaveJob": "samplers.dwave.call.job",
    "BackendBusyError": "samplers.dwave.errors",
    "BackendConnectionError": "samplers.dwave.errors",
    "BackendError": "samplers.dwave.errors",
    "BackendInterrupt": "samplers.dwave.errors",
    "BackendTimeoutError": "samplers.dwave.errors",
    "CredentialsError": "samplers.dwave.errors",
    "ProblemFailedError": "samplers.dwave.errors",
    "DWaveEstimate": "samplers.dwave.estimate",
    "DWave": "samplers.dwave.sampler",
    "EffectiveBeta": "samplers.effective_beta",
    "effective_beta": "samplers.effective_beta",
    "mean_energy": "samplers.exact.mean_energy",
    "Exact": "samplers.exact.sampler",
    "MeanField": "samplers.mean_field.sampler",
    "SimulatedAnnealing": "samplers.monte_carlo.annealing",
    "Gibbs": "samplers.monte_carlo.gibbs",
    "ParallelTempering": "samplers.monte_carlo.tempering",
    "get_sampler": "samplers.registry",
    "list_samplers": "samplers.registry",
    "Solution": "samplers.solution",
    "Transfer": "samplers.transfer.sampler",
    "GaugeSpin": "samplers.wrappers.gauge_spin",
    "IndependenceMetropolis": "samplers.wrappers.metropolis",
    "Refine": "samplers.wrappers.refine",
}
_MODULES = ("errors", "planted", "testing")

__all__ = [*_PUBLIC, *_MODULES]


def __getattr__(name: str) -> Any:
    """A public name, loaded and kept when it is first asked for."""
    if name in _PUBLIC:
        value = getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
