r"""Forward-backward over windows: a banded problem as a Markov chain of its last w spins.

With x the w spins before spin t and x' the w spins up to and including it, a pass from the last
spin to the first sums up what is to come,

.. math::

    B_t(x) = \ln \sum_{s_t} \exp\bigl(-\beta E_t(x, s_t) + B_{t+1}(x')\bigr),

where E_t holds the terms that end at spin t. It leaves ln Z, and each spin's conditional
P(s_t | x): a Markov chain. A pass from the first spin to the last through that chain gives all
moments as sums of positive numbers, or draws samples. With max in place of the sum the chain
leads to the ground state. Each pass costs n 2^w operations per query.

The backward pass is in the log domain, relative to the best window at each step: nothing
overflows, nothing that matters underflows, and messages keep their digits at any length.

A window's 2**w states lie on two axes: its oldest spin, and the other spins. Windows before the
first spin hold spins that couple to nothing. Queries that lack spins at the end (in rising order of
length) join the backward pass at their last spin, and leave the forward pass after it.

Source: Rabiner, Proc. IEEE 77, 257 (1989), forward-backward and Viterbi.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from isingsample._core.arrays import Array, detach, like, namespace
from isingsample._core.states import spin_table
from isingsample.samplers.transfer.band import Band

# From the signs' logarithmic weights (2, ...), what stands for their probabilities (2, ...), and
# what a window is worth (...).
Choice: TypeAlias = Callable[[Array], tuple[Array, Array]]


def boltzmann(logs: Array) -> tuple[Array, Array]:
    """Each sign with its probability; the logarithm of the sum."""
    xp = namespace(logs)
    peak = detach(xp.max(logs, axis=0))
    weights = xp.exp(logs - peak)
    total = xp.sum(weights, axis=0)
    return weights / total, xp.log(total) + peak


def best(logs: Array) -> tuple[Array, Array]:
    """The sign of the larger weight, or both if they are equal; the larger logarithm."""
    peak = namespace(logs).max(logs, axis=0)
    return logs == peak, peak


@np.errstate(over="ignore")  # a sign that costs more than the largest number has probability 0
def conditionals(band: Band, choice: Choice = boltzmann) -> tuple[list[Array], Array]:
    """The backward pass.

    Args:
        band: fields and couplings already times beta.
        choice: `boltzmann` or `best`.

    Returns:
        for each spin P(s | window), (2, groups, queries, 2, 2**(w-1)) with the sign first, of the
        queries from `Band.starts` on; and ln Z, (groups, queries).
    """
    xp = namespace(band.h)
    couplings, fields, log_partition = band.costs()
    half = couplings.shape[-1]
    later = like(np.zeros((2, len(band.h), 0, 1, half)), band.h)
    steps, peaks = [], []
    for site, start in reversed([*enumerate(band.starts)]):
        later = _for_queries(later, band.h.shape[1] - start, axis=2)
        conditional, message = choice(fields[site][:, :, start:] + later + couplings[site])
        peak = detach(xp.max(message, axis=(-2, -1)))
        message = message - peak[..., None, None]
        # The same windows, seen from the spin before: the newest spin is that spin's sign.
        by_newest = xp.reshape(message, (*message.shape[:2], half, 2))
        later = xp.permute_dims(by_newest, (3, 0, 1, 2))[..., None, :]
        steps.append(conditional)
        peaks.append(_for_queries(peak, band.h.shape[1], axis=1))
    # The windows before the first spin are worth the same.
    log_partition = log_partition + message[..., 0, 0] + xp.sum(xp.stack(peaks, axis=-1), axis=-1)
    return steps[::-1], log_partition


def moments(band: Band) -> tuple[Array, Array, Array]:
    """Magnetization and P(s = +1), (groups, queries, n), and ln Z, (groups, queries).

    P(+1) is summed by itself: (m + 1)/2 would lose it to cancellation where it is small.
    """
    xp = namespace(band.h)
    steps, log_partition = conditionals(band)
    window, signs = _first_window(band), []
    for conditional in steps:
        joint = _joint(window, conditional)
        window = _shifted(joint)
        signs.append(_for_queries(xp.sum(joint, axis=-1), band.h.shape[1], axis=2))
    down, up = _for_spins(xp.stack(signs, axis=-1), band.h.shape[-1], axis=3)
    # Their sum is 1 but for rounding, which must not push a probability beyond it; 0 where absent.
    total = up + down + (1 - band.present)
    return (up - down) / total, up / total, log_partition


def correlations(band: Band) -> tuple[Array]:
    """<s_j s_k>, (groups, queries, n, n), inside the band and beyond.

    Besides the probabilities of the windows, the forward pass carries the windows' expectation of
    each spin that is past: n^2 2^w operations and n 2^w numbers per query.
    """
    xp = namespace(band.h)
    num_spins = band.h.shape[-1]
    signs = like(np.array([-1.0, 1.0]).reshape(2, 1, 1, 1, 1), band.h)
    rows = _first_window(band)[None]  # of 1, then of every past spin: (1 + t, ...)
    below = []
    for conditional in conditionals(band)[0]:
        joint = _joint(rows, conditional[:, None])
        down, up = xp.sum(joint, axis=-1)  # (1 + t, groups, queries)
        past = _for_queries((up - down)[1:] / (up + down)[0], band.h.shape[1], axis=2)
        below.append(_for_spins(past, num_spins, axis=0))
        rows = _shifted(xp.concat([joint, signs * joint[:, :1]], axis=1))
    lower = xp.moveaxis(_for_spins(xp.stack(below), num_spins, axis=0), (0, 1), (-2, -1))
    return (lower + lower.mT + like(np.eye(num_spins), lower) * band.present[..., None],)


def neighbour_correlations(band: Band) -> tuple[Array]:
    """<s_j s_k> of each spin and the w spins before it, the oldest first: (groups, queries, n, w).

    Zero before the first spin. It costs no more than the moments.
    """
    xp = namespace(band.h)
    signs = like(spin_table(band.width), band.h)  # of the spins in each state of the window
    window, rows = _first_window(band), []
    for conditional in conditionals(band)[0]:
        down, up = _continued(window, conditional) * conditional
        at_states = xp.reshape(up - down, (*up.shape[:2], -1))
        means = (at_states @ signs) / xp.sum(up + down, axis=(-2, -1))[..., None]
        rows.append(_for_queries(means, band.h.shape[1], axis=1))
        window = _shifted(_joint(window, conditional))
    exists = np.arange(band.h.shape[-1])[:, None] + np.arange(-band.width, 0) >= 0
    found = _for_spins(xp.stack(rows, axis=2), band.h.shape[-1], axis=2)
    return (found * like(exists, band.h),)


def entropies(band: Band) -> tuple[Array]:
    """-sum_s P(s) ln P(s), (groups, queries).

    The sum of each spin's entropy given its window: of terms of one sign, free of cancellation.
    """
    xp = namespace(band.h)
    window, parts = _first_window(band), []
    for conditional in conditionals(band)[0]:
        possible = xp.where(conditional > 0, conditional, xp.ones_like(conditional))
        joint = _continued(window, conditional) * conditional
        part = xp.sum(joint * xp.log(possible), axis=(0, -2, -1))
        parts.append(_for_queries(part, band.h.shape[1], axis=1))
        window = _shifted(_joint(window, conditional))
    return (-xp.sum(xp.stack(parts, axis=-1), axis=-1),)


def walk(ups: Sequence[np.ndarray], uniforms: np.ndarray) -> np.ndarray:
    """Go through the chain from the first spin to the last.

    Args:
        ups: for each spin P(+1 | window), (groups, queries, 2, 2**(w-1)).
        uniforms: (groups, queries, reads, n) in [0, 1): a spin is up where it is below P.

    Returns:
        (groups, queries, reads, n) int8 of -1 and +1.
    """
    states = np.empty(uniforms.shape, np.int8)
    window = np.zeros(uniforms.shape[:-1], np.int64)
    for site, up in enumerate(ups):
        by_window = up.reshape(*up.shape[:2], -1)
        is_up = uniforms[..., site] < np.take_along_axis(by_window, window, axis=-1)
        states[..., site] = 2 * is_up - 1
        window = (2 * window + is_up) % by_window.shape[-1]
    return states


def _first_window(band: Band) -> Array:
    """Probabilities of the window before the first spin, all alike."""
    states = np.full((*band.h.shape[:2], 2, 2 ** (band.width - 1)), 0.5**band.width)
    return like(states, band.h)


def _joint(window: Array, conditional: Array) -> Array:
    """P(sign, window without its oldest spin): (2, ..., 2**(w-1)), from P(window)."""
    joint = _continued(window, conditional) * conditional
    return joint[..., 0, :] + joint[..., 1, :]


def _continued(window: Array, conditional: Array) -> Array:
    """The windows of the queries that have the next spin: the last ones."""
    return window[..., window.shape[-3] - conditional.shape[-3] :, :, :]


def _for_queries(values: Array, queries: int, axis: int) -> Array:
    """Values of the last queries as those of all, with 0 for the others, which are shorter."""
    return _with_zeros(values, queries, axis, first=True)


def _for_spins(values: Array, num_spins: int, axis: int) -> Array:
    """Values of the first spins as those of all, with 0 for the others."""
    return _with_zeros(values, num_spins, axis, first=False)


def _with_zeros(values: Array, length: int, axis: int, *, first: bool) -> Array:
    missing = length - values.shape[axis]
    if not missing:
        return values
    xp, shape = namespace(values), list(values.shape)
    shape[axis] = missing
    zeros = xp.zeros(shape, dtype=values.dtype, device=values.device)
    return xp.concat([zeros, values] if first else [values, zeros], axis=axis)


def _shifted(joint: Array) -> Array:
    """The joint probabilities as those of the next window, whose newest spin is that sign."""
    xp = namespace(joint)
    by_newest = xp.permute_dims(joint, (*range(1, joint.ndim), 0))
    return xp.reshape(by_newest, (*joint.shape[1:-1], 2, joint.shape[-1]))
