"""qbsolv's .qubo files: `p qubo 0 maxNodes nNodes nLinks`, then nodes and links."""

from collections.abc import Hashable

from isingsample._core.memory import available_memory, readable_bytes
from isingsample.formats.errors import FormatError, finite_number, numbered_fields, read_text
from isingsample.formats.source import Model, Source
from isingsample.interop.convert import from_qubo

# A variable's name, its place by name, and its field and a few copies of it.
_BYTES_PER_NODE = 200.0


def read_qubo(path: Source) -> Model:
    """The Ising problem whose energy is the QUBO's value x'Qx at x = (1 + s) / 2.

    Variables are numbered 0 ... maxNodes - 1; those without an entry stay, with field 0.

    Raises:
        FormatError: no or a malformed program line, a node out of range, a link given twice, or
            counts that do not fit the program line.
    """
    size: tuple[int, int, int] | None = None
    Q: dict[tuple[Hashable, Hashable], float] = {}
    for line, fields in numbered_fields(read_text(path), comments=("c", "#")):
        if fields[0] == "p":
            if size is not None:
                raise FormatError(path, "a second program line", line)
            size = _program_line(path, line, fields)
            continue
        if size is None:
            raise FormatError(path, "expected the program line 'p qubo 0 maxNodes ...' first", line)
        if len(fields) != 3:
            raise FormatError(path, f"expected 'i j value', found {' '.join(fields)!r}", line)
        i, j = (_node(path, line, text, size[0]) for text in fields[:2])
        pair = (min(i, j), max(i, j))
        if pair in Q:
            raise FormatError(path, f"entry {pair} is given twice", line)
        Q[pair] = finite_number(path, line, fields[2])
    if size is None:
        raise FormatError(path, "no program line 'p qubo 0 maxNodes nNodes nLinks'")
    nodes = sum(i == j for i, j in Q)
    if (nodes, len(Q) - nodes) != size[1:]:
        raise FormatError(
            path,
            f"the program line announces {size[1]} nodes and {size[2]} links, "
            f"the file holds {nodes} and {len(Q) - nodes}",
        )
    return Model(from_qubo(Q, labels=range(size[0])), "BINARY")


def _program_line(path: Source, line: int, fields: list[str]) -> tuple[int, int, int]:
    """(maxNodes, nNodes, nLinks)."""
    if len(fields) != 6 or fields[1] != "qubo" or not all(f.isdecimal() for f in fields[3:]):
        raise FormatError(
            path, f"expected 'p qubo 0 maxNodes nNodes nLinks', found {' '.join(fields)!r}", line
        )
    max_nodes, nodes, links = map(int, fields[3:])
    needed, available = _BYTES_PER_NODE * max_nodes, available_memory()
    if needed > available:
        raise FormatError(
            path,
            f"{max_nodes} variables need {readable_bytes(needed)} of memory, "
            f"and {readable_bytes(available)} are available",
            line,
        )
    return max_nodes, nodes, links


def _node(path: Source, line: int, text: str, max_nodes: int) -> int:
    if not text.isdecimal() or int(text) >= max_nodes:
        raise FormatError(path, f"{text!r} is not a node between 0 and {max_nodes - 1}", line)
    return int(text)
