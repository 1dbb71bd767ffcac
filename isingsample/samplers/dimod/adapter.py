"""A sampler of this package behind dimod's Sampler interface. Imports dimod: load lazily."""

import dataclasses
from typing import Any

import dimod

from isingsample._core.plain import plain
from isingsample._core.streams import Seed
from isingsample.interop.convert import from_bqm
from isingsample.samplers.base import Sampler


class DimodAdapter(dimod.Sampler):  # type: ignore[misc]  # dimod ships no types
    """What `isingsample.as_dimod` returns."""

    def __init__(self, sampler: Sampler) -> None:
        _innermost(sampler)
        self._sampler = sampler

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The arguments that `sample` knows."""
        return {"num_reads": [], "beta": [], "seed": []}

    @property
    def properties(self) -> dict[str, Any]:
        """The wrapped sampler's name and options."""
        return {"sampler": self._sampler.name, "options": self._sampler.options}

    def sample(
        self,
        bqm: dimod.BinaryQuadraticModel,
        num_reads: int | None = None,
        beta: float = 1.0,
        seed: Seed = None,
        **unknown: Any,
    ) -> dimod.SampleSet:
        """Samples of a BQM, in its own vartype.

        Args:
            bqm: the model.
            num_reads: how many samples; by default the wrapped sampler's own number, or 1.
            beta: inverse temperature.
            seed: as for `Sampler.sample`.
            unknown: other arguments: ignored with dimod's warning.
        """
        self.remove_unknown_kwargs(**unknown)
        reads = _innermost(self._sampler).options["num_reads"] or 1
        sampler = _with_reads(self._sampler, reads if num_reads is None else num_reads)
        result = sampler.sample(from_bqm(bqm), beta=beta, seed=seed)
        states = (result.samples, list(result.problem.labels))
        found = dimod.SampleSet.from_samples_bqm(
            states, bqm.spin, sort_labels=False, info=plain(result.info)
        )
        return found.change_vartype(bqm.vartype, inplace=False)


def _innermost(sampler: Sampler) -> Sampler:
    """The sampler that draws the reads: itself, or the one that a wrapper has inside.

    Raises:
        TypeError: none of them draws any.
    """
    inside: Any = sampler
    while "num_reads" not in inside.options:
        inside = inside.options.get("sampler")
        if not isinstance(inside, Sampler):
            raise TypeError(f"{type(sampler).__name__} draws no samples, which dimod samplers must")
    found: Sampler = inside
    return found


def _with_reads(sampler: Any, num_reads: int) -> Sampler:
    """The sampler, or wrapper, with another number of reads."""
    if "num_reads" in sampler.options:
        replaced: Sampler = dataclasses.replace(sampler, num_reads=num_reads)
        return replaced
    wrapped: Sampler = dataclasses.replace(
        sampler, sampler=_with_reads(sampler.options["sampler"], num_reads)
    )
    return wrapped
