"""Calls to a D-Wave service that broke off, finished later: nothing is lost or paid for twice."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dwave.system import DWaveSampler

from isingsample import (
    BackendError,
    BackendTimeoutError,
    DWave,
    DWaveCalibration,
    DWaveJob,
    IsingProblem,
    ProblemFailedError,
    SampleResult,
)
from isingsample.samplers.dwave.calibration import store_scale
from isingsample.samplers.dwave.call import submissions
from support.dwave_standins import Recorder
from support.fake_sapi import TOKEN, FakeSapi
from support.fixtures import PAIR
from support.given_up import given_up

SUBMIT = "POST .*problems/"


@pytest.fixture
def sampler(sapi: FakeSapi) -> Iterator[DWave]:
    with DWave(
        token=TOKEN, max_tiles=1, num_reads=20, timeout=30, annealing_time=np.float32(5)
    ) as connected:
        yield connected


@pytest.fixture
def problem(rng: np.random.Generator) -> IsingProblem:
    """Chains of two qubits, half of which the service breaks, so that votes take the seed's coins;
    masks, so that there are two embeddings."""
    present = np.ones((6, 8), bool)
    present[4:, 5:] = False
    return IsingProblem(
        rng.normal(size=(6, 8)), 0.3 * np.ones((8, 8)) - 0.3 * np.eye(8), present=present
    )


def assert_same(result: SampleResult, expected: SampleResult) -> None:
    np.testing.assert_array_equal(result.samples, expected.samples)
    np.testing.assert_array_equal(result.magnetization, expected.magnetization)
    np.testing.assert_array_equal(result.correlation, expected.correlation)
    assert result.beta == expected.beta
    for name in ("scale", "chain_strength", "embeddings", "qpu_timing"):
        assert result.info[name] == expected.info[name]
    np.testing.assert_array_equal(*(r.info["chain_break_fraction"] for r in (result, expected)))


def test_a_resumed_call_gives_what_it_would_have_given(
    sapi: FakeSapi, sampler: DWave, problem: IsingProblem, tmp_path: Path
) -> None:
    job = given_up(sapi, problem, annealing_time=5.0)
    job.save(tmp_path / "job.json")
    posts = sapi.count(SUBMIT)
    loaded = DWaveJob.load(tmp_path / "job.json")
    assert loaded == job
    result = sampler.resume(loaded, problem)
    assert sapi.count(SUBMIT) == posts
    assert set(result.info["problem_ids"]) == set(sapi.jobs)
    expected = sampler.sample(problem, beta=0.7, seed=5)
    assert (expected.info["chain_break_fraction"] > 0.2).any()
    assert_same(result, expected)
    other = sampler.sample(problem, beta=0.7, seed=6)
    assert (other.samples != expected.samples).any()


@pytest.mark.parametrize("options", [{}, {"fast_anneal": True, "annealing_time": 0.01}])
def test_batches_in_tiles_resume(
    sapi: FakeSapi, rng: np.random.Generator, options: dict[str, Any]
) -> None:
    J = 0.2 * (np.ones((6, 6)) - np.eye(6))
    problem = IsingProblem(rng.normal(size=(100, 6)), J)
    with DWave(token=TOKEN, num_reads=20, timeout=30, **options) as sampler:
        expected = sampler.sample(problem, seed=8)
        assert 1 < expected.info["num_submissions"] < 50
        sapi.held = {len(sapi.jobs) + 1}
        with pytest.raises(BackendTimeoutError) as caught:
            dataclasses.replace(sampler, timeout=0.5).sample(problem, seed=8)
        sapi.held, posts = set(), sapi.count(SUBMIT)
        assert_same(sampler.resume(caught.value.job, problem), expected)
        assert sapi.count(SUBMIT) == posts


def test_a_scale_that_is_calibrated_anew_is_not_the_jobs(
    sapi: FakeSapi, sampler: DWave, problem: IsingProblem, tmp_path: Path
) -> None:
    def calibrated(scale: float) -> None:
        found = DWaveCalibration(scale, 1.0, 1.0, 0.1, True, ())
        with DWave(token=TOKEN, num_reads=20) as like:
            store_scale(tmp_path, like._setting(), found)

    calibrated(0.5)
    job = given_up(sapi, problem, scale="calibrated", cache_dir=tmp_path)
    calibrated(0.25)
    assert sampler.resume(job, problem).info["scale"] == 0.5


def test_the_options_are_the_jobs(sapi: FakeSapi, sampler: DWave, problem: IsingProblem) -> None:
    job = given_up(sapi, problem, chain_strength=1.2, label="mine")
    result = sampler.resume(job, problem)
    options = result.info["options"]
    assert (options["chain_strength"], options["label"]) == (1.2, "mine")
    assert (options["num_reads"], options["annealing_time"]) == (20, None)
    assert options["timeout"] == 30  # is of the connection, not of the call


def test_a_service_that_is_lost_amid_a_batch(
    sapi: FakeSapi, problem: IsingProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three problems get through, then nothing does. What finished is not submitted again."""
    monkeypatch.setattr(submissions, "_MAX_WAITING", 1)
    monkeypatch.setattr(submissions, "_PAUSES_SECONDS", (0.01,))
    with DWave(token=TOKEN, max_tiles=1, num_reads=20) as sampler:
        expected = sampler.sample(problem, seed=1)
        sapi.jobs.clear()
        sapi.outage_after = 3
        with pytest.raises(BackendError, match="connection to the service was lost") as caught:
            sampler.sample(problem, seed=1)
        job = caught.value.job
        assert len(job.problem_ids) == 3
        sapi.outage_after = None
        result = sampler.resume(job, problem)
        assert len(sapi.jobs) == 6
        assert result.info["problem_ids"] == list(sapi.jobs)
        assert_same(result, expected)


