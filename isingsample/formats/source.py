"""What readers take and what they give."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from isingsample._core.problem import IsingProblem


class Model(NamedTuple):
    """A problem, and the values of its variables in the file that it comes from.

    Attributes:
        problem: in spins, whatever the file has.
        vartype: "SPIN" where the file's variables are -1 and +1, "BINARY" where they are 0 and 1.
    """

    problem: IsingProblem
    vartype: Literal["SPIN", "BINARY"]


@dataclass(frozen=True)
class Stream:
    """Bytes that come from no file, such as those of standard input.

    Attributes:
        name: what messages call them.
        content: the bytes.
    """

    name: str
    content: bytes

    def read_bytes(self) -> bytes:
        """The content, as `Path.read_bytes` gives that of a file."""
        return self.content

    @property
    def start(self) -> str:
        """The first character that is not blank, or an empty string."""
        text = self.content.decode("utf-8-sig", errors="replace").lstrip()
        return text[:1]

    def __str__(self) -> str:
        return self.name


Source: TypeAlias = Path | Stream
