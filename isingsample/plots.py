"""Figures. Imports matplotlib, from the `cli` extra."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isingsample.compare import Row
from isingsample.errors import MissingExtraError

_THERMAL = "#1f6feb"
_BIASED = "#d9822b"
_NOISE = "#222222"
# Errors below this are rounding; bars for them would stretch the axis over ten decades.
_SMALLEST = 1e-4


def save_comparison(rows: Sequence[Row], path: Path, title: str) -> None:
    """A PNG of a comparison: error, total variation and time of each sampler, with shot noise.

    Args:
        rows: of `isingsample.compare`; failed ones are named without bars.
        path: where to write.
        title: above the panels.

    Raises:
        MissingExtraError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a figure", "cli") from None
    figure = Figure(figsize=(11, 1.7 + 0.42 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 3, sharey=True)
    _panel(panels[0], rows, "error of magnetization, mean |Δm|", _errors(rows, "mean"))
    _panel(panels[1], rows, "total-variation distance", _errors(rows, "total_variation"))
    times = [(row.seconds_per_query, None) for row in rows]
    _panel(panels[2], rows, "time per query (s)", times)
    panels[0].set_yticks(range(len(rows)), [row.label for row in rows])
    panels[0].invert_yaxis()
    _legend(figure)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.savefig(path, dpi=130)


def _errors(rows: Sequence[Row], name: str) -> list[tuple[float | None, float | None]]:
    """(error, shot noise) of each row; None where there is none."""
    pairs: list[tuple[float | None, float | None]] = []
    for row in rows:
        error = getattr(row.error, name, None)
        noise = getattr(row.shot_noise, name, None)
        missing = error is None or math.isnan(error)
        pairs.append((None, None) if missing else (error, noise))
    return pairs


def _panel(
    axes: Any, rows: Sequence[Row], title: str, values: Sequence[tuple[float | None, float | None]]
) -> None:
    axes.set_xscale("log")
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    shown = [v for pair in values for v in pair if v is not None and v > _SMALLEST / 1e4]
    floor = min([v for v in shown if title.startswith("time") or v >= _SMALLEST], default=1e-3) / 3
    for place, (row, (value, noise)) in enumerate(zip(rows, values, strict=True)):
        color = _THERMAL if row.thermal else _BIASED
        if value is None:
            note = "failed" if row.failure is not None else "no reads"
            axes.annotate(
                note,
                (0.02, place),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8,
                color="0.5",
            )
        elif value < floor:
            axes.annotate(
                "exact",
                (0.02, place),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8,
                color=_THERMAL,
            )
        else:
            axes.barh(place, value - floor, left=floor, color=color, height=0.62)
        if noise:
            axes.plot([noise, noise], [place - 0.42, place + 0.42], color=_NOISE, linewidth=2)
    axes.set_xlim(left=floor)


def _legend(figure: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries = [
        Patch(color=_THERMAL, label="thermal"),
        Patch(color=_BIASED, label="not thermal"),
        Line2D([], [], color=_NOISE, linewidth=2, label="shot noise of as many exact reads"),
    ]
    figure.legend(handles=entries, loc="outside lower left", ncols=3, frameon=False, fontsize=9)
