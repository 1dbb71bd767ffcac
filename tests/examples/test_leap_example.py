"""The example that submits to Leap, on its mock."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from support.fake_sapi import TOKEN, FakeSapi

EXAMPLE = Path(__file__).parents[2] / "examples" / "leap_submit.py"


def test_on_the_mock(capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(EXAMPLE))["main"]
    arguments = "--mock --reads 100 --queries 3 --spins 5 --annealing-time 20 --seed 2"
    result = main(arguments.split())
    assert result.samples.shape == (3, 100, 5)
    assert result.info["options"]["annealing_time"] == 20.0
    printed = capsys.readouterr().out
    for problem_id in result.info["problem_ids"]:
        assert problem_id in printed
    for word in ("exact", "chain breaks", "qpu_access_time", "scale 1", "beta_effective"):
        assert word in printed


def test_a_dry_run_submits_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(EXAMPLE))["main"]
    estimate = main(["--mock", "--dry-run", "--queries", "300", "--spins", "5"])
    assert (estimate.num_problems, estimate.num_submissions) == (300, 1)
    assert "s for 1000 problems" in capsys.readouterr().out


def test_calibration_and_fast_anneal(capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(EXAMPLE))["main"]
    result = main(
        [
            "--mock",
            "--calibrate",
            "--fast-anneal",
            "--queries",
            "3",
            "--spins",
            "2",
            "--reads",
            "100",
        ]
    )
    printed = capsys.readouterr().out
    assert f"scale {result.info['scale']:.4g}: beta_effective" in printed
    assert result.info["options"]["annealing_time"] == 0.005


def test_options_out_of_range_end_in_one_line() -> None:
    main = runpy.run_path(str(EXAMPLE))["main"]
    with pytest.raises(SystemExit, match="annealing_time_range"):
        main(["--mock", "--annealing-time", "1e6"])
    with pytest.raises(SystemExit, match="TooLargeError"):
        main(["--mock", "--spins", "40"])


def test_without_a_token_it_says_what_to_do(tmp_path: Path) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DWAVE_", "XDG_"))}
    environment = kept | {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "DWAVE_API_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_breaks_off_is_finished_by_the_same_command(
    sapi: FakeSapi, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWAVE_API_TOKEN", TOKEN)
    main = runpy.run_path(str(EXAMPLE))["main"]
    command = ["--queries", "2", "--job", "job.json"]
    sapi.held = "all"
    with pytest.raises(SystemExit, match="BackendTimeoutError"):
        main([*command, "--timeout", "0.3"])
    assert Path("job.json").exists()
    sapi.held, posts = set(), sapi.count("POST")
    main(command)
    assert sapi.count("POST") == posts
    printed = capsys.readouterr().out
    assert all(problem_id in printed for problem_id in sapi.jobs)
    assert not Path("job.json").exists()
