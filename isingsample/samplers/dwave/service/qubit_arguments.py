"""Arguments that say something about each qubit or each moment, as the solver would check them.

Schedules of forward and reverse anneals, initial states, flux biases, anneal offsets and the gain
of fields: a submission with a mistake in them fails after it has been queued, or samples something
else than was meant.
"""

import math
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

_UNUSED = 3  # what a list of initial states has for a qubit that is not in use


def with_integer_keys(value: Any) -> Any:
    """A dict by qubit with integers for keys, also where JSON has made strings of them."""
    if not isinstance(value, Mapping):
        return value
    return {_qubit(key): entry for key, entry in value.items()}


def check_qubit_arguments(arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> None:
    """Refuse what a solver would refuse, or take in another sense than is meant.

    Args:
        arguments: of the child's sample(), in plain Python types.
        properties: of the solver.

    Raises:
        ValueError: naming the argument and the rule.
    """
    schedule, state = arguments.get("anneal_schedule"), arguments.get("initial_state")
    if schedule is not None:
        _check_schedule(schedule)
        if schedule[0][1] == 1 and state is None:
            raise ValueError(
                "anneal_schedule starts at s=1, a reverse anneal, which needs initial_state: a "
                "dict {qubit: -1 or +1}"
            )
    if state is not None:
        _check_state(state, properties)
    for name in ("flux_biases", "anneal_offsets"):
        if arguments.get(name) is not None:
            _check_length(name, arguments[name], properties)
    _check_offsets(arguments.get("anneal_offsets"), properties.get("anneal_offset_ranges"))
    _check_gain(arguments.get("h_gain_schedule"), properties.get("h_gain_schedule_range"))


def _check_schedule(schedule: Any) -> None:
    times, shares = (np.array([float(point[axis]) for point in schedule]) for axis in (0, 1))
    if times[0] != 0:
        raise ValueError(f"anneal_schedule must start at time 0, not {times[0]:g}")
    if (np.diff(times) <= 0).any():
        at = int(np.flatnonzero(np.diff(times) <= 0)[0]) + 1
        raise ValueError(
            f"the times of anneal_schedule must rise, but point {at} is at {times[at]:g} after "
            f"{times[at - 1]:g}"
        )
    if (shares < 0).any() or (shares > 1).any():
        at = int(np.flatnonzero((shares < 0) | (shares > 1))[0])
        raise ValueError(
            f"s must be from 0 to 1, but point {at} of anneal_schedule has {shares[at]:g}"
        )
    if shares[-1] != 1:
        raise ValueError(
            f"anneal_schedule must end at s=1, where qubits are read, not at {shares[-1]:g}"
        )
    if shares[0] not in (0.0, 1.0):
        raise ValueError(
            f"anneal_schedule must start at s=0 (forward) or s=1 (reverse), not at {shares[0]:g}"
        )


def _check_state(state: Any, properties: Mapping[str, Any]) -> None:
    if isinstance(state, Mapping):
        entries, allowed = list(state.items()), {-1, 1}
    else:
        _check_length("initial_state", state, properties)
        entries, allowed = list(enumerate(state)), {-1, 1, _UNUSED}
    for qubit, spin in entries:
        if spin not in allowed:
            raise ValueError(
                f"initial_state must hold spins -1 and +1, but has {spin!r} for qubit {qubit!r}"
            )
    known = properties.get("qubits")
    if isinstance(state, Mapping) and known is not None:
        unknown = sorted(set(state) - set(known), key=str)
        if unknown:
            raise ValueError(f"initial_state names qubit {unknown[0]!r}, which the solver lacks")


def _check_length(name: str, values: Any, properties: Mapping[str, Any]) -> None:
    wanted = properties.get("num_qubits")
    if wanted is not None and len(values) != wanted:
        raise ValueError(
            f"{name} must have an entry for each of the solver's {wanted} qubits, in use or not; "
            f"it has {len(values)}"
        )


def _check_offsets(offsets: Any, ranges: Any) -> None:
    if offsets is None or ranges is None:
        return
    for qubit, (offset, limits) in enumerate(zip(offsets, ranges, strict=True)):
        low, high = limits if limits else (math.nan, math.nan)
        if not (math.isnan(offset) or low <= offset <= high):
            raise ValueError(
                f"anneal_offsets[{qubit}]={offset:g} is outside anneal_offset_ranges "
                f"[{low:g}, {high:g}] of that qubit"
            )


def _check_gain(schedule: Any, limits: Any) -> None:
    if schedule is None or limits is None:
        return
    low, high = limits
    for at, (_, gain) in enumerate(schedule):
        if not low <= gain <= high:
            raise ValueError(
                f"h_gain_schedule[{at}] has the gain {gain:g}, outside h_gain_schedule_range "
                f"[{low:g}, {high:g}]"
            )


def _qubit(key: Any) -> Any:
    if isinstance(key, Integral):
        return int(key)
    return int(key) if isinstance(key, str) and key.isdecimal() else key
