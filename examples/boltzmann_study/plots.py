"""Figures of a study."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from boltzmann_study.judging import Record
from boltzmann_study.modes import REFERENCE, in_order
from boltzmann_study.report import final, runs
from boltzmann_study.statistics import Metric, by_length, by_seed, estimate, fit_decay, paired_gain
from boltzmann_study.training import Outcome

_WIDTH, _HEIGHT = 6.0, 4.2  # inches of one panel
_DPI = 150
_APART = 0.06  # in units of length


def save_lengths(records: Sequence[Record], metric: Metric, part: str, path: Path) -> None:
    """The metric by length: means with intervals, and for perplexity the fitted curves."""
    figure, (axes,) = _panels(1)
    arms = by_length(final(records, part), metric)
    for number, (arm, values) in enumerate(arms.items()):
        lengths = sorted(values)
        beside = _APART * (number - (len(arms) - 1) / 2)  # so that intervals do not hide each other
        estimates = [estimate(values[length]) for length in lengths]
        reach = [0.0 if np.isnan(e.high) else e.high - e.mean for e in estimates]
        style = _style(number)
        places = [length + beside for length in lengths]
        axes.errorbar(places, [e.mean for e in estimates], reach, label=arm, capsize=2, **style)
        fit = fit_decay(values) if metric.name == "perplexity" else None
        if fit is not None:
            grid = np.linspace(lengths[0], lengths[-1], 100)
            axes.plot(grid, fit(grid), color=style["color"], linewidth=0.7)
    axes.set_xticks(sorted({length for values in arms.values() for length in values}))
    axes.set(xlabel="length T", ylabel=metric.name, title=part)
    _cut_off(axes, metric)
    _finish(figure, axes, path)


def save_curves(records: Sequence[Record], metric: Metric, part: str, path: Path) -> None:
    """Paired gain over softmax as training goes on, one panel for each run."""
    names = runs(records)
    figure, panels = _panels(len(names))
    for axes, run in zip(panels, names, strict=True):
        chosen = [r for r in records if r.run == run and r.part == part and not r.by]
        steps = sorted({record.step for record in chosen})
        values = [by_seed([r for r in chosen if r.step == step], metric) for step in steps]
        if REFERENCE in values[0]:
            for number, arm in enumerate(values[0]):
                gains = [paired_gain(at[arm], at[REFERENCE], metric) for at in values]
                style = _style(number)
                axes.plot(steps, [g.mean for g in gains], label=arm, **style)
                low, high = ([getattr(g, end) for g in gains] for end in ("low", "high"))
                axes.fill_between(steps, low, high, alpha=0.1, color=style["color"], linewidth=0)
        axes.axhline(0, color="black", linewidth=0.7)
        axes.set(xlabel="step", ylabel=f"gain over softmax, {metric.unit}", title=f"{run}, {part}")
    _finish(figure, panels[-1], path)


def save_breakdown(
    records: Sequence[Record], metric: Metric, part: str, labels: Sequence[str], path: Path
) -> None:
    """The metric at the end by each value of some labels: a row for each run."""
    names = runs(records)
    figure, panels = _panels(len(names) * len(labels), columns=len(labels))
    places = [(run, label) for run in names for label in labels]
    for axes, (run, label) in zip(panels, places, strict=True):
        chosen = [record for record in final(records, part, label) if record.run == run]
        for number, arm in enumerate(in_order(record.arm for record in chosen)):
            at = sorted({record.at for record in chosen})
            means = [
                np.mean([metric.of(r) for r in chosen if r.arm == arm and r.at == value])
                for value in at
            ]
            axes.plot(at, means, label=arm, **_style(number))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel=label, ylabel=metric.name, title=run)
        _cut_off(axes, metric)
    _finish(figure, panels[-1], path)


def save_couplings(outcomes: Sequence[tuple[str, Outcome]], arm: str, path: Path) -> bool:
    """J of one arm: above, a map of its mean over seeds; below, its values by distance.

    Returns:
        Whether any run has that arm, and so whether there is a figure.
    """
    found = [
        (name, outcome.ensemble.coupling_matrices()[number].numpy())
        for name, outcome in outcomes
        for number, each in enumerate(outcome.ensemble.arms)
        if each.name == arm
    ]
    if not found:
        return False
    figure, panels = _panels(2 * len(found), columns=len(found))
    for place, (name, J) in enumerate(found):  # J: (seeds, T, T)
        mean = J.mean(axis=0)
        top = max(float(np.abs(mean).max()), 1e-9)
        image = panels[place].imshow(mean, cmap="RdBu", vmin=-top, vmax=top)
        figure.colorbar(image, ax=panels[place])
        panels[place].set(title=f"J of {arm}, {name}", xlabel="position", ylabel="position")
        distances = range(1, J.shape[-1])
        each = np.array([np.diagonal(J, d, 1, 2).mean(axis=1) for d in distances])  # (T-1, seeds)
        below = panels[len(found) + place]
        below.plot(list(distances), each, color="tab:gray", linewidth=0.6)
        below.plot(list(distances), each.mean(axis=1), color="black", marker="o", markersize=3)
        below.axhline(0, color="black", linewidth=0.7)
        below.set(xlabel="distance |j - k|", ylabel="mean J")
    _write(figure, path)
    return True


def _panels(count: int, columns: int = 2) -> tuple[Figure, list[Any]]:
    columns = min(count, columns)
    rows = -(-count // columns)
    figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in panels[count:]:
        spare.set_visible(False)
    return figure, list(panels[:count])


def _cut_off(axes: Any, metric: Metric) -> None:
    """No room above what the metric can reach, but for the marks."""
    axes.set_ylim(top=min(axes.get_ylim()[1], metric.largest + 1))


def _style(number: int) -> dict[str, Any]:
    """The same colour and mark for the same place in the list of arms."""
    return {
        "color": mpl.colormaps["tab20"](number % 20),
        "marker": "os^vDP*X<>ph"[number % 12],
        "markersize": 4,
        "linewidth": 1.0,
        "linestyle": "-",
    }


def _finish(figure: Figure, axes: Any, path: Path) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, ncols=2)
    _write(figure, path)


def _write(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=_DPI)
