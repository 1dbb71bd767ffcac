"""The command line, run as a user runs it."""

import io
import json
import math
import os
import re
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
    assert "(noise)" in done.stdout
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
    (("compare", "--out", "a.xyz"), "must end in one of .*"),
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
    assert re.search(message, done.stderr)


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

    monkeypatch.setattr("isingsample.cli.solve.load_model", interrupt)
    done = run("solve", str(edges))
    assert done.returncode == 130
    assert done.stdout == ""


def test_a_bug_is_not_taken_for_bad_input(
    run: Callable[..., Done], edges: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("isingsample.cli.solve.load_model", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run("solve", str(edges))


def test_without_typer_it_says_what_to_install(
    run: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    done = run("samplers")
    assert done.returncode == 2
    assert "pip install 'isingsample[cli]'" in done.stderr


@pytest.mark.parametrize("group", [(), ("dwave",)])
def test_a_group_without_a_command_prints_its_help(
    run: Callable[..., Done], group: tuple[str, ...]
) -> None:
    done = run(*group)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) > 5
    assert "Usage: isingsample" in done.stderr.splitlines()[0] + done.stderr.splitlines()[1]


def test_compare_fails_when_nothing_worked(
    run: Callable[..., Done], nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--windows", "1", "--length", "3", "--reads", "10", "--out", "a")
    assert run("compare", *arguments, "--samplers", "dwave").returncode == 1
    assert run("compare", *arguments, "--samplers", "dwave,exact").returncode == 0
    assert (nowhere / "a.png").exists()  # a name without a suffix


def test_a_code_page_without_greek_loses_nothing(tmp_path: Path) -> None:
    arguments = ["--windows", "1", "--length", "3", "--reads", "20", "--samplers", "exact-reads"]
    command = [sys.executable, "-m", "isingsample", "compare", *arguments]
    for encoding in ("cp1252", "ascii"):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(command, capture_output=True, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        printed = done.stdout.decode(encoding)
        assert "beta = 1" in printed
        assert "mean |dm|" in printed
        assert "exact-reads" in printed


@pytest.fixture
def qubo(tmp_path: Path) -> Path:
    """E = -x0 + x1 - 0.5 x0 x1: its minimum -1 is at (1, 0)."""
    path = tmp_path / "pair.qubo"
    path.write_text("p qubo 0 2 2 1\n0 0 -1\n1 1 1\n0 1 -0.5\n")
    return path


def test_a_qubo_is_answered_in_bits(run: Callable[..., Done], qubo: Path) -> None:
    found = json.loads(run("solve", str(qubo), "--json").stdout)
    assert found["vartype"] == "BINARY"
    assert found["energy"] == pytest.approx(-1)
    assert found["state"] == {"0": 1, "1": 0}
    weights = {(a, b): math.exp(a - b + 0.5 * a * b) for a in (0, 1) for b in (0, 1)}
    total = sum(weights.values())
    for place, label in enumerate(("0", "1")):
        expected = sum(w for bits, w in weights.items() if bits[place]) / total
        assert found["probability"][label] == pytest.approx(expected)
    shown = run("solve", str(qubo)).stdout
    assert "P(x = 1)" in shown
    assert "+1" not in shown
    reads = ("--sampler", "sa", "--option", "num_reads=400")
    errors = json.loads(run("solve", str(qubo), *reads, "--json").stdout)["std_error"]
    # One standard deviation of a mean of bits is sqrt(p (1 - p) / reads), at most 1/40.
    assert 0.01 < errors["0"] < 0.03


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_bqm_files_are_answered_in_their_own_values(
    run: Callable[..., Done], tmp_path: Path, vartype: str
) -> None:
    dimod = pytest.importorskip("dimod")
    bqm = dimod.BQM({"a": 1.0, "b": -0.5}, {("a", "b"): 0.25}, 0.125, vartype)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(bqm.to_serializable()))
    found = json.loads(run("solve", str(path), "--json").stdout)
    lowest = dimod.ExactSolver().sample(bqm).first
    assert found["vartype"] == vartype
    assert found["state"] == lowest.sample
    assert found["energy"] == pytest.approx(lowest.energy)


class Piped:
    """Standard input with bytes in it."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("suffix", ["txt", "qubo", "json"])
def test_standard_input_is_read_as_the_file_would_be(
    run: Callable[..., Done], edges: Path, qubo: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dimod = pytest.importorskip("dimod")
    model = edges.with_suffix(".json")
    model.write_text(json.dumps(dimod.BQM({"a": 1.0}, {}, "SPIN").to_serializable(), indent=1))
    path = {"txt": edges, "qubo": qubo, "json": model}[suffix]
    named = json.loads(run("solve", str(path), "--json").stdout)
    monkeypatch.setattr(sys, "stdin", Piped(path.read_bytes()))
    piped = json.loads(run("solve", "-", "--json").stdout)
    assert piped == {**named, "file": "standard input"}
    monkeypatch.setattr(sys, "stdin", Piped(b"0 1 x"))
    done = run("solve", "-")
    assert done.returncode == 2
    assert "standard input, line 1: 'x' is not a number" in done.stderr


def test_a_sampler_that_suits_the_size_is_chosen_and_named(
    run: Callable[..., Done], tmp_path: Path, edges: Path
) -> None:
    assert "sampler: exact, chosen for 2 variables" in run("solve", str(edges)).stdout
    path = tmp_path / "ring.txt"
    path.write_text("".join(f"{j} {j + 1} -0.5\n" for j in range(39)))
    chain = run("solve", str(path))
    assert "sampler: transfer, chosen for 40 variables" in chain.stdout
    assert "energy of the state: -19.5" in chain.stdout
    path.write_text(path.read_text() + "39 0 -0.5\n")
    ring = run("solve", str(path), "--option", "num_reads=20", "--option", "num_sweeps=200")
    assert "sampler: tempering, chosen for 40 variables" in ring.stdout
    named = run("solve", str(edges), "--sampler", "exact").stdout
    assert "sampler: exact\n" in named


def test_reads_of_an_optimiser_are_not_drawn_twice(
    run: Callable[..., Done], edges: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isingsample import Dimod

    monkeypatch.setattr(Dimod, "minimize", None)  # calling it would fail
    child = ("--sampler", "dimod", "--option", "child=SteepestDescentSampler")
    done = run("solve", str(edges), *child, "--option", "num_reads=50", "--json")
    assert json.loads(done.stdout)["energy"] == pytest.approx(-0.8)
