"""Measure and draw docs/_static/dqa_*.png. The numbers are kept in dqa_study.csv beside this file:

    OMP_NUM_THREADS=1 python docs/figures/dqa_study.py --measure    # some minutes
    python docs/figures/dqa_study.py                                # draws what is there

Every point is the total variation from Boltzmann at beta = 1, exact for each problem: its mean
over 20 draws of normal couplings with 8 queries of normal fields each, and the least and the
largest mean among the draws.
"""

import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from isingsample import DQA, Exact, IsingProblem, Schedule, StrongFieldWarning
from isingsample._core.states import spin_table

HERE = Path(__file__).parent
TABLE, STATIC = HERE / "dqa_study.csv", HERE.parent / "_static"
DRAWS, QUERIES, SPINS = 20, 8, 8
FIELDS, PAIRS = 0.5, 0.3  # standard deviations, unless they are on an axis
STRENGTHS = {"weak": (0.3, 0.1), "medium": (0.5, 0.3)}
TIMES = [0.5, 1, 1.5, 2, 2.5, 3.5, 5, 7, 10, 14, 20, 28, 40]
SWEEPS = range(9)
STYLES: dict[str, dict[str, Any]] = {  # colours that the colour-blind can tell apart
    "raw": {"color": "#D55E00", "label": "linear, as it is"},
    "calibrated": {"color": "#E69F00", "label": "linear, calibrated"},
    "second": {"color": "#CC79A7", "label": "linear, to second order"},
    "monotone": {"color": "#56B4E9", "label": "“monotone”"},
    "boltzmann": {"color": "#0072B2", "label": "“boltzmann”"},
    "random": {"color": "#777777", "label": "random states"},
}


class Point(NamedTuple):
    """One point of one curve: total variation, and its range over draws of J."""

    figure: str
    curve: str
    x: float
    mean: float
    low: float
    high: float


def anneal(kind: str, total_time: float = 5.0) -> DQA:
    options: dict[str, Any] = {
        "raw": {"calibration": "none"},
        "calibrated": {},
        "second": {"counterterms": "analytic"},
    }.get(kind, {})
    options |= {"engine": "statevector", "total_time": total_time}
    options["num_steps"] = max(200, round(40 * total_time))
    return DQA.preset(kind, **options) if kind in ("monotone", "boltzmann") else DQA(**options)


def problems(num_spins: int, fields: float, pairs: float) -> IsingProblem:
    rng = np.random.default_rng(num_spins)
    h = rng.normal(0, fields, (DRAWS, QUERIES, num_spins))
    J = np.triu(rng.normal(0, pairs, (DRAWS, 1, num_spins, num_spins)), 1)
    return IsingProblem(h, J + J.swapaxes(-1, -2))


def point(figure: str, curve: str, x: float, found: np.ndarray, exact: np.ndarray) -> Point:
    """Of distributions (draws, queries, 2**n)."""
    by_draw = np.abs(found - exact).sum(axis=-1).mean(axis=-1) / 2
    return Point(figure, curve, x, by_draw.mean(), by_draw.min(), by_draw.max())


def by_time() -> Iterator[Point]:
    for name, strengths in STRENGTHS.items():
        problem = problems(SPINS, *strengths)
        exact = Exact().distribution(problem)
        for kind in ("raw", "calibrated", "second", "monotone", "boltzmann"):
            for time in TIMES if kind in ("raw", "calibrated", "second") else [5.0]:
                found = anneal(kind, time).distribution(problem)
                yield point(f"time, {name}", kind, time, found, exact)


def by_field() -> Iterator[Point]:
    for fields in (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0):
        problem = problems(SPINS, fields, PAIRS)
        yield from every_anneal("field", fields, problem)


def by_coupling() -> Iterator[Point]:
    for pairs in (0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5):
        yield from every_anneal("coupling", pairs, problems(SPINS, FIELDS, pairs))


