"""The command line, run as a user runs it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command_line import Done


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    """h = (0.3, -0.2), J = 0.7 in the sign of edge-list files."""
    path = tmp_path / "pair.txt"
    path.write_text("0 0 -0.3\n1 1 0.2\n0 1 -0.7\n")
    return path


def test_solve_prints_energy_state_and_magnetization(run: Callable[..., Done], edges: Path) -> None:
    done = run("solve", str(edges))
    assert done.returncode == 0, done.stderr
    assert "+0.178218" in done.stdout
    assert "-0.022083" in done.stdout
    assert "energy of the state: -0.8" in done.stdout
    assert "ln Z at β = 1: 1.642405402" in done.stdout


def test_solve_json_with_a_sampler_and_options(run: Callable[..., Done], edges: Path) -> None:
    done = run("solve", str(edges), "--sampler", "sa", "--option", "num_reads=500", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["energy"] == pytest.approx(-0.8)
    assert found["state"] == {"0": 1, "1": 1}
    assert found["thermal"] is True
    assert found["log_partition"] is None
    exact = {"0": 0.178218398696, "1": -0.022082736873}
    for label, m in exact.items():
        assert abs(found["magnetization"][label] - m) < 5 * ((1 - m**2) / 500) ** 0.5


def test_solve_says_when_a_result_is_not_thermal(run: Callable[..., Done], edges: Path) -> None:
    done = run(
        "solve", str(edges), "--sampler", "dimod", "--option", "child=SteepestDescentSampler"
    )
    assert done.returncode == 0, done.stderr
    assert "Not thermal" in done.stdout


def test_samplers_are_listed_without_a_token_or_config(run: Callable[..., Done]) -> None:
    done = run("samplers", DWAVE_API_TOKEN="")
    assert done.returncode == 0, done.stderr
    for name in ("exact", "sa", "dimod", "dqa", "dwave"):
        assert name in done.stdout


def test_compare_prints_a_table_and_writes_a_figure(
    run: Callable[..., Done], tmp_path: Path
) -> None:
    figure = tmp_path / "figure.png"
    done = run(
        "compare", "--windows", "1", "--length", "4", "--reads", "100",
        "--samplers", "exact, sa, dwave", "--out", str(figure), DWAVE_API_TOKEN="",
        HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "TV (noise)" in done.stdout
    assert "failed" in done.stdout  # dwave has no token here, and says so below the table
    assert "token" in done.stdout
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_compare_json_is_json(run: Callable[..., Done], tmp_path: Path) -> None:
    done = run(
        "compare", "--windows", "1", "--length", "3", "--reads", "50", "--json",
        "--samplers", "exact,exact-reads", "--out", str(tmp_path / "figure.png"),
    )  # fmt: skip
    rows = json.loads(done.stdout)["rows"]
    assert [row["label"] for row in rows] == ["exact", "exact-reads"]
    assert rows[0]["error"]["mean"] < 1e-12
    assert rows[1]["reads"] == 50


BAD = [
    (("solve", "nowhere.txt"), "nowhere.txt"),
    (("solve", "EDGES", "--sampler", "exat"), "did you mean 'exact'"),
    (("solve", "EDGES", "--option", "num_read=3"), "did you mean 'num_reads'"),
    (("solve", "EDGES", "--option", "num_reads"), "takes name=value"),
    (
        ("solve", "EDGES", "--sampler", "sa", "--option", "num_reads=0"),
        "num_reads must be at least",
    ),
    (("solve", "EDGES", "--beta", "nan"), "beta"),
    (("solve", "EDGES", "--format", "qubo"), "line 1"),
    (("compare", "--samplers", "exact,sb"), "did you mean 'sa'"),
    (("compare", "--text", "nowhere.txt"), "nowhere.txt"),
    (("compare", "--length", "0"), "--length"),
    (("compare", "--out", "no/such/folder/a.png"), "not a file in an existing folder"),
    (("compare", "--out", "."), "not a file in an existing folder"),
    (("compare", "--lenght", "4"), "--lenght"),
    (("compere",), "compere"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(
    run: Callable[..., Done], edges: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run(*(str(edges) if a == "EDGES" else a for a in arguments))
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def test_install_hints_are_printed_whole(
    run: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isingsample.samplers.registry._is_installed", lambda module: False)
    assert "pip install 'isingsample[qiskit]'" in run("samplers").stdout


def test_labels_are_not_markup(run: Callable[..., Done], tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("[/b] [red] 1\n")
    done = run("solve", str(path))
    assert done.returncode == 0, done.stderr
    assert "[/b]" in done.stdout
    assert "[red]" in done.stdout


def test_any_seed_will_do(run: Callable[..., Done], tmp_path: Path) -> None:
    arguments = ("--samplers", "exact", "--windows", "1", "--length", "3", "--seed", "-5")
    done = run("compare", *arguments, "--out", str(tmp_path / "a.png"))
    assert done.returncode == 0, done.stderr


def test_version(run: Callable[..., Done]) -> None:
    from isingsample import __version__

    assert run("--version").stdout.strip() == __version__
    module = [sys.executable, "-m", "isingsample", "--version"]
    done = subprocess.run(module, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == __version__


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(run: Callable[..., Done], tmp_path: Path) -> None:
    path = tmp_path / "valleys.txt"
    path.write_text("".join(f"{j} {k} -3\n" for k in range(6) for j in range(k)))
    arguments = ("--sampler", "gibbs", "--option", "num_sweeps=20", "--option", "num_reads=8")
    done = run("solve", str(path), *arguments)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("isingsample: note: gibbs: 1 of 1 problems did not converge")


def test_interrupt_ends_quietly(
    run: Callable[..., Done], edges: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("isingsample.cli.commands.load_problem", interrupt)
    done = run("solve", str(edges))
    assert done.returncode == 130
    assert done.stdout == ""


def test_a_bug_is_not_taken_for_bad_input(
    run: Callable[..., Done], edges: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("isingsample.cli.commands.load_problem", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run("solve", str(edges))


def test_without_typer_it_says_what_to_install(
    run: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    done = run("samplers")
    assert done.returncode == 2
    assert "pip install 'isingsample[cli]'" in done.stderr
