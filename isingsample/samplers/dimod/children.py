"""Running dimod samplers on blocks, and what is known of the temperature of each.

The BQM that a child sees is already multiplied by beta, so a child samples at unit temperature.
Left to their defaults, annealers cool as far as they can: they optimise. `treatment` says how
each known child is made to sample instead, and which cannot be.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isingsample._core.arrays import to_numpy
from isingsample._core.blocks import Block
from isingsample._core.checks import check_count, suggestion
from isingsample._core.problem import IsingProblem
from isingsample._core.progress import track
from isingsample._core.streams import Streams
from isingsample.errors import IsingSampleError, TooLargeError
from isingsample.interop.convert import bqm_of
from isingsample.interop.reads import raw_reads
from isingsample.samplers.base import Sampler
from isingsample.samplers.monte_carlo.schedules import annealing_betas

# ExactSolver holds all 2**n rows; this many take 1.4 GB.
_ENUMERATION_LIMIT = 22
_DEFAULT_SWEEPS = 100
_COINS = 1  # the purpose of their stream; seeds of children come from purpose 0


@dataclass(frozen=True)
class Treatment:
    """How to get samples at unit temperature from a child.

    Attributes:
        thermal: whether its reads then follow exp(-E).
        parameters: what to call it with.
        enumerates: whether it lists every state once, to be drawn from with weight exp(-E).
        skips_free_spins: whether it leaves spins without field or coupling at -1.
        anneals: whether its reads are right only if it was slow enough, which has to be looked at.
        overrides: parameters that replace the caller's own.
    """

    thermal: bool
    parameters: Mapping[str, Any] = field(default_factory=dict)
    enumerates: bool = False
    skips_free_spins: bool = False
    anneals: bool = False
    overrides: Mapping[str, Any] = field(default_factory=dict)


def treatment(child: Any, parameters: Mapping[str, Any]) -> Treatment:
    """What is known of a child, with the caller's own parameters taking precedence."""
    import dimod
    from dwave import samplers as dwave_samplers

    if isinstance(child, dimod.ExactSolver):
        return Treatment(thermal=True, enumerates=True)
    if isinstance(child, dwave_samplers.TreeDecompositionSampler):
        at_beta = parameters.get("beta", 1.0) == 1.0
        return Treatment(at_beta, {"beta": 1.0}, skips_free_spins=True)
    if isinstance(child, dwave_samplers.SimulatedAnnealingSampler):
        return _annealer(parameters)
    return Treatment(thermal=False)


