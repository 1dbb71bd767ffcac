"""Independence Metropolis: a known distribution as the proposal, Boltzmann's as the result."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import Array, slices, to_numpy
from isingsample._core.blocks import Block
from isingsample._core.memory import available_memory, readable_bytes
from isingsample._core.problem import IsingProblem
from isingsample._core.states import interactions, spin_table
from isingsample._core.streams import Streams
from isingsample.errors import TooLargeError
from isingsample.samplers._shared.inverse_cdf import invert
from isingsample.samplers.base import check_has_distribution
from isingsample.samplers.block_sampler import BlockSampler
from isingsample.samplers.solution import Solution

# The stream of steps: apart from those of sweeps in refine.py.
_STEPS = 2**21
# Of a table of all states: the largest, and how much of it goes at a time.
_MAX_SPINS, _CHUNK_BYTES = 20, 2**28
# For each state: of a query its probability, weight and what they are made with; of the table.
_BYTES_PER_STATE, _BYTES_PER_SPIN = 80, 24


@dataclass(frozen=True)
class IndependenceMetropolis(BlockSampler):
    """Reads of a sampler whose distribution is known, accepted or refused until they are Boltzmann.

    Each read is a chain of its own: it starts at a draw from the sampler's distribution Q, and in
    each step another draw s' replaces its state s with probability min(1, w(s')/w(s)),
    w = exp(-beta E)/Q. That leaves Boltzmann's distribution P as it is, and whatever else there
    was at the start shrinks by a factor 1 - 1/max(P/Q) in each step. info["bias_bound"] is what
    can be left of it at the end, in total variation, for each problem.

    Attributes:
        sampler: one with a `distribution`, such as Exact or DQA on a simulator; up to 20 spins.
        num_reads: chains, and samples, of each problem.
        num_steps: proposals to each chain.

    Raises:
        TypeError, ValueError: an option of the wrong kind or out of its range.
        TooLargeError: a problem has more than 20 spins, or needs more memory than there is.

    Source: Liu, Statistics and Computing 6, 113 (1996), for the rate.
    """

    sampler: Any
    num_reads: int = 1000
    num_steps: int = 50

    name: ClassVar[str] = "independence_metropolis"

    def __post_init__(self) -> None:
        check_has_distribution(self.sampler)
        check.check_count("num_reads", self.num_reads)
        check.check_count("num_steps", self.num_steps)

    def close(self) -> None:
        """Close the sampler."""
        self.sampler.close()

    def _check(self, problem: IsingProblem) -> None:
        largest = problem.num_spins
        if problem.present is not None:
            largest = int(problem.present.sum(axis=-1).max(initial=0))
        needed, available = _table_bytes(largest), available_memory()
        if largest > _MAX_SPINS or needed > available:
            raise TooLargeError(
                f"proposals to {largest} spins are drawn from a table of 2**{largest} states, of "
                f"about {readable_bytes(needed)}; the limit is {_MAX_SPINS} spins and "
                f"{readable_bytes(available)} are available. Use Refine, or a Monte Carlo sampler"
            )

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        local, table = block.to_numpy(), spin_table(block.num_spins)
        step = max(1, int(_CHUNK_BYTES // (_BYTES_PER_STATE * len(table))))
        groups, queries = block.index.shape
        samples = np.empty((groups, queries, self.num_reads, block.num_spins), np.int8)
        bound = np.empty((groups, queries))
        for some in slices(groups, step // queries):
            J, K = local.J[some], None if local.K is None else local.K[some]
            coupled = interactions(table[None], J, K)[:, None]
            for rows in slices(queries, step):
                at = some, rows
                part = dataclasses.replace(local, h=local.h[at], J=J, K=K, index=local.index[at])
                weights = self._weights(part, beta, part.h @ table.T + coupled)
                state, bound[at] = self._chains(*weights, part.index, streams)
                samples[at] = table[state]
        return Solution.from_samples(samples, thermal=True, per_query={"bias_bound": bound})

    def _chains(
        self, proposal: Array, log_weight: np.ndarray, index: np.ndarray, streams: Streams
    ) -> tuple[np.ndarray, np.ndarray]:
        """The states (groups, queries, num_reads) at which chains end, by their places in the
        table, and the bounds (groups, queries) of their bias."""
        cumulative = np.cumsum(proposal, axis=-1)

        def propose(step: int) -> tuple[np.ndarray, np.ndarray]:
            uniforms = streams.uniforms(index, 2 * self.num_reads, _STEPS + step)
            drawn, decide = uniforms[..., 0::2], uniforms[..., 1::2]
            return invert(cumulative, drawn), decide

        state, _ = propose(0)
        for step in range(1, self.num_steps + 1):
            new, decide = propose(step)
            gain = np.take_along_axis(log_weight, new, -1)
            gain -= np.take_along_axis(log_weight, state, -1)
            state = np.where(decide < np.exp(np.minimum(gain, 0.0)), new, state)
        share = 1 / np.exp(log_weight.max(axis=-1))  # of P that every draw from Q brings
        return state, np.maximum(0.0, 1 - share) ** self.num_steps

    def _weights(self, block: Block, beta: float, pull: np.ndarray) -> tuple[Array, np.ndarray]:
        """Q and ln(P/Q) of every state: (groups, queries, 2**n) both, as pull = -E."""
        K = None if block.K is None else block.K[:, None]
        problem = IsingProblem(block.h, block.J[:, None], K)
        proposal = to_numpy(self.sampler.distribution(problem, beta=beta))
        logs = beta * pull
        logs -= logs.max(axis=-1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(axis=-1, keepdims=True))
        with np.errstate(divide="ignore"):
            return proposal, logs - np.log(proposal)


def _table_bytes(num_spins: int) -> float:
    """Of all states and one query."""
    per_state = _BYTES_PER_STATE + _BYTES_PER_SPIN * num_spins
    return per_state * 2.0 ** min(num_spins, 1000)  # beyond 1023 a float overflows
