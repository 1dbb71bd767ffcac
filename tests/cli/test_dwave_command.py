"""`isingsample dwave check`: what it says, and what it does not do."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from dwave.system import DWaveSampler

from isingsample import DWave, DWaveJob, load_problem
from support.command_line import Done
from support.fake_sapi import TOKEN, FakeSapi, Fault


def rows(text: str) -> dict[str, list[str]]:
    """The tables in a text, by first column."""
    cells = ([cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines())
    return {first: rest for first, *rest in filter(None, cells)}


def configured(done: Done) -> dict[str, tuple[str, str]]:
    found = json.loads(done.stdout)["configuration"]
    return {setting["name"]: (setting["value"], setting["source"]) for setting in found}


def test_what_a_solver_accepts_is_shown_and_nothing_is_submitted(
    run: Callable[..., Done], sapi: FakeSapi
) -> None:
    sapi.solver["properties"]["problem_run_duration_range"] = [0, 1_000_000]
    done = run("dwave", "check", DWAVE_API_TOKEN=TOKEN)
    assert done.returncode == 0, done.stderr
    shown = rows(done.stdout)
    assert shown["token"] == ["set", "environment variable DWAVE_API_TOKEN"]
    assert shown["endpoint"] == [sapi.url, "environment variable DWAVE_API_ENDPOINT"]
    for name, value in {
        "name": "zephyr_160q_mock",
        "qubits": "160",
        "couplers": "1224",
        "topology": "zephyr [2, 4]",
        "h_range": "-2 to 2",
        "extended_j_range": "-2 to 1",
        "num_reads_range": "1 to 10000",
        "annealing_time_range": "1 to 2000",
        "fast_anneal_time_range": "0.005 to 2000",
        "problem_run_duration_range": "0 to 1e+06",
    }.items():
        assert shown[name] == [value], name
    assert TOKEN not in done.stdout + done.stderr
    assert sapi.count("POST") == 0


def test_the_cost_is_oceans_own_estimate(run: Callable[..., Done], sapi: FakeSapi) -> None:
    batch = ("--queries", "40", "--spins", "5", "--reads", "700", "--annealing-time", "33")
    done = run("dwave", "check", "--json", *batch, DWAVE_API_TOKEN=TOKEN)
    found = json.loads(done.stdout)["estimate"]
    assert found["num_problems"] == 40
    assert found["num_submissions"] == -(-40 // found["num_tiles"]) > 1
    last = 40 - found["num_tiles"] * (found["num_submissions"] - 1)
    with DWaveSampler(token=TOKEN) as sampler:
        microseconds = [
            sampler.solver.estimate_qpu_access_time(
                found["num_qubits"], num_reads=700, annealing_time=33.0
            )
        ] * (found["num_submissions"] - 1)
        # The last one has fewer problems, and reading fewer qubits takes less time.
        least = sampler.solver.estimate_qpu_access_time(last, num_reads=700, annealing_time=33.0)
    full = sum(microseconds)
    assert full + least <= found["qpu_seconds"] * 1e6 <= full + microseconds[0]
    assert found["seconds_per_1000"] == pytest.approx(25 * found["qpu_seconds"])
    shown = run("dwave", "check", *batch, DWAVE_API_TOKEN=TOKEN).stdout
    assert f"40 problems in {found['num_submissions']} submissions" in shown
    assert f"{found['qpu_seconds']:.3g} s of QPU access time" in shown
    assert sapi.count("POST") == 0


def test_each_setting_says_where_it_comes_from(
    run: Callable[..., Done], sapi: FakeSapi, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = nowhere / "dwave" / "dwave.conf"
    user.parent.mkdir()
    user.write_text(
        f"[defaults]\ntoken = {TOKEN}\nsolver = nobody\n[mine]\nregion = eu-central-1\n"
    )
    (nowhere / "dwave.conf").write_text("[mine]\nsolver = zephyr_160q_mock\n")
    done = run("dwave", "check", "--json", "--profile", "mine")
    assert done.returncode == 0, done.stderr
    found = configured(done)
    assert found["token"] == ("set", f"file {user}")
    assert found["solver"] == ("zephyr_160q_mock", "file ./dwave.conf")
    assert found["endpoint"] == (sapi.url, "environment variable DWAVE_API_ENDPOINT")
    assert found["region"] == ("by the endpoint", "default")  # which overrides that of the file
    assert found["profile"] == ("mine", "option")
    assert found["config_file"] == (f"{user}, ./dwave.conf", "default")
    monkeypatch.delenv("DWAVE_API_ENDPOINT")
    done = run("dwave", "check", "--json", "--endpoint", sapi.url, DWAVE_PROFILE="mine")
    assert configured(done)["endpoint"] == (sapi.url, "option")
    assert configured(done)["profile"] == ("mine", "environment variable DWAVE_PROFILE")
    assert json.loads(done.stdout)["solver"]["name"] == "zephyr_160q_mock"


@pytest.mark.usefixtures("nowhere")
def test_without_a_token(run: Callable[..., Done]) -> None:
    done = run("dwave", "check")
    assert done.returncode == 3
    assert rows(done.stdout)["token"] == ["not set", "default"]
    assert "DWAVE_API_TOKEN" in done.stderr


@pytest.mark.usefixtures("sapi")
def test_a_wrong_token(run: Callable[..., Done]) -> None:
    done = run("dwave", "check", DWAVE_API_TOKEN="DEV-wrong")
    assert done.returncode == 3
    assert rows(done.stdout)["token"][0] == "set"
    assert "refused the API token" in done.stderr
    assert "DEV-wrong" not in done.stdout + done.stderr


def test_without_a_network(run: Callable[..., Done], refused: str) -> None:
    done = run("dwave", "check", "--endpoint", refused, DWAVE_API_TOKEN=TOKEN)
    assert done.returncode == 4
    assert f"cannot reach D-Wave's service at {refused}" in done.stderr


def test_without_a_solver(run: Callable[..., Done], sapi: FakeSapi) -> None:
    done = run("dwave", "check", "--solver", "Advantage9", DWAVE_API_TOKEN=TOKEN)
    assert done.returncode == 4
    assert "no solver online for solver='Advantage9'" in done.stderr
    sapi.faults = [Fault("GET .*solvers", 503)]
    assert run("dwave", "check", DWAVE_API_TOKEN=TOKEN).returncode == 4


@pytest.mark.usefixtures("nowhere")
def test_the_mock_needs_nothing(run: Callable[..., Done]) -> None:
    done = run("dwave", "check", "--mock")
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout)["topology"] == ["zephyr [12, 4]"]
    assert "token" not in done.stdout


@pytest.mark.usefixtures("sapi")
def test_a_fast_anneal_takes_one_more_spin(run: Callable[..., Done]) -> None:
    batch = ("dwave", "check", "--json", "--spins", "2", "--queries", "1")
    fast = ("--fast-anneal", "--annealing-time", "0.005")
    slow, quick = (
        json.loads(run(*batch, *options, DWAVE_API_TOKEN=TOKEN).stdout)["estimate"]
        for options in ((), fast)
    )
    assert (slow["num_qubits"], quick["num_qubits"]) == (2, 3)
    assert quick["qpu_seconds"] < slow["qpu_seconds"]


@pytest.mark.usefixtures("sapi")
def test_batches_beyond_the_solver(run: Callable[..., Done]) -> None:
    for batch, message in (
        (("--reads", "20000"), "num_reads_range [1, 10000]"),
        (("--annealing-time", "0.1"), "annealing_time_range [1, 2000]"),
        (("--spins", "60"), "no embedding found"),
        (("--reads", "0"), "--reads"),
        (("--fast-anneal",), "needs annealing_time, in microseconds"),
    ):
        done = run("dwave", "check", *batch, DWAVE_API_TOKEN=TOKEN)
        assert done.returncode == 2
        assert message in done.stderr


def test_solve_keeps_what_it_has_submitted(
    run: Callable[..., Done], sapi: FakeSapi, nowhere: Path
) -> None:
    (nowhere / "pair.txt").write_text("0 0 -1.0\n0 1 -0.5\n")
    sapi.held = "all"
    late = ("--sampler", "dwave", "--option", "timeout=0.3", "--option", "num_reads=20")
    done = run("solve", "pair.txt", *late, DWAVE_API_TOKEN=TOKEN)
    assert done.returncode == 4
    (path,) = nowhere.glob("isingsample-job-*.json")
    assert f"kept in {path.name}" in done.stderr
    sapi.held = set()
    with DWave() as sampler:
        result = sampler.resume(DWaveJob.load(path), load_problem(Path("pair.txt")))
    assert result.magnetization[0] > 0
    assert len(sapi.jobs) == 1


def test_solve_submits_once_and_reads_the_lowest_state_from_its_reads(
    run: Callable[..., Done], sapi: FakeSapi, nowhere: Path
) -> None:
    (nowhere / "pair.txt").write_text("0 0 -1.0\n0 1 -0.5\n")
    few = ("--sampler", "dwave", "--option", "num_reads=50", "--json")
    done = run("solve", "pair.txt", *few, DWAVE_API_TOKEN=TOKEN)
    assert done.returncode == 0, done.stderr
    assert len(sapi.jobs) == sapi.count("POST .*problems") == 1
    found = json.loads(done.stdout)
    assert found["state"] == {"0": 1, "1": 1}
    assert found["energy"] == pytest.approx(-1.5)


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
sys.argv = ["isingsample", "solve", "pair.txt", "--sampler", "dwave", "--option", "num_reads=20"]
from isingsample.cli.main import main
main()
"""


