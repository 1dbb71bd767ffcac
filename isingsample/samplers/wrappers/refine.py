"""Heat-bath sweeps that end the bias of any sampler's reads."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import to_numpy
from isingsample._core.blocks import Block
from isingsample._core.info import Info
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.streams import Seed, Streams
from isingsample.samplers.base import Sampler
from isingsample.samplers.block_sampler import BlockSampler
from isingsample.samplers.monte_carlo.diagnostics import warn_unless_converged
from isingsample.samplers.monte_carlo.mixing import heat_bath_sweep, mixing
from isingsample.samplers.solution import Solution

# The stream of sweeps: no other purpose of a problem's randomness is as large.
_SWEEPS = 2**20
# From the streams of a refinement to those of one around it.
_NESTED = 2**22
# Reads go on for 32 draws of so many sweeps, twice as long as they have been refined.
_SWEEPS_OF_A_DRAW = 16


@dataclass(frozen=True)
class Refine(Sampler):
    """Heat-bath sweeps at beta, from the reads of any sampler.

    Each read goes on as a chain of its own, so reads stay independent. The nearer the sampler is
    to Boltzmann, the fewer sweeps it takes; as for every chain, too few leave a bias, which is
    not counted in std_error. Sweeps do not move reads between deep valleys, whose weights stay
    those of the sampler: info["r_hat"] and info["converged"] say whether the first 32 reads, going
    on for twice as many sweeps, come to agree.

    Attributes:
        sampler: where the chains start; one that gives samples.
        num_sweeps: updates of every spin of every read.

    Raises:
        TypeError, ValueError: an option of the wrong kind, or a sampler without samples.

    Warns:
        UserWarning: there are problems whose reads do not agree.

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
        first = _SWEEPS + _NESTED * _refinements(self.sampler)
        chains = _Chains(self.num_sweeps, to_numpy(started.samples), first)
        result = chains.sample(problem, beta=beta, seed=seed)
        own = {"sampler": self.name, "options": self.options, "start": started.info}
        warn_unless_converged(self.name, result.info, "raise num_sweeps, or use 'tempering'")
        return dataclasses.replace(result, info=Info(result.info).also(**own))

    def close(self) -> None:
        """Close the sampler."""
        self.sampler.close()


def _refinements(sampler: Any) -> int:
    """How many there are inside a sampler: none may draw the numbers of another."""
    inside = getattr(sampler, "sampler", None)
    return isinstance(sampler, Refine) + (0 if inside is None else _refinements(inside))


@dataclass(frozen=True)
class _Chains(BlockSampler):
    """Heat-bath sweeps from given states (..., num_reads, n)."""

    num_sweeps: int
    initial_states: np.ndarray = field(repr=False)
    first_stream: int = _SWEEPS

    name: ClassVar[str] = "refine"

    @property
    def num_reads(self) -> int:
        """As many as there are states."""
        return int(self.initial_states.shape[-2])

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        states = self.initial_states.reshape(-1, *self.initial_states.shape[-2:])
        spins = states[block.index][..., block.spins].astype(float)
        (reads, num_spins), local = spins.shape[-2:], block.to_numpy()
        for sweep in range(self.num_sweeps):
            uniforms = streams.uniforms(block.index, reads * num_spins, self.first_stream + sweep)
            heat_bath_sweep(spins, local, beta, uniforms.reshape(spins.shape))
        states = spins.astype(np.int8)
        # Chains that need much longer than num_sweeps to agree have not forgotten their start.
        stride = -(-self.num_sweeps // _SWEEPS_OF_A_DRAW)
        found = mixing(local, states, beta, streams, strides=(stride,))
        return Solution.from_samples(states, thermal=True, per_query=found)
