"""What goes wrong at a D-Wave solver, in plain words and without the API token.

The client's exceptions hold the request they were made for, and with it the token: ours are
raised in their place, never chained to them. Its log, which would show the token, is redacted.
"""

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from isingsample.samplers.dwave.errors import (
    BackendBusyError,
    BackendConnectionError,
    BackendError,
    BackendTimeoutError,
    CredentialsError,
    ProblemFailedError,
)

T = TypeVar("T")

_SECRET = re.compile(r"""(token['"]?\s*[:=]\s*b?['"])[^'"]*""", re.IGNORECASE)
_NOT_FOUND = 404
_TOO_MANY_REQUESTS = 429
# A gateway or the service itself failed: a request may have got through before.
_UNDECIDED = (500, 502, 504)


def attempt(call: Callable[[], T], what: str) -> T:
    """call(), with the client's own exceptions as BackendErrors; all others are left alone.

    Args:
        call: uses the client.
        what: subject of the message, such as "problem 3 of the batch".
    """
    try:
        return call()
    except Exception as error:
        failure = _failure(error, what)
        if failure is None:
            raise
    raise failure  # out here, so that the client's exception is not its context


def redacted(text: str) -> str:
    """text without tokens that it names or that a connection has used."""
    text = _SECRET.sub(r"\1***", text)
    for token in _redaction.tokens:
        text = text.replace(token, "***")
    return text


def redact_client_log(token: str | None) -> None:
    """Hide tokens in what the client's loggers pass on; at level DEBUG they show them.

    Those that the log names are hidden in any case, this one wherever it appears.
    """
    if token:
        _redaction.tokens.add(token)
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("dwave.cloud"):
            logging.getLogger(name).addFilter(_redaction)  # adding it twice does nothing


def without_userinfo(url: str) -> str:
    """An address without the user name and password that may be in it."""
    return re.sub(r"(?<=//)[^/@]*@", "", url)


def connection_failure(error: Exception, config: Mapping[str, Any]) -> BackendError:
    """What went wrong while the client was made; the error's own text may hold the token."""
    from dwave.cloud import exceptions
    from dwave.cloud.api.exceptions import (
        InternalServerError,
        ResourceAccessForbiddenError,
        ResourceBadResponseError,
        ResourceLimitsExceededError,
    )
    from requests import RequestException
    from requests.exceptions import InvalidHeader, InvalidSchema, InvalidURL, MissingSchema

    where = without_userinfo(str(config.get("endpoint") or config.get("region") or ""))
    service = f"D-Wave's service at {where}" if where else "D-Wave's service"
    kind = type(error).__name__
    if isinstance(error, (exceptions.SolverAuthenticationError, ResourceAccessForbiddenError)):
        return CredentialsError(
            f"{service} refused the API token ({kind}); a token belongs to one project and "
            f"region: compare token, region and endpoint with the Leap dashboard"
        )
    if isinstance(error, exceptions.SolverNotFoundError):
        return BackendError(
            f"{service} has no solver online for solver={config.get('solver')!r}; "
            f"`dwave solvers --list --all` shows what there is"
        )
    if isinstance(error, (InternalServerError, ResourceLimitsExceededError)):
        return BackendBusyError(f"{service} cannot answer now ({kind}); try again later")
    if isinstance(error, ResourceBadResponseError):
        return BackendError(
            f"what answers as {service} does not speak its language ({kind}); check endpoint and "
            f"proxy"
        )
    if isinstance(error, InvalidHeader):
        return CredentialsError(
            "the API token cannot be sent: it begins with a blank or holds a line break; copy it "
            "again from the Leap dashboard"
        )
    if isinstance(error, (InvalidSchema, InvalidURL, MissingSchema)):
        return CredentialsError(f"{where!r} is no address of a service ({kind}); check endpoint")
    if isinstance(error, RequestException):
        return BackendConnectionError(
            f"cannot reach {service} ({kind}); check the network, endpoint and region"
        )
    return CredentialsError(
        f"the D-Wave client cannot work with its configuration ({kind}); check endpoint, region "
        f"and solver, here, in DWAVE_... environment variables and in the configuration file"
    )


def _failure(error: Exception, what: str) -> BackendError | None:
    """A client's exception as ours; None for one that is not about the service."""
    from dwave.cloud import exceptions
    from dwave.cloud.api.exceptions import RequestTimeout, ResourceBadResponseError
    from requests import RequestException

    said = redacted(f"{type(error).__name__}: {error}".rstrip(": "))
    code = getattr(error, "error_code", None)
    if isinstance(error, exceptions.PollingTimeout):
        return BackendTimeoutError(f"{what} was not answered in time")
    if isinstance(error, exceptions.SolverAuthenticationError):
        return CredentialsError(
            f"{what}: the solver refused the API token; it may have been reset or its project "
            f"closed: compare it with the Leap dashboard"
        )
    if isinstance(error, exceptions.SolverOfflineError):
        return ProblemFailedError(
            f"{what}: the solver went offline ({said}); choose another with solver=..., or wait"
        )
    if isinstance(error, (exceptions.SolverFailureError, exceptions.CanceledFutureError)):
        return ProblemFailedError(f"{what} failed at the solver: {said}")
    if code == _NOT_FOUND:
        return ProblemFailedError(
            f"{what} is not known to the service ({said}); it forgets in time"
        )
    if code in _UNDECIDED:
        return BackendConnectionError(
            f"{what}: the service failed on its way to an answer ({said}); a submission may have "
            f"arrived all the same"
        )
    if isinstance(code, int) and (code >= 500 or code == _TOO_MANY_REQUESTS):
        return BackendBusyError(f"{what}: the service cannot answer now ({said}); try again later")
    if isinstance(error, exceptions.SolverError | exceptions.ProblemUploadError):
        return BackendError(f"{what} failed at the solver: {said}")
    if isinstance(error, ResourceBadResponseError):
        return BackendError(
            f"{what}: the answer cannot be read ({said}); a proxy may have given it"
        )
    if isinstance(error, RequestTimeout) or (
        isinstance(error, RequestException) and getattr(error, "response", None) is None
    ):
        return BackendConnectionError(f"{what}: the connection to the service was lost ({said})")
    if isinstance(error, (RequestException, exceptions.UseAfterCloseError)):
        return BackendError(f"{what} failed at the solver: {said}")
    return None


class _Redaction(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self.tokens: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        clean = redacted(text)
        if clean != text:
            record.msg, record.args = clean, ()
        return True


_redaction = _Redaction()
