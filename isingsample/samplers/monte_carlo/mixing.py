"""Whether reads that came from elsewhere are at equilibrium: a few more sweeps show it.

Reads of a sampler that is right only if it was slow enough (an annealer, sweeps from a biased
start) say nothing about themselves. Each of them goes on as a chain at beta. If the chains, which
started apart, come to agree within a few dozen sweeps, the reads have what sweeps can give; if
they stay where they are, in valleys of which each has its own reads, the weights of the valleys
are not known, and R-hat says so.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isingsample._core.arrays import slices
from isingsample._core.blocks import Block
from isingsample._core.sparse import SparseCouplings
from isingsample._core.streams import Streams
from isingsample.samplers.monte_carlo.diagnostics import chain_diagnostics

_CHAINS, _DRAWS = 32, 32
# Sweeps of a draw: first few, then more where those were not enough to tell.
_STRIDES = (1, 8)
# Streams of these sweeps: away from those of all other purposes of a problem's randomness.
_PURPOSE = 2**23
_ENTRIES = 2**23  # of the history that is kept at a time


def mixing(
    block: Block,
    reads: np.ndarray,
    beta: float,
    streams: Streams,
    strides: Sequence[int] = _STRIDES,
) -> dict[str, Any]:
    """What `chain_diagnostics` says of chains that go on from reads.

    Args:
        block: the problems, in NumPy; dense.
        reads: (groups, queries, num_reads, n) int8, of which the first 32 are followed.
        beta: inverse temperature.
        streams: of the call.
        strides: sweeps of each of 32 draws; the next ones where chains do not agree by then.

    Returns:
        "r_hat", "ess" and "converged": arrays (groups, queries), or functions giving them.
    """
    chains = reads[:, :, :_CHAINS]
    groups, queries, count, num_spins = chains.shape
    series = np.empty((groups, queries, count, _DRAWS), np.float32)
    step = max(1, _ENTRIES // (groups * count * num_spins * _DRAWS))
    left = np.arange(queries)
    found: dict[str, Any] = {}
    for stride in strides:
        for rows in (left[at] for at in slices(len(left), step)):
            part = replace(block, h=block.h[:, rows], index=block.index[:, rows])
            spins = chains[:, rows].astype(float)
            series[:, rows] = _worst(_followed(part, spins, beta, streams, stride))
        flat = series.reshape(-1, count, _DRAWS)
        found = dict(chain_diagnostics(flat, count, (groups, queries)))
        left = np.flatnonzero(~found["converged"].all(axis=0))
    return found


def heat_bath_sweep(
    spins: np.ndarray, block: Block, beta: float, uniforms: np.ndarray
) -> np.ndarray:
    """Draw each spin in turn from its distribution given the others, in place.

    Args:
        spins: (groups, queries, reads, n) float64 of -1 and +1.
        block: the problems, in NumPy.
        beta: inverse temperature.
        uniforms: like spins, in [0, 1).

    Returns:
        P(s = +1) that each spin was drawn with, like spins.
    """
    chance = np.empty_like(spins)
    for j in range(block.num_spins):
        pull = block.h[..., j, None] + (spins @ block.J[:, None, :, j, None])[..., 0]
        if block.K is not None:
            pull += 0.5 * ((spins @ block.K[:, None, j]) * spins).sum(axis=-1)
        chance[..., j] = 0.5 * (1 + np.tanh(beta * pull))
        spins[..., j] = np.where(uniforms[..., j] < chance[..., j], 1.0, -1.0)
    return chance


def can_be_followed(block: Block) -> bool:
    """Whether the couplings of a block are dense, as these sweeps take them."""
    return not isinstance(block.J, SparseCouplings)


def _followed(
    block: Block, spins: np.ndarray, beta: float, streams: Streams, stride: int
) -> np.ndarray:
    """The mean chance of +1 in draws of some sweeps: (groups, queries, chains, n, draws)."""
    history = np.zeros((*spins.shape, _DRAWS), np.float32)
    count = int(np.prod(spins.shape[-2:]))
    for sweep in range(_DRAWS * stride):
        uniforms = streams.uniforms(block.index, count, _PURPOSE + sweep).reshape(spins.shape)
        history[..., sweep // stride] += heat_bath_sweep(spins, block, beta, uniforms) / stride
    return history


def _worst(history: np.ndarray) -> np.ndarray:
    """The series of the spin whose chains agree least: (groups, queries, chains, sweeps)."""
    halves = np.stack(np.split(history, 2, axis=-1), axis=-2)  # (..., n, 2, sweeps / 2)
    between = halves.mean(axis=-1).var(axis=(2, 4))
    within = halves.var(axis=-1).mean(axis=(2, 4))
    tiny = 1e-12
    worst = np.where(between < tiny, 0.0, between / (within + tiny)).argmax(axis=-1)
    chosen = np.take_along_axis(history, worst[:, :, None, None, None], axis=3)
    return np.asarray(chosen[:, :, :, 0])
