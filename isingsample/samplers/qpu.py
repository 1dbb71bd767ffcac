"""Batches of problems on a D-Wave quantum annealer."""

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from isingsample import _validation as check
from isingsample._arrays import Array
from isingsample.blocks import Block
from isingsample.energies import interactions
from isingsample.errors import BackendError, BackendInterrupt
from isingsample.interop import import_dimod
from isingsample.problem import IsingProblem
from isingsample.qpu_job import QPUJob, fingerprint
from isingsample.result import SampleResult
from isingsample.samplers._children import refuse_three_body
from isingsample.samplers._qpu_batch import Outcome, Plan, run
from isingsample.samplers._qpu_client import Connection, connect, require_ocean
from isingsample.samplers._qpu_journal import Journal
from isingsample.samplers.base import Minimizer, Solution
from isingsample.streams import Seed, Streams

# The journal of the call of sample or minimize under way.
_journal: ContextVar[Journal] = ContextVar("isingsample_qpu_journal")
_CONNECTION_OPTIONS = ("token", "solver", "profile", "region", "endpoint", "config_file")


@dataclass(frozen=True)
class DWave(Minimizer):
    """Submits every problem of a batch to a D-Wave annealer.

    The problems share one embedding (one for each set of spins that occurs) and one scale: what
    is submitted is scale * beta * (h, J), with scale 1 unless the solver's ranges require less.
    Everything is checked before anything is sent; then all problems are in the solver's queue
    together, and answers come back in batch order. Broken chains are decided by majority vote.

    Results are not `thermal` and std_error is NaN: the annealer has a temperature of its own,
    which the scale does not correct, and chains bias its law. `minimize` fills the solver's
    ranges instead. An annealer takes no seed: `seed` only decides the even votes of broken chains.

    `sample` reports in info: scale, chain_strength (submitted units), max_chain_length, solver,
    embeddings (a dict from labels to qubits for each set of spins), problem_ids (in batch order;
    None for problems without spins), chain_break_fraction (..., of chains and reads) and
    qpu_timing (the solver's own figures, in microseconds for D-Wave's; summed over the problems,
    times per sample averaged).

    The connection is opened at the first use and kept until `close`, or the end of a with block;
    its client runs 17 threads. Pickling leaves connection and token behind, so that an unpickled
    sampler takes its token from the environment or a configuration file.

    Attributes:
        num_reads: anneals of each problem.
        annealing_time: of each read, in microseconds; None for the solver's default.
        chain_strength: the coupling within chains, in submitted units and positive; None for 2,
            or more where the problem's couplings pull harder, within the solver's range.
        label: names the problems on the Leap dashboard.
        token: API token; like the options below, from Ocean's environment variables and
            configuration files if None. Never shown.
        solver: name of a solver, or a dict of the features it must have.
        profile: section of the configuration file.
        region: such as "na-west-1".
        endpoint: URL of the service.
        config_file: path of a configuration file.
        child: a structured dimod sampler to use in place of all these, such as
            `isingsample.mock_qpu.mock_dwave()`. It stays open on `close`.
        timeout: seconds to wait for an answer, from its submission on.

    Raises:
        TypeError: child is not a structured dimod sampler, or an option is of the wrong kind.
        ValueError: child is given together with options of a connection.

    Besides what every sampler raises, `sample` and `minimize` raise ValueError where a problem
    cannot be embedded or an option is outside the solver's ranges, CredentialsError without a
    (valid) token, BackendError for other failures of the service and BackendTimeoutError.
    """

    num_reads: int = 1000
    annealing_time: float | None = None
    chain_strength: float | None = None
    label: str | None = None
    token: str | None = field(default=None, repr=False)
    solver: str | dict[str, Any] | None = None
    profile: str | None = None
    region: str | None = None
    endpoint: str | None = None
    config_file: str | None = None
    child: Any = None
    timeout: float = 600.0

    name: ClassVar[str] = "dwave"

    def __post_init__(self) -> None:
        check.check_count("num_reads", self.num_reads)
        for option in ("annealing_time", "chain_strength"):
            value = getattr(self, option)
            if value is not None:
                _check_positive(option, value)
        _check_positive("timeout", self.timeout)
        if not isinstance(self.token, str | None):
            raise TypeError("token must be a string")  # and must not be shown
        if self.child is None:
            return
        dimod = import_dimod("a child of the sampler 'dwave'")
        if not (isinstance(self.child, dimod.Sampler) and isinstance(self.child, dimod.Structured)):
            raise TypeError(
                f"child must be a structured dimod sampler, such as mock_dwave() or a "
                f"DWaveSampler (composites do not count), not {self.child!r}"
            )
        ignored = [option for option in _CONNECTION_OPTIONS if getattr(self, option) is not None]
        if ignored:
            raise ValueError(f"child is used in place of a connection: leave out {ignored}")

    @property
    def thermal(self) -> bool:
        """False: the annealer's temperature is its own."""
        return False

    @property
    def solver_properties(self) -> dict[str, Any]:
        """What the solver says of itself, in D-Wave's terms; its name is the chip_id.

        Opens the connection, so it raises CredentialsError and BackendError as `sample` does.
        """
        ranges = self._connection.ranges
        return {**ranges.properties, "chip_id": ranges.solver}

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; a BackendError's or BackendInterrupt's `job` is for `resume`."""
        with self._on_record(Journal(), problem, beta):
            return super().sample(problem, beta=beta, seed=seed)

    def minimize(self, problem: IsingProblem, *, seed: Seed = None) -> tuple[Array, Array]:
        """As for every minimizer; an error's `job` is for `resume_minimize`."""
        with self._on_record(Journal(), problem, None):
            return super().minimize(problem, seed=seed)

    def resume(self, job: QPUJob, problem: IsingProblem) -> SampleResult:
        """What the call of `sample` that left this job would have given.

        Answers are fetched by their ids; what failed or was not sent is submitted now. The job
        brings its own options: only those of the connection and timeout are this sampler's.

        Args:
            job: from a BackendError or BackendInterrupt, or `QPUJob.load`.
            problem: the same as then.

        Raises:
            ValueError: the job is of another problem or solver, or of `minimize`.
            BackendError: as for `sample`, again with a job.
        """
        sampler, journal = self._taking_up(job, problem)
        if job.beta is None:
            raise ValueError("the job was made by minimize: use resume_minimize")
        with sampler._on_record(journal, problem, job.beta):
            return Minimizer.sample(sampler, problem, beta=job.beta)

    def resume_minimize(self, job: QPUJob, problem: IsingProblem) -> tuple[Array, Array]:
        """What the call of `minimize` that left this job would have given; as for `resume`."""
        sampler, journal = self._taking_up(job, problem)
        if job.beta is not None:
            raise ValueError("the job was made by sample: use resume")
        with sampler._on_record(journal, problem, None):
            return Minimizer.minimize(sampler, problem)

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
            return Connection(self.child, owned=False)
        options = {option: getattr(self, option) for option in _CONNECTION_OPTIONS}
        return Connection(connect(options, float(self.timeout)), owned=True)

    @contextmanager
    def _on_record(self, journal: Journal, problem: IsingProblem, beta: Any) -> Iterator[None]:
        """Keep the journal of the call inside; when that is given up, hand it out as a job."""
        token = _journal.set(journal)
        try:
            yield
        except (BackendError, KeyboardInterrupt) as error:
            job = self._job(journal, problem, beta)
            if isinstance(error, BackendError):
                error.job = job
            elif job is not None:
                raise BackendInterrupt(job) from None
            raise
        finally:
            _journal.reset(token)

    def _job(self, journal: Journal, problem: IsingProblem, beta: Any) -> QPUJob | None:
        """What the journal has, with what it takes to go on; None if nothing has been sent."""
        ids = journal.problem_ids()
        if not any(ids):
            return None
        own = set(self.options) - {*_CONNECTION_OPTIONS, "child", "timeout"}
        return QPUJob(
            solver=self._connection.ranges.solver,
            options={name: _plain(self.options[name]) for name in sorted(own)},
            beta=None if beta is None else float(beta),
            problem=fingerprint(problem),
            problem_ids=ids,
            facts=journal.facts,
        )

    def _taking_up(self, job: QPUJob, problem: IsingProblem) -> tuple[Self, Journal]:
        """A sampler with the job's options on this one's connection, and the job's journal."""
        job.check_is_of(problem)
        sampler = dataclasses.replace(self, **job.options)
        sampler.__dict__["_connection"] = self._connection
        if self._connection.ranges.solver != job.solver:
            raise ValueError(
                f"the job is at {job.solver}, and this sampler is connected to "
                f"{self._connection.ranges.solver}: choose solver={job.solver!r}"
            )
        return sampler, Journal(job.problem_ids, dict(job.facts))

    def _check(self, problem: IsingProblem) -> None:
        refuse_three_body(self, problem)
        self._arguments()

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        (solution,) = self._solve_all([block], beta, streams)
        assert solution is not None  # only empty blocks have none
        return solution

    def _solve_all(
        self, blocks: list[Block], beta: float, streams: Streams
    ) -> list[Solution | None]:
        """All blocks at one scale, and in the solver's queue together."""
        filled = [block for block in blocks if not block.is_empty]
        if not filled:
            return [None] * len(blocks)
        plan, outcome = self._run(filled, beta, 1.0, streams)
        positions = np.sort(np.concatenate([block.index.ravel() for block in blocks]))
        info = {
            "scale": plan.scale,
            "chain_strength": plan.chain_strength,
            "max_chain_length": max(e.max_chain_length for e in plan.embeddings),
            "solver": self._connection.ranges.solver,
            "embeddings": [
                dict(zip(block.labels, embedding.chains, strict=True))
                for block, embedding in zip(filled, plan.embeddings, strict=True)
            ],
            "problem_ids": [outcome.problem_ids.get(at) for at in positions.tolist()],
            "qpu_timing": outcome.total_timing(),
        }
        solutions = (
            Solution.from_samples(
                reads, thermal=False, per_query={"chain_break_fraction": broken}, info=info
            )
            for reads, broken in zip(outcome.reads, outcome.broken, strict=True)
        )
        return [None if block.is_empty else next(solutions) for block in blocks]

    def _lowest(self, block: Block, streams: Streams) -> np.ndarray:
        plan, outcome = self._run([block], 1.0, math.inf, streams)
        (exact,), (reads,) = plan.blocks, outcome.reads
        spins = reads.astype(float)  # (groups, queries, num_reads, n)
        energy = -(spins @ exact.h[..., None])[..., 0] - interactions(spins, exact.J[:, None])
        best = energy.argmin(axis=-1)[..., None, None]
        lowest: np.ndarray = np.take_along_axis(reads, best, axis=2)[:, :, 0]
        return lowest

    def _run(
        self, blocks: list[Block], beta: float, max_scale: float, streams: Streams
    ) -> tuple[Plan, Outcome]:
        strength = None if self.chain_strength is None else float(self.chain_strength)
        journal = _journal.get()
        key = journal.remember("streams", lambda: list(streams.key))
        plan = Plan.of(self._connection, blocks, beta, strength, max_scale, journal)
        outcome = run(
            self._connection,
            plan,
            self._arguments(),
            float(self.timeout),
            Streams((key[0], key[1])),
            journal,
        )
        return plan, outcome

    def _arguments(self) -> dict[str, Any]:
        """What to call the child with, in plain Python numbers: they are sent as JSON."""
        ranges, known = self._connection.ranges, self._connection.child.parameters
        anneal = None if self.annealing_time is None else float(self.annealing_time)
        ranges.check_call(int(self.num_reads), anneal)
        options = {"num_reads": int(self.num_reads), "annealing_time": anneal, "label": self.label}
        chosen = {name: value for name, value in options.items() if value is not None}
        for name in chosen:
            if name not in known:
                raise ValueError(f"the solver {ranges.solver} has no parameter {name!r}")
        # auto_scale would give every problem a temperature of its own.
        fixed = {"answer_mode": "raw", "auto_scale": False}
        return chosen | {name: value for name, value in fixed.items() if name in known}


def _plain(value: Any) -> Any:
    """An option as JSON takes it."""
    return value.item() if isinstance(value, np.generic) else value


def _check_positive(option: str, value: Any) -> None:
    if check.check_number(option, value) <= 0:
        raise ValueError(f"{option} must be positive, not {value:g}")