def test_control_c_in_the_command_line_keeps_the_job(sapi: FakeSapi, nowhere: Path) -> None:
    (nowhere / "pair.txt").write_text("0 0 -1.0\n0 1 -0.5\n")
    sapi.held = "all"
    command = [sys.executable, "-W", "ignore", "-c", INTERRUPTED]
    environment = {**os.environ, "DWAVE_API_TOKEN": TOKEN}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        while not sapi.jobs or not sapi.count("GET .*problems"):  # sent, and waited for
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()  # or leaving the block would wait for ever
    assert process.returncode == 130
    (path,) = nowhere.glob("isingsample-job-*.json")
    assert f"kept in {path.name}" in said
    sapi.held = set()
    with DWave(token=TOKEN) as sampler:
        result = sampler.resume(DWaveJob.load(path), load_problem(Path("pair.txt")))
    assert result.magnetization[0] > 0
    assert len(sapi.jobs) == 1


@pytest.mark.parametrize("place", ["environment", "file"])
def test_the_most_talkative_client_says_no_token(sapi: FakeSapi, nowhere: Path, place: str) -> None:
    (nowhere / "own.conf").write_text(f"[defaults]\ntoken = {TOKEN}\nendpoint = {sapi.url}\n")
    environment = {**os.environ, "DWAVE_LOG_LEVEL": "TRACE"}
    environment |= {"DWAVE_API_TOKEN": TOKEN} if place == "environment" else {}
    options = ["--config-file", "own.conf"] if place == "file" else []
    command = [sys.executable, "-m", "isingsample", "dwave", "check", *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "dwave.cloud" in done.stderr  # it does talk
    assert TOKEN not in done.stdout + done.stderr


def test_passwords_in_an_address_are_not_shown(run: Callable[..., Done], refused: str) -> None:
    address = refused.replace("//", "//me:hush@")
    done = run("dwave", "check", "--endpoint", address, DWAVE_API_TOKEN=TOKEN)
    assert done.returncode == 4
    assert refused in done.stdout + done.stderr
    assert "hush" not in done.stdout + done.stderr


@pytest.mark.usefixtures("nowhere")
def test_tokens_among_options_are_refused_unseen(run: Callable[..., Done]) -> None:
    Path("pair.txt").write_text("0 1 -0.5\n")
    for given in ("DEV-secret", "token=DEV-secret"):
        done = run("solve", "pair.txt", "--sampler", "dwave", "--option", given)
        assert done.returncode == 2
        assert "DEV-secret" not in done.stdout + done.stderr
