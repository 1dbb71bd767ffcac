"""Where an anneal can be trusted, and the temperature that a whole batch comes out at."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from isingsample._arrays import Array
from isingsample.blocks import Block
from isingsample.calibration import EffectiveBetas
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.statevector import StatevectorEngine, energy_table

_LARGEST_ERROR = 0.1
_FIELDS = np.linspace(0.0, 8.0, 161)
_WIDEST, _TOLERANCE, _ROUNDING = 8.0, 1e-4, 1e-8


def field_range(anneal: Anneal) -> float:
    """The largest field up to which a lone spin comes out right, to 0.1 in its magnetization.

    Returns:
        h as the circuit has it, right being tanh(beta_h h) with the beta_h of linear response:
        infinite if beta_h h = 8 is still right, NaN if beta_h is not above 0.
    """
    if not anneal.betas.h > 0:
        return math.nan
    h = (_FIELDS / anneal.betas.h)[None, :, None]
    found = StatevectorEngine().probabilities(h, np.zeros((1, 1, 1)), None, anneal)
    up, down = np.concatenate(list(found)).T
    wrong = np.flatnonzero(np.abs(up - down - np.tanh(_FIELDS)) > _LARGEST_ERROR)
    return float(h[0, wrong[0] - 1, 0]) if wrong.size else math.inf


def fitted_betas(
    blocks: Sequence[Block], beta: float, anneal: Anneal, betas: EffectiveBetas
) -> EffectiveBetas:
    """betas divided by the one number that gives a batch the mean energy of Boltzmann at beta.

    Args:
        blocks: the batch, in NumPy.
        beta: inverse temperature asked for.
        anneal: the steps.
        betas: where to begin.

    Raises:
        ValueError: no multiple of the problems within a factor of 8 has that energy.
    """
    from scipy.optimize import brentq

    tables = [(block, _energies(block)) for block in blocks if not block.is_empty]
    target = sum(_boltzmann_energy(table, beta) for _, table in tables)
    uniform = sum(float(table.mean(axis=0).sum()) for _, table in tables)
    if uniform - target <= _ROUNDING * max(1.0, abs(target)):
        return betas  # beta = 0, or all states have one energy

    def excess(log_factor: float) -> float:
        scale = beta * math.exp(log_factor)
        scales = [scale / given for given in betas]
        found = sum(_annealed_energy(block, table, scales, anneal) for block, table in tables)
        return found - target

    # The energy falls with the strength of the problem as long as it is weak: the first crossing.
    step = math.log(_WIDEST) / 6
    high = 0.0
    while excess(high) > 0:
        high += step
        if high > math.log(_WIDEST):
            raise ValueError(
                f"calibration='fit': no problem up to {_WIDEST:g} times as strong comes out at "
                f"the mean energy of beta = {beta:g}; use a longer total_time"
            )
    low = high - step
    while excess(low) <= 0:
        low -= step
    factor = math.exp(brentq(excess, low, high, xtol=_TOLERANCE))
    return EffectiveBetas(*(given / factor for given in betas))


def _energies(block: Block) -> np.ndarray:
    """(2**n, queries)."""
    groups, queries, num_spins = block.h.shape
    group = np.repeat(np.arange(groups), queries)
    table: np.ndarray = energy_table(block.h.reshape(-1, num_spins), block.J, block.K, group)
    return table


def _boltzmann_energy(table: np.ndarray, beta: float) -> float:
    weights = np.exp(-beta * (table - table.min(axis=0)))
    return float(((weights * table).sum(axis=0) / weights.sum(axis=0)).sum())


def _annealed_energy(
    block: Block, table: np.ndarray, scales: Sequence[float], anneal: Anneal
) -> float:
    K = None if block.K is None else scales[2] * block.K
    found: Iterator[Array] = StatevectorEngine().probabilities(
        scales[0] * block.h, scales[1] * block.J, K, anneal
    )
    total, first = 0.0, 0
    for part in found:
        total += float((part.T * table[:, first : first + len(part)]).sum())
        first += len(part)
    return total
