"""Edge lists: a line `i j value` for each coupling, `i i value` for each field."""

from collections.abc import Hashable
from pathlib import Path

from isingsample._core.problem import IsingProblem
from isingsample.formats.errors import FormatError, finite_number, numbered_fields
from isingsample.interop.convert import flip_sign, from_edges


def read_edge_list(path: Path) -> IsingProblem:
    """A problem from an edge list in the sign that such files have: E = sum h s + sum J s s.

    Fields are separated by blanks or commas; lines starting with # or % are comments. Labels
    are taken as they stand, as integers where all are, and then in ascending order. Repeated
    pairs add up.

    Raises:
        FormatError: a line that is not two labels and a finite number, or no lines at all.
    """
    entries = []
    for line, fields in numbered_fields(path, comments=("#", "%")):
        if len(fields) != 3:
            raise FormatError(
                path,
                f"expected 'i j value', found {len(fields)} fields: {' '.join(fields)!r}",
                line,
            )
        entries.append(
            (fields[0], fields[1], float(flip_sign(finite_number(path, line, fields[2]))))
        )
    if not entries:
        raise FormatError(path, "no edges")
    labels = _labels([name for a, b, _ in entries for name in (a, b)])
    h: dict[Hashable, float] = dict.fromkeys(labels.values(), 0.0)
    edges = []
    for a, b, value in entries:
        if labels[a] == labels[b]:
            h[labels[a]] += value
        else:
            edges.append((labels[a], labels[b], value))
    return from_edges(edges, h=h)


def _labels(names: list[str]) -> dict[str, Hashable]:
    """Each name's label, in the order of the spins: ascending integers, or as they occur."""
    distinct = list(dict.fromkeys(names))
    if not all(name.removeprefix("-").isdecimal() for name in distinct):
        return {name: name for name in distinct}
    return {name: int(name) for name in sorted(distinct, key=int)}
