"""Schedules from files of comma-separated values."""

from pathlib import Path

import pytest

from isingsample import Schedule

ROWS = "0,6.5,0.2\n0.5, 1.0, 3.5\n\n1,0,8\n"
TABLE = Schedule.table([0, 0.5, 1], [6.5, 1, 0], [0.2, 3.5, 8])


def written(text: str, folder: Path) -> Path:
    path = folder / "anneal.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "header", ["", "s,A(s) (GHz),B(s) (GHz)\n", "\ufeffs, A, B\n", "\nS,a,b\n"]
)
def test_a_table_in_a_file(header: str, tmp_path: Path) -> None:
    assert Schedule.from_csv(written(header + ROWS, tmp_path)) == TABLE


@pytest.mark.parametrize(
    "text",
    [
        "s,B,A\n0,0.2,6.5\n0.5,3.5,1\n1,8,0\n",
        "C (normalized),B(s) (GHz),s,A(s) (GHz)\n0.4,0.2,0,6.5\n0.5,3.5,0.5,1\n0.6,8,1,0\n",
    ],
)
def test_columns_are_found_by_their_names(text: str, tmp_path: Path) -> None:
    assert Schedule.from_csv(written(text, tmp_path)) == TABLE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no rows"),
        ("s,A,B\n", "holds no rows"),
        ("0,1,0\n0.5,x,1\n1,0,1\n", r"line 2: a row must be 3 numbers s, A, B, not '0.5,x,1'"),
        ("0,x,0\n0,1,0\n1,0,1\n", r"line 1: a row must be 3 numbers"),
        ("0,1\n1,0\n", r"line 1: a row must be 3 numbers"),
        ("s,A,B\n0,1,\n1,0,1\n", r"line 2: a row must be 3 numbers"),
        ("s,A\n0,1\n1,0\n", r"line 1: a header must name .* 's,A'"),
        ("s,A,B,A\n0,1,0,2\n1,0,1,2\n", r"line 1: a header must name each .* once"),
        ("s;A;B\n0;1;0\n1;0;1\n", r"line 1: a header must name .* commas between them"),
        ("time,driver,problem\n0,1,0\n1,0,1\n", r"line 1: a header must name"),
        ("0,1,0\n0.9,0,1\n", r"anneal.csv: .* rise from 0 to 1"),
        ("0,1,0\n0.9,0,1\n0.2,0,1\n1,0,1\n", "rise from 0 to 1"),
        ("0,1,0\n1,nan,1\n", r"anneal.csv: A\[1\] must be finite"),
    ],
)
def test_files_that_are_no_schedule(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        Schedule.from_csv(written(text, tmp_path))


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "anneal.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(ValueError, match="is not a text file"):
        Schedule.from_csv(path)
