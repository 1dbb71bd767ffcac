"""A sampler of exact reads, a planted problem and its patterns."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from isingsample import BlockSampler, Exact, IsingProblem, Solution


@dataclass(frozen=True)
class Drawn(BlockSampler):
    """Moments from exact samples alone."""

    num_reads: int = 1000

    name: ClassVar[str] = "drawn"

    def _solve(self, block, beta, streams):
        solved = Exact(num_reads=self.num_reads)._solve(block.to_numpy(), beta, streams)
        return Solution.from_samples(solved.samples, thermal=True)


def planted(rng, num_spins=8, h=0.3, J=0.3):
    upper = np.triu(rng.normal(0, J, (num_spins, num_spins)), 1)
    return IsingProblem(rng.normal(0, h, num_spins), upper + upper.T)


def patterns(problem, number, seed=1, beta=1.0):
    return Exact(num_reads=number).sample(problem, beta=beta, seed=seed).samples
