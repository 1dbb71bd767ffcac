"""Compiled heat-bath sweeps over many replicas at once. Imports numba, from the `numba` extra.

A spin of 128 replicas ("lanes") is one row of an array, so that the same operation on all of them
fills the vector registers. Each update reads the couplings once and computes every lane's field
afresh from the states: nothing is carried from update to update, so nothing drifts.

Fields are in float32, summed couplings first and h last, so that strong couplings which cancel
leave weak fields alone. A lane's random numbers come from a generator of its own (xoshiro128++,
Blackman & Vigna 2021) that Philox seeds by (seed, problem, replica): no sample depends on batch
size, on order or on threads. The kernels release the interpreter's lock; `chains` runs them on
several threads.

numba's cache on disk goes by the date of the file a kernel stands in: after a change here, touch
chain_runs.py and its like too.
"""

from typing import Any

import numpy as np

from isingsample.samplers._shared.compiling import compiled
from isingsample.samplers._shared.threads import LANES

# Neighbours come in groups of this many (the last ones of weight 0): fewer passes over memory.
GROUP = 4
# Purposes of random streams: see isingsample._core.streams.
CHAINS, ORDER, SWAPS = 1, 2, 3

_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
_LOG2_E, _LN_2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
_LARGEST = np.float32(120.0)  # 2**-120 is a flip that never happens
_PER_WORD = np.float32(2.0**-32)
# Taylor coefficients of exp(-x), good to float32 for |x| < ln(2) / 2.
_C2, _C3, _C4 = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
_C5, _C6 = np.float32(1 / 120), np.float32(1 / 720)
_WORD, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
_PHILOX_A, _PHILOX_B = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_A, _WEYL_B = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


@compiled
def seed_lane(words: Any, lane: int, key: Any, replica: int, purpose: int, index: int) -> None:
    """Philox4x32-10 of the counter (replica, purpose, index), as in isingsample._core.streams.

    Args:
        words: (4, lanes) uint32, changed at lane.
        lane: where to put the four words.
        key: (2,) uint64, the seed.
        replica: of the problem.
        purpose: of the stream.
        index: of the problem in its batch.
    """
    x0, x1 = np.uint64(replica), np.uint64(purpose)
    x2, x3 = np.uint64(index) & _WORD, np.uint64(index) >> _SHIFT
    k0, k1 = key[0], key[1]
    for _ in range(10):
        left, right = _PHILOX_A * x0, _PHILOX_B * x2
        x0, x1 = (right >> _SHIFT) ^ x1 ^ k0, right & _WORD
        x2, x3 = (left >> _SHIFT) ^ x3 ^ k1, left & _WORD
        k0, k1 = (k0 + _WEYL_A) & _WORD, (k1 + _WEYL_B) & _WORD
    words[0, lane], words[1, lane] = np.uint32(x0), np.uint32(x1)
    words[2, lane], words[3, lane] = np.uint32(x2), np.uint32(x3)


@compiled
def next_word(words: Any, lane: int) -> Any:
    """The next 32 random bits of a lane, by xoshiro128++."""
    a, b, c, d = words[0, lane], words[1, lane], words[2, lane], words[3, lane]
    total = np.uint32(a + d)
    turned = np.uint32(np.uint32(total << np.uint32(7)) | np.uint32(total >> np.uint32(25)))
    shifted = np.uint32(b << np.uint32(9))
    c = np.uint32(c ^ a)
    d = np.uint32(d ^ b)
    words[0, lane], words[1, lane] = np.uint32(a ^ d), np.uint32(b ^ c)
    words[2, lane] = np.uint32(c ^ shifted)
    words[3, lane] = np.uint32(np.uint32(d << np.uint32(11)) | np.uint32(d >> np.uint32(21)))
    return np.uint32(turned + a)


@compiled
def exp_minus(x: Any) -> Any:
    """exp(-x) for float32 x >= 0, to a few units in the last place; 2**-120 beyond 83."""
    y = min(x * _LOG2_E, _LARGEST)
    whole = np.int32(y + _HALF)
    r = (y - np.float32(whole)) * _LN_2  # in [-ln(2)/2, ln(2)/2]
    part = _ONE - r * (_ONE - r * (_C2 - r * (_C3 - r * (_C4 - r * (_C5 - r * _C6)))))
    return part * np.int32((127 - whole) << 23).view(np.float32)