def by_spins() -> Iterator[Point]:
    for num_spins in (2, 4, 6, 8, 10, 12):
        yield from every_anneal("spins", num_spins, problems(num_spins, FIELDS, PAIRS))


def every_anneal(figure: str, x: float, problem: IsingProblem) -> Iterator[Point]:
    exact = Exact().distribution(problem)
    for kind in ("raw", "calibrated", "second", "monotone", "boltzmann"):
        yield point(figure, kind, x, anneal(kind).distribution(problem), exact)


def by_refinement() -> Iterator[Point]:
    """What Refine and IndependenceMetropolis make of a start, by the chains' own equations."""
    problem = problems(SPINS, FIELDS, PAIRS)
    exact = Exact().distribution(problem)
    uniform = np.full_like(exact, 0.5**SPINS)
    starts = {"random": uniform} | {
        kind: anneal(kind).distribution(problem) for kind in ("raw", "calibrated", "boltzmann")
    }
    for kind, start in starts.items():
        sweep, propose = heat_bath(exact), metropolis(exact, start)
        for figure, step in (("sweeps", sweep), ("proposals", propose)):
            found = start
            for number in SWEEPS:
                yield point(figure, kind, number, found, exact)
                found = step(found)


def heat_bath(exact: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A sweep over all spins of distributions (..., 2**n), the kernel that Refine draws from."""
    spins = spin_table(SPINS)
    row = {tuple(state): number for number, state in enumerate(spins)}
    signs = 1 - 2 * np.eye(SPINS)
    flipped = [[row[tuple(state)] for state in spins * sign] for sign in signs]

    def step(found: np.ndarray) -> np.ndarray:
        for other in flipped:
            found = (found + found[..., other]) * exact / (exact + exact[..., other])
        return found

    return step


def metropolis(exact: np.ndarray, start: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A proposal from start to each state, accepted as IndependenceMetropolis does."""
    weight = exact / start
    accepted = np.minimum(1, weight[..., None, :] / weight[..., :, None])  # from, to
    moves = accepted * start[..., None, :]
    stays = 1 - moves.sum(axis=-1)

    def step(found: np.ndarray) -> np.ndarray:
        arrived: np.ndarray = (found[..., None, :] @ moves)[..., 0, :]
        return arrived + found * stays

    return step


def measure() -> None:
    with warnings.catch_warnings(), open(TABLE, "w", newline="", encoding="utf-8") as file:
        warnings.simplefilter("ignore", StrongFieldWarning)
        file.write("# made by: OMP_NUM_THREADS=1 python docs/figures/dqa_study.py --measure\n")
        writer = csv.writer(file)
        writer.writerow(Point._fields)
        for part in (by_time, by_field, by_coupling, by_spins, by_refinement):
            for row in part():
                writer.writerow([*row[:2], *(f"{number:.4g}" for number in row[2:])])
            file.flush()
            print(part.__name__, flush=True)


def read() -> list[Point]:
    with open(TABLE, newline="", encoding="utf-8") as file:
        next(file)
        rows = list(csv.DictReader(file))
    return [
        Point(r["figure"], r["curve"], *(float(r[name]) for name in Point._fields[2:]))
        for r in rows
    ]


def draw(axes: Axes, points: list[Point], figure: str, **style: Any) -> None:
    for curve, look in STYLES.items():
        rows = [p for p in points if (p.figure, p.curve) == (figure, curve)]
        if not rows:
            continue
        x, mean, low, high = (
            np.array([getattr(p, name) for p in rows]) for name in Point._fields[2:]
        )
        if len(rows) == 1:
            error = [mean - low, high - mean]
            axes.errorbar(x, mean, error, marker="D", markersize=6, capsize=2, **look)
            continue
        axes.plot(x, mean, marker="o", markersize=3.5, linewidth=1.6, **look, **style)
        axes.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(FixedLocator([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0]))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def row_of_panels(number: int, height: float = 3.5) -> tuple[Any, list[Axes]]:
    figure, axes = plt.subplots(
        1, number, figsize=(3.35 * number + 0.4, height), dpi=160, layout="constrained", sharey=True
    )
    axes[0].set_ylabel("total variation from Boltzmann")
    return figure, list(axes)


def logarithmic(axes: Axes, ticks: list[float]) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def draw_times(points: list[Point]) -> None:
    figure, panels = row_of_panels(2, 3.9)
    for axes, (name, (fields, pairs)) in zip(panels, STRENGTHS.items(), strict=True):
        draw(axes, points, f"time, {name}")
        logarithmic(axes, [0.5, 1, 2, 5, 10, 20, 40])
        axes.set_xlabel("total time, in 1/energy")
        axes.set_title(f"{SPINS} spins, std of h {fields}, of J {pairs}", loc="left", fontsize=9.5)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.savefig(STATIC / "dqa_time.png")


def draw_strengths(points: list[Point]) -> None:
    figure, panels = row_of_panels(3, 3.9)
    labels = {
        "field": "standard deviation of h",
        "coupling": "standard deviation of J",
        "spins": "number of spins",
    }
    titles = (
        f"{SPINS} spins, std of J {PAIRS}",
        f"{SPINS} spins, std of h {FIELDS}",
        f"std of h {FIELDS}, of J {PAIRS}",
    )
    for axes, (name, label), title in zip(panels, labels.items(), titles, strict=True):
        draw(axes, points, name)
        axes.set_xlabel(label)
        axes.set_title(title, loc="left", fontsize=9.5)
    logarithmic(panels[0], [0.1, 0.2, 0.5, 1, 2])
    logarithmic(panels[1], [0.03, 0.1, 0.2, 0.5])
    panels[2].set_xticks(range(2, 13, 2))
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.savefig(STATIC / "dqa_strength.png")


def draw_refinement(points: list[Point]) -> None:
    figure, panels = row_of_panels(2, 3.9)
    labels = {"sweeps": "sweeps of Refine", "proposals": "proposals of IndependenceMetropolis"}
    for axes, (name, label) in zip(panels, labels.items(), strict=True):
        draw(axes, points, name)
        axes.set_xlabel(label)
        axes.set_ylim(bottom=5e-4)
    panels[0].set_title(f"{SPINS} spins, std of h {FIELDS}, of J {PAIRS}", loc="left", fontsize=9.5)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(STATIC / "dqa_refined.png")


def draw_schedules() -> None:
    figure, panels = plt.subplots(1, 2, figsize=(7.1, 3.4), dpi=160, layout="constrained")
    s = np.linspace(0, 1, 401)
    for name, kind in (("linear", "calibrated"), ("monotone",) * 2, ("trained", "boltzmann")):
        schedule = Schedule.of(name)
        scale = DQA(schedule=name, engine="statevector").sample(IsingProblem([0.1])).info["beta_h"]
        color = STYLES[kind]["color"]
        panels[0].plot(s, [schedule.A(x) for x in s], color=color, linewidth=1.8, label=name)
        panels[1].plot(s, [schedule.B(x) / scale for x in s], color=color, linewidth=1.8)
    panels[0].set_title("driver A, an energy", loc="left", fontsize=9.5)
    panels[1].set_title("problem B, scaled to beta_h = 1", loc="left", fontsize=9.5)
    panels[1].set_yscale("symlog", linthresh=1.0)
    panels[1].set_yticks([0, 0.5, 1, 2, 5])
    panels[1].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    panels[1].yaxis.set_minor_locator(NullLocator())
    panels[0].legend(frameon=False, fontsize=9)
    for axes in panels:
        axes.set_xlabel("s = time / total time")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e5e5e5", linewidth=0.8)
    figure.savefig(STATIC / "dqa_schedules.png")


if __name__ == "__main__":
    if "--measure" in sys.argv[1:]:
        measure()
    rows = read()
    draw_times(rows)
    draw_strengths(rows)
    draw_refinement(rows)
    draw_schedules()
