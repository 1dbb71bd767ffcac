"""Compiled runs: a range of blocks of replicas, from their first states to their moments.

A task is a block of up to 128 replicas of one problem. Its results go to places of its own and
are added up afterwards in the order of the tasks, so they do not depend on threads.
"""

from typing import Any

import numpy as np

from isingsample.samplers._shared.compiling import compiled
from isingsample.samplers._shared.pairs import SUBSETS
from isingsample.samplers._shared.threads import LANES
from isingsample.samplers.monte_carlo.compiled.kernels import (
    CHAINS,
    ORDER,
    seed_lane,
    shuffle,
    start,
    sweep,
    worst_spin,
)

# Whole numbers of float32 end at 2**24; a subset of a task has less than 2**4 replicas.
EXACT_SWEEPS = 2**20
COLDEST = 1e30  # times a field of at least 1e-8 it leaves no chance, and it is still finite


@compiled
def add_pairs(tally: Any, lanes: int, states: Any, sums: Any) -> None:
    """Products of pairs after a sweep, dealt out lane by lane: sums (pairs, SUBSETS), changed."""
    for pair in range(len(sums)):
        j, k = tally.first[pair], tally.second[pair]
        whole = lanes - lanes % SUBSETS
        for start_lane in range(0, whole, SUBSETS):
            for subset in range(SUBSETS):
                lane = start_lane + subset
                sums[pair, subset] += states[j, lane] * states[k, lane]
        for lane in range(whole, lanes):
            sums[pair, lane - whole] += states[j, lane] * states[k, lane]


@compiled
def carry_over(sums: Any, totals: Any) -> None:
    """Sums of pairs (pairs, SUBSETS) to float64 totals, if there are any; they are 0 again."""
    for pair in range(len(totals)):
        for subset in range(SUBSETS):
            totals[pair, subset] += sums[pair, subset]
            sums[pair, subset] = np.float32(0.0)


@compiled
def close_pairs(tally: Any, task: int, lanes: int, sums: Any, totals: Any) -> None:
    """Sums of a task's subsets to its place in the tally; they and the totals are 0 again."""
    for pair in range(len(sums)):
        for subset in range(min(lanes, SUBSETS)):
            members = lanes // SUBSETS + (1 if subset < lanes % SUBSETS else 0)
            total = np.float64(sums[pair, subset])
            if len(totals):
                total += totals[pair, subset]
                totals[pair, subset] = 0.0
            tally.pairs[task, pair] += total
            tally.pair_squares[task, pair] += total * total / members
            sums[pair, subset] = np.float32(0.0)


@compiled
def add_lanes(sums: Any, lanes: int, sweeps: int, up: Any, squares: Any) -> None:
    """Add a block's sums over sweeps to those of all lanes, and the squares of their means."""
    for spin in range(len(sums)):
        for lane in range(lanes):
            up[spin] += sums[spin, lane]
            squares[spin] += (sums[spin, lane] / sweeps) ** 2


@compiled
def run_chains(
    first: int,
    last: int,
    stop: Any,
    problems: Any,
    couplings: Any,
    betas: Any,
    kept: int,
    random_order: bool,
    fresh: bool,
    samples: Any,
    tally: Any,
) -> None:
    """Chains that follow a sequence of temperatures.

    Args:
        first: of the tasks to run.
        last: the one after them.
        stop: (1,) uint8; once it is not 0, no further sweep is begun.
        problems: Problems.
        couplings: CouplingLists.
        betas: (queries or 1, sweeps) float64.
        kept: how many of the last sweeps count.
        random_order: whether each sweep has an order of its own.
        fresh: whether chains start at random, not at samples.
        samples: (queries, reads, n) int8, the first and then the last states.
        tally: Tally, all zeros.
    """
    num_spins, reads = problems.h.shape[1], samples.shape[1]
    blocks = -(-reads // LANES)
    watched, draws = tally.series.shape[1:]
    stride = max(1, kept // max(1, draws))
    states = np.empty((num_spins, LANES), np.float32)
    up = np.zeros((num_spins, LANES), np.float32)
    words = np.zeros((4, LANES), np.uint32)
    order_words = np.zeros((4, 1), np.uint32)
    pull, doubled = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    sums = np.empty((num_spins, LANES))
    pair_sums = np.zeros((len(tally.first), SUBSETS), np.float32)
    pair_totals = np.zeros((len(tally.first) if kept > EXACT_SWEEPS else 0, SUBSETS))
    before = np.empty((num_spins, watched))
    history = np.empty((draws, num_spins, watched), np.float32)
    order = np.arange(num_spins)
    for task in range(first, last):
        query, block = task // blocks, task % blocks
        lanes = min(LANES, reads - block * LANES)
        group, share, h = problems.group[query], problems.share[query], problems.h[query]
        for lane in range(LANES):
            # Idle lanes of the last block follow its first one.
            replica = block * LANES + lane if lane < lanes else block * LANES
            seed_lane(words, lane, problems.key, replica, CHAINS, problems.place[query])
            start(fresh, samples[query], replica, lane, states, words)
        seed_lane(order_words, 0, problems.key, 0, ORDER, problems.place[query])
        for spin in range(num_spins):
            order[spin] = spin
        sums[:] = 0.0
        before[:] = 0.0
        sweeps = betas.shape[1]
        for step in range(sweeps):
            if stop[0] != 0:
                return
            beta = betas[min(query, len(betas) - 1), step]
            doubled[:] = np.float32(min(2.0 * beta * problems.unit[query], COLDEST))
            if random_order:
                shuffle(order, order_words)
            sweep(order, group, couplings, share, h, doubled, states, words, up, pull)
            done = step + 1 - (sweeps - kept)
            if done <= 0:
                continue
            for spin in range(num_spins):
                for lane in range(LANES):
                    sums[spin, lane] += up[spin, lane]
            add_pairs(tally, lanes, states, pair_sums)
            if done % EXACT_SWEEPS == 0:
                carry_over(pair_sums, pair_totals)
            if block == 0 and done % stride == 0 and done // stride <= draws:
                for spin in range(num_spins):
                    for lane in range(watched):
                        mean = (sums[spin, lane] - before[spin, lane]) / stride
                        history[done // stride - 1, spin, lane] = mean
                        before[spin, lane] = sums[spin, lane]
        for lane in range(lanes):
            for spin in range(num_spins):
                samples[query, block * LANES + lane, spin] = np.int8(states[spin, lane])
        close_pairs(tally, task, lanes, pair_sums, pair_totals)
        add_lanes(sums, lanes, kept, tally.up[task], tally.squares[task])
        if block == 0 and draws >= 4:
            spin = worst_spin(history)
            tally.series[query] = history[:, spin, :].T