@compiled
def couple(
    spin: int, group: int, couplings: Any, pairs: Any, triples: Any, states: Any, pull: Any
) -> None:
    """What the other spins add to a spin's field, in every lane.

    Args:
        spin: whose field.
        group: which couplings.
        couplings: CouplingLists.
        pairs: float32 factor of J.
        triples: float32 factor of K.
        states: (n, LANES) float32 of -1 and +1.
        pull: (LANES,) float32, the result.
    """
    for lane in range(LANES):
        pull[lane] = _ZERO
    for at in range(couplings.pair_rows[group, spin], couplings.pair_rows[group, spin + 1]):
        one, two = couplings.first[at], couplings.second[at]
        weight = triples * couplings.triple_weights[at]
        for lane in range(LANES):
            pull[lane] += weight * states[one, lane] * states[two, lane]
    neighbours, weights = couplings.neighbours, couplings.weights
    for at in range(couplings.rows[group, spin], couplings.rows[group, spin + 1], GROUP):
        j, k = neighbours[at], neighbours[at + 1]
        l, m = neighbours[at + 2], neighbours[at + 3]  # noqa: E741  (j, k, l, m: a group of four)
        wj, wk = pairs * weights[at], pairs * weights[at + 1]
        wl, wm = pairs * weights[at + 2], pairs * weights[at + 3]
        for lane in range(LANES):
            pull[lane] += (
                wj * states[j, lane]
                + wk * states[k, lane]
                + wl * states[l, lane]
                + wm * states[m, lane]
            )


@compiled
def sweep(
    order: Any,
    group: int,
    couplings: Any,
    share: Any,
    h: Any,
    doubled: Any,
    states: Any,
    words: Any,
    up: Any,
    pull: Any,
) -> None:
    """Draw each spin in turn from its distribution given the others.

    Args:
        order: (n,) the spins in the order of their updates.
        group: which couplings.
        couplings: CouplingLists.
        share: float32 factor of the couplings in the units of h.
        h: (n,) float32.
        doubled: (LANES,) float32, twice the inverse temperature.
        states: (n, LANES), changed.
        words: (4, LANES) uint32 random states, changed.
        up: (n, LANES) float32, changed: P(s = +1) that each spin was drawn with.
        pull: (LANES,) float32, to work in.
    """
    for spin in order:
        couple(spin, group, couplings, share, share, states, pull)
        field = h[spin]
        for lane in range(LANES):
            x = doubled[lane] * (pull[lane] + field)
            # Odds of standing against the field: small numbers keep their digits this way.
            odds = exp_minus(abs(x))
            against = odds / (_ONE + odds)
            uniform = (np.float32(next_word(words, lane)) + _HALF) * _PER_WORD
            turns = uniform < against
            states[spin, lane] = _ONE if (x >= _ZERO) != turns else -_ONE
            up[spin, lane] = against if x < _ZERO else _ONE - against


@compiled
def measure(
    group: int, couplings: Any, share: Any, h: Any, states: Any, pull: Any, energy: Any
) -> None:
    """Energy of the whole state of each lane, (LANES,) float64, in the units of h."""
    pairs, triples = share * np.float32(1 / 2), share * np.float32(1 / 3)
    for lane in range(LANES):
        energy[lane] = 0.0
    for spin in range(len(h)):
        couple(spin, group, couplings, pairs, triples, states, pull)
        for lane in range(LANES):
            energy[lane] -= states[spin, lane] * (pull[lane] + h[spin])


@compiled
def shuffle(order: Any, words: Any) -> None:
    """A random permutation in place (Fisher-Yates), from the first lane of words."""
    for last in range(len(order) - 1, 0, -1):
        # A multiple instead of a remainder: the bias is below n / 2**32.
        other = np.int64((np.uint64(next_word(words, 0)) * np.uint64(last + 1)) >> _SHIFT)
        order[last], order[other] = order[other], order[last]


@compiled
def start(fresh: bool, given: Any, replica: int, lane: int, states: Any, words: Any) -> None:
    """A lane's first state: the given one of its replica, or fair coins."""
    for spin in range(len(states)):
        if fresh:
            coin = next_word(words, lane) >> np.uint32(31)
            states[spin, lane] = _ONE if coin == 1 else -_ONE
        else:
            states[spin, lane] = np.float32(given[replica, spin])


@compiled
def worst_spin(history: Any) -> int:
    """The spin whose half-chains disagree most, for what one half-chain varies by itself.

    Args:
        history: (draws, n, chains) float32, at least 4 draws.
    """
    draws, num_spins, chains = history.shape
    half = draws // 2
    worst, largest = 0, -1.0
    for spin in range(num_spins):
        total = between = within = 0.0
        for part in range(2):
            for chain in range(chains):
                mean = square = 0.0
                for draw in range(part * half, (part + 1) * half):
                    value = np.float64(history[draw, spin, chain])
                    mean += value
                    square += value * value
                mean /= half
                within += max(square / half - mean * mean, 0.0)
                total += mean
                between += mean * mean
        total /= 2 * chains
        between = max(between / (2 * chains) - total * total, 0.0)
        score = 0.0 if between < 1e-12 else between / (within / (2 * chains) + 1e-12)
        if score > largest:
            worst, largest = spin, score
    return worst
