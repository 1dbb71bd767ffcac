"""The Monte Carlo samplers on the device of a PyTorch tensor.

The statistics are those of the compiled kernels; the random numbers are not, so equal seeds give
equal results on one kind of device, not across kinds. Schedules are made on the host, from a copy
of the couplings; sweeps, exchanges and sums stay on the device.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isingsample._core.arrays import Array, detach, like, namespace
from isingsample._core.blocks import Block
from isingsample._core.info import Info
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.streams import Seed, Streams
from isingsample.samplers._shared.pairs import shot_noise
from isingsample.samplers.block_sampler import BlockMinimizer
from isingsample.samplers.monte_carlo.device.sweeps import Replicas, coldest
from isingsample.samplers.monte_carlo.device.tally import DeviceTally
from isingsample.samplers.monte_carlo.schedules import optimising_betas
from isingsample.samplers.solution import Solution


@dataclass(frozen=True)
class OnDevice(BlockMinimizer):
    """A Monte Carlo sampler whose sweeps are array operations where the problem is.

    Attributes:
        sampler: a ChainSampler, whose options these are.
    """

    sampler: Any

    name: ClassVar[str] = "on device"
    runs_on_host: ClassVar[bool] = False

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; the result reports the sampler inside."""
        result = super().sample(problem, beta=beta, seed=seed)
        named = {"sampler": self.sampler.name, "options": self.sampler.options}
        return dataclasses.replace(result, info=Info(result.info).also(**named))

    def _check(self, problem: IsingProblem) -> None:
        self.sampler._check(problem)


@dataclass(frozen=True)
class ChainsOnDevice(OnDevice):
    """A Gibbs or SimulatedAnnealing on the device."""

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        plan = self.sampler._plan(float(beta))
        block = without_history(block)
        xp = namespace(block.h)
        replicas = Replicas(block, streams.key, plan.reads)
        states = replicas.first(self.sampler._first_states(block))
        orders = sweep_orders(plan.random_order, len(plan.betas), block, streams)
        tally = DeviceTally(plan.kept, plan.reads)
        for number, step in enumerate(plan.betas.tolist(), start=1):
            chance = replicas.sweep(states, step, number, orders[number % len(orders)])
            if number > len(plan.betas) - plan.kept:
                tally.add(chance, states)
        probability, spread = tally.moments()
        correlation, correlation_error = tally.correlation, tally.correlation_error
        if plan.moments_of_reads:
            probability = xp.mean(xp.astype(states > 0, block.h.dtype), axis=2)
            variance = 4 * probability * (1 - probability) / max(plan.reads - 1, 1)
            spread = xp.sqrt(variance) if plan.reads > 1 else probability * np.nan

            def correlation() -> Array:
                return xp.matmul(xp.permute_dims(states, (0, 1, 3, 2)), states) / plan.reads

            def correlation_error() -> Array:
                return shot_noise(correlation(), plan.reads)

        return Solution(
            magnetization=xp.astype(2 * probability - 1, block.h.dtype),
            probability=xp.astype(probability, block.h.dtype),
            std_error=xp.astype(spread, block.h.dtype),
            correlation=correlation,
            correlation_error=correlation_error,
            samples=xp.astype(states, xp.int8),
            per_query=tally.diagnosed(),
        )

    def _lowest(self, block: Block, streams: Streams) -> Array:
        block = without_history(block)
        betas = optimising_betas(block.to_numpy(), self.sampler._anneal_sweeps)
        steps = like(np.minimum(betas, 1e9 * betas[..., :1]), block.h)  # inf times 0 is no field
        replicas = Replicas(block, streams.key, self.sampler.num_reads)
        states = replicas.first(self.sampler._first_states(block))
        orders = sweep_orders(self.sampler.random_order, betas.shape[-1], block, streams)
        for number in range(1, betas.shape[-1] + 1):
            step = steps[..., number - 1, None]
            replicas.descend(states, step, number, orders[number % len(orders)])
        return coldest(states, replicas.energy(states))[0]


def sweep_orders(
    random_order: bool, sweeps: int, block: Block, streams: Streams
) -> list[np.ndarray]:
    """The orders of the sweeps, in turn; random ones are the same for all queries."""
    spins = np.arange(block.num_spins)
    if not random_order:
        return [spins]
    rng = np.random.default_rng(streams.key)
    return [rng.permutation(spins) for _ in range(sweeps)]


def without_history(block: Block) -> Block:
    """The block as constants for differentiation."""
    h, J, K = (None if a is None else detach(a) for a in (block.h, block.J, block.K))
    return dataclasses.replace(block, h=h, J=J, K=K)
