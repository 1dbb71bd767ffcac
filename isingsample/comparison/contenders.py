"""The samplers that `isingsample compare` puts side by side."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from isingsample._core.checks import suggestion
from isingsample.samplers.base import Sampler
from isingsample.samplers.registry import get_sampler, list_samplers
from isingsample.samplers.wrappers.metropolis import IndependenceMetropolis
from isingsample.samplers.wrappers.refine import Refine


def contenders(
    num_reads: int, names: Sequence[str] | None = None, *, seed: int = 0
) -> dict[str, Callable[[], Sampler]]:
    """A function that makes each sampler, by its label in the table.

    Args:
        num_reads: reads of each problem, for every sampler that takes them.
        names: labels to keep, in this order; None for all.
        seed: of the stand-in for an annealer, which takes none when it samples.

    Raises:
        ValueError: a name that is no label, with the nearest one.
    """
    known: dict[str, Callable[[], Sampler]] = {
        "exact": partial(get_sampler, "exact"),
        "exact-reads": partial(get_sampler, "exact", num_reads=num_reads),
        "transfer": partial(get_sampler, "transfer"),
        "mean_field": partial(get_sampler, "mean_field"),
        "gibbs": partial(get_sampler, "gibbs", num_reads=num_reads),
        "sa": partial(get_sampler, "sa", num_reads=num_reads),
        "tempering": partial(get_sampler, "tempering", num_reads=num_reads),
        "dimod-tree": partial(
            get_sampler, "dimod", child="TreeDecompositionSampler", num_reads=num_reads
        ),
        "sa-optimising": partial(_optimising_annealer, num_reads),
        "dqa": partial(get_sampler, "dqa", num_reads=num_reads),
        "dqa-raw": partial(get_sampler, "dqa", num_reads=num_reads, calibration="none"),
        "dqa-statevector": partial(_anneal, num_reads=num_reads),
        "dqa-boltzmann": partial(_boltzmann_anneal, num_reads),
        "dqa-refined": lambda: Refine(_boltzmann_anneal(num_reads)),
        "dqa-metropolis": lambda: IndependenceMetropolis(_boltzmann_anneal(None), num_reads),
        "dwave": partial(get_sampler, "dwave", num_reads=num_reads),
        "dwave-mock": partial(_mock_annealer, num_reads, seed),
    }
    for name in list_samplers():
        if name not in known and name != "dimod":  # the rows "sa..." run dimod children
            known[name] = partial(get_sampler, name)
    if names is None:
        return known
    for name in names:
        if name not in known:
            raise ValueError(
                f"no sampler to compare is called {name!r}{suggestion(name, known)}; "
                f"there are {', '.join(known)}"
            )
    return {name: known[name] for name in names}


def _anneal(**options: Any) -> Sampler:
    """A diabatic anneal on this package's own engine."""
    return get_sampler("dqa", engine="statevector", **options)


def _boltzmann_anneal(num_reads: int | None) -> Sampler:
    """The anneal nearest to a Boltzmann distribution."""
    from isingsample.samplers.dqa.sampler import DQA

    return DQA.preset("boltzmann", engine="statevector", num_reads=num_reads)


def _optimising_annealer(num_reads: int) -> Sampler:
    """dwave-samplers' annealer cooled as far as its default does: what not to sample with."""
    cold = {"beta_range": (0.1, 100.0)}
    return get_sampler("dimod", num_reads=num_reads, parameters=cold)


def _mock_annealer(num_reads: int, seed: int) -> Sampler:
    from isingsample.samplers.dwave.mock import mock_dwave

    return get_sampler("dwave", child=mock_dwave(seed=seed), num_reads=num_reads)
