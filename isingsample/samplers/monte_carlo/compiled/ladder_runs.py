"""Compiled parallel tempering: ladders of replicas, their rungs side by side in the lanes."""

from typing import Any

import numpy as np

from isingsample.samplers._shared.compiling import compiled
from isingsample.samplers._shared.pairs import SUBSETS
from isingsample.samplers._shared.threads import LANES
from isingsample.samplers.monte_carlo.compiled.chain_runs import (
    COLDEST,
    EXACT_SWEEPS,
    add_lanes,
    add_pairs,
    carry_over,
    close_pairs,
)
from isingsample.samplers.monte_carlo.compiled.kernels import (
    CHAINS,
    ORDER,
    SWAPS,
    measure,
    next_word,
    seed_lane,
    shuffle,
    start,
    sweep,
    worst_spin,
)

_UNIT = np.float32(2.0**-32)


@compiled
def _swap(
    parity: int, ladder: int, betas: Any, energy: Any, lane_of: Any, words: Any, accepted: Any
) -> None:
    """Exchange the temperatures of neighbouring rungs, every other pair of a ladder.

    Args:
        parity: 0 or 1, the first pair.
        ladder: which ladder of the block.
        betas: (rungs,) float64 in the units of the energies.
        energy: (LANES,) of whole states.
        lane_of: (ladders, rungs) the lane at each temperature, changed.
        words: (4, ladders) random states.
        accepted: (rungs - 1,) counts, changed.
    """
    for rung in range(parity, len(betas) - 1, 2):
        hot, cold = lane_of[ladder, rung], lane_of[ladder, rung + 1]
        gain = (betas[rung + 1] - betas[rung]) * (energy[cold] - energy[hot])
        uniform = (np.float32(next_word(words, ladder)) + np.float32(0.5)) * _UNIT
        if np.log(np.float64(uniform)) < gain:
            lane_of[ladder, rung], lane_of[ladder, rung + 1] = cold, hot
            accepted[rung] += 1