def test_what_failed_is_sent_again(sapi: FakeSapi, sampler: DWave, problem: IsingProblem) -> None:
    sapi.failures = {3: "chip on fire"}
    with pytest.raises(BackendError, match="chip on fire") as caught:
        sampler.sample(problem, seed=2)
    result = sampler.resume(caught.value.job, problem)
    assert len(sapi.jobs) == 7
    assert_same(result, sampler.sample(problem, seed=2))


def test_what_the_service_has_forgotten_is_sent_again(
    sapi: FakeSapi, sampler: DWave, problem: IsingProblem
) -> None:
    job = given_up(sapi, problem, annealing_time=5.0)
    forgotten = job.problem_ids[2]
    del sapi.jobs[forgotten]
    with pytest.raises(
        ProblemFailedError, match=rf"{forgotten}.* not known to the service"
    ) as caught:
        sampler.resume(job, problem)
    assert set(caught.value.job.problem_ids) == {None, *job.problem_ids} - {forgotten}
    assert_same(
        sampler.resume(caught.value.job, problem), sampler.sample(problem, beta=0.7, seed=5)
    )


def test_a_dwave_sampler_of_ones_own_resumes(sapi: FakeSapi, problem: IsingProblem) -> None:
    job = given_up(sapi, problem)
    with DWaveSampler(token=TOKEN) as child:
        result = DWave(child=child).resume(job, problem)
        assert set(result.info["problem_ids"]) == set(sapi.jobs)
        sapi.held = "all"
        with pytest.raises(BackendTimeoutError):
            DWave(child=child, timeout=0.2).sample(PAIR.problem())
        sapi.held = set()


def test_a_resumed_call_can_break_off_again(
    sapi: FakeSapi, sampler: DWave, problem: IsingProblem
) -> None:
    job = given_up(sapi, problem)
    sapi.held = "all"
    for name in list(sapi.jobs):
        sapi.jobs[name].status = "PENDING"
    with (
        DWave(token=TOKEN, max_tiles=1, timeout=0.3) as hasty,
        pytest.raises(BackendTimeoutError) as caught,
    ):
        hasty.resume(job, problem)
    assert caught.value.job == job
    sapi.held = set()
    assert set(sampler.resume(caught.value.job, problem).info["problem_ids"]) == set(sapi.jobs)


def test_minimize_resumes_too(sapi: FakeSapi, sampler: DWave, problem: IsingProblem) -> None:
    expected, energy = sampler.minimize(problem, seed=3)
    sapi.held = {len(sapi.jobs) + 5}  # of the second block
    with (
        DWave(token=TOKEN, max_tiles=1, num_reads=20, annealing_time=5.0, timeout=0.3) as hasty,
        pytest.raises(BackendTimeoutError) as caught,
    ):
        hasty.minimize(problem, seed=3)
    sapi.held, posts = set(), sapi.count(SUBMIT)
    state, again = sampler.resume_minimize(caught.value.job, problem)
    assert sapi.count(SUBMIT) == posts
    np.testing.assert_array_equal(state, expected)
    np.testing.assert_array_equal(again, energy)
    with pytest.raises(ValueError, match="use resume_minimize"):
        sampler.resume(caught.value.job, problem)


SCRIPT = """
import numpy as np, signal, sys
from isingsample import IsingProblem
from isingsample import DWave
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
try:
    with DWave(num_reads=20, max_tiles=1, annealing_time=5.0) as sampler:
        with np.load("problem.npz") as arrays:
            sampler.sample(IsingProblem(**arrays), beta=0.7, seed=5)
except KeyboardInterrupt as interrupt:
    interrupt.job.save("job.json")
    sys.exit(str(interrupt))
"""


