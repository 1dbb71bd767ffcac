"""Blocks without fields, for anneals that take none; see isingsample.encodings."""

import dataclasses

import numpy as np

from isingsample.blocks import Block
from isingsample.encodings import with_gauge_spin
from isingsample.problem import IsingProblem

# The gauge spin among a block's spins and labels.
GAUGE_SPIN, GAUGE_LABEL = -1, "gauge spin"


def with_couplings_alone(block: Block) -> Block:
    """A block in NumPy with its fields as couplings to one more spin, the last; each problem is
    then a group of its own. A block without fields stays as it is."""
    if not block.h.any():
        return block
    n, count = block.num_spins + 1, block.index.size
    encoded = with_gauge_spin(IsingProblem(block.h, block.J[:, None]))
    return dataclasses.replace(
        block,
        h=np.zeros((count, 1, n)),
        J=np.reshape(encoded.J, (count, n, n)),
        index=block.index.reshape(count, 1),
        spins=np.append(block.spins, GAUGE_SPIN),
        labels=(*block.labels, GAUGE_LABEL),
    )
