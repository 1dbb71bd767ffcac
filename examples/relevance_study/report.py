"""Results as rows of a csv file, a table and a figure."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from boltzmann_study.report import markdown
from boltzmann_study.statistics import Estimate, estimate


@dataclass(frozen=True)
class Result:
    """One member, judged.

    Attributes:
        prior, noise, length, mode, seed, steps, batch: what was trained.
        parameters: learned numbers.
        error: its mean squared error on held-out questions.
        bayes: that of the posterior mean, on the same questions.
    """

    prior: str
    noise: float
    length: int
    mode: str
    seed: int
    steps: int
    batch: int
    parameters: int
    error: float
    bayes: float

    @property
    def gap(self) -> float:
        """How far above Bayes, in per cent."""
        return 100 * (self.error / self.bayes - 1)


def append(results: Sequence[Result], path: Path) -> None:
    """Add rows to a file, with a header where it is new."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Result)])
        if new:
            writer.writeheader()
        writer.writerows(asdict(result) for result in results)


def load(path: Path) -> list[Result]:
    """The rows of a file; none where there is no file."""
    if not path.exists():
        return []
    kinds = {f.name: f.type for f in fields(Result)}
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Result(**{name: _KIND[kinds[name]](text) for name, text in row.items()})  # type: ignore[index]
            for row in csv.DictReader(file)
        ]


_KIND = {int: int, float: float, str: str}


def gaps(results: Sequence[Result]) -> dict[str, dict[str, Estimate]]:
    """Gap to Bayes in per cent, by prior and mode, with its 95 % interval over seeds."""
    found: dict[str, dict[str, list[float]]] = {}
    for result in results:
        found.setdefault(result.prior, {}).setdefault(result.mode, []).append(result.gap)
    return {
        prior: {mode: estimate(values) for mode, values in modes.items()}
        for prior, modes in found.items()
    }


def table(results: Sequence[Result]) -> str:
    """Mean squared errors and gaps, a row for each mode, as Markdown."""
    names = list(dict.fromkeys(result.prior for result in results))
    modes = list(dict.fromkeys(result.mode for result in results))
    by = gaps(results)
    errors: dict[tuple[str, str], list[float]] = {}
    for result in results:
        errors.setdefault((result.prior, result.mode), []).append(result.error)
    size = {result.mode: result.parameters for result in results}
    rows = [["Bayes", "", *(f"{_bayes(results, name):.4f}" for name in names)]]
    for mode in modes:
        cells = []
        for name in names:
            gap = by[name].get(mode)
            if gap is None:
                cells.append("")
                continue
            spread = "" if np.isnan(gap.high) else f" ± {gap.high - gap.mean:.1f}"
            error = np.mean(errors[name, mode])
            cells.append(f"{error:.4f} (+{gap.mean:.1f}{spread} %)")
        rows.append([mode, str(size[mode]), *cells])
    return markdown(["model", "learned numbers", *names], rows)


def save_figure(results: Sequence[Result], path: Path) -> None:
    """The gap to Bayes of each model, a panel for each prior."""
    by = gaps(results)
    figure = Figure(figsize=(2.9 * len(by), 3.4), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(by), sharex=True, sharey=True))
    modes = list(dict.fromkeys(result.mode for result in results))
    for axes, (prior, found) in zip(panels, by.items(), strict=True):
        places = np.arange(len(modes))
        means = [found[m].mean if m in found else np.nan for m in modes]
        reach = [found[m].high - found[m].mean if m in found else np.nan for m in modes]
        coupled = ["J" in mode for mode in modes]
        axes.barh(
            places, means, xerr=np.nan_to_num(reach), capsize=2,
            color=["#1f5fa8" if on else "#c9c9c9" for on in coupled],
            edgecolor="#333333", linewidth=0.6, hatch=["" if on else "//" for on in coupled],
        )  # fmt: skip
        axes.set_yticks(places, modes)
        axes.set_title(prior, fontsize=10)
        axes.grid(axis="x", linewidth=0.4)
        axes.set_axisbelow(True)
    panels[0].invert_yaxis()
    figure.supxlabel("error above Bayes, %")
    figure.savefig(path, dpi=150)


def _bayes(results: Sequence[Result], prior: str) -> float:
    return next(result.bayes for result in results if result.prior == prior)
