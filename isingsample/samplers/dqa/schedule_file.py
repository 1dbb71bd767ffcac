"""The columns of a schedule in a file, as annealers' makers publish them."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

COLUMNS = ("s", "A", "B")


def read_columns(path: str | Path) -> tuple[list[float], ...]:
    """Columns s, A and B of a file of comma-separated values.

    They are found by the names that titles begin with ("A", "A(s) (GHz)" and "a_GHz" are the
    same), whatever other columns there are; without a header they are the only three.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not text, a title is missing or there twice, or a row that is not as
            wide as the header or not of numbers.
    """
    lines = _lines(path)
    titles: Sequence[str] = COLUMNS
    if lines and not any(map(_is_number, lines[0][1])):
        number, titles = lines.pop(0)
        _check_titles(titles, f"{path}, line {number}")
    if not lines:
        raise ValueError(f"{path} holds no rows of s, A and B")
    for number, cells in lines:
        if len(cells) != len(titles) or not all(map(_is_number, cells)):
            raise ValueError(
                f"{path}, line {number}: a row must be {len(titles)} numbers "
                f"{', '.join(titles)}, not {','.join(cells)!r}"
            )
    places = [_names(titles).index(name) for name in COLUMNS]
    return tuple([float(cells[place]) for _, cells in lines] for place in places)


def _lines(path: str | Path) -> list[tuple[int, list[str]]]:
    """The lines that are not blank, by their numbers, in cells."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        try:
            return [
                (number, [cell.strip() for cell in cells])
                for number, cells in enumerate(csv.reader(file), start=1)
                if any(map(str.strip, cells))
            ]
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not a text file of comma-separated values") from None


def _check_titles(titles: Sequence[str], where: str) -> None:
    names = _names(titles)
    if any(names.count(name) != 1 for name in COLUMNS):
        raise ValueError(
            f"{where}: a header must name each of the columns s, A and B once, with commas "
            f"between them; this one is {','.join(titles)!r}"
        )


def _names(titles: Sequence[str]) -> list[str]:
    """What titles begin with, as COLUMNS has it."""
    known = {name.lower(): name for name in COLUMNS}
    first = [re.split(r"[^A-Za-z]", title, maxsplit=1)[0] for title in titles]
    return [known.get(word.lower(), word) for word in first]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
