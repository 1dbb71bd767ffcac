"""The commands of the study, from the options to the files."""

import csv
import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ["--lengths", "3,4", "--seeds", "2", "--steps", "4", "--batch", "4", "--judged", "40"]
FILES = {"results.csv", "results.md", "couplings.csv", "lengths.png", "training.png"}


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs a script of the examples; its exit code, output and errors."""

    def run(script: str, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", [str(EXAMPLES / script), *arguments])
        with pytest.raises(SystemExit) as exited:
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        captured = capsys.readouterr()
        return int(exited.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def text(tmp_path) -> str:
    path = tmp_path / "text.txt"
    path.write_text("to be or not to be, that is the question. " * 40)
    return str(path)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_text(command, text, tmp_path):
    out = tmp_path / "out"
    arguments = ["--text", text, *SMALL, "--out", str(out)]
    code, output, _ = command("tiny_shakespeare.py", *arguments)
    assert code == 0
    assert "| softmax |" in output
    assert FILES | {"couplings.png", "T03.pt", "T04.pt"} == {p.name for p in out.iterdir()}
    results = rows(out / "results.csv")
    assert {row["part"] for row in results} == {"blocks", "tail"}
    assert {row["length"] for row in results} == {"3", "4"}
    assert len({row["arm"] for row in results}) == 12
    pairs = rows(out / "couplings.csv")
    assert len([r for r in pairs if (r["run"], r["arm"], r["seed"]) == ("T04", "h+J", "1")]) == 6
    # Once more: nothing is left to do, and the same comes out.
    before = (out / "results.csv").read_bytes()
    assert command("tiny_shakespeare.py", *arguments)[0] == 0
    assert (out / "results.csv").read_bytes() == before


def test_all_positions_learn_without_normalising(command, text, tmp_path):
    out = tmp_path / "out"
    options = ["--positions", "all", "--modes", "softmax,h+J", "--lengths", "4", "--no-normalize"]
    arguments = ["--text", text, *SMALL, *options, "--out", str(out)]
    assert command("tiny_shakespeare.py", *arguments)[0] == 0
    results = rows(out / "results.csv")
    assert {row["part"] for row in results} > {"tail", "blocks, all positions"}
    assert {row["at"] for row in results if row["by"] == "position"} == {"0", "1", "2", "3"}
    code, _, errors = command("tiny_shakespeare.py", *arguments, "--normalize")
    assert code == 2
    assert "T04.pt is from a run with another normalize; choose another folder" in errors


def test_brackets_with_any_sampler(command, tmp_path):
    out = tmp_path / "out"
    options = ["--modes", "softmax,h+J", "--sampler", "exact,gibbs,dqa", "--reads", "10"]
    options += ["--lengths", "4"]
    code, output, _ = command("bracket_matching.py", *SMALL, *options, "--out", str(out))
    assert code == 0
    assert "gain over the exact sampler" in output
    assert FILES | {"couplings.png", "breakdown.png"} < {p.name for p in out.iterdir()}
    results = rows(out / "results.csv")
    assert {row["arm"] for row in results} == {"softmax", "h+J", "h+J [gibbs]", "h+J [dqa]"}
    assert {row["run"] for row in results} == {"T04", "T04-no-ffn"}
    assert {row["by"] for row in results} == {"", "depth", "distance"}


@pytest.mark.filterwarnings("default::isingsample.errors.StrongFieldWarning")
def test_warnings_of_a_kind_are_told_once(command, tmp_path):
    # At this rate fields leave an anneal's range at once, and grow with each step.
    options = ["--lengths", "4", "--modes", "h+J", "--sampler", "dqa", "--ffn", "--rate", "1"]
    code, output, errors = command("bracket_matching.py", *SMALL, *options, "--out", str(tmp_path))
    assert code == 0
    assert output.count("StrongFieldWarning") == 1
    assert "StrongFieldWarning" not in errors


def test_couplings_alone(command, tmp_path):
    out = tmp_path / "out"
    options = ["--length", "4", "--steps", "5", "--seeds", "2", "--batch", "8", "--judged", "40"]
    samplers = ["--sampler", "exact,nudged,matched,gibbs-nudged", "--modes", "softmax,J+self"]
    code, output, _ = command("j_only.py", *options, *samplers, "--out", str(out))
    assert code == 0
    assert {row["arm"] for row in rows(out / "results.csv")} == {
        "softmax", "J+self", "J+self [nudged]", "J+self [matched]", "J+self [gibbs-nudged]",
    }  # fmt: skip
    assert "T04" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--modes", "softmx"], "'softmax'"),
        (["--sampler", "dqa_raw"], "'dqa-raw'"),
        (["--lengths", "4,x"], "'4,x' is not a list of whole numbers"),
        (["--lengths", ","], "',' is not a list of whole numbers"),
        (["--seeds", "0"], "'--seeds'"),
        (["--rate", "inf"], "'--rate'"),
        (["--lengths", "1"], "at least 2 letters, not 1"),
    ],
)
def test_bad_input_is_one_message(command, tmp_path, arguments, message):
    code, _, errors = command("bracket_matching.py", *arguments, "--out", str(tmp_path / "out"))
    assert code == 2
    assert message in errors
    assert not (tmp_path / "out").exists()


def test_a_study_is_not_about_our_own_prose(command, monkeypatch, tmp_path):
    monkeypatch.delenv("ISINGSAMPLE_DATA", raising=False)
    monkeypatch.setattr("isingsample.comparison.text._download", lambda: None)
    code, _, errors = command("tiny_shakespeare.py", "--out", str(tmp_path))
    assert code == 2
    assert "name a text file with --text" in errors
    options = ["--quick", "--steps", "2", "--modes", "softmax", "--out", str(tmp_path)]
    assert command("tiny_shakespeare.py", *options)[0] == 0


def test_an_impossible_length_of_text(command, text, tmp_path):
    options = ["--lengths", "21", "--out", str(tmp_path)]
    code, _, errors = command("tiny_shakespeare.py", "--text", text, *options)
    assert code == 2
    assert "length must be 1 ... 20, not 21" in errors
