"""Compiled anneals that look for ground states, by Metropolis instead of heat bath.

A flip is accepted with probability min(1, exp(-beta dE)), up to twice as often as in a heat bath,
so that as many sweeps end further down: on planted problems of 512 spins the ground state was
found 1.3 to 20 times as often. No flip is certain, though. On a chain the spin beyond a domain
wall has no field: a sweep in order would flip one spin after the other and carry all walls along
for ever, so that none meets another. One refusal in 32 stops them, and costs next to nothing
elsewhere.
"""

from typing import Any

import numpy as np

from isingsample.samplers._shared.compiling import compiled
from isingsample.samplers._shared.threads import LANES
from isingsample.samplers.monte_carlo.compiled.chain_runs import COLDEST
from isingsample.samplers.monte_carlo.compiled.kernels import (
    _HALF,
    _PER_WORD,
    _ZERO,
    CHAINS,
    ORDER,
    couple,
    exp_minus,
    next_word,
    seed_lane,
    shuffle,
    start,
)

_MOST = np.float32(31 / 32)  # chance of a flip that costs nothing


@compiled
def descend(
    order: Any,
    group: int,
    couplings: Any,
    share: Any,
    h: Any,
    doubled: Any,
    states: Any,
    words: Any,
    pull: Any,
) -> None:
    """Offer each spin in turn a flip; arguments as for `kernels.sweep`, doubled a float32."""
    for spin in order:
        couple(spin, group, couplings, share, share, states, pull)
        field = h[spin]
        for lane in range(LANES):
            spent = doubled * (pull[lane] + field) * states[spin, lane]
            uniform = (np.float32(next_word(words, lane)) + _HALF) * _PER_WORD
            turns = uniform < min(exp_minus(max(spent, _ZERO)), _MOST)
            states[spin, lane] = -states[spin, lane] if turns else states[spin, lane]


@compiled
def run_anneals(
    first: int,
    last: int,
    stop: Any,
    problems: Any,
    couplings: Any,
    betas: Any,
    random_order: bool,
    fresh: bool,
    samples: Any,
) -> None:
    """Anneals along a sequence of temperatures; arguments as for `chain_runs.run_chains`."""
    num_spins, reads = problems.h.shape[1], samples.shape[1]
    blocks = -(-reads // LANES)
    states = np.empty((num_spins, LANES), np.float32)
    words = np.zeros((4, LANES), np.uint32)
    order_words = np.zeros((4, 1), np.uint32)
    pull = np.empty(LANES, np.float32)
    order = np.arange(num_spins)
    for task in range(first, last):
        query, block = task // blocks, task % blocks
        lanes = min(LANES, reads - block * LANES)
        group, share, h = problems.group[query], problems.share[query], problems.h[query]
        for lane in range(LANES):
            replica = block * LANES + (lane if lane < lanes else 0)
            seed_lane(words, lane, problems.key, replica, CHAINS, problems.place[query])
            start(fresh, samples[query], replica, lane, states, words)
        seed_lane(order_words, 0, problems.key, 0, ORDER, problems.place[query])
        for spin in range(num_spins):
            order[spin] = spin
        for step in range(betas.shape[1]):
            if stop[0] != 0:
                return
            beta = betas[min(query, len(betas) - 1), step] * problems.unit[query]
            doubled = np.float32(2.0 * min(beta, COLDEST))
            if random_order:
                shuffle(order, order_words)
            descend(order, group, couplings, share, h, doubled, states, words, pull)
        for lane in range(lanes):
            for spin in range(num_spins):
                samples[query, block * LANES + lane, spin] = np.int8(states[spin, lane])
