"""What is left of a call that broke off: its job, in memory, in files and in errors."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isingsample import BackendInterrupt, BackendTimeoutError, DWave, DWaveJob
from isingsample.samplers.dwave.call.journal import Journal
from support.dwave_standins import Recorder
from support.fake_sapi import FakeSapi
from support.fixtures import PAIR
from support.given_up import given_up


def test_a_second_control_c_loses_no_ids() -> None:
    class Impatient:
        def wait_id(self, timeout: float) -> str:
            if timeout > 0:
                raise KeyboardInterrupt
            return "a"

    journal = Journal(earlier=[None, None, "c"])
    for _ in range(2):
        journal.next_entry().sampleset = Impatient()
    assert journal.problem_ids() == ("a", "a", "c")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "isingsample.qpu_job.1"}', "\xff"])
def test_files_that_hold_no_job(content: str, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=r"job.json holds no job"):
        DWaveJob.load(path)


def test_a_file_of_another_version(sapi: FakeSapi, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    given_up(sapi, PAIR.problem()).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": "isingsample.qpu_job.9"}))
    with pytest.raises(ValueError, match="made by another version"):
        DWaveJob.load(path)


def reverse_ids(content: dict[str, Any]) -> None:
    content["problem_ids"].reverse()


def forget_ids(content: dict[str, Any]) -> None:
    content["problem_ids"] = None


def move_a_tile(content: dict[str, Any]) -> None:
    (tiles,) = (found for name, found in content["facts"].items() if name.startswith("tiles"))
    tiles.reverse()


@pytest.mark.parametrize("damage", [reverse_ids, forget_ids, move_a_tile])
def test_a_file_that_has_changed(damage: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    """Each of these would otherwise give a problem the answer of another, or a crash."""
    path = tmp_path / "job.json"
    tiles = {"tiles 1": [[[4], [5]], [[6], [7]]]}
    DWaveJob("chip", {"num_reads": 5}, 1.0, "digest", ("a", None), tiles).save(path)
    DWaveJob.load(path)
    content = json.loads(path.read_text())
    damage(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"job\.json is damaged"):
        DWaveJob.load(path)


def test_resume_says_what_it_takes() -> None:
    sampler = DWave(child=Recorder())
    with pytest.raises(TypeError, match=r"takes a DWaveJob, not str: .*DWaveJob.load\(path\)"):
        sampler.resume("job.json", PAIR.problem())
    with pytest.raises(TypeError, match="takes an IsingProblem, not list"):
        sampler.resume(DWaveJob("chip", {}, 1.0, "digest", ("a",)), [0.5])


def test_errors_travel_with_their_jobs() -> None:
    job = DWaveJob("chip", {"num_reads": 5}, 1.0, "digest", ("a", None))
    error = BackendTimeoutError("late")
    error.job = job
    for raised in (error, BackendInterrupt(job)):
        copied = pickle.loads(pickle.dumps(raised))
        assert copied.job == job
        assert str(copied) == str(raised)
        assert "1 of the submissions are at chip" in str(copied)