def _annealer(parameters: Mapping[str, Any]) -> Treatment:
    """dwave-samplers' annealer (and neal's, which is the same): a ramp to 1, then a hold.

    Its default acceptance rule flips a free spin at every sweep; heat-bath updates do not.
    """
    heat_bath = {"proposal_acceptance_criteria": "Gibbs"}
    given = {name: value for name, value in parameters.items() if value is not None}
    at_heat_bath = given.get("proposal_acceptance_criteria", "Gibbs") == "Gibbs"
    own_schedule = given.get("beta_schedule", given.get("beta_range"))
    if own_schedule is not None:
        kind = {"beta_schedule_type": "custom"} if "beta_schedule" in given else {}
        ends_at_1 = float(own_schedule[-1]) == 1.0
        return Treatment(at_heat_bath and ends_at_1, {**heat_bath, **kind}, anneals=True)
    if given.get("beta_schedule_type", "custom") != "custom":
        return Treatment(at_heat_bath, {**heat_bath, "beta_range": (0.1, 1.0)}, anneals=True)
    repeats = check_count("num_sweeps_per_beta", given.get("num_sweeps_per_beta", 1))
    sweeps = check_count("num_sweeps", given.get("num_sweeps", _DEFAULT_SWEEPS))
    betas = annealing_betas(0.1, 1.0, -(-sweeps // repeats), "geometric", hold=0.5)
    schedule = {"beta_schedule_type": "custom", "beta_schedule": betas}
    # The schedule says how many sweeps there are.
    overrides = {"num_sweeps": None}
    return Treatment(at_heat_bath, {**heat_bath, **schedule}, overrides=overrides, anneals=True)


def check_parameters(child: Any, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that the child does not know, and those that are set elsewhere.

    Raises:
        TypeError: an unknown parameter, with the nearest known one.
        ValueError: num_reads or seed, which have a place of their own, or illegal initial states.
    """
    known = list(child.parameters)
    for name in parameters:
        if name in ("num_reads", "seed"):
            place = "an option of the sampler" if name == "num_reads" else "an argument of sample()"
            raise ValueError(f"{name} is {place}, not one of the child's parameters")
        if name not in known:
            raise TypeError(
                f"{type(child).__name__} has no parameter {name!r}{suggestion(name, known)}; "
                f"it has {', '.join(known)}"
            )
    if parameters.get("initial_states") is not None:
        _check_initial_states(parameters["initial_states"])


def _check_initial_states(states: Any) -> None:
    import dimod

    given = states.record.sample if isinstance(states, dimod.SampleSet) else None
    try:
        values = dimod.as_samples(states)[0] if given is None else given
    except (TypeError, ValueError) as error:
        raise TypeError(f"initial_states must be samples in dimod's sense: {error}") from None
    wrong = np.argwhere(abs(np.asarray(values)) != 1)
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"initial_states must hold spins -1 and +1, but entry [{row}, {column}] is "
            f"{values[row, column]}; for bits x use 2 * x - 1"
        )


def refuse_three_body(sampler: Sampler, problem: IsingProblem) -> None:
    """ValueError when a problem has three-body couplings, which a BQM cannot hold."""
    if problem.K is not None and to_numpy(problem.K).any():
        raise ValueError(
            f"the sampler {sampler.name!r} takes no three-body couplings K; use 'exact', "
            f"'transfer', 'gibbs', 'sa', 'tempering', 'mean_field' or 'dqa'"
        )


def sample_child(
    child: Any,
    block: Block,
    scale: float,
    num_reads: int,
    parameters: Mapping[str, Any],
    streams: Streams,
) -> Iterator[tuple[tuple[int, int], Any]]:
    """The SampleSet of every query of a block: ((group, query), sampleset).

    A foreign sampler takes one problem at a time: this is the one loop over queries.

    Args:
        child: a dimod sampler.
        block: in NumPy.
        scale: factor on all fields and couplings: beta, or 1 to minimise.
        num_reads: reads of each query, for a child that takes a number.
        parameters: passed on to the child.
        streams: each query gets a seed of its own from them, for a child that takes one.
    """
    seeds = streams.integers(block.index)
    known = child.parameters
    arguments = dict(parameters)
    if "num_reads" in known:
        arguments["num_reads"] = num_reads
    initial = arguments.get("initial_states")
    if isinstance(initial, (np.ndarray, list)) and np.ndim(initial) in (1, 2):
        # Columns without labels are in the caller's order, and of the type that children expect.
        arguments["initial_states"] = (np.asarray(initial, np.int8), list(block.labels))
    for at in track(list(np.ndindex(*block.index.shape)), type(child).__name__):
        if "seed" in known:
            arguments["seed"] = int(seeds[at])
        yield (
            at,
            child.sample(
                bqm_of(scale * block.h[at], scale * block.couplings(at[0]), block.labels),
                **arguments,
            ),
        )


def reads_at_unit_temperature(
    child: Any,
    block: Block,
    beta: float,
    num_reads: int,
    parameters: Mapping[str, Any],
    streams: Streams,
) -> np.ndarray:
    """Reads of a child for every query, at beta where the child can be made to sample.

    Returns:
        (groups, queries, num_reads, n) int8.

    Raises:
        IsingSampleError: the child returned another number of reads than it was asked for.
        TooLargeError: a child that lists all states, and too many spins for that.
    """
    how = treatment(child, parameters)
    if how.enumerates:
        _check_enumerable(child, block)
        uniforms = streams.uniforms(block.index, num_reads)
    drawn = np.empty((*block.index.shape, num_reads, block.num_spins), np.int8)
    given = {name: value for name, value in parameters.items() if value is not None}
    merged = {**how.parameters, **given, **how.overrides}
    for at, sampleset in sample_child(child, block, beta, num_reads, merged, streams):
        reads = raw_reads(sampleset, block.labels, type(child).__name__)
        if how.enumerates:
            reads = reads[_boltzmann_rows(sampleset.record.energy, uniforms[at])]
        if len(reads) != num_reads:
            raise IsingSampleError(
                f"{type(child).__name__} returned {len(reads)} reads where num_reads={num_reads} "
                f"were asked for; a child that chooses their number can only serve minimize()"
            )
        drawn[at] = reads
    if how.skips_free_spins:
        # What counts is what the child was given: beta = 0 leaves nothing of the couplings.
        given_block = block.times(beta)
        coupled = (given_block.coupling_sums() > 0)[:, None]
        free = ((given_block.h == 0) & ~coupled)[:, :, None]
        drawn = np.where(free, _coins(block, num_reads, streams), drawn)
    return drawn


def lowest_states(
    child: Any, block: Block, num_reads: int, parameters: Mapping[str, Any], streams: Streams
) -> np.ndarray:
    """The best state that a child finds for each query: (groups, queries, n) int8."""
    lowest = np.empty((*block.index.shape, block.num_spins), np.int8)
    with warnings.catch_warnings():
        # dwave-samplers' annealer finds a problem without any bias suspicious; it is not.
        warnings.filterwarnings("ignore", message=".*non-ergodic.*")
        for at, sampleset in sample_child(child, block, 1.0, num_reads, parameters, streams):
            lowest[at] = raw_reads(sampleset.truncate(1), block.labels, type(child).__name__)[0]
    return lowest


def _coins(block: Block, num_reads: int, streams: Streams) -> np.ndarray:
    """A fair coin for every spin of every read: (groups, queries, num_reads, n) int8."""
    uniforms = streams.uniforms(block.index, num_reads * block.num_spins, _COINS)
    coins = np.where(uniforms < 0.5, -1, 1).astype(np.int8)
    return coins.reshape(*block.index.shape, num_reads, block.num_spins)


def _check_enumerable(child: Any, block: Block) -> None:
    if block.num_spins > _ENUMERATION_LIMIT:
        raise TooLargeError(
            f"{type(child).__name__} lists all 2**{block.num_spins} states of {block.num_spins} "
            f"spins; the limit is {_ENUMERATION_LIMIT}. Use an annealer as the child"
        )


def _boltzmann_rows(energy: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Rows drawn with weight exp(-energy), one for each uniform number."""
    cumulative = np.cumsum(np.exp(energy.min() - energy))
    rows: np.ndarray = np.searchsorted(cumulative, uniforms * cumulative[-1], side="right")
    return rows
