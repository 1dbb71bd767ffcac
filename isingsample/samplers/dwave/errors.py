"""What can go wrong with a remote solver."""

from typing import TYPE_CHECKING

from isingsample.errors import IsingSampleError

if TYPE_CHECKING:
    from isingsample.samplers.dwave.call.job import DWaveJob


class BackendError(IsingSampleError):
    """A remote solver could not be reached or used; the message says what to do.

    Attributes:
        job: what has been sent so far (an `isingsample.DWaveJob`), for
            `DWave.resume`; None where nothing has been.
    """

    job: "DWaveJob | None" = None

    def __str__(self) -> str:
        return super().__str__() + ("" if self.job is None else _kept(self.job))


class CredentialsError(BackendError):
    """A remote solver is not configured, or refuses the credentials it was given."""


class BackendConnectionError(BackendError, ConnectionError):
    """The connection to a remote solver failed; whether a request arrived, nobody knows."""


class BackendBusyError(BackendError):
    """A remote solver's service cannot answer now, as it says itself; later it may."""


class ProblemFailedError(BackendError):
    """A remote solver took a problem and gave it up, or went offline with it."""


class BackendTimeoutError(BackendError, TimeoutError):
    """A remote solver did not answer in time."""


class BackendInterrupt(KeyboardInterrupt):
    """Ctrl-C while problems were at a remote solver. `except KeyboardInterrupt` catches it.

    Attributes:
        job: as for `BackendError`.
    """

    def __init__(self, job: "DWaveJob") -> None:
        super().__init__(job)
        self.job = job

    def __str__(self) -> str:
        return "interrupted" + _kept(self.job)


def _kept(job: "DWaveJob") -> str:
    sent = sum(known is not None for known in job.problem_ids)
    lost = len(job.problem_ids) - sent
    said = f". {sent} of the submissions are at {job.solver}, by the ids in error.job.problem_ids"
    if lost:
        said += (
            f"; {lost} more failed, or were sent and no id came back: the service's list of "
            f"problems shows whether they arrived, and resume sends them again"
        )
    return said + (
        ". error.job.save(path) keeps them, and DWave.resume(job, problem) fetches their answers"
    )
