"""Submissions to a solver: sent together, answered in order, none lost and none paid for twice.

What a submission holds is not this module's business: a model over qubits goes in, reads come out.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from isingsample.samplers.dwave.call.journal import Entry, Journal
from isingsample.samplers.dwave.errors import (
    BackendBusyError,
    BackendConnectionError,
    BackendTimeoutError,
    ProblemFailedError,
)
from isingsample.samplers.dwave.service.connection import Connection
from isingsample.samplers.dwave.service.failures import attempt

# Submissions at the solver at a time; more would only wait in its queue.
_MAX_WAITING = 256
# Pauses before what failed for the moment is tried again; then it has failed.
_PAUSES_SECONDS = (0.5, 1.0, 2.0)
_POLL_SECONDS = 0.005


class Submission(NamedTuple):
    """What is sent at a time.

    Attributes:
        what: subject of messages about it, such as "problem 3 of the batch".
        bqm: a dimod BQM over qubits.
        arguments: of the child's sample(), in plain Python types.
    """

    what: str
    bqm: Any
    arguments: Mapping[str, Any]


def submit_all(
    connection: Connection,
    submissions: Iterable[Submission],
    journal: Journal,
    timeout: float,
) -> Iterator[Any]:
    """Submit everything, and give the answers as dimod SampleSets in the order of submission.

    Up to 256 submissions are at the solver at a time; they are drawn from the iterable as there
    is room. What the service refuses for the moment is sent again, three times at most and with
    growing pauses; an answer that fails to arrive is asked for again, by its id.

    Args:
        connection: to the solver.
        submissions: drawn when they are sent.
        journal: of the call. Where it has an id already, the answer is fetched, and the
            submission is not sent.
        timeout: seconds to wait for an answer, from its submission on.

    Raises:
        BackendTimeoutError: an answer is not there in time.
        CredentialsError: the token is refused.
        BackendError: the solver fails, or the connection to it. The journal keeps the ids.
    """
    queue = iter(submissions)
    waiting: deque[_Pending] = deque()
    while True:
        for submission in islice(queue, _MAX_WAITING - len(waiting)):
            waiting.append(_Pending(submission, journal.next_entry(), timeout))
            waiting[-1].send(connection)
        if not waiting:
            return
        yield _first_answer(connection, waiting)
        waiting.popleft()


@dataclass(eq=False)
class _Pending:
    """A submission that has not been answered.

    Attributes:
        submission: what is sent.
        entry: its place in the journal.
        timeout: seconds to wait for it.
        deadline: until when to wait, in seconds of time.monotonic().
        failure: what the answer turned out to be, where it is none.
    """

    submission: Submission
    entry: Entry
    timeout: float
    deadline: float = 0.0
    failure: Exception | None = None

    def send(self, connection: Connection) -> None:
        """Submit it, or ask for the answer if it has an id; does not wait."""
        what, bqm, arguments = self.submission
        self.failure = None
        known = self.entry.problem_id
        if known is None:
            self.entry.sampleset = attempt(lambda: connection.child.sample(bqm, **arguments), what)
        else:
            self.entry.sampleset = attempt(lambda: connection.fetch(known), self.name)
        self.deadline = time.monotonic() + self.timeout

    def wait(self) -> None:
        """Until there is an answer, or a failure."""
        while not self.entry.sampleset.done():
            if time.monotonic() > self.deadline:
                raise BackendTimeoutError(
                    f"{self.name} was not answered in {self.timeout:g} s; a solver may be busy "
                    f"or in maintenance: raise timeout=..., or fetch the answers later"
                )
            time.sleep(_POLL_SECONDS)

    @property
    def may_recover(self) -> bool:
        """Whether it has failed in a way that sending it again may mend."""
        if not self.entry.sampleset.done():
            return False
        self._resolve()
        # Without an id nobody knows whether the solver has the problem. Sent again, it may be
        # paid for twice.
        lost = isinstance(self.failure, BackendConnectionError)
        return isinstance(self.failure, BackendBusyError) or (
            lost and self.entry.learn_id() is not None
        )

    def answer(self) -> Any:
        """Its SampleSet, which must be there."""
        sampleset = self.entry.sampleset
        self.entry.learn_id()
        self._resolve()
        if isinstance(self.failure, ProblemFailedError):
            self.entry.problem_id = self.entry.sampleset = None
        if self.failure:
            raise self.failure
        if self.entry.problem_id is None:  # of a child without futures
            self.entry.problem_id = sampleset.info.get("problem_id")
        self.entry.sampleset = None
        return sampleset

    def _resolve(self) -> None:
        """Read the answer, once: a child that makes it on demand fails in another way later."""
        if self.failure is None:
            try:
                attempt(self.entry.sampleset.resolve, self.name)
            except Exception as error:
                self.failure = error

    @property
    def name(self) -> str:
        """For messages."""
        known = self.entry.learn_id()
        what = self.submission.what
        return what if known is None else f"{what} (problem id {known})"


def _first_answer(connection: Connection, waiting: Sequence[_Pending]) -> Any:
    """The answer of the first that waits, when it is there."""
    first = waiting[0]
    for pause in _PAUSES_SECONDS:
        first.wait()
        if not first.may_recover:
            break
        time.sleep(pause)
        # An outage hits all that was under way with it, so all of that is sent again at once.
        for pending in waiting:
            if pending.may_recover:
                pending.send(connection)
    first.wait()
    return first.answer()
