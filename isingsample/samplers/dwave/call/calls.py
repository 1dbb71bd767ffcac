"""Calls that a remote solver answers: recorded, given up with a job, and finished later."""

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, ClassVar, Self

from isingsample._core.arrays import Array
from isingsample._core.info import Info, Later
from isingsample._core.plain import plain
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.streams import Seed
from isingsample.samplers.base import check_is_problem
from isingsample.samplers.block_sampler import BlockMinimizer
from isingsample.samplers.dwave.calibration import measured_beta
from isingsample.samplers.dwave.call.job import DWaveJob, fingerprint
from isingsample.samplers.dwave.call.journal import Journal
from isingsample.samplers.dwave.errors import BackendError, BackendInterrupt
from isingsample.samplers.dwave.service.connection import Connection

_current: ContextVar[Journal] = ContextVar("isingsample_dwave_journal")


def current_journal() -> Journal:
    """The journal of the call of sample or minimize under way."""
    return _current.get()


class ResumableMinimizer(BlockMinimizer):
    """A minimizer whose calls can be finished where they broke off.

    Attributes:
        local_options: names of the options that a job does not bring: its submissions do not
            depend on them.
    """

    local_options: ClassVar[tuple[str, ...]]

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; a BackendError's or BackendInterrupt's `job` is for `resume`."""
        with self._on_record(Journal(), problem, beta):
            return _with_temperature(super().sample(problem, beta=beta, seed=seed))

    def minimize(self, problem: IsingProblem, *, seed: Seed = None) -> tuple[Array, Array]:
        """As for every minimizer; an error's `job` is for `resume_minimize`."""
        with self._on_record(Journal(), problem, None):
            return super().minimize(problem, seed=seed)

    def resume(self, job: DWaveJob, problem: IsingProblem) -> SampleResult:
        """What the call of `sample` that left this job would have given.

        Answers are fetched by their ids; what failed or was not sent is submitted now. The job
        brings its own options: only those of the connection, timeout, cache_dir and
        max_qpu_seconds are this sampler's.

        Args:
            job: from a BackendError or BackendInterrupt, or `DWaveJob.load`.
            problem: the same as then.

        Raises:
            TypeError: job is not a DWaveJob, or problem is not an IsingProblem.
            ValueError: the job is of another problem or solver, or of `minimize`.
            BackendError: as for `sample`, again with a job.
        """
        sampler, journal = self._taking_up(job, problem)
        if job.beta is None:
            raise ValueError("the job was made by minimize: use resume_minimize")
        with sampler._on_record(journal, problem, job.beta):
            return _with_temperature(BlockMinimizer.sample(sampler, problem, beta=job.beta))

    def resume_minimize(self, job: DWaveJob, problem: IsingProblem) -> tuple[Array, Array]:
        """What the call of `minimize` that left this job would have given; as for `resume`."""
        sampler, journal = self._taking_up(job, problem)
        if job.beta is not None:
            raise ValueError("the job was made by sample: use resume")
        with sampler._on_record(journal, problem, None):
            return BlockMinimizer.minimize(sampler, problem)

    @property
    @abstractmethod
    def _connection(self) -> Connection:
        """To the solver."""

    @abstractmethod
    def _with(self, **options: Any) -> Self:
        """This sampler with other options, on the same connection."""

    @contextmanager
    def _on_record(self, journal: Journal, problem: IsingProblem, beta: Any) -> Iterator[None]:
        """Keep the journal of the call inside; when that is given up, hand it out as a job."""
        token = _current.set(journal)
        try:
            yield
        except (BackendError, KeyboardInterrupt) as error:
            job = self._job(journal, problem, beta, without_ids=True)
            if isinstance(error, BackendError):
                error.job = job
            elif job is not None:
                raise BackendInterrupt(job) from None
            raise
        except Exception as error:
            # Whatever goes wrong with answers that are paid for, the way to them is not lost.
            job = self._job(journal, problem, beta)
            if job is None:
                raise
            failure = BackendError(
                f"an answer of {self._connection.ranges.solver} could not be used "
                f"({type(error).__name__}: {error})"
            )
            failure.job = job
            raise failure from error
        finally:
            _current.reset(token)

    def _job(
        self, journal: Journal, problem: IsingProblem, beta: Any, *, without_ids: bool = False
    ) -> DWaveJob | None:
        """What the journal has, with what it takes to go on; None if nothing has been sent.

        Args:
            journal, problem, beta: of the call.
            without_ids: whether to make one of submissions of which no id is known, too: they may
                have arrived.
        """
        ids = journal.problem_ids()
        if not (any(ids) or (without_ids and ids)):
            return None
        own = set(self.options) - set(self.local_options)
        return DWaveJob(
            solver=self._connection.ranges.solver,
            options={name: plain(self.options[name]) for name in sorted(own)},
            beta=None if beta is None else float(beta),
            problem=fingerprint(problem),
            problem_ids=ids,
            facts=journal.facts,
        )

    def _taking_up(self, job: DWaveJob, problem: IsingProblem) -> tuple[Self, Journal]:
        """A sampler with the job's options on this one's connection, and the job's journal."""
        if not isinstance(job, DWaveJob):
            raise TypeError(
                f"resume takes a DWaveJob, not {type(job).__name__}: a BackendError's job, or "
                f"DWaveJob.load(path)"
            )
        check_is_problem(problem)
        job.check_is_of(problem)
        # A job never brings what is the resumer's own: a file may have been changed.
        brought = {n: v for n, v in job.options.items() if n not in self.local_options}
        sampler = self._with(**brought)
        if self._connection.ranges.solver != job.solver:
            raise ValueError(
                f"the job is at {job.solver}, and this sampler is connected to "
                f"{self._connection.ranges.solver}: choose solver={job.solver!r}"
            )
        for known in filter(None, job.problem_ids):
            self._connection.check_keeps_answers(known)
        return sampler, Journal(job.problem_ids, dict(job.facts))


def _with_temperature(result: SampleResult) -> SampleResult:
    """The result with its effective beta in info: fifty exact solutions, if anybody reads it."""
    found = cache(partial(measured_beta, result))
    measured = {
        "beta_effective": Later(lambda: found().beta),
        "beta_effective_std_error": Later(lambda: found().std_error),
    }
    return dataclasses.replace(result, info=Info(result.info).also(**measured))
