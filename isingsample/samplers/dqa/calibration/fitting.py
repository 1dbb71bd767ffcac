"""The one temperature of a whole batch, found by running it."""

import math
from collections.abc import Sequence

import numpy as np

from isingsample._core.blocks import Block
from isingsample._core.problem import IsingProblem
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.engines.aer import AerEngine
from isingsample.samplers.dqa.engines.primitive import PrimitiveEngine
from isingsample.samplers.dqa.engines.statevector import StatevectorEngine, energy_table
from isingsample.samplers.dqa.solve import scaled
from isingsample.samplers.dqa.temperatures import ScheduleBetas
from isingsample.samplers.effective_beta import EffectiveBeta, effective_beta
from isingsample.samplers.exact.mean_energy import mean_energy

# The problem is made stronger or weaker by this much at most.
_WIDEST, _TOLERANCE, _ROUNDING = 8.0, 1e-4, 1e-8
# Runs on a primitive, and how much one of them may change the strength.
_MOST_RUNS, _LARGEST_STEP = 8, 3.0


def fitted_to_energy(
    blocks: Sequence[Block],
    beta: float,
    anneal: Anneal,
    betas: ScheduleBetas,
    engine: AerEngine | StatevectorEngine,
) -> ScheduleBetas:
    """betas divided by the one number that gives a batch the mean energy of Boltzmann at beta.

    Args:
        blocks: the batch, in NumPy, without empty blocks.
        beta: inverse temperature asked for.
        anneal: the steps.
        betas: where to begin.
        engine: what runs them.

    Raises:
        ValueError: no multiple of the problems within a factor of 8 has that energy.
        TooLargeError: more than 24 spins.
    """
    from scipy.optimize import brentq

    problems = [_problem(block) for block in blocks]
    target = sum(float(mean_energy(problem, beta).sum()) for problem in problems)
    # The energy at beta = 0 is 0: offsets are left out, and products of spins average to that.
    if -target <= _ROUNDING * max(1.0, abs(target)):
        return betas  # beta = 0, or all states have one energy

    def excess(log_factor: float) -> float:
        stronger = _stronger(betas, math.exp(log_factor))
        return sum(_annealed_energy(b, beta, stronger, anneal, engine) for b in blocks) - target

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
    return _stronger(betas, math.exp(brentq(excess, low, high, xtol=_TOLERANCE)))


def fitted_to_reads(
    blocks: Sequence[Block],
    beta: float,
    anneal: Anneal,
    betas: ScheduleBetas,
    engine: PrimitiveEngine,
    num_reads: int,
) -> ScheduleBetas:
    """betas divided by the one number at which a primitive's reads have the temperature wanted.

    Theirs is `effective_beta`'s, with the exact likelihood up to 24 spins, the pseudo-likelihood
    beyond; it is hit when it differs by no more than its standard error.

    Args:
        blocks, beta, anneal, betas, engine: as for `fitted_to_energy`.
        num_reads: reads of each query in each run.

    Raises:
        ValueError: it is not hit within 8 runs, or not by problems up to 8 times as strong.
    """
    if beta == 0 or not blocks:
        return betas
    factor = 1.0
    for _ in range(_MOST_RUNS):
        stronger = _stronger(betas, factor)
        found = _temperature(blocks, beta, anneal, stronger, engine, num_reads)
        if math.isnan(found.beta) or abs(found.beta - beta) <= found.std_error:
            return stronger
        wanted = beta / found.beta if found.beta > 0 else math.inf
        factor *= min(max(wanted, 1 / _LARGEST_STEP), _LARGEST_STEP)
        if factor > _WIDEST:
            break
    raise ValueError(
        f"calibration='fit': reads did not come to beta = {beta:g}; the last were at "
        f"{found.beta:.3g} +- {found.std_error:.2g}. Use another total_time, more num_reads, or "
        f"calibration='analytic'"
    )


def _stronger(betas: ScheduleBetas, factor: float) -> ScheduleBetas:
    return ScheduleBetas(*(given / factor for given in betas))


def _annealed_energy(
    block: Block,
    beta: float,
    betas: ScheduleBetas,
    anneal: Anneal,
    engine: AerEngine | StatevectorEngine,
) -> float:
    """The sum of all queries' mean energies."""
    ready = scaled(block, beta, betas, "double")
    groups, queries, num_spins = block.h.shape
    fields, group = block.h.reshape(-1, num_spins), np.repeat(np.arange(groups), queries)
    total, first = 0.0, 0
    for part in engine.probabilities(ready.h, ready.J, ready.K, anneal):
        rows = slice(first, first + len(part))
        table = energy_table(fields[rows], block.J, block.K, group[rows])
        total += float((part.T * table).sum())
        first += len(part)
    return total


def _temperature(
    blocks: Sequence[Block],
    beta: float,
    anneal: Anneal,
    betas: ScheduleBetas,
    engine: PrimitiveEngine,
    num_reads: int,
) -> EffectiveBeta:
    """That of all reads: each block's, weighted by what it knows; NaN where all energies are 0."""
    ready = [scaled(block, beta, betas, "double") for block in blocks]
    found = [
        effective_beta(_problem(block), reads.reshape(*block.index.shape, *reads.shape[1:]))
        for block, reads in zip(blocks, engine.reads(ready, anneal, num_reads), strict=True)
    ]
    known = [one for one in found if math.isfinite(one.std_error)]
    if not known:
        return found[0]
    weights = np.array([one.std_error**-2 for one in known])
    mean = float(weights @ [one.beta for one in known] / weights.sum())
    return EffectiveBeta(mean, float(weights.sum() ** -0.5))


def _problem(block: Block) -> IsingProblem:
    """The block as a batch (groups, queries) of its own."""
    return IsingProblem.unvalidated(
        h=block.h,
        J=block.J[:, None],
        K=None if block.K is None else block.K[:, None],
        present=None,
        labels=block.labels,
        offset=np.zeros(()),
    )
