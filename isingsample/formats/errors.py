"""The error of every reader, and the reading of lines they share."""

from collections.abc import Iterator
from pathlib import Path

from isingsample.errors import IsingSampleError


class FormatError(IsingSampleError, ValueError):
    """A file that is not of the format it should be."""

    def __init__(self, path: Path, problem: str, line: int | None = None) -> None:
        super().__init__(f"{path}{'' if line is None else f', line {line}'}: {problem}")


def numbered_fields(path: Path, comments: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """(line number, fields split at blanks and commas) of each line that holds any.

    Args:
        path: a text file in UTF-8.
        comments: a line whose first field starts with one of these symbols, or is one of these
            letters, is a comment.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise FormatError(path, "not a text file") from None
    symbols = tuple(c for c in comments if not c.isalpha())
    for number, line in enumerate(lines, 1):
        fields = line.replace(",", " ").split()
        if fields and not fields[0].startswith(symbols) and fields[0] not in comments:
            yield number, fields


def finite_number(path: Path, line: int, text: str) -> float:
    """text as a finite float, or FormatError."""
    try:
        value = float(text)
    except ValueError:
        raise FormatError(path, f"{text!r} is not a number", line) from None
    if value != value or abs(value) == float("inf"):
        raise FormatError(path, f"{text!r} is not finite", line)
    return value