@compiled
def run_tempering(
    first: int,
    last: int,
    stop: Any,
    problems: Any,
    couplings: Any,
    betas: Any,
    sweeps: int,
    kept: int,
    random_order: bool,
    fresh: bool,
    rungs: Any,
    accepted: Any,
    lowest: Any,
    tally: Any,
) -> None:
    """Ladders of replicas that exchange their temperatures after every sweep.

    Args:
        first: of the tasks to run.
        last: the one after them.
        stop: (1,) uint8; once it is not 0, no further sweep is begun.
        problems: Problems.
        couplings: CouplingLists.
        betas: (queries, rungs) float64, from hot to cold.
        sweeps: of every replica.
        kept: how many of the last sweeps count.
        random_order: whether each sweep has an order of its own.
        fresh: whether replicas start at random, not at rungs.
        rungs: (queries, ladders, rungs, n) int8, the first and then the last states.
        accepted: (tasks, rungs - 1) counts of exchanges, all zeros.
        lowest: (tasks, n) int8, the state of lowest energy after any sweep.
        tally: Tally of the coldest rung, all zeros.
    """
    num_spins, num_rungs = problems.h.shape[1], betas.shape[1]
    reads = rungs.shape[1]
    together = LANES // num_rungs
    blocks = -(-reads // together)
    watched, draws = tally.series.shape[1:]
    stride = max(1, kept // max(1, draws))
    states = np.empty((num_spins, LANES), np.float32)
    up = np.zeros((num_spins, LANES), np.float32)
    words = np.zeros((4, LANES), np.uint32)
    swap_words = np.zeros((4, together), np.uint32)
    order_words = np.zeros((4, 1), np.uint32)
    pull, doubled = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    energy = np.empty(LANES)
    sums = np.empty((num_spins, together))
    pair_sums = np.zeros((len(tally.first), SUBSETS), np.float32)
    pair_totals = np.zeros((len(tally.first) if kept > EXACT_SWEEPS else 0, SUBSETS))
    coldest = np.empty((num_spins if len(tally.first) else 0, together), np.float32)
    before = np.empty((num_spins, watched))
    history = np.empty((draws, num_spins, watched), np.float32)
    lane_of = np.empty((together, num_rungs), np.int64)
    scaled = np.empty(num_rungs)
    order = np.arange(num_spins)
    for task in range(first, last):
        query, block = task // blocks, task % blocks
        ladders = min(together, reads - block * together)
        group, share, h = problems.group[query], problems.share[query], problems.h[query]
        index = problems.place[query]
        for rung in range(num_rungs):
            scaled[rung] = min(betas[query, rung] * problems.unit[query], COLDEST)
        for lane in range(LANES):
            # Idle lanes do as the block's first replica does; nobody asks them.
            ladder, rung = lane // num_rungs, lane % num_rungs
            if ladder >= ladders:
                ladder = rung = 0
            replica = (block * together + ladder) * num_rungs + rung
            seed_lane(words, lane, problems.key, replica, CHAINS, index)
            start(fresh, rungs[query, block * together + ladder], rung, lane, states, words)
        for ladder in range(ladders):
            seed_lane(swap_words, ladder, problems.key, block * together + ladder, SWAPS, index)
            for rung in range(num_rungs):
                lane_of[ladder, rung] = ladder * num_rungs + rung
        seed_lane(order_words, 0, problems.key, 0, ORDER, index)
        for spin in range(num_spins):
            order[spin] = spin
        doubled[:] = np.float32(2.0 * scaled[0])
        sums[:] = 0.0
        before[:] = 0.0
        record = np.inf
        cold = np.zeros(ladders, np.int64)
        for step in range(sweeps):
            if stop[0] != 0:
                return
            for ladder in range(ladders):
                for rung in range(num_rungs):
                    doubled[lane_of[ladder, rung]] = np.float32(2.0 * scaled[rung])
                cold[ladder] = lane_of[ladder, num_rungs - 1]
            if random_order:
                shuffle(order, order_words)
            sweep(order, group, couplings, share, h, doubled, states, words, up, pull)
            measure(group, couplings, share, h, states, pull, energy)
            best = int(np.argmin(energy))
            if energy[best] < record:
                record = energy[best]
                for spin in range(num_spins):
                    lowest[task, spin] = np.int8(states[spin, best])
            done = step + 1 - (sweeps - kept)
            if done > 0:
                for spin in range(num_spins):
                    for ladder in range(ladders):
                        sums[spin, ladder] += up[spin, cold[ladder]]
                for spin in range(len(coldest)):
                    for ladder in range(ladders):
                        coldest[spin, ladder] = states[spin, cold[ladder]]
                add_pairs(tally, ladders, coldest, pair_sums)
                if done % EXACT_SWEEPS == 0:
                    carry_over(pair_sums, pair_totals)
                if block == 0 and done % stride == 0 and done // stride <= draws:
                    for spin in range(num_spins):
                        for ladder in range(watched):
                            mean = (sums[spin, ladder] - before[spin, ladder]) / stride
                            history[done // stride - 1, spin, ladder] = mean
                            before[spin, ladder] = sums[spin, ladder]
            if step + 1 < sweeps:  # the last states stay at the rungs that drew them
                for ladder in range(ladders):
                    _swap(step % 2, ladder, scaled, energy, lane_of, swap_words, accepted[task])
        for ladder in range(ladders):
            for rung in range(num_rungs):
                for spin in range(num_spins):
                    state = np.int8(states[spin, lane_of[ladder, rung]])
                    rungs[query, block * together + ladder, rung, spin] = state
        close_pairs(tally, task, ladders, pair_sums, pair_totals)
        add_lanes(sums, ladders, kept, tally.up[task], tally.squares[task])
        if block == 0 and draws >= 4:
            spin = worst_spin(history)
            tally.series[query] = history[:, spin, :].T
