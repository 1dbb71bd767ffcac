"""The connection to D-Wave: tokens, failures, closing. Nothing here reaches a network."""

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dwave.cloud.api.exceptions import InternalServerError
from dwave.cloud.exceptions import (
    SolverAuthenticationError,
    SolverNotFoundError,
)
from dwave.system import DWaveSampler
from fixtures import ASYM3, PAIR
from qpu_standins import Recorder

from isingsample import IsingProblem, MissingExtraError, get_sampler, list_samplers
from isingsample.errors import (
    BackendError,
    CredentialsError,
    IsingSampleError,
)
from isingsample.mock_qpu import mock_dwave
from isingsample.samplers import qpu
from isingsample.samplers.qpu import DWave

TOKEN = "DEV-0123456789abcdef"


# The connection


class Closable(Recorder):
    """What `connect` gives: a sampler that must be closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


@pytest.mark.usefixtures("nowhere")
def test_without_a_token_one_error_says_how_to_configure() -> None:
    sampler = get_sampler("dwave")
    assert list_samplers()["dwave"].available
    for call in (sampler.sample, sampler.minimize):
        with pytest.raises(CredentialsError) as caught:
            call(IsingProblem(np.zeros((100_000, 2))))
        for way in ("token=", "DWAVE_API_TOKEN", "dwave config create", "mock_dwave"):
            assert way in str(caught.value)
        assert isinstance(caught.value, BackendError | IsingSampleError)


@pytest.mark.usefixtures("nowhere")
def test_an_empty_token_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DWAVE_API_TOKEN", "")
    with pytest.raises(CredentialsError, match="no D-Wave API token"):
        DWave(token="").sample(PAIR.problem())


def test_configuration_files_that_cannot_be_used(nowhere: Path) -> None:
    broken = nowhere / "broken.conf"
    broken.write_text(f"token = {TOKEN}\n[defaults\n")
    good = nowhere / "good.conf"
    good.write_text(f"[defaults]\ntoken = {TOKEN}\n")
    for options, message in (
        ({"config_file": str(broken)}, "broken.conf cannot be read or parsed"),
        ({"config_file": str(nowhere / "missing.conf")}, "missing.conf cannot be read"),
        ({"config_file": str(good), "profile": "mine"}, "profile 'mine'"),
        ({"config_file": str(good), "endpoint": "ftp://127.0.0.1/"}, "cannot reach"),
    ):
        with pytest.raises(BackendError, match=message) as caught:
            DWave(**options).sample(PAIR.problem())
        assert_secret(caught.value)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("place", ["keyword", "environment", "file"])
def test_a_token_is_taken_from_each_place_and_never_shown(
    place: str,
    refused: str,
    nowhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An unreachable service fails fast; neither error, log, repr nor pickle has the token."""
    options = {"endpoint": refused}
    if place == "keyword":
        options["token"] = TOKEN
    elif place == "environment":
        monkeypatch.setenv("DWAVE_API_TOKEN", TOKEN)
    else:
        (nowhere / "dwave.conf").write_text(f"[defaults]\ntoken = {TOKEN}\n")
    caplog.set_level(1)
    caplog.set_level(1, logger="dwave.cloud")
    threads = threading.active_count()
    sampler = DWave(**options)
    started = time.monotonic()
    with pytest.raises(BackendError, match=f"cannot reach D-Wave's service at {refused}") as caught:
        sampler.sample(PAIR.problem())
    assert time.monotonic() - started < 9  # the client's own retries take 10 s
    assert_secret(caught.value)
    assert "X-Auth-Token': '***'" in caplog.text
    for text in (caplog.text, repr(sampler), str(sampler.options)):
        assert TOKEN not in text
    assert TOKEN.encode() not in pickle.dumps(sampler)
    assert threading.active_count() <= threads  # the failed client's are gone


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("failure", "error", "message"),
    [
        (SolverAuthenticationError(), CredentialsError, "refused the API token"),
        (SolverNotFoundError(), BackendError, "no solver online for solver='mine'"),
        (InternalServerError(), BackendError, "cannot reach D-Wave's service at nowhere"),
        (ValueError(f"token={TOKEN}"), CredentialsError, "cannot work with its configuration"),
    ],
)
def test_failures_to_connect_are_translated_and_leave_no_client(
    failure: Exception, error: type, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client exists before the solver is looked for, and its threads with it."""
    child = Closable()

    def fail(sampler: Any, **config: Any) -> None:
        sampler.client = child
        raise failure

    monkeypatch.setattr(DWaveSampler, "__init__", fail)
    with pytest.raises(error, match=message) as caught:
        DWave(token=TOKEN, solver="mine", endpoint="nowhere").sample(PAIR.problem())
    assert child.closed == 1
    assert TOKEN not in str(caught.value)
    assert caught.value.__suppress_context__


def assert_secret(error: BaseException) -> None:
    for link in (error, error.__cause__, error.__context__):
        assert TOKEN not in f"{link} {link!r}"
    assert error.__suppress_context__ or error.__context__ is None


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


def test_a_connection_is_opened_late_once_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Closable] = []

    def connect(options: dict[str, Any], timeout: float) -> Closable:
        assert options["token"] == TOKEN
        assert timeout == 9.0
        opened.append(Closable())
        return opened[-1]

    monkeypatch.setattr(qpu, "connect", connect)
    with DWave(token=TOKEN, num_reads=2, timeout=9) as sampler:
        assert not opened
        before = hash(sampler)
        sampler.sample(PAIR.problem())
        sampler.sample(ASYM3.problem())
        assert len(opened) == 1
        assert hash(sampler) == before
        assert sampler == DWave(token=TOKEN, num_reads=2, timeout=9)
        assert pickle.loads(pickle.dumps(sampler)).token is None
    assert opened[0].closed == 1
    sampler.close()
    sampler.sample(PAIR.problem())
    assert len(opened) == 2
    sampler.close()
    assert [child.closed for child in opened] == [1, 1]


def test_a_lost_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    child = Closable()
    monkeypatch.setattr(qpu, "connect", lambda options, timeout: child)
    DWave(num_reads=1).sample(PAIR.problem())
    assert child.closed == 1


def test_a_given_child_stays_open() -> None:
    child = Closable()
    with DWave(child=child, num_reads=1) as sampler:
        sampler.sample(PAIR.problem())
    assert child.closed == 0


def test_missing_ocean_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minorminer", None)
    with pytest.raises(MissingExtraError, match=r"isingsample\[dwave\]"):
        DWave(token=TOKEN).sample(PAIR.problem())
    monkeypatch.setitem(sys.modules, "dwave.system.testing", None)
    with pytest.raises(MissingExtraError, match=r"isingsample\[dwave\]"):
        mock_dwave()


@pytest.mark.usefixtures("nowhere")
def test_ocean_is_imported_only_in_use() -> None:
    code = """
import sys
import isingsample
from isingsample.samplers.qpu import DWave
import isingsample.mock_qpu
sampler = isingsample.get_sampler("dwave", num_reads=5)
assert "dwave" in isingsample.list_samplers() and isingsample.list_samplers()["dwave"].available
repr(sampler), sampler.options, hash(sampler)
heavy = {"dimod", "dwave.system", "dwave.cloud", "dwave.embedding", "minorminer", "networkx"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=dict(os.environ))
