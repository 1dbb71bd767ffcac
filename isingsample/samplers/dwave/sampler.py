"""Batches of problems on a D-Wave quantum annealer."""

import dataclasses
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType
from typing import Any, ClassVar, Self

import numpy as np

from isingsample._core import checks as check
from isingsample._core.blocks import Block, split
from isingsample._core.extras import import_dimod
from isingsample._core.plain import plain
from isingsample._core.problem import IsingProblem
from isingsample._core.streams import Seed, Streams
from isingsample.samplers.base import check_beta, check_is_problem
from isingsample.samplers.dimod.children import refuse_three_body
from isingsample.samplers.dwave.calibration import (
    DWaveCalibration,
    calibrated,
    store_scale,
    stored_scale,
)
from isingsample.samplers.dwave.call.batch import Outcome, run
from isingsample.samplers.dwave.call.calls import ResumableMinimizer, current_journal
from isingsample.samplers.dwave.call.journal import Journal
from isingsample.samplers.dwave.chip.gauge import folded, with_couplings_alone
from isingsample.samplers.dwave.chip.layout import Layout
from isingsample.samplers.dwave.chip.plan import Plan, Scale
from isingsample.samplers.dwave.chip.structure import Structure
from isingsample.samplers.dwave.chip.tile_store import cache_folder
from isingsample.samplers.dwave.estimate import (
    DWaveEstimate,
    check_affordable,
    estimate_access_time,
)
from isingsample.samplers.dwave.readout import CHAIN_BREAK_METHODS, lowest, moments
from isingsample.samplers.dwave.service.arguments import arguments, check_parameters
from isingsample.samplers.dwave.service.connect import connect, require_ocean
from isingsample.samplers.dwave.service.connection import Connection
from isingsample.samplers.effective_beta import EffectiveBeta
from isingsample.samplers.solution import Solution

_CONNECTION_OPTIONS = ("token", "solver", "profile", "region", "endpoint", "config_file")
_KINDS: dict[str, tuple[type, ...]] = {
    "token": (str,),
    "solver": (str, dict),
    "profile": (str,),
    "region": (str,),
    "endpoint": (str,),
    "config_file": (str, os.PathLike),
    "cache_dir": (str, os.PathLike),
    "label": (str,),
}
_CALIBRATED = "calibrated"


