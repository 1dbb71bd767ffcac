"""Blocks without fields, for anneals that take none; see `GaugeSpin`.

Couplers go further on the ferromagnetic side, twice as far on today's chips. So a problem is sent
with spins turned over, which changes nothing but signs, where that makes its antiferromagnetic
couplings weaker: a field can always be made to pull its spin towards the gauge spin.
"""

import dataclasses

import numpy as np

from isingsample._core.blocks import Block
from isingsample._core.problem import IsingProblem
from isingsample.samplers.wrappers.gauge_spin import with_gauge_spin, without_gauge_spin

# The gauge spin among a block's spins and labels.
GAUGE_SPIN, GAUGE_LABEL = -1, "gauge spin"


def with_couplings_alone(block: Block) -> Block:
    """A block in NumPy with its fields as couplings to one more spin, the last; each problem is
    then a group of its own. A block without fields stays as it is."""
    if not block.h.any():
        return block
    n, count = block.num_spins + 1, block.index.size
    turned = turned_over(block)
    J = block.J[:, None] * turned[..., None] * turned[..., None, :]
    encoded = with_gauge_spin(IsingProblem(block.h * turned, J))
    return dataclasses.replace(
        block,
        h=np.zeros((count, 1, n)),
        J=np.reshape(encoded.J, (count, n, n)),
        index=block.index.reshape(count, 1),
        spins=np.append(block.spins, GAUGE_SPIN),
        labels=(*block.labels, GAUGE_LABEL),
    )


def folded(reads: np.ndarray, block: Block) -> np.ndarray:
    """Reads (groups, queries, num_reads, n) of a block, from those of `with_couplings_alone`."""
    shape = (*block.index.shape, -1, block.num_spins)
    if block.h.any():
        reads = np.asarray(without_gauge_spin(reads)).reshape(shape)
        reads = reads * turned_over(block).astype(reads.dtype)[:, :, None]
    return reads.reshape(shape)


def turned_over(block: Block) -> np.ndarray:
    """-1 for the spins that a problem is sent with turned over, else 1: (groups, queries, n)."""
    signs = np.where(block.h < 0, -1.0, 1.0)
    # E = -h s - J s s: what is negative is antiferromagnetic.
    as_is = np.maximum(-block.h.min(axis=-1), -block.J.min(axis=(1, 2))[:, None])
    J = block.J[:, None] * signs[..., None] * signs[..., None, :]
    return np.where((-J.min(axis=(2, 3)) < as_is)[..., None], signs, 1.0)
