"""What a child is called with: options in Ocean's words, checked as the solver would check them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from isingsample._core.checks import suggestion
from isingsample._core.plain import plain
from isingsample.samplers.dwave.chip.ranges import Ranges
from isingsample.samplers.dwave.service.qubit_arguments import (
    check_qubit_arguments,
    with_integer_keys,
)

# auto_scale would give every problem a temperature of its own, a histogram loses the order of
# reads, and max_answers drops some.
_FIXED = {"answer_mode": "raw", "auto_scale": False}
_ELSEWHERE = (*_FIXED, "num_reads", "annealing_time", "fast_anneal", "label", "max_answers")


def arguments(
    ranges: Ranges,
    known: Mapping[str, Any],
    *,
    num_reads: int,
    annealing_time: float | None,
    fast_anneal: bool,
    label: str | None,
    parameters: Mapping[str, Any],
) -> dict[str, Any]:
    """Arguments of the child's sample(), in plain Python types: they are sent as JSON.

    Args:
        ranges: of the solver.
        known: the child's parameters.
        num_reads, annealing_time, fast_anneal, label, parameters: options of DWave.

    Raises:
        ValueError: the solver would refuse them, or does not know one of them.
    """
    time = None if annealing_time is None else float(annealing_time)
    options = {"num_reads": int(num_reads), "annealing_time": time, "label": label}
    chosen = {name: value for name, value in options.items() if value is not None}
    chosen |= {"fast_anneal": True} if fast_anneal else {}
    chosen |= {name: with_integer_keys(plain(value)) for name, value in parameters.items()}
    for name in chosen:
        if name not in known:
            raise ValueError(
                f"the solver {ranges.solver} has no parameter {name!r}{suggestion(name, known)}"
            )
    ranges.check_call(chosen)
    check_qubit_arguments(chosen, ranges.properties)
    return chosen | {name: value for name, value in _FIXED.items() if name in known}


def check_parameters(
    parameters: Mapping[str, Any], *, annealing_time: float | None, fast_anneal: bool
) -> None:
    """Refuse parameters that have a place elsewhere, and what a fast anneal does not allow.

    Raises:
        TypeError: parameters is not a dict with names for keys.
        ValueError: a parameter that is an option or fixed, or a rule of fast anneals is broken.
    """
    if not isinstance(parameters, Mapping) or not all(isinstance(p, str) for p in parameters):
        raise TypeError(f"parameters must be a dict of the solver's parameters, not {parameters!r}")
    for name in parameters:
        if name in _FIXED:
            raise ValueError(f"parameters: {name} is always {_FIXED[name]!r} here; leave it out")
        if name in _ELSEWHERE:
            raise ValueError(f"parameters: {name} has a place among the sampler's own options")
    schedule = parameters.get("anneal_schedule")
    if schedule is not None and not _is_schedule(schedule):
        raise ValueError(
            f"anneal_schedule must be a list of two or more points [time in microseconds, s], not "
            f"{schedule!r}"
        )
    if schedule is not None and annealing_time is not None:
        raise ValueError("annealing_time and anneal_schedule exclude each other; leave one out")
    if not fast_anneal:
        return
    if annealing_time is None and schedule is None:
        raise ValueError(
            "fast_anneal=True needs annealing_time, in microseconds: 0.005 for 5 nanoseconds"
        )
    if "h_gain_schedule" in parameters:
        raise ValueError("a fast anneal takes no h_gain_schedule: leave it out of parameters")
    if schedule is not None and len(schedule) > 2:
        raise ValueError(
            f"a fast anneal takes an anneal_schedule of at most 2 points, without a pause or a "
            f"reversal; this one has {len(schedule)}"
        )


def _is_schedule(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple, np.ndarray))
        and len(value) > 1
        and all(np.shape(point) == (2,) for point in value)
    )
