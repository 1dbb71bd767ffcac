"""Errors of our own, for what no built-in exception says."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isingsample.samplers.qpu.job import QPUJob


class IsingSampleError(Exception):
    """Base of this package's own errors."""


class MissingExtraError(IsingSampleError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the optional dependencies {extra!r}: pip install 'isingsample[{extra}]'"
        )
        self.extra = extra


class TooLargeError(IsingSampleError, ValueError):
    """A problem beyond what a method can hold; the message names the limit and the memory."""


class WeakFieldWarning(UserWarning):
    """A problem with stronger fields than an anneal can bring to a Boltzmann distribution."""


class BackendError(IsingSampleError):
    """A remote solver could not be reached or used; the message says what to do.

    Attributes:
        job: what has been sent so far (an `isingsample.samplers.qpu.job.QPUJob`), for
            `DWave.resume`; None where nothing has been.
    """

    job: "QPUJob | None" = None

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

    def __init__(self, job: "QPUJob") -> None:
        super().__init__(job)
        self.job = job

    def __str__(self) -> str:
        return "interrupted" + _kept(self.job)


def _kept(job: "QPUJob") -> str:
    sent = sum(known is not None for known in job.problem_ids)
    return (
        f". {sent} of the submissions are at {job.solver}, by the ids in error.job.problem_ids: "
        f"error.job.save(path) keeps them, and DWave.resume(job, problem) fetches their answers"
    )
