"""The connection to D-Wave: tokens, failures, closing. Nothing here reaches a network."""

import os
import pickle
import subprocess
import sys
import threading
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

from isingsample import (
    BackendBusyError,
    BackendError,
    CredentialsError,
    DWave,
    IsingProblem,
    IsingSampleError,
    MissingExtraError,
    get_sampler,
    list_samplers,
)
from isingsample.samplers.dwave import sampler as qpu
from isingsample.samplers.dwave.mock import mock_dwave
from support.dwave_standins import Recorder
from support.fake_sapi import TOKEN, FakeSapi, zephyr_solver
from support.fixtures import ASYM3, PAIR

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


@pytest.mark.parametrize("used", ["keyword", "environment", "local file", "user file"])
def test_configuration_is_taken_in_oceans_order(
    used: str, sapi: FakeSapi, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everywhere before the place in use nothing is set, and everywhere after it a wrong token."""
    places = ["keyword", "environment", "local file", "user file"]
    tokens = {place: TOKEN if place == used else "wrong" for place in places[places.index(used) :]}
    (nowhere / "dwave").mkdir()
    for place, path in (("local file", "dwave.conf"), ("user file", "dwave/dwave.conf")):
        if place in tokens:
            (nowhere / path).write_text(f"[defaults]\ntoken = {tokens[place]}\n")
    monkeypatch.setenv("DWAVE_API_TOKEN", tokens.get("environment", ""))
    with DWave(token=tokens.get("keyword")) as sampler:
        assert sampler.solver_properties["chip_id"] == "zephyr_160q_mock"


def test_a_profile_is_used(sapi: FakeSapi, nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DWAVE_API_ENDPOINT")
    profile = f"[mine]\ntoken = {TOKEN}\nendpoint = {sapi.url}\n"
    (nowhere / "other.conf").write_text(f"[defaults]\ntoken = wrong\n[a]\nsolver = b\n{profile}")
    with DWave(config_file="other.conf", profile="mine") as sampler:
        assert sampler.solver_properties["topology"]["shape"] == [2, 4]


def test_configuration_files_that_cannot_be_used(nowhere: Path) -> None:
    broken = nowhere / "broken.conf"
    broken.write_text(f"[defaults]\ntoken {TOKEN}\n")
    good = nowhere / "good.conf"
    good.write_text(f"[defaults]\ntoken = {TOKEN}\n")
    for options, message in (
        ({"config_file": str(broken)}, "broken.conf cannot be read or parsed"),
        ({"config_file": str(nowhere / "missing.conf")}, "missing.conf cannot be read"),
        ({"config_file": str(good), "profile": "mine"}, "profile 'mine'"),
        ({"config_file": str(good), "endpoint": "ftp://127.0.0.1/"}, "ftp.* is no address"),
        ({"config_file": str(good), "endpoint": "127.0.0.1"}, "'127.0.0.1' is no address"),
        ({"token": f"{TOKEN}\n"}, "token cannot be sent: .* a line break"),
    ):
        with pytest.raises(BackendError, match=message) as caught:
            DWave(**options).sample(PAIR.problem())
        assert_secret(caught.value)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("failure", "error", "message"),
    [
        (SolverAuthenticationError(), CredentialsError, "refused the API token"),
        (SolverNotFoundError(), BackendError, "no solver online for solver='mine'"),
        (InternalServerError(), BackendBusyError, "service at nowhere cannot answer now"),
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
    assert caught.value.__context__ is None


def assert_secret(error: BaseException) -> None:
    assert TOKEN not in f"{error} {error!r}"
    assert error.__context__ is error.__cause__ is None


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


def clients_threads() -> list[str]:
    """All threads but those of the service of our own, which end when a connection does."""
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if "serve_forever" not in name and "request" not in name]


def test_300_backends_leave_no_thread_behind(sapi: FakeSapi) -> None:
    before = clients_threads()
    sapi.solver = zephyr_solver(1)
    for _ in range(300):
        with DWave(token=TOKEN) as sampler:
            assert sampler._connection.ranges.solver == "zephyr_48q_mock"
    assert clients_threads() == before
    lost = DWave(token=TOKEN)
    lost.sample(PAIR.problem())
    assert len(clients_threads()) > len(before)
    del lost
    assert clients_threads() == before


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
from isingsample import DWave
import isingsample.samplers.dwave.mock
sampler = isingsample.get_sampler("dwave", num_reads=5)
assert "dwave" in isingsample.list_samplers() and isingsample.list_samplers()["dwave"].available
repr(sampler), sampler.options, hash(sampler)
heavy = {"dimod", "dwave.system", "dwave.cloud", "dwave.embedding", "minorminer", "networkx"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=dict(os.environ))
