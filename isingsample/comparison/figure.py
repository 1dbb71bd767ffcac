"""Figures. Imports matplotlib, from the `cli` extra."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isingsample.comparison.compare import Row
from isingsample.errors import MissingExtraError

_THERMAL = "#1f6feb"
_BIASED = "#d9822b"
_NOISE = "#222222"
# Errors below this are rounding: drawn to scale they would stretch the axis over ten decades.
_ROUNDING = 1e-9


def figure_file(name: str, path: Path) -> Path:
    """Where a figure can be written, checked before the work that it is to show.

    Args:
        name: what the caller calls the path.
        path: without a suffix it gets .png.

    Raises:
        MissingExtraError: matplotlib is not installed.
        ValueError: a format that matplotlib does not write, or no place to write to.
    """
    file = path if path.suffix or path.is_dir() else path.with_suffix(".png")
    if file.is_dir() or not file.parent.is_dir():
        raise ValueError(f"{name} {path} is not a file in an existing folder")
    formats = _new_figure(1, 1).canvas.get_supported_filetypes()
    if file.suffix.lower().removeprefix(".") not in formats:
        raise ValueError(f"{name} {path} must end in one of .{', .'.join(sorted(formats))}")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise ValueError(f"{name} {path} cannot be written: permission denied")
    return file


def _new_figure(width: float, height: float) -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a figure", "cli") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_comparison(rows: Sequence[Row], path: Path, title: str) -> None:
    """A figure of a comparison: error, total variation and time of each sampler, with shot noise.

    Args:
        rows: of `isingsample.compare`; failed ones are named without marks.
        path: where to write.
        title: above the panels.

    Raises:
        MissingExtraError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    figure = _new_figure(11, 1.7 + 0.36 * len(rows))
    panels = figure.subplots(1, 3, sharey=True)
    _panel(panels[0], rows, "error of magnetization, mean |Δm|", _errors(rows, "mean"))
    _panel(panels[1], rows, "total-variation distance", _errors(rows, "total_variation"))
    _panel(panels[2], rows, "time per query (s)", [(row.seconds_per_query, None) for row in rows])
    for logarithmic in (panels[0], panels[2]):
        _log_scale(logarithmic)
    panels[1].set_xlim(0, 1)
    panels[0].set_yticks(range(len(rows)), [row.label for row in rows])
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    _legend(figure)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.savefig(path, dpi=130)


def _errors(rows: Sequence[Row], name: str) -> list[tuple[float | None, float | None]]:
    """(error, shot noise) of each row; None where there is none."""
    pairs: list[tuple[float | None, float | None]] = []
    for row in rows:
        error = getattr(row.error, name, None)
        missing = error is None or math.isnan(error)
        pairs.append((None, None) if missing else (error, getattr(row.shot_noise, name)))
    return pairs


def _panel(
    axes: Any, rows: Sequence[Row], title: str, values: Sequence[tuple[float | None, float | None]]
) -> None:
    """A dot for each value, a tick for its shot noise, and a line between the two."""
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    for place, (row, (value, noise)) in enumerate(zip(rows, values, strict=True)):
        color = _THERMAL if row.thermal else _BIASED
        if value is None or value < _ROUNDING:
            text = "failed" if row.failure is not None else "no reads" if value is None else "exact"
            where = ("axes fraction", "data")
            axes.annotate(
                text, (0.02, place), xycoords=where, va="center", fontsize=8, color="0.45"
            )
            continue
        if noise:
            axes.plot([noise, value], [place, place], color=color, linewidth=2, alpha=0.5)
            axes.plot([noise, noise], [place - 0.3, place + 0.3], color=_NOISE, linewidth=2)
        axes.plot([value], [place], marker="o", markersize=7, color=color)


def _log_scale(axes: Any) -> None:
    """A logarithmic axis over whole decades, labelled at powers of ten alone."""
    from matplotlib.ticker import NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    low, high = axes.get_xlim()
    axes.set_xlim(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))


def _legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 7}
    tick: dict[str, Any] = dot | {"marker": "|", "markersize": 12, "markeredgewidth": 2}
    entries = [
        Line2D([], [], color=_THERMAL, label="thermal", **dot),
        Line2D([], [], color=_BIASED, label="not thermal", **dot),
        Line2D([], [], color=_NOISE, label="shot noise of as many exact reads", **tick),
    ]
    figure.legend(handles=entries, loc="outside lower left", ncols=3, frameon=False, fontsize=9)
