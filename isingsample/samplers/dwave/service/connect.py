"""The way to a D-Wave solver: a client of Ocean's, configured in Ocean's order.

The API token must not get out: no message here quotes what the client says about its
configuration.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from isingsample.errors import MissingExtraError
from isingsample.samplers.dwave.errors import CredentialsError
from isingsample.samplers.dwave.service.failures import connection_failure, redact_client_log

_HOW_TO_CONFIGURE = (
    "no D-Wave API token is configured. Pass token=..., or set the environment variable "
    "DWAVE_API_TOKEN, or write a configuration file with `dwave config create`; the Leap "
    "dashboard (https://cloud.dwavesys.com/leap/) shows the token. To try things out without "
    "one, pass child=isingsample.samplers.dwave.mock.mock_dwave()"
)
# Where nothing else is configured. By itself the client takes 10 s to report a refused connection,
# and ten minutes a silent one; these take half a second, and a minute at most.
_CLIENT_DEFAULTS = {
    "request_timeout": (5.0, 30.0),  # to connect and to answer, in seconds
    "http_retry_connect": 3,
    "http_retry_read": 1,
    "http_retry_backoff_factor": 0.1,
    "poll_wait_time": 2,  # seconds; closing waits for the poll under way
    "poll_pause": 0.1,  # seconds; else a service that answers 503 is asked without end
}


def require_ocean() -> None:
    """MissingExtraError unless all that the sampler needs of Ocean is installed."""
    try:
        import dwave.embedding  # noqa: F401
        import minorminer  # noqa: F401
    except ImportError:
        raise MissingExtraError("the sampler 'dwave'", "dwave") from None


def connect(options: Mapping[str, Any], timeout: float) -> Any:
    """A DWaveSampler, configured by options, then the environment, then Ocean's files.

    Args:
        options: token, solver, profile, region, endpoint and config_file; None where not given.
        timeout: seconds after which the client stops asking for an answer.

    Raises:
        CredentialsError: no token is configured, it is refused, or a configuration is unusable.
        BackendError: the service cannot be reached or has no such solver.
    """
    from dwave.system import DWaveSampler

    redact_client_log(options.get("token"))
    given = {name: value for name, value in options.items() if value is not None}
    config = configuration(given)
    if not config.get("token"):
        raise CredentialsError(_HOW_TO_CONFIGURE)
    redact_client_log(config["token"])
    # Made in two steps, for a constructor that fails leaves its client's threads running.
    sampler = DWaveSampler.__new__(DWaveSampler)
    try:
        sampler.__init__(defaults={**_CLIENT_DEFAULTS, "polling_timeout": timeout}, **given)
        return sampler
    except Exception as error:
        if hasattr(sampler, "client"):
            sampler.client.close()
        failure = connection_failure(error, config)
    raise failure  # out here, so that the client's exception, which has the token, is not in it


@contextmanager
def _client_log_at_warnings() -> Iterator[None]:
    """No details in the client's log: while it reads a configuration, it writes all of it there,
    the token included, which is not known yet and so cannot be taken out."""
    log = logging.getLogger("dwave.cloud")
    level = log.level
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.setLevel(level)


def configuration(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What Ocean makes of keywords, environment and files.

    Raises:
        CredentialsError: a file cannot be used, or has not the profile asked for.
    """
    from dwave.cloud.config import load_config
    from dwave.cloud.exceptions import ConfigFileError

    try:
        with _client_log_at_warnings():
            config: Mapping[str, Any] = load_config(**given)
        return config
    except ConfigFileError as error:
        named = given.get("config_file") or os.environ.get("DWAVE_CONFIG_FILE")
        failure = CredentialsError(
            f"the D-Wave configuration file {named or ''} cannot be read or parsed "
            f"({type(error).__name__}); `dwave config ls` lists the files in use"
        )
    except ValueError:
        named = given.get("profile") or os.environ.get("DWAVE_PROFILE")
        failure = CredentialsError(
            f"no D-Wave configuration file has the profile {named!r}; `dwave config ls` lists "
            f"the files in use"
        )
    raise failure  # out here, for the client's exception quotes the file
