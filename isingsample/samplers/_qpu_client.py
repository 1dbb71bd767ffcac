"""The connection to a D-Wave solver: opened late, closed surely, its failures in plain words.

The API token must not get out. No message here quotes what the client says about its
configuration, and the client's own log, which would show it, is redacted.
"""

import logging
import os
import re
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from isingsample.errors import (
    BackendError,
    BackendTimeoutError,
    CredentialsError,
    MissingExtraError,
)
from isingsample.samplers._embedding import Embedding, Structure, find_chains
from isingsample.samplers._qpu_checks import Ranges

_HOW_TO_CONFIGURE = (
    "no D-Wave API token is configured. Pass token=..., or set the environment variable "
    "DWAVE_API_TOKEN, or write a configuration file with `dwave config create`; the Leap "
    "dashboard (https://cloud.dwavesys.com/leap/) shows the token. To try things out without "
    "one, pass child=isingsample.mock_qpu.mock_dwave()"
)
# Where nothing else is configured. The client's own values take 10 s to report a refused
# connection and ten minutes a silent one.
_CLIENT_DEFAULTS = {
    "request_timeout": (5.0, 60.0),  # to connect and to answer, in seconds
    "http_retry_connect": 5,
    "http_retry_read": 2,
}
_POLL_SECONDS = 0.005
_MAX_EMBEDDINGS = 256
_SECRET = re.compile(r"""(token['"]?\s*[:=]\s*b?['"])[^'"]*""", re.IGNORECASE)


class Connection:
    """A solver in use: its graph, its ranges and the embeddings found on it so far.

    Attributes:
        child: the structured dimod sampler that takes the submissions.
        ranges: what it accepts.
    """

    def __init__(self, child: Any, *, owned: bool) -> None:
        """Take up a child; an owned one is closed with the connection, or when that is lost."""
        self.child = child
        self.ranges = Ranges(_solver_name(child), child.properties)
        self._embeddings: dict[Structure, Embedding] = {}
        self._close = weakref.finalize(self, child.close) if owned else None
        if self._close:
            self._close.atexit = False  # the interpreter does not wait for the client's threads

    def embed(self, structure: Structure, what: str) -> Embedding:
        """The embedding of a structure; the same one whenever it is asked for.

        Raises:
            ValueError: none is found; the message names the problem, as `what`, and the chip.
        """
        if structure not in self._embeddings:
            if len(self._embeddings) >= _MAX_EMBEDDINGS:
                del self._embeddings[next(iter(self._embeddings))]  # the oldest
            self._embeddings[structure] = self._find_embedding(structure, what)
        return self._embeddings[structure]

    def _find_embedding(self, structure: Structure, what: str) -> Embedding:
        chains = find_chains(structure, self._graph)
        if chains is None:
            raise ValueError(
                f"no embedding found for {what}, {structure.num_spins} spins with "
                f"{len(structure.edges)} couplings, on {self.ranges.solver} with "
                f"{self._graph.number_of_nodes()} qubits and {self._graph.number_of_edges()} "
                f"couplers; fewer spins or sparser couplings may fit"
            )
        return Embedding.of(structure, chains, self._graph, self._budget)

    @cached_property
    def _graph(self) -> Any:
        return self.child.to_networkx_graph()

    @cached_property
    def _budget(self) -> Callable[[int, int], int]:
        """Which limited sum a coupler (p, q) counts towards beside q: its group's, or all of q."""
        if "per_group_coupling_range" not in self.child.properties:
            return lambda p, q: q
        from dwave.system.coupling_groups import coupling_groups

        groups = enumerate(coupling_groups(self._graph))
        numbers = {edge: number for number, group in groups for edge in group}
        return lambda p, q: numbers[p, q]

    def close(self) -> None:
        """Close the child if it is ours; a client has 17 threads."""
        if self._close:
            self._close()


