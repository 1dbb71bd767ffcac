"""Errors of our own, for what no built-in exception says."""


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
    """A remote solver could not be reached or used; the message says what to do."""


class CredentialsError(BackendError):
    """A remote solver is not configured, or refuses the credentials it was given."""


class BackendTimeoutError(BackendError, TimeoutError):
    """A remote solver did not answer in time.

    Attributes:
        problem_ids: the ids of the problems still waited for; their answers can be fetched later.
    """

    def __init__(self, message: str, problem_ids: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problem_ids = problem_ids
