"""The error of every reader, and how all of them read text, lines and numbers."""

import codecs
from collections.abc import Iterator

from isingsample.errors import IsingSampleError
from isingsample.formats.source import Source


class FormatError(IsingSampleError, ValueError):
    """A file that is not of the format it should be."""

    def __init__(self, path: Source, problem: str, line: int | None = None) -> None:
        super().__init__(f"{path}{'' if line is None else f', line {line}'}: {problem}")


def read_text(path: Source) -> str:
    """The text of a file in UTF-8 or UTF-16, without the byte order mark that some systems write.

    Line ends of all systems become newlines.

    Raises:
        FormatError: the file is not text.
        OSError: the file cannot be read.
    """
    content = path.read_bytes()
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(path, "not a text file in UTF-8 or UTF-16") from None
    if "\0" in text:
        raise FormatError(path, "not a text file: it holds zero bytes")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def numbered_fields(text: str, comments: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """(line number, fields split at blanks and commas) of each line that holds any.

    Args:
        text: of a file.
        comments: a line whose first field starts with one of these symbols, or is one of these
            letters, is a comment.
    """
    symbols = tuple(c for c in comments if not c.isalpha())
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.replace(",", " ").split()
        if fields and not fields[0].startswith(symbols) and fields[0] not in comments:
            yield number, fields


def finite_number(path: Source, line: int, text: str) -> float:
    """text as a finite float, or FormatError."""
    try:
        value = float(text)
    except ValueError:
        raise FormatError(path, f"{text!r} is not a number", line) from None
    if value != value or abs(value) == float("inf"):
        raise FormatError(path, f"{text!r} is not finite", line)
    return value