def test_another_process_finishes_what_control_c_left(
    sapi: FakeSapi, sampler: DWave, problem: IsingProblem, nowhere: Path
) -> None:
    sapi.held = "all"
    np.savez("problem.npz", h=problem.h, J=problem.J, present=problem.present)
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    environment = {**os.environ, "DWAVE_API_TOKEN": TOKEN}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        while len(sapi.jobs) < 6:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()  # or leaving the block would wait for ever
    assert process.returncode == 1
    assert "interrupted. 6 of the submissions are at zephyr" in said
    sapi.held = set()
    job = DWaveJob.load(nowhere / "job.json")
    assert set(job.problem_ids) == set(sapi.jobs)
    result = sampler.resume(job, problem)
    assert len(sapi.jobs) == 6
    assert result.beta == 0.7
    expected = sampler.sample(problem, beta=0.7, seed=5)
    np.testing.assert_array_equal(result.samples, expected.samples)


# Refusals


def test_a_job_belongs_to_one_problem_and_one_solver(
    sapi: FakeSapi, sampler: DWave, problem: IsingProblem
) -> None:
    job = given_up(sapi, problem)
    h, J, present = problem.h, problem.J, problem.present
    for other in (
        IsingProblem(h + 1e-15, J, present=present),
        IsingProblem(h, 0.9 * J, present=present),
        IsingProblem(h, J),
        IsingProblem(h[:5], J, present=present[:5]),
        PAIR.problem(),
    ):
        with pytest.raises(ValueError, match="made for another problem"):
            sampler.resume(job, other)
    with pytest.raises(ValueError, match=r"is at zephyr_160q_mock, .*choose solver="):
        DWave(child=Recorder()).resume(job, problem)
    with pytest.raises(ValueError, match="made by sample: use resume"):
        sampler.resume_minimize(job, problem)


def test_a_child_that_keeps_no_answers(problem: IsingProblem, sapi: FakeSapi) -> None:
    job = given_up(sapi, PAIR.problem())
    with pytest.raises(ValueError, match="keeps no answers"):
        DWave(child=Recorder(chip_id="zephyr_160q_mock")).resume(job, PAIR.problem())


SPOILED = {
    "solutions truncated": lambda a: a.update(solutions=a["solutions"][:8]),
    "solutions no base64": lambda a: a.update(solutions="***"),
    "no energies": lambda a: a.pop("energies"),
    "energies short": lambda a: a.update(energies=a["energies"][:12]),
    "other qubits": lambda a: a.update(active_variables=a["active_variables"][:8]),
    "unknown format": lambda a: a.update(format="xyz"),
    "no reads": lambda a: a.update(solutions="", energies="", num_occurrences=""),
}


@pytest.mark.parametrize("kind", list(SPOILED))
def test_an_answer_that_cannot_be_read_loses_nothing(
    sapi: FakeSapi, sampler: DWave, problem: IsingProblem, kind: str
) -> None:
    """What has been submitted is paid for: any failure after that hands out the job."""
    sapi.spoil = SPOILED[kind]
    with pytest.raises(BackendError) as caught:
        sampler.sample(problem, seed=3)
    job = caught.value.job
    assert job is not None
    assert set(filter(None, job.problem_ids)) <= set(sapi.jobs)
    assert any(job.problem_ids)
    sapi.spoil, posts = lambda answer: None, len(sapi.jobs)
    result = sampler.resume(job, problem)
    assert len(sapi.jobs) <= posts + sum(known is None for known in job.problem_ids)
    np.testing.assert_array_equal(result.samples, sampler.sample(problem, seed=3).samples)


@pytest.mark.parametrize(
    "timing", [None, {"qpu_access_time": "soon"}, {"qpu_access_time": [1.0]}, {}]
)
def test_good_reads_are_good_without_times(
    sapi: FakeSapi, sampler: DWave, problem: IsingProblem, timing: object
) -> None:
    expected = sampler.sample(problem, seed=3)
    sapi.spoil = lambda answer: answer.update(timing=timing)
    found = sampler.sample(problem, seed=3)
    np.testing.assert_array_equal(found.samples, expected.samples)
    assert "qpu_access_time" not in found.info["qpu_timing"]


def test_no_memory_for_an_answer_loses_nothing(
    sapi: FakeSapi, sampler: DWave, problem: IsingProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise MemoryError("cannot allocate")

    monkeypatch.setattr("isingsample.samplers.dwave.call.batch.read_out", full)
    with pytest.raises(BackendError, match="MemoryError: cannot allocate") as caught:
        sampler.sample(problem, seed=3)
    monkeypatch.undo()
    assert caught.value.job is not None
    assert any(caught.value.job.problem_ids)


def test_a_job_does_not_lift_the_guards_of_who_resumes_it(
    sapi: FakeSapi, problem: IsingProblem
) -> None:
    """A file may have been changed by others: limits and connections are the resumer's own."""
    job = given_up(sapi, problem, annealing_time=5.0)
    forged = dataclasses.replace(
        job, options={**job.options, "max_qpu_seconds": None, "timeout": 1e9, "token": "theirs"}
    )
    with DWave(token=TOKEN, max_qpu_seconds=1e-9) as sampler:
        resumed = sampler._taking_up(forged, problem)[0]
        assert (resumed.max_qpu_seconds, resumed.token) == (1e-9, TOKEN)
        assert resumed.timeout == sampler.timeout
