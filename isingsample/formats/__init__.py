"""Ising problems from files: dimod's JSON, qbsolv's .qubo, edge lists."""

from collections.abc import Callable
from pathlib import Path

from isingsample._core.checks import check_choice
from isingsample._core.problem import IsingProblem
from isingsample.formats.bqm_json import read_bqm_json
from isingsample.formats.edge_list import read_edge_list
from isingsample.formats.errors import FormatError
from isingsample.formats.qubo import read_qubo
from isingsample.formats.source import Model, Source, Stream

READERS: dict[str, Callable[[Source], Model]] = {
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
    return load_model(Path(path), format).problem


def load_model(source: Source, format: str | None = None) -> Model:
    """The problem in a file or a stream, and whether its variables are spins or bits.

    A stream has no suffix: its first character tells its format where none is named.
    Arguments and errors are those of `load_problem`.
    """
    if format is not None:
        return READERS[check_choice("format", format, READERS)](source)
    if isinstance(source, Stream):
        by_start = {"{": "bqm", "p": "qubo", "c": "qubo"}
        found = by_start.get(source.start)
    else:
        found = _BY_SUFFIX.get(source.suffix.lower())
    return read_edge_list(source, sure=False) if found is None else READERS[found](source)


__all__ = ["FormatError", "Model", "Stream", "load_model", "load_problem"]
