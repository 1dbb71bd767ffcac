"""Parallel tempering on the device of a PyTorch tensor: ladders as one array.

Replica (read, rung) of a query keeps its temperature; accepted exchanges move states, which costs
little beside the sweeps and needs no bookkeeping.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isingsample._core.arrays import Array, like, namespace, to_numpy
from isingsample._core.blocks import Block
from isingsample._core.streams import Streams
from isingsample.samplers.monte_carlo.device.chains import OnDevice, sweep_orders, without_history
from isingsample.samplers.monte_carlo.device.sweeps import Replicas, coldest
from isingsample.samplers.monte_carlo.device.tally import DeviceTally
from isingsample.samplers.monte_carlo.ladders import acceptance, optimising_ladder, pilot_streams
from isingsample.samplers.solution import Solution

_SWAPS = 1  # the purpose of the numbers that decide exchanges; sweeps have 0


@dataclass(frozen=True)
class LaddersOnDevice(OnDevice):
    """A ParallelTempering on the device."""

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        sampler, block = self.sampler, without_history(block)
        xp = namespace(block.h)

        def pilot(betas: np.ndarray, number: int, states: Array) -> tuple[np.ndarray, Array]:
            ladders = self._ladders(block, betas, pilot_streams(streams, number))
            for _, after in ladders.sweeps(sampler.burn_in, states):
                last = after
            return ladders.acceptance(sampler.burn_in), last.states

        betas, states = sampler._prepared(block.to_numpy(), float(beta), pilot)
        ladders = self._ladders(block, betas, streams)
        sweeps = sampler.burn_in + sampler.num_sweeps
        tally = DeviceTally(sampler.num_sweeps, sampler.num_reads)
        for number, after in ladders.sweeps(sweeps, states):
            cold = ladders.rung(after.states, -1)
            if number > sampler.burn_in:
                tally.add(ladders.rung(after.chance, -1), cold)
        probability, spread = tally.moments()
        shape = block.index.shape
        return Solution(
            magnetization=xp.astype(2 * probability - 1, block.h.dtype),
            probability=xp.astype(probability, block.h.dtype),
            std_error=xp.astype(spread, block.h.dtype),
            correlation=tally.correlation,
            correlation_error=tally.correlation_error,
            samples=xp.astype(cold, xp.int8),
            per_query={
                **tally.diagnosed(),
                "betas": betas.reshape(*shape, -1),
                "swap_acceptance": ladders.acceptance(sweeps).reshape(*shape, betas.shape[1] - 1),
            },
        )

    def _lowest(self, block: Block, streams: Streams) -> Array:
        sampler, block = self.sampler, without_history(block)
        xp = namespace(block.h)
        betas = optimising_ladder(block.to_numpy(), sampler.num_replicas)
        ladders = self._ladders(block, betas, streams)
        best = record = None
        for _, after in ladders.sweeps(sampler.burn_in + sampler.num_sweeps, None):
            found, energy = coldest(after.states, after.energy)
            if record is None:
                best, record = found, energy
            better = energy < record
            best = xp.where(better[..., None], found, best)
            record = xp.where(better, energy, record)
        return best

    def _ladders(self, block: Block, betas: np.ndarray, streams: Streams) -> "Ladders":
        return Ladders(block, betas, self.sampler, streams)


@dataclass(frozen=True)
class Swept:
    """All replicas of a block after a sweep, ladder by ladder, from hot to cold in each.

    Attributes:
        chance: (groups, queries, reads * rungs, n), P(s = +1) that each spin was drawn with.
        states: (groups, queries, reads * rungs, n).
        energy: (groups, queries, reads * rungs) of these states.
    """

    chance: Array
    states: Array
    energy: Array


@dataclass
class Ladders:
    """The ladders of all queries of a block.

    Attributes:
        block: on the device.
        betas: (queries, rungs) on the host, from hot to cold.
        sampler: a ParallelTempering.
        streams: where random numbers come from.
    """

    block: Block
    betas: np.ndarray
    sampler: Any
    streams: Streams
    _accepted: Array = 0.0

    @property
    def rungs(self) -> int:
        """Of each ladder."""
        return int(self.betas.shape[1])

    @cached_property
    def _rung_betas(self) -> Array:
        """(groups, queries, 1, rungs)."""
        return like(self.betas.reshape(*self.block.index.shape, 1, -1), self.block.h)

    def sweeps(self, count: int, states: Array | None) -> Iterator[tuple[int, Swept]]:
        """Sweep all replicas and exchange neighbours after each sweep but the last.

        Args:
            count: of sweeps.
            states: (groups, queries, reads * rungs, n) to start from; None for those that the
                sampler's options say.

        Yields:
            The number of the sweep, from 1, and what it left, before exchanges.
        """
        xp, reads = namespace(self.block.h), self.sampler.num_reads
        shape = (*self.block.index.shape, reads, self.rungs)
        replicas = Replicas(self.block, self.streams.key, reads * self.rungs)
        if states is None:
            first = self.sampler._first_states(self.block)
            states = replicas.first(None if first is None else first.repeat(self.rungs, axis=1))
        else:
            states = xp.asarray(states, copy=True)
        beta = xp.reshape(xp.broadcast_to(self._rung_betas, shape), (*shape[:2], -1))
        orders = sweep_orders(self.sampler.random_order, count, self.block, self.streams)
        for number in range(1, count + 1):
            chance = replicas.sweep(states, beta, number, orders[number % len(orders)])
            energy = replicas.energy(states)
            yield number, Swept(chance, states, energy)
            if number < count and self.rungs > 1:
                states = self._exchanged(states, xp.reshape(energy, shape), number)

    def rung(self, values: Array, which: int) -> Array:
        """One rung of each ladder: (groups, queries, reads * rungs, n) to (..., reads, n)."""
        groups, queries, _, num_spins = values.shape
        by_rung = (groups, queries, self.sampler.num_reads, self.rungs, num_spins)
        return namespace(values).reshape(values, by_rung)[:, :, :, which]

    def acceptance(self, sweeps: int) -> np.ndarray:
        """(queries, rungs - 1) shares of accepted exchanges in a run of so many sweeps."""
        accepted = self._accepted + like(np.zeros((len(self.betas), self.rungs - 1)), self.block.h)
        return acceptance(to_numpy(accepted), sweeps, self.sampler.num_reads)

    def _exchanged(self, states: Array, energy: Array, number: int) -> Array:
        """The states after every other pair of neighbours may have changed places.

        Args:
            states: (groups, queries, reads * rungs, n).
            energy: (groups, queries, reads, rungs) of whole states.
            number: of the sweep before, from 1.
        """
        xp, betas = namespace(states), self._rung_betas
        draws = Replicas(self.block, self.streams.key, self.sampler.num_reads, _SWAPS)
        uniforms = draws.uniforms(number, self.rungs - 1)
        turn = like(np.arange(self.rungs - 1) % 2 == (number - 1) % 2, uniforms, keep_dtype=True)
        gain = (betas[..., 1:] - betas[..., :-1]) * (energy[..., 1:] - energy[..., :-1])
        swap = xp.logical_and(xp.log(uniforms) < gain, turn)  # (groups, queries, reads, rungs - 1)
        counts = xp.sum(xp.astype(swap, energy.dtype), axis=2)
        self._accepted = self._accepted + xp.reshape(counts, (len(self.betas), -1))
        stays = xp.zeros_like(swap[..., :1])
        from_below = xp.concat([stays, swap], axis=-1)[..., None]
        from_above = xp.concat([swap, stays], axis=-1)[..., None]
        ladders = xp.reshape(states, (*energy.shape, states.shape[-1]))
        moved = xp.where(from_above, xp.roll(ladders, -1, axis=3), ladders)
        moved = xp.where(from_below, xp.roll(ladders, 1, axis=3), moved)
        return xp.reshape(moved, states.shape)
