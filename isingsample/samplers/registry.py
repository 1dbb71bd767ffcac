"""Samplers by name, loaded only when they are asked for.

Packages add their own through the entry point group "isingsample.samplers"; the name of the
entry point is the name of the sampler, its object the Sampler class.
"""

import importlib
import importlib.util
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal, overload

from isingsample._core.checks import suggestion
from isingsample._core.problem import IsingProblem
from isingsample.errors import MissingExtraError
from isingsample.samplers.base import Sampler

if TYPE_CHECKING:
    from isingsample.samplers.dimod.sampler import Dimod
    from isingsample.samplers.dqa.sampler import DQA
    from isingsample.samplers.dwave.sampler import DWave
    from isingsample.samplers.exact.sampler import Exact
    from isingsample.samplers.mean_field.sampler import MeanField
    from isingsample.samplers.monte_carlo.annealing import SimulatedAnnealing
    from isingsample.samplers.monte_carlo.gibbs import Gibbs
    from isingsample.samplers.monte_carlo.tempering import ParallelTempering
    from isingsample.samplers.transfer.sampler import Transfer

# Up to here exact methods take seconds: 2**n states, or 2**reach at each spin.
_ENUMERATED = 24
_SHORT_REACH = 12
ENTRY_POINT_GROUP = "isingsample.samplers"


@dataclass(frozen=True)
class Entry:
    """A sampler that can be had by name.

    Attributes:
        name: what `get_sampler` calls it.
        target: "module:attribute" of the Sampler class.
        summary: one line on what it does.
        extra: the optional dependencies it needs, or "" for none.
        modules: modules that those dependencies must provide.
    """

    name: str
    target: str
    summary: str
    extra: str = ""
    modules: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Modules that are not installed; empty when the sampler is available."""
        return tuple(m for m in self.modules if not _is_installed(m))

    @property
    def available(self) -> bool:
        """Whether all it needs is installed."""
        return not self.missing

    @property
    def install(self) -> str:
        """The command that installs what it needs, or ''."""
        return f"pip install 'isingsample[{self.extra}]'" if self.extra else ""

    def load(self) -> type[Sampler]:
        """The Sampler class.

        Raises:
            MissingExtraError: an optional dependency is not installed.
        """
        if self.missing:
            raise MissingExtraError(f"the sampler {self.name!r}", self.extra)
        module, attribute = self.target.split(":")
        loaded: type[Sampler] = getattr(importlib.import_module(module), attribute)
        return loaded


_NUMBA = ("numba", "arviz_stats")
_BUILT_IN = (
    Entry(
        "exact", "isingsample.samplers.exact.sampler:Exact", "all moments exactly, up to 28 spins"
    ),
    Entry(
        "transfer",
        "isingsample.samplers.transfer.sampler:Transfer",
        "all moments exactly at any length, where couplings reach up to 16 spins",
    ),
    Entry(
        "mean_field",
        "isingsample.samplers.mean_field.sampler:MeanField",
        "mean field, naive or TAP, at any size; approximate",
    ),
    Entry(
        "gibbs",
        "isingsample.samplers.monte_carlo.gibbs:Gibbs",
        "Gibbs sampling: many chains at beta",
        extra="numba",
        modules=_NUMBA,
    ),
    Entry(
        "sa",
        "isingsample.samplers.monte_carlo.annealing:SimulatedAnnealing",
        "simulated annealing that ends at beta",
        extra="numba",
        modules=_NUMBA,
    ),
    Entry(
        "tempering",
        "isingsample.samplers.monte_carlo.tempering:ParallelTempering",
        "parallel tempering, for problems with deep valleys",
        extra="numba",
        modules=_NUMBA,
    ),
    Entry(
        "dimod",
        "isingsample.samplers.dimod.sampler:Dimod",
        "any dimod sampler as a child",
        extra="dimod",
        modules=("dimod", "dwave.samplers"),
    ),
    Entry(
        "dqa",
        "isingsample.samplers.dqa.sampler:DQA",
        "Trotterized diabatic quantum anneal, on Qiskit or our own engine",
        extra="qiskit",
        modules=("scipy",),  # for our own engine; Qiskit is asked for where an engine needs it
    ),
    Entry(
        "dwave",
        "isingsample.samplers.dwave.sampler:DWave",
        "D-Wave quantum annealer (needs an API token)",
        extra="dwave",
        modules=("dimod", "dwave.system", "minorminer"),
    ),
)


def list_samplers() -> dict[str, Entry]:
    """All samplers by name: built-in ones first, then those of other installed packages."""
    entries = {entry.name: entry for entry in _BUILT_IN}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        package = point.dist.name if point.dist else point.value
        entries.setdefault(point.name, Entry(point.name, point.value, f"from {package}"))
    return entries


@overload
def get_sampler(name: Literal["exact"], **options: Any) -> "Exact": ...
@overload
def get_sampler(name: Literal["transfer"], **options: Any) -> "Transfer": ...
@overload
def get_sampler(name: Literal["mean_field"], **options: Any) -> "MeanField": ...
@overload
def get_sampler(name: Literal["gibbs"], **options: Any) -> "Gibbs": ...
@overload
def get_sampler(name: Literal["sa"], **options: Any) -> "SimulatedAnnealing": ...
@overload
def get_sampler(name: Literal["tempering"], **options: Any) -> "ParallelTempering": ...
@overload
def get_sampler(name: Literal["dimod"], **options: Any) -> "Dimod": ...
@overload
def get_sampler(name: Literal["dqa"], **options: Any) -> "DQA": ...
@overload
def get_sampler(name: Literal["dwave"], **options: Any) -> "DWave": ...
@overload
def get_sampler(name: str, **options: Any) -> Sampler: ...
def get_sampler(name: str, **options: Any) -> Sampler:
    """A sampler by name, with its options.

    >>> get_sampler("exact", num_reads=100)
    Exact(num_reads=100, max_spins=28, max_memory=1073741824)

    Args:
        name: one of `list_samplers()`.
        options: the sampler's options; see its class.

    Raises:
        ValueError: no sampler has this name, or an option has an impossible value.
        TypeError: an option that the sampler does not have.
        MissingExtraError: an optional dependency is not installed.
    """
    entries = list_samplers()
    if name not in entries:
        raise ValueError(
            f"no sampler is called {name!r}{suggestion(str(name), entries)}; "
            f"there are {', '.join(entries)}"
        )
    return entries[name].load()(**options)


def suitable_sampler(problem: IsingProblem) -> str:
    """The name of a sampler that suits the size of a problem.

    Exact enumeration up to 24 spins, transfer where couplings reach no further than 12 spins,
    else parallel tempering, the most robust of the Monte Carlo samplers.
    """
    if problem.num_spins <= _ENUMERATED:
        return "exact"
    edges = problem.edges
    reach = int((edges[:, 1] - edges[:, 0]).max(initial=0))
    return "transfer" if problem.K is None and reach <= _SHORT_REACH else "tempering"


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package of a dotted name is missing
        return False
