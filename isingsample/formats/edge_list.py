"""Edge lists: a line `i j value` for each coupling, `i i value` for each field.

dimod's COO files are edge lists whose header says what the variables are: `# vartype=BINARY` makes
the values those of a QUBO, and `# offset=...` is the constant of the energy.
"""

import re
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from isingsample.formats.errors import FormatError, finite_number, numbered_fields, read_text
from isingsample.formats.source import Model, Source
from isingsample.interop.convert import flip_sign, from_edges, from_qubo

_COMMENTS = ("#", "%")
_VARTYPES: dict[str, Literal["SPIN", "BINARY"]] = {"SPIN": "SPIN", "BINARY": "BINARY"}


class _Entry(NamedTuple):
    """A line: two labels, as they stand, and a finite number."""

    first: str
    second: str
    value: float


def read_edge_list(path: Source, *, sure: bool = True) -> Model:
    """A problem from an edge list in the sign that such files have: E = sum h s + sum J s s.

    Fields are separated by blanks or commas; lines starting with # or % are comments, in which
    `vartype=` and `offset=` are looked for. Labels are taken as they stand, as integers where all
    are, and then in ascending order. Repeated pairs add up.

    Args:
        path: the file.
        sure: whether the caller knows that it is an edge list; else a file that could as well be
            a matrix of three rows is refused.

    Raises:
        FormatError: a line that is not two labels and a finite number, no lines at all, an unknown
            vartype, or a matrix.
    """
    text = read_text(path)
    vartype, offset = _header(path, text)
    entries = []
    for line, fields in numbered_fields(text, _COMMENTS):
        if len(fields) != 3:
            found = f"{len(fields)} fields: {' '.join(fields)!r}"
            raise FormatError(path, f"expected 'i j value', found {found}", line)
        entries.append(_Entry(fields[0], fields[1], finite_number(path, line, fields[2])))
    if not entries:
        raise FormatError(path, "no edges")
    if not sure and _may_be_matrix(entries):
        raise FormatError(
            path,
            "three lines of three numbers may be a matrix or an edge list: say format='edges' (on "
            "the command line --format edges) if it is one, or load a matrix with numpy.loadtxt",
        )
    labels = _labels([name for e in entries for name in (e.first, e.second)])
    pairs = [(labels[e.first], labels[e.second], e.value) for e in entries]
    names = list(labels.values())
    if vartype == "BINARY":
        Q: dict[tuple[Hashable, Hashable], float] = {}
        for a, b, value in pairs:
            Q[a, b] = Q.get((a, b), 0.0) + value
        return Model(from_qubo(Q, labels=names, offset=offset), "BINARY")
    h = dict.fromkeys(names, 0.0)
    for a, b, value in pairs:
        if a == b:
            h[a] += float(flip_sign(value))
    edges = [(a, b, float(flip_sign(value))) for a, b, value in pairs if a != b]
    return Model(from_edges(edges, h=h, offset=offset), "SPIN")


def _header(path: Source, text: str) -> tuple[Literal["SPIN", "BINARY"], float]:
    """The vartype and the offset that comments name; SPIN and 0 where they name none."""
    vartype: Literal["SPIN", "BINARY"] = "SPIN"
    offset = 0.0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.lstrip().startswith(_COMMENTS):
            continue
        if found := re.search(r"\bvartype\s*[=:]\s*([^\s,;]+)", line, re.IGNORECASE):
            name = found[1].strip("'\"").rpartition(".")[2].upper()
            if name not in _VARTYPES:
                raise FormatError(path, f"vartype is {found[1]!r}, not SPIN or BINARY", number)
            vartype = _VARTYPES[name]
        if found := re.search(r"\boffset\s*[=:]\s*([^\s,;]+)", line, re.IGNORECASE):
            offset = finite_number(path, number, found[1])
    return vartype, offset


def _may_be_matrix(entries: Sequence[_Entry]) -> bool:
    """Whether three lines are as likely the rows of a symmetric or triangular 3x3 matrix."""
    if len(entries) != 3:
        return False
    try:
        matrix = np.array([[float(e.first), float(e.second), e.value] for e in entries])
    except ValueError:  # labels that are no numbers
        return False
    triangular = not np.tril(matrix, -1).any() or not np.triu(matrix, 1).any()
    whole = (matrix[:, :2] == np.round(matrix[:, :2])).all()
    return bool(not whole or triangular or (matrix == matrix.T).all())


def _labels(names: list[str]) -> dict[str, Hashable]:
    """Each name's label, in the order of the spins: ascending integers, or as they occur."""
    distinct = list(dict.fromkeys(names))
    if not all(name.removeprefix("-").isdecimal() for name in distinct):
        return {name: name for name in distinct}
    return {name: int(name) for name in sorted(distinct, key=int)}
