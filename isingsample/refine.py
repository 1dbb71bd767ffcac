"""Wrappers that end the bias of a sampler: what comes out is thermal at beta."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from isingsample import _validation as check
from isingsample._arrays import Array, to_numpy
from isingsample._info import Info
from isingsample.blocks import Block
from isingsample.energies import spin_table
from isingsample.problem import IsingProblem
from isingsample.result import SampleResult
from isingsample.samplers._inverse_cdf import invert
from isingsample.samplers.base import Sampler, Solution
from isingsample.streams import Seed, Streams

# Streams of this module: no other purpose of a problem's randomness is as large.
_SWEEPS, _STEPS = 2**20, 2**21


@dataclass(frozen=True)
class Refine(Sampler):
    """Heat-bath sweeps at beta, from the reads of any sampler.

    Each read goes on as a chain of its own, so reads stay independent. The nearer the sampler is
    to Boltzmann, the fewer sweeps it takes; as for every chain, too few leave a bias, which is
    not counted in std_error.

    Attributes:
        sampler: where the chains start; one that gives samples.
        num_sweeps: updates of every spin of every read.

    Raises:
        TypeError, ValueError: an option of the wrong kind, or a sampler without samples.

    Source: Geman & Geman, IEEE PAMI 6, 721 (1984).
    """

    sampler: Any
    num_sweeps: int = 20

    name: ClassVar[str] = "refine"

    def __post_init__(self) -> None:
        if not isinstance(self.sampler, Sampler):
            raise TypeError(f"sampler must be a Sampler, not {self.sampler!r}")
        check.check_count("num_sweeps", self.num_sweeps)

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; see `Sampler.sample`."""
        started = self.sampler.sample(problem, beta=beta, seed=seed)
        if started.samples is None:
            raise ValueError(
                f"Refine goes on from samples, and {self.sampler.name!r} gave none; set num_reads"
            )
        chains = _Chains(self.num_sweeps, to_numpy(started.samples))
        result = chains.sample(problem, beta=beta, seed=seed)
        own = {"sampler": self.name, "options": self.options, "start": started.info}
        return dataclasses.replace(result, info=Info(result.info).also(**own))

    def close(self) -> None:
        """Close the sampler."""
        self.sampler.close()

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        raise NotImplementedError("chains start from the samples of a whole call")


@dataclass(frozen=True)
class _Chains(Sampler):
    """Heat-bath sweeps from given states (..., num_reads, n)."""

    num_sweeps: int
    initial_states: np.ndarray = field(repr=False)

    name: ClassVar[str] = "refine"

    @property
    def num_reads(self) -> int:
        """As many as there are states."""
        return int(self.initial_states.shape[-2])

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        states = self.initial_states.reshape(-1, *self.initial_states.shape[-2:])
        spins = states[block.index][..., block.spins].astype(float)
        reads, num_spins = spins.shape[-2:]
        for sweep in range(self.num_sweeps):
            uniforms = streams.uniforms(block.index, reads * num_spins, _SWEEPS + sweep)
            heat_bath_sweep(spins, block.to_numpy(), beta, uniforms.reshape(spins.shape))
        return Solution.from_samples(spins.astype(np.int8), thermal=True)


def heat_bath_sweep(spins: np.ndarray, block: Block, beta: float, uniforms: np.ndarray) -> None:
    """Draw each spin in turn from its distribution given the others, in place.

    Args:
        spins: (groups, queries, reads, n) float64 of -1 and +1.
        block: the problems, in NumPy.
        beta: inverse temperature.
        uniforms: like spins, in [0, 1).
    """
    for j in range(block.num_spins):
        pull = block.h[..., j, None] + (spins @ block.J[:, None, :, j, None])[..., 0]
        if block.K is not None:
            pull += 0.5 * ((spins @ block.K[:, None, j]) * spins).sum(axis=-1)
        up = uniforms[..., j] < 0.5 * (1 + np.tanh(beta * pull))
        spins[..., j] = np.where(up, 1.0, -1.0)


@dataclass(frozen=True)
class IndependenceMetropolis(Sampler):
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

    Source: Liu, Statistics and Computing 6, 113 (1996), for the rate.
    """

    sampler: Any
    num_reads: int = 1000
    num_steps: int = 50

    name: ClassVar[str] = "independence_metropolis"

    def __post_init__(self) -> None:
        if not isinstance(self.sampler, Sampler) or not hasattr(self.sampler, "distribution"):
            raise TypeError(
                f"sampler must be one that has a distribution, such as DQA, not {self.sampler!r}"
            )
        check.check_count("num_reads", self.num_reads)
        check.check_count("num_steps", self.num_steps)

    def close(self) -> None:
        """Close the sampler."""
        self.sampler.close()

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        table = spin_table(block.num_spins)
        proposal, log_weight = self._weights(block.to_numpy(), beta, table)
        cumulative = np.cumsum(proposal, axis=-1)

        def propose(step: int) -> tuple[np.ndarray, np.ndarray]:
            uniforms = streams.uniforms(block.index, 2 * self.num_reads, _STEPS + step)
            drawn, decide = uniforms[..., 0::2], uniforms[..., 1::2]
            return invert(cumulative, drawn), decide

        state, _ = propose(0)
        for step in range(1, self.num_steps + 1):
            new, decide = propose(step)
            gain = np.take_along_axis(log_weight, new, -1)
            gain -= np.take_along_axis(log_weight, state, -1)
            state = np.where(decide < np.exp(np.minimum(gain, 0.0)), new, state)
        samples = table.astype(np.int8)[state]
        share = 1 / np.exp(log_weight.max(axis=-1))  # of P that every draw from Q brings
        bound = np.maximum(0.0, 1 - share) ** self.num_steps
        return Solution.from_samples(samples, thermal=True, per_query={"bias_bound": bound})

    def _weights(self, block: Block, beta: float, table: np.ndarray) -> tuple[Array, np.ndarray]:
        """Q and ln(P/Q) of every state: (groups, queries, 2**n) both."""
        K = None if block.K is None else block.K[:, None]
        problem = IsingProblem(block.h, block.J[:, None], K)
        proposal = to_numpy(self.sampler.distribution(problem, beta=beta))
        logs = -beta * problem.energy(table[None, None])
        logs -= logs.max(axis=-1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(axis=-1, keepdims=True))
        with np.errstate(divide="ignore"):
            return proposal, logs - np.log(proposal)
