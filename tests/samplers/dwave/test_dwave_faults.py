"""A D-Wave service that fails in every way, on 127.0.0.1: bounded waits and errors that help."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import dimod
import numpy as np
import pytest
from dimod.decorators import nonblocking_sample_method
from dwave.cloud.exceptions import PollingTimeout, SolverAuthenticationError, SolverError

from isingsample import (
    BackendBusyError,
    BackendConnectionError,
    BackendError,
    BackendTimeoutError,
    CredentialsError,
    DWave,
    IsingProblem,
    ProblemFailedError,
)
from isingsample.samplers.dwave.call import submissions
from support.dwave_standins import Failing, Recorder, Silent
from support.fake_sapi import TOKEN, FakeSapi, Fault
from support.fixtures import PAIR

SUBMIT = "POST .*problems/"
POLL = r"GET .*problems/\?"
LOAD = "GET .*problems/[^?]"


@pytest.fixture
def sampler(sapi: FakeSapi) -> Iterator[DWave]:
    with DWave(token=TOKEN, max_tiles=1, num_reads=20, timeout=30) as connected:
        yield connected


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "_PAUSES_SECONDS", (0.01, 0.02, 0.03))


def spelled(queries: int) -> IsingProblem:
    """Query k has the bits of k in the signs of its fields: 20 reads spell k out."""
    return IsingProblem(2.0 * (2 * (np.arange(queries)[:, None] >> np.arange(9) & 1) - 1))


def assert_in_order(result: Any) -> None:
    np.testing.assert_array_equal(np.sign(result.magnetization), np.sign(result.problem.h))


# Connecting


def test_a_wrong_token(sapi: FakeSapi) -> None:
    with pytest.raises(CredentialsError, match=r"refused the API token .* Leap dashboard"):
        DWave(token="wrong").sample(PAIR.problem())
    assert sapi.count(SUBMIT) == 0


def test_a_token_that_is_revoked_later(sapi: FakeSapi, sampler: DWave) -> None:
    sampler.sample(PAIR.problem())
    sapi.token = "another"
    with pytest.raises(CredentialsError, match=r"problem 0 .* refused the API token"):
        sampler.sample(PAIR.problem())


def test_a_refused_connection_fails_at_once(refused: str) -> None:
    started, threads = time.monotonic(), threading.active_count()
    with pytest.raises(BackendConnectionError, match=r"cannot reach .* check the network"):
        DWave(token=TOKEN, endpoint=refused).sample(PAIR.problem())
    assert time.monotonic() - started < 2
    assert threading.active_count() <= threads


@pytest.mark.parametrize("code", [500, 503, 429])
def test_a_service_that_cannot_say_what_solvers_there_are(sapi: FakeSapi, code: int) -> None:
    sapi.faults = [Fault("GET .*solvers", code)]
    with pytest.raises(BackendBusyError, match=r"service at .* cannot answer now"):
        DWave(token=TOKEN).sample(PAIR.problem())


def test_a_solver_that_is_not_there(sapi: FakeSapi) -> None:
    with pytest.raises(BackendError, match="no solver online for solver='Advantage9'"):
        DWave(token=TOKEN, solver="Advantage9").sample(PAIR.problem())


def test_something_else_at_the_endpoint(sapi: FakeSapi) -> None:
    sapi.faults = [Fault("GET .*solvers", 200)]
    with pytest.raises(BackendError, match=r"does not speak its language .*check endpoint"):
        DWave(token=TOKEN).sample(PAIR.problem())


# Submitting


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("code", [429, 503])
def test_what_the_service_refuses_for_now_is_sent_again(
    sapi: FakeSapi, sampler: DWave, code: int
) -> None:
    sapi.faults = [Fault(SUBMIT, code, times=2)]
    assert_in_order(sampler.sample(spelled(30)))
    assert len(sapi.jobs) == 30


@pytest.mark.usefixtures("no_pauses")
def test_retries_are_bounded(sapi: FakeSapi, sampler: DWave) -> None:
    sapi.faults = [Fault(SUBMIT, 503, message="down for maintenance")]
    with pytest.raises(BackendBusyError, match=r"down for maintenance.* try again later"):
        sampler.sample(IsingProblem([1.0]))
    assert sapi.count(SUBMIT) == 4
    assert not sapi.jobs


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("code", [500, 502, 504])
def test_what_may_have_got_through_a_broken_gateway_is_not_sent_twice(
    sapi: FakeSapi, sampler: DWave, code: int
) -> None:
    """Sent again, problems that the service has taken would be paid for twice."""
    sapi.faults = [Fault(SUBMIT, code, times=1, accepts=True)]
    with pytest.raises(BackendConnectionError, match="may have arrived all the same") as caught:
        sampler.sample(spelled(3))
    assert (len(sapi.jobs), sapi.count(SUBMIT)) == (3, 1)
    assert caught.value.job is not None
    assert "no id came back: the service's list of problems" in str(caught.value)


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("code", [500, 502, 504])
def test_answers_are_asked_for_again_after_a_broken_gateway(
    sapi: FakeSapi, sampler: DWave, code: int
) -> None:
    sapi.faults = [Fault(LOAD, code, times=1)]
    assert_in_order(sampler.sample(spelled(3)))
    assert len(sapi.jobs) == 3


@pytest.mark.parametrize("code", [400, 403, 404])
def test_what_the_service_refuses_for_good_is_not(
    sapi: FakeSapi, sampler: DWave, code: int
) -> None:
    sapi.faults = [Fault(SUBMIT, code, message="no such thing")]
    with pytest.raises(BackendError, match=r"problem 0 .*no such thing"):
        sampler.sample(IsingProblem([1.0]))
    assert sapi.count(SUBMIT) == 1


def test_a_submission_that_may_have_arrived_is_not_sent_twice(
    sapi: FakeSapi, sampler: DWave
) -> None:
    sapi.faults = [Fault(SUBMIT, 0, accepts=True)]
    with pytest.raises(BackendConnectionError, match="connection to the service was lost"):
        sampler.sample(IsingProblem([1.0]))
    assert len(sapi.jobs) == 1


# Waiting


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("request_kind", [POLL, LOAD])
@pytest.mark.parametrize("code", [0, 503])
def test_an_answer_that_gets_lost_is_asked_for_again(
    sapi: FakeSapi, sampler: DWave, request_kind: str, code: int
) -> None:
    sapi.faults = [Fault(request_kind, code, times=5)]
    assert_in_order(sampler.sample(spelled(3)))
    assert len(sapi.jobs) == 3


@pytest.mark.parametrize("request_kind", [POLL, LOAD])
def test_an_answer_that_cannot_be_read(sapi: FakeSapi, sampler: DWave, request_kind: str) -> None:
    sapi.faults = [Fault(request_kind, 200)]
    with pytest.raises(BackendError, match="the answer cannot be read") as caught:
        sampler.sample(PAIR.problem())
    sapi.faults = []
    assert caught.value.job.problem_ids == tuple(sapi.jobs)


def test_a_job_that_never_ends(sapi: FakeSapi) -> None:
    sapi.held = "all"
    started = time.monotonic()
    with DWave(token=TOKEN, max_tiles=1, timeout=0.5) as sampler:
        with pytest.raises(BackendTimeoutError, match=r"problem 0 .* not answered in 0.5 s") as e:
            sampler.sample(IsingProblem(np.zeros((3, 2))))
        assert 0.5 <= time.monotonic() - started < 10
        assert set(e.value.job.problem_ids) == set(sapi.jobs)
    assert time.monotonic() - started < 20  # closing does not wait for the job


def test_a_solver_that_goes_offline(sapi: FakeSapi, sampler: DWave) -> None:
    sapi.failures = {1: "Solver is offline"}
    with pytest.raises(ProblemFailedError, match=r"went offline .*choose another") as caught:
        sampler.sample(spelled(3))
    failed, kept = list(sapi.jobs)[1], set(sapi.jobs) - {list(sapi.jobs)[1]}
    assert failed in str(caught.value)
    assert set(caught.value.job.problem_ids) == {None, *kept}  # it can only be sent again


def test_a_job_that_fails(sapi: FakeSapi, sampler: DWave) -> None:
    sapi.failures = {0: "chip on fire"}
    with pytest.raises(ProblemFailedError, match=r"failed at the solver: .*chip on fire"):
        sampler.sample(PAIR.problem())


def test_answers_out_of_order(sapi: FakeSapi, sampler: DWave) -> None:
    sapi.held = set(range(40))

    def release() -> None:
        while len(sapi.jobs) < 40:
            time.sleep(0.01)
        for number in reversed(range(40)):
            sapi.held -= {number}
            time.sleep(0.005)

    thread = threading.Thread(target=release)
    thread.start()
    result = sampler.sample(spelled(40))
    thread.join()
    assert_in_order(result)
    assert set(result.info["problem_ids"]) == set(sapi.jobs)


def test_400_submissions_all_come_back_in_order(sapi: FakeSapi, sampler: DWave) -> None:
    result = sampler.sample(spelled(400))
    assert_in_order(result)
    assert len(sapi.jobs) == len(set(result.info["problem_ids"])) == 400


# The same, on stand-ins


def test_a_silent_solver_times_out_and_the_ids_are_kept() -> None:
    silent = Silent()
    started = time.monotonic()
    with pytest.raises(BackendTimeoutError, match=r"problem 0 .*problem-1") as caught:
        DWave(child=silent, max_tiles=1, timeout=0.3).sample(IsingProblem(np.zeros((4, 2))))
    assert time.monotonic() - started >= 0.3
    assert caught.value.job.problem_ids == ("problem-1", "problem-2", None, "problem-4")
    assert isinstance(caught.value, TimeoutError)


@pytest.mark.parametrize(
    ("failure", "error", "message"),
    [
        (SolverError("chip on fire"), BackendError, "problem 0 of the batch .*chip on fire"),
        (SolverAuthenticationError(), CredentialsError, "refused the API token"),
        (PollingTimeout(), BackendTimeoutError, "not answered in time"),
        (ZeroDivisionError("a bug"), ZeroDivisionError, "a bug"),
    ],
)
def test_failures_are_translated(failure: Exception, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        DWave(child=Failing(failure)).sample(PAIR.problem())


def test_futures_without_ids_time_out_too() -> None:
    class Nameless(Recorder):
        def sample(self, bqm: dimod.BQM, **arguments: Any) -> dimod.SampleSet:
            return dimod.SampleSet.from_future(Future())

    started = time.monotonic()
    with pytest.raises(
        BackendTimeoutError, match="problem 0 of the batch was not answered"
    ) as late:
        DWave(child=Nameless(), max_tiles=1, timeout=0.2).sample(IsingProblem(np.zeros((3, 2))))
    assert time.monotonic() - started < 5
    assert late.value.job is not None  # they may have arrived, whoever takes them
    assert set(late.value.job.problem_ids) == {None}


def test_an_answer_made_on_demand_is_asked_for_once() -> None:
    """A second time, the generator behind such a child has no more than StopIteration."""

    class OnDemand(Recorder):
        @nonblocking_sample_method
        def sample(self, bqm: dimod.BQM, **arguments: Any) -> Iterator[Any]:
            yield
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        DWave(child=OnDemand()).sample(PAIR.problem())


def test_too_few_reads_are_an_error() -> None:
    class Forgetful(Recorder):
        def sample(self, bqm: dimod.BQM, num_reads: int, **arguments: Any) -> dimod.SampleSet:
            return super().sample(bqm, num_reads=num_reads - 1, **arguments)

    with pytest.raises(BackendError, match="9 reads where num_reads=10"):
        DWave(child=Forgetful(), num_reads=10).sample(PAIR.problem())
