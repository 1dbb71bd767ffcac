"""From reads of qubits to reads of spins: chains, broken or whole, to one value each."""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from isingsample._core.blocks import Block
from isingsample._core.states import interactions
from isingsample._core.streams import Streams
from isingsample.interop.reads import raw_reads
from isingsample.samplers._shared.pairs import sample_correlation, sample_pairs
from isingsample.samplers.dwave.chip.plan import Chunk, Plan, name_of
from isingsample.samplers.dwave.errors import BackendError
from isingsample.samplers.solution import Solution

# As Ocean's dwave.embedding.chain_breaks spells them.
CHAIN_BREAK_METHODS = ("majority_vote", "discard")


class Readout(NamedTuple):
    """The reads of a submission.

    Attributes:
        samples: (queries, num_reads, n) int8; 0 at absent spins, and in the whole row of a read
            that is discarded.
        broken: (queries,) the fraction of broken chains, over chains and reads.
    """

    samples: np.ndarray
    broken: np.ndarray


def read_out(plan: Plan, chunk: Chunk, answer: Any, method: str, streams: Streams) -> Readout:
    """Spins by the majority of their chains, or of the reads without a broken chain alone.

    Args:
        plan: of the call.
        chunk: its problems that were submitted.
        answer: a dimod SampleSet over qubits.
        method: one of CHAIN_BREAK_METHODS.
        streams: decide even votes.

    Raises:
        BackendError: a problem keeps no read at all.
    """
    group, layout = plan.groups[chunk.group], chunk.layout
    present, positions = group.present[chunk.rows], group.position[chunk.rows]
    states = raw_reads(answer, tuple(chunk.qubits), "the solver")
    if not chunk.active.all():
        every = np.zeros((len(states), len(chunk.active)), np.int8)
        every[:, chunk.active] = states
        states = every
    votes = layout.votes(states)  # (num_reads, queries, n)
    length = layout.length.reshape(present.shape)
    torn = (np.abs(votes) != length) & present
    broken = torn.sum(axis=(0, 2)) / (len(states) * present.sum(axis=1))
    votes, torn = np.swapaxes(votes, 0, 1), np.swapaxes(torn, 0, 1)
    samples = np.sign(votes).astype(np.int8)
    if method == "discard":
        lost = torn.any(axis=-1)  # (queries, num_reads)
        _check_some_left(lost, positions)
        samples[lost] = 0
    else:
        _toss(samples, present[:, None], streams, positions)
    return Readout(samples, broken)


def moments(samples: np.ndarray, **rest: Any) -> Solution:
    """Moments of the reads (groups, queries, num_reads, n) that were not discarded.

    Not thermal, so without error bars; info has the number of reads kept.
    """
    kept = (samples != 0).any(axis=-1).sum(axis=-1)  # (groups, queries)
    share = kept[..., None] / samples.shape[-2]
    rest["per_query"] = {**rest.get("per_query", {}), "kept_reads": kept}
    # Discarded reads are 0: they add nothing to sums, and only the number of reads is wrong.
    found = Solution.from_samples(samples, thermal=False, **rest)
    probability = found.probability / share

    def pairs(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = sample_pairs(samples, first, second) / share
        return mean, np.full_like(mean, np.nan)

    return dataclasses.replace(
        found,
        magnetization=2 * probability - 1,
        probability=probability,
        correlation=lambda: sample_correlation(samples) / share[..., None],
        pairs=pairs,
    )


def lowest(samples: np.ndarray, block: Block) -> np.ndarray:
    """Of reads (groups, queries, num_reads, n) each problem's best: (groups, queries, n)."""
    spins = samples.astype(float)
    energy = -(spins @ block.h[..., None])[..., 0] - interactions(spins, block.J[:, None])
    energy[(samples == 0).any(axis=-1)] = math.inf  # discarded
    best = energy.argmin(axis=-1)[..., None, None]
    return np.asarray(np.take_along_axis(samples, best, axis=2)[:, :, 0])


def _check_some_left(lost: np.ndarray, positions: np.ndarray) -> None:
    gone = np.flatnonzero(lost.all(axis=1))
    if len(gone):
        raise BackendError(
            f"{name_of(positions[gone[0]])} has no read left: in each of {lost.shape[1]} a chain "
            f"broke. Raise chain_strength, or decide broken chains by "
            f"chain_break_method='majority_vote'"
        )


def _toss(
    samples: np.ndarray, present: np.ndarray, streams: Streams, positions: np.ndarray
) -> None:
    """Decide the even votes, 0 in samples (queries, num_reads, n), by fair coins, in place."""
    even = (samples == 0) & present
    counts = even.sum(axis=(1, 2))
    coins = streams.uniforms(positions, int(counts.max(initial=0)))
    query = np.nonzero(even)[0]  # in order
    number = np.arange(len(query)) - (np.cumsum(counts) - counts)[query]
    samples[even] = np.where(coins[query, number] < 0.5, -1, 1)
