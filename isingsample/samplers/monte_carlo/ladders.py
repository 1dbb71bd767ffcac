"""Temperatures of parallel tempering: a first guess, and its adaptation to what was accepted."""

import numpy as np

from isingsample._core.blocks import Block
from isingsample._core.streams import Streams
from isingsample.samplers.monte_carlo.schedules import optimising_range


def first_ladder(block: Block, beta: float, rungs: int) -> np.ndarray:
    """Inverse temperatures from 0 to beta, geometric from where the problem is barely felt.

    Args:
        block: in NumPy.
        beta: the last one.
        rungs: how many; a single one is beta.

    Returns:
        (queries, rungs), flattened over groups.
    """
    felt = block.coupling_sums().max(axis=-1)
    if block.K is not None:
        felt = felt + np.abs(block.K).sum(axis=(-2, -1), dtype=float).max(axis=-1) / 2
    # CouplingLists that add up to 1/2 hold nothing; fields alone build no barriers.
    with np.errstate(over="ignore"):
        steps = np.maximum(2 * beta * felt, 1.0)
    start = np.repeat(beta / np.minimum(steps, 1e300), block.index.shape[1])
    ladder = np.zeros((len(start), rungs))
    ladder[:, -1] = beta
    if rungs > 2:
        share = np.linspace(0.0, 1.0, rungs - 1)[:-1]
        inner = start[:, None] ** (1 - share) * beta**share
        ladder[:, 1:-1] = np.minimum(inner, beta) if beta else 0.0
        flat = start >= beta  # barely felt even at beta: equal steps
        ladder[flat] = np.linspace(0.0, beta, rungs)
    return ladder


def adapted(betas: np.ndarray, acceptance: np.ndarray) -> np.ndarray:
    """The ladder between the same ends at which all exchanges are accepted alike.

    The sum of rejection rates up to a temperature, the barrier, does not depend on the rungs in
    between; rungs at equal steps of it reject alike (Syed et al., J. R. Stat. Soc. B 84, 321,
    2022).

    Args:
        betas: (queries, rungs) ascending.
        acceptance: (queries, rungs - 1) shares of accepted exchanges of neighbours.

    Returns:
        (queries, rungs).
    """
    # A small rate everywhere keeps rungs apart where nothing was rejected.
    barrier = np.cumsum(np.maximum(1 - acceptance, 1e-3), axis=1)
    moved = betas.copy()
    for query, heights in enumerate(barrier):
        reached = np.concatenate([[0.0], heights])
        steps = np.linspace(0.0, reached[-1], len(reached))
        moved[query, 1:-1] = np.interp(steps, reached, betas[query])[1:-1]
    return moved


def acceptance(accepted: np.ndarray, sweeps: int, reads: int) -> np.ndarray:
    """Shares of accepted exchanges in a run.

    Args:
        accepted: (queries, rungs - 1) counts over all ladders.
        sweeps: of the run, with an exchange after each but the last.
        reads: ladders of each query.

    Returns:
        (queries, rungs - 1).
    """
    # Pairs 0, 2, ... try after sweeps 0, 2, ...
    even = np.arange(accepted.shape[1]) % 2 == 0
    tries = np.where(even, sweeps // 2, (sweeps - 1) // 2)
    shares: np.ndarray = accepted / np.maximum(tries * reads, 1)
    return shares


def optimising_ladder(block: Block, rungs: int) -> np.ndarray:
    """From hot to freezing, scaled to each query: (queries, rungs); a single rung is the cold one.

    Args:
        block: in NumPy.
        rungs: how many.
    """
    hot, cold = (end[..., None] for end in optimising_range(block))
    ramp = np.linspace(1.0, 0.0, rungs)[::-1]
    betas: np.ndarray = (hot * (cold / hot) ** ramp).reshape(-1, rungs)
    return betas


def pilot_streams(streams: Streams, pilot: int) -> Streams:
    """Other streams than the main run's, for a pilot run: a key of their own."""
    first, second = streams.key
    return Streams((first ^ (pilot + 1), second ^ 0x5EED))
