"""The rows of a dimod SampleSet as reads."""

from typing import Any

import numpy as np


def raw_reads(sampleset: Any, labels: tuple[Any, ...]) -> np.ndarray:
    """A SampleSet as (reads, n) int8 spins in the order of labels, one row per read."""
    place = {label: column for column, label in enumerate(sampleset.variables)}
    columns = [place[label] for label in labels]
    states = sampleset.record.sample[:, columns].astype(np.int8)
    if sampleset.vartype.name == "BINARY":
        states = 2 * states - 1
    reads: np.ndarray = np.repeat(states, sampleset.record.num_occurrences, axis=0)
    return reads
