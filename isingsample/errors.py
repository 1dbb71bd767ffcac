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


class StrongFieldWarning(UserWarning):
    """A problem with stronger fields than an anneal can bring to a Boltzmann distribution."""
