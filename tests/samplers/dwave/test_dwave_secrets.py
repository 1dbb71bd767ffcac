"""The API token appears nowhere: errors and all they hold, logs, pickles, info, jobs."""

import copy
import logging
import pickle
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isingsample import BackendError, DWave, IsingProblem
from isingsample.samplers.dwave.call import submissions
from support.dwave_standins import Recorder
from support.fake_sapi import TOKEN, FakeSapi, Fault
from support.fixtures import PAIR

SUBMIT = "POST .*problems/"
ECHO = f"token {TOKEN} is a secret"


@pytest.fixture(params=["keyword", "environment", "file"])
def sampler(
    request: pytest.FixtureRequest, nowhere: Path, sapi: FakeSapi, monkeypatch: pytest.MonkeyPatch
) -> DWave:
    """A sampler that has its token from each of the places where it can come from."""
    monkeypatch.setattr(submissions, "_PAUSES_SECONDS", ())
    if request.param == "keyword":
        return DWave(token=TOKEN, timeout=0.3, num_reads=5)
    if request.param == "environment":
        monkeypatch.setenv("DWAVE_API_TOKEN", TOKEN)
    else:
        (nowhere / "dwave.conf").write_text(f"[defaults]\ntoken = {TOKEN}\n")
    return DWave(timeout=0.3, num_reads=5)


def holdings(thing: Any, seen: set[int], depth: int = 8) -> list[str]:
    """repr and str of a thing and of all that can be reached from it through attributes."""
    if id(thing) in seen or depth == 0:
        return []
    seen.add(id(thing))
    inner: list[Any] = list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    if isinstance(thing, BaseException):
        inner += [thing.__cause__, thing.__context__, *thing.args]
    if isinstance(thing, dict):
        inner += [*thing.keys(), *thing.values()]
    if isinstance(thing, list | tuple | set):
        inner += list(thing)
    return [f"{thing!r} {thing}", *(text for it in inner for text in holdings(it, seen, depth - 1))]


def assert_secret(error: BaseException, logged: str) -> None:
    shown = "".join(traceback.format_exception(error))
    for text in (*holdings(error, set()), shown, logged):
        assert TOKEN not in text
    assert TOKEN.encode() not in pickle.dumps(error)


def break_token(sapi: FakeSapi) -> None:
    sapi.token = "another"


def break_connection(sapi: FakeSapi) -> None:
    sapi.faults = [Fault("GET .*solvers", 503, message=ECHO)]


def break_submission(sapi: FakeSapi) -> None:
    sapi.faults = [Fault(SUBMIT, 400, message=ECHO)]


def break_service(sapi: FakeSapi) -> None:
    sapi.faults = [Fault(SUBMIT, 503, message=ECHO)]


def break_network(sapi: FakeSapi) -> None:
    sapi.faults = [Fault(SUBMIT, 0)]


def break_problem(sapi: FakeSapi) -> None:
    sapi.failures = {0: ECHO}


def break_off(sapi: FakeSapi) -> None:
    sapi.held = "all"


@pytest.mark.parametrize(
    "fault",
    [
        break_token,
        break_connection,
        break_submission,
        break_service,
        break_network,
        break_problem,
        break_off,
    ],
)
def test_no_failure_shows_the_token(
    fault: Any, sapi: FakeSapi, sampler: DWave, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    caplog.set_level(1, logger="dwave.cloud")
    fault(sapi)
    with sampler, pytest.raises(BackendError) as caught:
        sampler.sample(PAIR.problem())
    assert "X-Auth-Token': '***'" in caplog.text  # the client's log was on
    assert_secret(caught.value, caplog.text)


def test_no_success_shows_the_token(
    sapi: FakeSapi, sampler: DWave, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    caplog.set_level(1, logger="dwave.cloud")
    with sampler:
        result = sampler.sample(PAIR.problem())
        shown = [repr(sampler), str(sampler.options), repr(result), repr(result.info), caplog.text]
        assert not any(TOKEN in text for text in shown)
        for thing in (sampler, result, result.info):
            assert TOKEN.encode() not in pickle.dumps(thing)
    assert any(record.levelno < logging.DEBUG for record in caplog.records)


def test_a_saved_job_has_no_token(sapi: FakeSapi, sampler: DWave, tmp_path: Path) -> None:
    sapi.held = "all"
    with sampler, pytest.raises(BackendError) as caught:
        sampler.sample(IsingProblem(np.zeros((2, 2))))
    caught.value.job.save(tmp_path / "job.json")
    assert TOKEN not in (tmp_path / "job.json").read_text()


def test_the_token_stays_out_of_type_errors() -> None:
    for options in ({"token": TOKEN.encode()}, {"token": [TOKEN]}, {"tokn": TOKEN}):
        with pytest.raises(TypeError) as caught:
            DWave(**options)
        assert TOKEN not in str(caught.value)
    with pytest.raises(ValueError, match="leave out") as refusal:
        DWave(child=Recorder(), token=TOKEN)
    assert TOKEN not in str(refusal.value)


def test_copies_keep_the_token_and_pickles_do_not() -> None:
    sampler = DWave(token=TOKEN, num_reads=7)
    for copied in (copy.copy(sampler), copy.deepcopy(sampler)):
        assert copied == sampler
        assert copied.token == TOKEN
    restored = pickle.loads(pickle.dumps(sampler))
    assert restored == DWave(num_reads=7)
    assert "token" not in sampler.options
