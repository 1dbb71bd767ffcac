"""Ising problems from files: dimod's JSON, qbsolv's .qubo, edge lists."""

from collections.abc import Callable
from pathlib import Path

from isingsample._core.checks import check_choice
from isingsample._core.problem import IsingProblem
from isingsample.formats.bqm_json import read_bqm_json
from isingsample.formats.edge_list import read_edge_list
from isingsample.formats.errors import FormatError
from isingsample.formats.qubo import read_qubo

READERS: dict[str, Callable[[Path], IsingProblem]] = {
    "bqm": read_bqm_json,
    "qubo": read_qubo,
    "edges": read_edge_list,
}
_BY_SUFFIX = {".json": "bqm", ".qubo": "qubo"}


def load_problem(path: str | Path, format: str | None = None) -> IsingProblem:
    """The problem in a file.

    Args:
        path: the file.
        format: "bqm" (JSON of dimod's to_serializable), "qubo" (qbsolv's) or "edges"; by default
            by suffix: .json, .qubo, anything else is an edge list.

    Raises:
        FormatError: the file is not of its format; the message names file and line.
        OSError: the file cannot be read.
        ValueError: an unknown format.
    """
    file = Path(path)
    if format is None and file.suffix.lower() not in _BY_SUFFIX:
        return read_edge_list(file, sure=False)
    chosen = format or _BY_SUFFIX[file.suffix.lower()]
    return READERS[check_choice("format", chosen, READERS)](file)


__all__ = ["FormatError", "load_problem", "read_bqm_json", "read_edge_list", "read_qubo"]
