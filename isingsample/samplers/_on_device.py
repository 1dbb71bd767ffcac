"""The Monte Carlo samplers on the device of a PyTorch tensor.

The statistics are those of the compiled kernels; the random numbers are not, so equal seeds give
equal results on one kind of device, not across kinds.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isingsample._arrays import Array, detach, namespace, to_numpy
from isingsample.blocks import Block
from isingsample.problem import IsingProblem
from isingsample.result import SampleResult
from isingsample.samplers._chains import Chains
from isingsample.samplers._device_sweeps import Replicas
from isingsample.samplers._diagnostics import chain_diagnostics
from isingsample.samplers.base import Sampler, Solution
from isingsample.streams import Seed, Streams

_WATCHED, _DRAWS = 32, 32


@dataclass(frozen=True)
class OnDevice(Sampler):
    """A chain sampler whose sweeps are array operations where the problem is.

    Attributes:
        sampler: a Gibbs or SimulatedAnnealing, whose options these are.
    """

    sampler: Any

    name: ClassVar[str] = "on device"
    runs_on_host: ClassVar[bool] = False

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; the result reports the sampler inside."""
        result = super().sample(problem, beta=beta, seed=seed)
        named = {"sampler": self.sampler.name, "options": self.sampler.options}
        return dataclasses.replace(result, info={**result.info, **named})

    def _check(self, problem: IsingProblem) -> None:
        self.sampler._check(problem)

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        plan = self.sampler._plan(float(beta))
        xp = namespace(block.h)
        detached = _without_history(block)
        replicas = Replicas(detached, streams.key, plan.reads)
        states = replicas.first(self.sampler._first_states(block))
        orders = _orders(plan, block, streams)
        up = pairs = 0.0
        draws: list[Array] = []
        stride = max(1, plan.kept // _DRAWS)
        part: Array = 0.0
        for number, step in enumerate(plan.betas.tolist(), start=1):
            chance = replicas.sweep(states, step, number, orders[number % len(orders)])
            if number <= len(plan.betas) - plan.kept:
                continue
            up = up + xp.astype(chance, xp.float64)
            pairs = pairs + xp.matmul(xp.permute_dims(states, (0, 1, 3, 2)), states)
            part = part + chance[:, :, :_WATCHED]
            if (number - len(plan.betas) + plan.kept) % stride == 0:
                draws.append(part / stride)
                part = 0.0
        probability, spread = _moments(up / plan.kept, plan.reads)
        samples = xp.astype(states, xp.int8)
        correlation = pairs / (plan.kept * plan.reads)
        if plan.moments_of_reads:
            probability = xp.mean(xp.astype(states > 0, block.h.dtype), axis=2)
            variance = 4 * probability * (1 - probability) / max(plan.reads - 1, 1)
            spread = xp.sqrt(variance) if plan.reads > 1 else probability * np.nan
            correlation = xp.matmul(xp.permute_dims(states, (0, 1, 3, 2)), states) / plan.reads
        return Solution(
            magnetization=xp.astype(2 * probability - 1, block.h.dtype),
            probability=xp.astype(probability, block.h.dtype),
            std_error=xp.astype(spread, block.h.dtype),
            correlation=lambda: correlation,
            samples=samples,
            per_query=_diagnosed(draws, plan.reads),
        )


def _moments(means: Array, reads: int) -> tuple[Array, Array]:
    """P(s = +1) and the standard error of m, from the mean of every chain (..., chains, n)."""
    xp = namespace(means)
    probability = xp.mean(means, axis=2)
    if reads == 1:
        return probability, probability * np.nan
    return probability, 2 * xp.std(means, axis=2, correction=1) / np.sqrt(reads)


def _diagnosed(draws: list[Array], reads: int) -> dict[str, np.ndarray]:
    """Diagnostics of the spin whose chains agree least, on the host: (groups, queries) each."""
    series = np.stack([to_numpy(draw) for draw in draws], axis=-1)  # (G, Q, chains, n, draws)
    half = series.shape[-1] // 2
    halves = np.stack([series[..., :half], series[..., half : 2 * half]], axis=-2)
    if half > 1:
        between = halves.mean(axis=-1).var(axis=(2, 4))
        within = halves.var(axis=-1).mean(axis=(2, 4))
        score = np.where(between < 1e-12, 0.0, between / (within + 1e-12))
        worst = score.argmax(axis=-1)
    else:
        worst = np.zeros(series.shape[:2], int)
    at = worst[:, :, None, None, None]
    chosen = np.take_along_axis(series, at, axis=3)[:, :, :, 0]
    found = chain_diagnostics(chosen.reshape(-1, *chosen.shape[2:]), reads)
    return {name: value.reshape(worst.shape) for name, value in found.items()}


def _orders(plan: Chains, block: Block, streams: Streams) -> list[np.ndarray]:
    """The orders of the sweeps, in turn; random ones are the same for all queries."""
    spins = np.arange(block.num_spins)
    if not plan.random_order:
        return [spins]
    rng = np.random.default_rng(streams.key)
    return [rng.permutation(spins) for _ in range(len(plan.betas))]


def _without_history(block: Block) -> Block:
    h, J, K = (None if a is None else detach(a) for a in (block.h, block.J, block.K))
    return dataclasses.replace(block, h=h, J=J, K=K)
