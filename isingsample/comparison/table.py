"""Comparisons as text: tables for the terminal, and JSON."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from isingsample.comparison.compare import Row

_COLUMNS: tuple[tuple[str, JustifyMethod], ...] = (
    ("sampler", "left"),
    ("queries", "right"),
    ("reads", "right"),
    ("time/query", "right"),
    ("mean |Δm|\n(noise)", "right"),
    ("max |Δm|\n(noise)", "right"),
    ("error bar", "right"),
    ("TV\n(noise)", "right"),
    ("effective β", "right"),
    ("lowest E", "right"),
    ("thermal", "left"),
)


def comparison_tables(rows: Sequence[Row], title: str, width: int) -> list[Table]:
    """Rows as rich tables that fit the width; in parentheses the shot noise of as many exact reads.

    Where the columns do not fit beside each other, further tables hold the rest of them, each with
    the names of the samplers.
    """
    cells = [_cells(row) for row in rows]
    labels, *columns = [
        _Column(heading, justify, [row[place] for row in cells])
        for place, (heading, justify) in enumerate(_COLUMNS)
    ]
    groups: list[list[_Column]] = []
    for column in columns:
        taken = sum(c.width for c in (groups[-1] if groups else [])) + labels.width + 1
        if not groups or taken + column.width > width:
            groups.append([])
        groups[-1].append(column)
    tables: list[Table] = []
    for group in groups:
        table = Table(title=None if tables else title, title_justify="left", title_style="bold")
        for column in (labels, *group):
            table.add_column(column.heading, justify=column.justify, overflow="fold")
        for at, row in enumerate(rows):
            texts = [Text(column.cells[at]) for column in (labels, *group)]
            table.add_row(*texts, style=None if row.failure is None else "dim")
        tables.append(table)
    return tables


@dataclass(frozen=True)
class _Column:
    """A column of the table: its heading and its cells, unbroken."""

    heading: str
    justify: JustifyMethod
    cells: list[str]

    @property
    def width(self) -> int:
        """In letters, with the margins and the line on its left."""
        lines = [*self.heading.split("\n"), *self.cells]
        return max(map(cell_len, lines)) + 3


def failures(rows: Sequence[Row]) -> list[str]:
    """One line for each sampler that gave no result: its name and why."""
    return [f"{row.label}: {row.failure}" for row in rows if row.failure is not None]


def comparison_records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as JSON values; NaN and infinity, which JSON lacks, become None."""
    return [_json(asdict(row)) for row in rows]


def duration(seconds: float) -> str:
    """A time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _cells(row: Row) -> list[str]:
    if row.failure is not None or row.error is None or row.shot_noise is None:
        return [row.label, *["–"] * 9, "failed"]
    noise = row.shot_noise
    return [
        row.label,
        str(row.queries),
        "–" if row.reads is None else str(row.reads),
        duration(row.seconds_per_query or 0.0),
        f"{_digits(row.error.mean)} ({_digits(noise.mean)})",
        f"{_digits(row.error.largest)} ({_digits(noise.largest)})",
        "–" if row.error_bar is None or math.isnan(row.error_bar) else _digits(row.error_bar),
        "–"
        if math.isnan(row.error.total_variation)
        else f"{row.error.total_variation:.3f} ({noise.total_variation:.3f})",
        "–" if row.beta is None else _with_error(row.beta.beta, row.beta.std_error),
        "–" if row.lowest_energy is None else f"{row.lowest_energy:.3f}",
        "yes" if row.thermal else "no",
    ]


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:.4f}" if value >= 1e-4 else f"{value:.0e}"


def _with_error(value: float, std_error: float) -> str:
    """0.9993 and 0.0021 as '0.999(2)': the error in units of the last digit."""
    if not math.isfinite(value):
        return str(value).replace("inf", "∞")
    if not 0 < std_error < 1:
        return f"{value:.3g}"
    decimals = -math.floor(math.log10(std_error))
    return f"{value:.{decimals}f}({round(std_error * 10**decimals)})"


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
