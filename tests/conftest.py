"""Hypothesis settings, the folder of reference data, and a D-Wave service of our own."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from support.command_line import Done
    from support.fake_sapi import FakeSapi

pytest.register_assert_rewrite("support")

# Derandomized: a run repeats exactly. HYPOTHESIS_PROFILE=thorough looks further.
settings.register_profile("quick", deadline=None, derandomize=True, database=None, max_examples=40)
settings.register_profile("thorough", deadline=None, database=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests keep what they find on chips to themselves."""
    os.environ["ISINGSAMPLE_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers in each test, whichever tests ran before it."""
    return np.random.default_rng(20260)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Reference instances and texts: the folder in ISINGSAMPLE_DATA, by default ../shared/data."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ISINGSAMPLE_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no test data at {folder}; set ISINGSAMPLE_DATA to its folder")
    return folder


@pytest.fixture
def seeded() -> None:
    """Torch's generator, from a seed."""
    pytest.importorskip("torch").manual_seed(0)


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., "Done"]:
    """Runs the command line in this process, as the console script does."""
    from support.command_line import runner

    return runner(monkeypatch, capsys)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """No configuration of D-Wave's anywhere, no cache, and no way out to a network."""
    from dwave.cloud.testing import isolated_environ

    places = ("HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_CACHE_HOME")
    isolated = dict.fromkeys(places, str(tmp_path))
    isolated |= {"DWAVE_CACHE_ENABLED": "false", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        assert address[0] == "127.0.0.1", f"a test tried to reach {address}"
        connect(self, address)

    monkeypatch.chdir(tmp_path)
    with isolated_environ(remove_dwave=True):
        for name, value in isolated.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(socket.socket, "connect", connect_here)
        yield tmp_path
        monkeypatch.undo()


@pytest.fixture
def refused(nowhere: Path) -> str:
    """The URL of a port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/sapi/"


@pytest.fixture
def sapi(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["FakeSapi"]:
    """A D-Wave service on 127.0.0.1 that the environment points to, its token left to the test."""
    from support.fake_sapi import FakeSapi, running

    with running(FakeSapi()) as server:
        monkeypatch.setenv("DWAVE_API_ENDPOINT", server.url)
        yield server