@dataclass(frozen=True)
class Pending:
    """A problem at the solver.

    Attributes:
        what: what to call it in messages.
        sampleset: its answer to be, a dimod SampleSet.
        deadline: until when to wait for it, in seconds of time.monotonic().
    """

    what: str
    sampleset: Any
    deadline: float

    @property
    def problem_id(self) -> str | None:
        """The solver's name for the problem, if it has one already."""
        try:
            known: str | None = self.sampleset.wait_id(timeout=0)
        except TimeoutError:
            return None
        return known


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
    from dwave.cloud.config import load_config
    from dwave.cloud.exceptions import ConfigFileError
    from dwave.system import DWaveSampler

    _redact_client_log()
    given = {name: value for name, value in options.items() if value is not None}
    try:
        config = load_config(**given)
    except ConfigFileError as error:
        named = options.get("config_file") or os.environ.get("DWAVE_CONFIG_FILE")
        raise CredentialsError(
            f"the D-Wave configuration file {named or ''} cannot be read or parsed "
            f"({type(error).__name__}); `dwave config ls` lists the files in use"
        ) from None
    except ValueError:
        named = options.get("profile") or os.environ.get("DWAVE_PROFILE")
        raise CredentialsError(
            f"no D-Wave configuration file has the profile {named!r}; `dwave config ls` lists "
            f"the files in use"
        ) from None
    if not config.get("token"):
        raise CredentialsError(_HOW_TO_CONFIGURE)
    # Made in two steps, for a constructor that fails leaves its client's threads running.
    sampler = DWaveSampler.__new__(DWaveSampler)
    try:
        sampler.__init__(defaults={**_CLIENT_DEFAULTS, "polling_timeout": timeout}, **given)
    except Exception as error:
        if hasattr(sampler, "client"):
            sampler.client.close()
        raise _connection_failure(error, config) from None
    return sampler


def submit(
    child: Any, bqm: Any, arguments: Mapping[str, Any], what: str, timeout: float
) -> Pending:
    """Send one problem, without waiting for its answer."""
    with _client_failures(what):
        return Pending(what, child.sample(bqm, **arguments), time.monotonic() + timeout)


def first_answer(waiting: Sequence[Pending]) -> Any:
    """The SampleSet of the first of the waiting problems, when it is there.

    Raises:
        BackendTimeoutError: it is not there in time; the error keeps the ids of all waiting.
        BackendError: the solver failed on it.
    """
    first = waiting[0]
    while not first.sampleset.done():
        if time.monotonic() > first.deadline:
            raise _timeout(first, waiting)
        time.sleep(_POLL_SECONDS)
    with _client_failures(first.what, waiting):
        first.sampleset.resolve()
    return first.sampleset


def _solver_name(child: Any) -> str:
    solver = getattr(child, "solver", None)
    name = getattr(solver, "name", None) or child.properties.get("chip_id")
    return str(name or type(child).__name__)


def _connection_failure(error: Exception, config: Mapping[str, Any]) -> BackendError:
    """What went wrong while the client was made; the error's own text may hold the token."""
    from dwave.cloud import exceptions
    from dwave.cloud.api.exceptions import ResourceAccessForbiddenError
    from requests import RequestException

    where = config.get("endpoint") or config.get("region")
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
    if isinstance(error, RequestException):
        return BackendError(
            f"cannot reach {service} ({kind}); check the network, endpoint and region"
        )
    return CredentialsError(
        f"the D-Wave client cannot work with its configuration ({kind}); check endpoint, region "
        f"and solver, here, in DWAVE_... environment variables and in the configuration file"
    )


@contextmanager
def _client_failures(what: str, waiting: Sequence[Pending] = ()) -> Iterator[None]:
    """The client's own exceptions as BackendErrors; all others are left alone."""
    try:
        yield
    except Exception as error:
        from dwave.cloud import exceptions
        from requests import RequestException

        if isinstance(error, exceptions.PollingTimeout):
            raise _timeout(waiting[0], waiting) from None
        if isinstance(error, exceptions.SolverAuthenticationError):
            raise CredentialsError(f"{what}: the solver refused the API token") from None
        failures = (
            RequestException,
            exceptions.CanceledFutureError,
            exceptions.ProblemUploadError,
            exceptions.UseAfterCloseError,
        )
        if isinstance(error, failures):
            raise BackendError(
                f"{what} failed at the solver: {type(error).__name__}: {error}"
            ) from error
        raise


def _timeout(first: Pending, waiting: Sequence[Pending]) -> BackendTimeoutError:
    ids = tuple(pending.problem_id for pending in waiting)
    return BackendTimeoutError(
        f"{first.what} (problem id {ids[0]}) was not answered in time; a solver may be busy or in "
        f"maintenance: raise timeout=..., or fetch the answers later by the error's problem_ids",
        tuple(known for known in ids if known is not None),
    )


def _redact_client_log() -> None:
    """Hide tokens in what the client's loggers pass on; at level DEBUG they show them."""
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("dwave.cloud"):
            logging.getLogger(name).addFilter(_redact)  # adding it twice does nothing


def _redact(record: logging.LogRecord) -> bool:
    text = record.getMessage()
    if _SECRET.search(text):
        record.msg, record.args = _SECRET.sub(r"\1***", text), ()
    return True
