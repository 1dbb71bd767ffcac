"""Gibbs sampling: many chains at beta, side by side."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from isingsample._core import checks as check
from isingsample._core.blocks import Block
from isingsample._core.streams import Streams
from isingsample.samplers.monte_carlo.chain_moments import Pairs, chain_solution
from isingsample.samplers.monte_carlo.chains import Chains, ChainSampler
from isingsample.samplers.solution import Solution


@dataclass(frozen=True)
class Gibbs(ChainSampler):
    """Heat-bath sweeps at beta, in num_reads independent chains that start at random.

    In each sweep every spin is drawn in turn from its distribution given the others. Moments are
    averages over all sweeps after burn_in and over all chains, in float64, without storing
    anything; samples are the chains' last states. std_error is the spread between chains, so it
    holds however slowly each of them moves. That of R chains is itself good to a share of
    1 / sqrt(2 (R - 1)): take 20 or more where it matters. For a single one it is NaN.

    Right once chains forget where they started. Deep valleys that they cannot leave make them
    disagree: info["r_hat"] (split R-hat of the spin whose chains agree least, at most 1.2 where
    info["converged"]) then says so, and `tempering` is the remedy. info["ess"] is the effective
    number of independent draws of that spin, a draw being a mean over num_sweeps / 32 sweeps.

    correlation and its error, when asked for, run the same chains again to count pairs. minimize()
    anneals instead, over burn_in + num_sweeps sweeps.

    Attributes:
        num_reads: chains of each problem, and samples.
        num_sweeps: sweeps of each chain that count.
        burn_in: sweeps before them that do not.
        random_order: draw spins in a new random order in each sweep, not one after the other.
        initial_states: (n,), (num_reads, n) or (..., num_reads, n) of -1 and +1 to start from,
            such as the samples of the last result; None for random ones.

    Warns:
        UserWarning: there are problems that did not converge.

    Source: Geman & Geman, IEEE PAMI 6, 721 (1984).
    """

    num_reads: int = 1000
    num_sweeps: int = 100
    burn_in: int = 100
    random_order: bool = False
    initial_states: Any = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "gibbs"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.check_count("burn_in", self.burn_in, minimum=0)

    @property
    def _remedy(self) -> str:
        return "raise burn_in and num_sweeps, or use 'tempering'"

    @property
    def _anneal_sweeps(self) -> int:
        return self.burn_in + self.num_sweeps

    def _plan(self, beta: float) -> Chains:
        betas = np.full(self.burn_in + self.num_sweeps, beta)
        return Chains(betas, self.num_sweeps, self.num_reads, self.random_order, False)

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        betas = self._plan(beta).betas[None]
        samples, tally = self._run(block, betas, self.num_sweeps, streams)

        def again(pairs: Pairs) -> Any:
            return self._run(block, betas, self.num_sweeps, streams, pairs)[1]

        return chain_solution(block, samples, tally, self.num_sweeps, again)
