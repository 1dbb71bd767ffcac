"""The reads of one problem as a dimod SampleSet."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from isingsample._core.arrays import Array, to_numpy
from isingsample._core.extras import import_dimod
from isingsample._core.plain import plain
from isingsample._core.problem import IsingProblem
from isingsample._core.single import as_tuple, single

if TYPE_CHECKING:
    import dimod


def to_sampleset(
    problem: IsingProblem,
    samples: Array | None,
    info: Mapping[str, Any],
    index: tuple[int, ...] | int,
) -> "dimod.SampleSet":
    """What `SampleResult.to_sampleset` returns, from the result's fields."""
    if samples is None:
        raise ValueError(
            f"{info.get('sampler')} drew no samples; set its option num_reads to get some"
        )
    dimod = import_dimod("to_sampleset()")
    one = single(problem, index)
    at = as_tuple(index)
    states = to_numpy(samples)[at]
    place = {label: column for column, label in enumerate(problem.labels)}
    kept = [place[label] for label in one.labels]
    states = states[:, kept]
    if "kept_reads" in info:
        states = states[(states != 0).all(axis=-1)]  # without those that were discarded
    return dimod.SampleSet.from_samples(
        (states, list(one.labels)),
        vartype="SPIN",
        sort_labels=False,
        energy=one.energy(states),
        info=plain(info),
    )
