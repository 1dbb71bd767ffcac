"""The smallest samplers that show what the base class does for them."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from isingsample import BlockMinimizer, BlockSampler, IsingProblem, Solution
from isingsample._core.arrays import namespace, to_numpy
from isingsample._core.blocks import Block
from isingsample._core.streams import Streams


@dataclass(frozen=True)
class Coins(BlockMinimizer):
    """Independent spins, drawn read by read: right when there are no couplings."""

    num_reads: int = 50
    token: str = field(default="", repr=False)
    thermal_reads: bool = True

    name: ClassVar[str] = "coins"

    @property
    def thermal(self) -> bool:
        return self.thermal_reads

    def _check(self, problem: IsingProblem) -> None:
        if to_numpy(problem.J).any():
            raise ValueError("coins have no couplings")

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        assert isinstance(block.h, np.ndarray)
        n = block.num_spins
        u = streams.uniforms(block.index, self.num_reads * n)
        u = u.reshape(*block.index.shape, self.num_reads, n)
        up = 1 / (1 + np.exp(-2 * beta * block.h))
        samples = np.where(u < up[..., None, :], 1, -1).astype(np.int8)
        return Solution.from_samples(
            samples,
            thermal=self.thermal,
            log_partition=np.log(2 * np.cosh(beta * block.h)).sum(axis=-1),
            per_query={"position": block.index, "good": block.h.sum(axis=-1) > -np.inf},
            info={"engine": "coin"},
        )

    def _lowest(self, block: Block, streams: Streams) -> np.ndarray:
        return np.where(block.h >= 0, 1, -1)


@dataclass(frozen=True)
class Tanh(BlockSampler):
    """The same without samples or correlations, in the problem's own library."""

    name: ClassVar[str] = "tanh"
    runs_on_host: ClassVar[bool] = False
    thermal: ClassVar[bool] = False

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        xp = namespace(block.h)
        m = xp.tanh(beta * block.h)
        unknown = xp.full_like(m, np.nan)
        return Solution(m, (1 + m) / 2, unknown, per_query={"field": xp.sum(block.h, axis=-1)})


@dataclass(frozen=True)
class Three(BlockSampler):
    """Always three reads, without an option that says so."""

    name: ClassVar[str] = "three"

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        reads = np.ones((*block.index.shape, 3, block.num_spins), np.int8)
        return Solution.from_samples(reads, thermal=True)


@dataclass(frozen=True)
class Foreign(BlockSampler):
    """A sampler of another package."""

    strength: float = 1.0

    name: ClassVar[str] = "foreign"

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        return Solution(block.h, block.h, block.h)
