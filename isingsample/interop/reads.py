"""The rows of a dimod SampleSet as reads."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

# The values that a variable can have, by vartype.
_VALUES = {"SPIN": (-1, 1), "BINARY": (0, 1)}


def raw_reads(sampleset: Any, labels: Sequence[Hashable], source: str) -> np.ndarray:
    """A SampleSet as (reads, n) int8 spins in the order of labels, one row per read.

    Args:
        sampleset: of dimod, SPIN or BINARY; a row counts num_occurrences times.
        labels: the spins' names.
        source: whose answer it is, for messages.

    Raises:
        ValueError: a variable is missing, or has a value that its vartype does not know.
    """
    place = {label: column for column, label in enumerate(sampleset.variables)}
    missing = [label for label in labels if label not in place]
    if missing:
        known = ", ".join(map(repr, list(place)[:5]))
        raise ValueError(
            f"{source} returned samples without the variable {missing[0]!r}; they have {known}"
            f"{', ...' if len(place) > 5 else ''}"
        )
    vartype = sampleset.vartype.name
    if vartype not in _VALUES:
        raise ValueError(f"{source} returned {vartype} samples, neither SPIN nor BINARY")
    columns = [place[label] for label in labels]
    values = sampleset.record.sample[:, columns]
    low, high = _VALUES[vartype]
    wrong = np.argwhere((values != low) & (values != high))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"{source} returned {values[row, column]} for the variable {labels[column]!r} in row "
            f"{row} of {vartype} samples, whose values are {low} and {high}"
        )
    states = values.astype(np.int8)
    if vartype == "BINARY":
        states = 2 * states - 1
    reads: np.ndarray = np.repeat(states, sampleset.record.num_occurrences, axis=0)
    return reads