@dataclass(frozen=True)
class DWave(ResumableMinimizer):
    """Submits a batch of problems to a D-Wave annealer, many in each submission.

    Each problem goes to a tile of its own: disjoint chains of qubits for its spins, found once
    for a chip and a number of spins and kept in memory and on disk. Problems whose numbers of
    spins are within a factor of two share tiles of one size, and couplings may differ from
    problem to problem; sparse problems are embedded by their own graph. All are sent at one
    scale: what is submitted is scale * beta * (h, J). Everything is checked before anything is
    sent; then all submissions are in the solver's queue together, and answers come back in batch
    order.

    Results are not `thermal` and std_error is NaN: the annealer has a temperature of its own,
    and chains bias its law. `calibrate` finds the scale that gives the temperature asked for,
    and `Refine(DWave(...), num_sweeps)` makes the reads thermal. `minimize` fills the solver's
    ranges instead. An annealer takes no seed: `seed` only decides the even votes of broken chains.

    `sample` reports in info:

    - scale; chain_strength (submitted units); max_chain_length; solver
    - beta_effective and beta_effective_std_error, measured on the reads of all or many of the
      problems by `effective_beta`, in the units of beta, when they are first read
    - chain_break_fraction (...), of a problem's chains and reads; kept_reads (...)
    - num_submissions; problem_ids (in batch order; None for problems without spins); tile (...)
      and embeddings: for each set of spins a list of tiles, dicts from labels to qubits
    - qpu_timing (the solver's own figures, in microseconds for D-Wave's; summed over the
      submissions, times per sample averaged), and qpu_seconds_estimated before, by Ocean's
      estimator, None where the solver gives no timing data for it

    The connection is opened at the first use and kept until `close`, or the end of a with block;
    its client runs 17 threads. Pickling leaves connection and token behind, so that an unpickled
    sampler takes its token from the environment or a configuration file.

    Attributes:
        num_reads: anneals of each problem.
        annealing_time: of each read, in microseconds; None for the solver's default.
        fast_anneal: anneal by the solver's fast protocol, as short as nanoseconds
            (annealing_time=0.005). It takes no fields: they become couplings to one more spin,
            which is an exact identity, and the reads are folded back.
        scale: the factor on all fields and couplings besides beta; None for 1 or, where the
            solver's ranges require it, less; "calibrated" for what `calibrate` found with this
            solver, annealing_time, chain_strength, fast_anneal and parameters.
        chain_strength: the coupling within chains, in submitted units and positive; None for 2,
            or more where the problem's couplings pull harder, within the solver's range.
        max_chain_length: qubits of the longest chain; None for one more than the shortest
            known, where that leaves room for more tiles.
        max_tiles: problems in a submission at most; None for as many as the chip has tiles.
        chain_break_method: "majority_vote" of a broken chain's qubits, or "discard" each read of
            a problem in which a chain broke: its row of samples is 0, and it does not count.
        parameters: further parameters of the solver, such as {"readout_thermalization": 5.0}.
        max_qpu_seconds: refuse a call that would have the annealer for longer, by the estimate.
        label: names the problems on the Leap dashboard.
        cache_dir: where tiles and calibrated scales are kept; None for the folder in the
            variable ISINGSAMPLE_CACHE, or the platform's own.
        token: API token; like the options below, from Ocean's environment variables and
            configuration files if None. Never shown.
        solver: name of a solver, or a dict of the features it must have.
        profile: section of the configuration file.
        region: such as "na-west-1".
        endpoint: URL of the service.
        config_file: path of a configuration file.
        child: a structured dimod sampler to use in place of all these, such as
            `isingsample.samplers.dwave.mock.mock_dwave()`, or a composite with a graph of its
            own, such as FixedEmbeddingComposite. It stays open on `close`.
        timeout: seconds to wait for an answer, from its submission on.

    Raises:
        TypeError: child is not a structured dimod sampler, or an option is of the wrong kind.
        ValueError: child is given together with options of a connection, or options exclude
            each other.

    Besides what every sampler raises, `sample` and `minimize` raise ValueError where a problem
    cannot be embedded, an option is outside the solver's ranges or the estimated time above
    max_qpu_seconds, CredentialsError without a (valid) token, BackendError for other failures of
    the service and where no read of a problem is left, and BackendTimeoutError. What had been
    submitted by then is not lost: the error's `job` is for `resume`.
    """

    num_reads: int = 1000
    annealing_time: float | None = None
    fast_anneal: bool = False
    scale: float | str | None = None
    chain_strength: float | None = None
    max_chain_length: int | None = None
    max_tiles: int | None = None
    chain_break_method: str = "majority_vote"
    parameters: dict[str, Any] = field(default_factory=dict, hash=False)
    max_qpu_seconds: float | None = None
    label: str | None = None
    cache_dir: str | os.PathLike[str] | None = None
    token: str | None = field(default=None, repr=False)
    solver: str | dict[str, Any] | None = None
    profile: str | None = None
    region: str | None = None
    endpoint: str | None = None
    config_file: str | None = None
    child: Any = None
    timeout: float = 600.0

    name: ClassVar[str] = "dwave"
    local_options: ClassVar[tuple[str, ...]] = (
        *_CONNECTION_OPTIONS,
        "child",
        "timeout",
        "cache_dir",
        "max_qpu_seconds",
    )

    def __post_init__(self) -> None:
        check.check_count("num_reads", self.num_reads)
        for option in ("annealing_time", "chain_strength", "max_qpu_seconds"):
            value = getattr(self, option)
            if value is not None:
                _check_positive(option, value)
        if isinstance(self.scale, str):
            check.check_choice("scale", self.scale, (_CALIBRATED,))
        elif self.scale is not None:
            _check_positive("scale", self.scale)
        for option in ("max_chain_length", "max_tiles"):
            if getattr(self, option) is not None:
                check.check_count(option, getattr(self, option))
        check.check_choice("chain_break_method", self.chain_break_method, CHAIN_BREAK_METHODS)
        check_parameters(
            self.parameters, annealing_time=self.annealing_time, fast_anneal=self.fast_anneal
        )
        _check_positive("timeout", self.timeout)
        for option, kinds in _KINDS.items():
            value = getattr(self, option)
            if not isinstance(value, (*kinds, NoneType)):
                names = " or ".join(kind.__name__ for kind in kinds)
                given = "" if option == "token" else f", not {value!r}"
                raise TypeError(f"{option} must be a {names}{given}")
        if self.child is None:
            return
        dimod = import_dimod("a child of the sampler 'dwave'")
        if not (isinstance(self.child, dimod.Sampler) and isinstance(self.child, dimod.Structured)):
            raise TypeError(
                f"child must be a structured dimod sampler, such as mock_dwave() or a "
                f"DWaveSampler, or a composite with a graph of its own, not {self.child!r}"
            )
        ignored = [option for option in _CONNECTION_OPTIONS if getattr(self, option) is not None]
        if ignored:
            raise ValueError(f"child is used in place of a connection: leave out {ignored}")

    @property
    def thermal(self) -> bool:
        """False: the annealer's temperature is its own."""
        return False

    @property
    def is_remote(self) -> bool:
        """True: what is submitted may be paid for, also by way of a child."""
        return True

    @property
    def solver_properties(self) -> dict[str, Any]:
        """What the solver says of itself, in D-Wave's terms; its name is the chip_id.

        Opens the connection, so it raises CredentialsError and BackendError as `sample` does.
        """
        ranges = self._connection.ranges
        return {**ranges.properties, "chip_id": ranges.solver}

    def estimate(self, problem: IsingProblem, *, beta: Any = 1.0) -> DWaveEstimate:
        """How `sample` would submit a batch, and its cost. Connects to the solver; sends nothing.

        Raises:
            TypeError, ValueError, BackendError: as for `sample`.
        """
        check_is_problem(problem)
        beta = check_beta(beta, problem, on_host=True)
        self._check(problem)
        filled = [block for block in split(problem.to_numpy()) if not block.is_empty]
        if not filled:
            return DWaveEstimate(self._connection.ranges.solver, 0, 0, 0, 0, 0, 1.0, 0.0, 0.0)
        journal = Journal()
        plan = self._plan(filled, beta, self._scale(journal), journal)
        seconds = self._estimated_seconds(plan)
        return DWaveEstimate.of(plan, self._connection.ranges.solver, seconds)

    def calibrate(
        self,
        problem: IsingProblem,
        *,
        beta: float = 1.0,
        seed: Seed = None,
        num_trials: int = 8,
        store: bool = True,
    ) -> DWaveCalibration:
        """The scale at which reads have the effective inverse temperature beta.

        A few calls of `sample`, each with another scale, until beta_effective is beta within its
        standard error. What is right for these problems is nearly right for others of their
        kind: calibrate on a batch like those to come, of a hundred problems if possible.

        Args:
            problem: the batch to measure on.
            beta: the inverse temperature wanted, above 0.
            seed: as for `sample`.
            num_trials: calls after which to stop all the same, with the closest scale.
            store: keep the scale on disk, if it converged, for `DWave(scale="calibrated")`.

        Raises:
            ValueError: no scale within the solver's ranges is large enough, or the problem's
                states all have one energy; besides what `sample` raises.
        """
        check_is_problem(problem)
        _check_positive("beta", beta)
        check.check_count("num_trials", num_trials)
        self._check(problem)
        filled = [block for block in split(problem.to_numpy()) if not block.is_empty]
        if not filled:
            raise ValueError("there is nothing to calibrate on: no problem of the batch has spins")
        most = self._plan(filled, beta, Scale(math.inf), Journal()).scale
        folder, setting = cache_folder(self.cache_dir), self._setting()
        start = stored_scale(folder, setting) if isinstance(self.scale, str | None) else self.scale

        def measure(scale: float) -> EffectiveBeta:
            info = self._with(scale=scale).sample(problem, beta=beta, seed=seed).info
            return EffectiveBeta(info["beta_effective"], info["beta_effective_std_error"])

        found = calibrated(
            measure, float(beta), start=float(start or 1.0), most=most, num_trials=num_trials
        )
        if not (store and found.converged):
            return found
        return dataclasses.replace(found, path=store_scale(folder, setting, found))

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        connection = self.__dict__.pop("_connection", None)
        if connection is not None:
            connection.close()

    def __getstate__(self) -> dict[str, Any]:
        """The options, without the token."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)} | {"token": None}

    def __copy__(self) -> Self:
        return dataclasses.replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return dataclasses.replace(self)

    @cached_property
    def _connection(self) -> Connection:
        """The solver, connected to when this is first asked for."""
        require_ocean()
        if self.child is not None:
            return Connection(self.child, owned=False, cache=self.cache_dir)
        options = {option: getattr(self, option) for option in _CONNECTION_OPTIONS}
        child = connect(options, float(self.timeout))
        return Connection(child, owned=True, cache=self.cache_dir)

    def _check(self, problem: IsingProblem) -> None:
        refuse_three_body(self, problem)
        self._arguments()

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        (solution,) = self._solve_all([block], beta, streams)
        assert solution is not None  # only empty blocks have none
        return solution

    def _solve_all(
        self, blocks: Sequence[Block], beta: float, streams: Streams
    ) -> list[Solution | None]:
        """All blocks at one scale, and in the solver's queue together."""
        filled = [block for block in blocks if not block.is_empty]
        if not filled:
            return [None] * len(blocks)
        journal = current_journal()
        plan, outcome = self._run(filled, beta, self._scale(journal), streams, journal)
        positions = np.sort(np.concatenate([block.index.ravel() for block in blocks]))
        info = {
            "scale": plan.scale,
            "chain_strength": plan.chain_strength,
            "max_chain_length": plan.max_chain_length,
            "solver": self._connection.ranges.solver,
            "num_submissions": len(outcome.timings),
            "embeddings": plan.embeddings(),
            "problem_ids": [outcome.problem_ids.get(at) for at in positions.tolist()],
            "qpu_timing": outcome.total_timing(),
            "qpu_seconds_estimated": self._estimated_seconds(plan),
        }
        solutions = (
            moments(
                self._as_sent_for(reads, block),
                per_query={
                    "chain_break_fraction": broken.reshape(block.index.shape),
                    "tile": tiles.reshape(block.index.shape),
                },
                info=info,
            )
            for block, reads, broken, tiles in zip(
                filled, outcome.reads, outcome.broken, outcome.tiles, strict=True
            )
        )
        return [None if block.is_empty else next(solutions) for block in blocks]

    def _lowest(self, block: Block, streams: Streams) -> np.ndarray:
        _, outcome = self._run([block], 1.0, Scale(math.inf), streams, current_journal())
        return lowest(self._as_sent_for(outcome.reads[0], block), block.to_numpy())

    def _run(
        self, blocks: list[Block], beta: float, scale: Scale, streams: Streams, journal: Journal
    ) -> tuple[Plan, Outcome]:
        key = journal.remember("streams", lambda: list(streams.key))
        plan = self._plan(blocks, beta, scale, journal)
        limit, solver = self.max_qpu_seconds, self._connection.ranges.solver
        check_affordable(limit, self._estimated_seconds(plan), solver)
        outcome = run(
            self._connection,
            plan,
            self._arguments(),
            self.chain_break_method,
            float(self.timeout),
            Streams((key[0], key[1])),
            journal,
        )
        return plan, outcome

    def _as_sent_for(self, reads: np.ndarray, block: Block) -> np.ndarray:
        """Reads (groups, queries, num_reads, n) of a block, from what came back for it."""
        return folded(reads, block.to_numpy()) if self.fast_anneal else reads

    def _plan(self, blocks: list[Block], beta: float, scale: Scale, journal: Journal) -> Plan:
        connection, bound = self._connection, self.max_chain_length

        def layout_of(structure: Structure, what: str) -> Layout:
            # A call that is resumed decodes the answers of the tiles that it was sent with,
            # whatever would be found now.
            def find() -> list[list[list[int]]]:
                tiles = connection.layout(structure, bound, what).tiles
                return [[list(chain) for chain in tile] for tile in tiles]

            tiles = journal.remember(f"tiles {structure.digest}", find)
            return connection.layout_on(structure, bound, tiles)

        if self.fast_anneal:
            blocks = [with_couplings_alone(block.to_numpy()) for block in blocks]
        strength = None if self.chain_strength is None else float(self.chain_strength)
        return Plan.of(layout_of, connection.ranges, blocks, beta, strength, scale, self.max_tiles)

    def _estimated_seconds(self, plan: Plan) -> float | None:
        sizes = [len(chunk.qubits) for chunk in plan.chunks()]
        properties = self._connection.ranges.properties
        return estimate_access_time(properties, sizes, self._arguments())

    def _scale(self, journal: Journal) -> Scale:
        if self.scale is None:
            return Scale(1.0)
        if not isinstance(self.scale, str):
            return Scale(float(self.scale), exact=True)
        folder, setting = cache_folder(self.cache_dir), self._setting()
        found = journal.remember("scale", lambda: stored_scale(folder, setting))
        if found is None:
            facts = ", ".join(f"{name}={value!r}" for name, value in setting.items())
            raise ValueError(
                f"no scale has been calibrated for {facts} (looked in {folder}): call "
                f"calibrate(problem) on a sampler with these options first"
            )
        return Scale(float(found), exact=True)

    def _setting(self) -> dict[str, Any]:
        """What a calibrated scale holds for."""
        ranges, time = self._connection.ranges, self.annealing_time
        if time is None:
            time = ranges.properties.get("default_annealing_time")
        return {
            "solver": ranges.solver,
            "annealing_time": None if time is None else float(time),
            "chain_strength": None if self.chain_strength is None else float(self.chain_strength),
            "fast_anneal": self.fast_anneal,
            "parameters": plain(self.parameters),
            # A name stays when a chip comes back with other qubits, at another temperature.
            "graph": self._connection.graph_hash,
            "mock_beta": ranges.properties.get("mock_beta"),
        }

    def _with(self, **options: Any) -> Self:
        """This sampler with other options, on the same connection."""
        sampler = dataclasses.replace(self, **options)
        sampler.__dict__["_connection"] = self._connection
        return sampler

    def _arguments(self) -> dict[str, Any]:
        """What to call the child with."""
        return arguments(
            self._connection.ranges,
            self._connection.child.parameters,
            num_reads=self.num_reads,
            annealing_time=self.annealing_time,
            fast_anneal=self.fast_anneal,
            label=self.label,
            parameters=self.parameters,
        )


def _check_positive(option: str, value: Any) -> None:
    if check.check_number(option, value) <= 0:
        raise ValueError(f"{option} must be positive, not {value:g}")
