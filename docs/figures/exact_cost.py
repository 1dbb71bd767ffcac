"""Measure and draw docs/_static/exact_cost.png, in two minutes:

    OMP_NUM_THREADS=1 python docs/figures/exact_cost.py

One thread, since the times of several jump when a machine has other work too.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from isingsample import Exact

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "benchmarks"))
import peers  # noqa: E402  (needs the path above)

Seconds = dict[int, float]  # per query, by number of spins


def measure(last: int, states: float, contestant: Callable[[int, int], Any]) -> Seconds:
    """The fastest time per query of contestant(spins, queries)() from 4 spins to the last.

    states: how many a batch sums over at most, so that no run takes long: 1024 queries or fewer.
    """
    found = {}
    for num_spins in range(4, last + 1, 2):
        queries = int(min(1024, max(1, states // 2**num_spins)))
        run = contestant(num_spins, queries)
        rounds = 20 if num_spins < 22 else 4
        found[num_spins] = peers.race({"": run}, rounds=rounds)[""][0] / queries
    return found


def exact(num_spins: int, queries: int) -> Callable[[], Any]:
    problem = peers.batch(num_spins, queries)
    return lambda: Exact().sample(problem)


def two_products(num_spins: int, queries: int) -> Callable[[], Any]:
    return peers.two_products(num_spins, queries, np)


def dense_table(entries: int) -> Callable[[int, int], Callable[[], Any]]:
    def contestant(num_spins: int, queries: int) -> Callable[[], Any]:
        problem = peers.in_torch(peers.batch(num_spins, queries))
        return lambda: peers.dense_table(problem.h, problem.J, entries)

    return contestant


def exact_solver(num_spins: int, _: int) -> Callable[[], Any]:
    problem = peers.batch(num_spins, 1, "float64")
    return lambda: peers.exact_solver(problem)


def spelled_out(seconds: float, _: int) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds * 1e9:.0f} ns"


def draw(axes: Axes, seconds: Seconds, color: str, label: str, up: int = 0, **style: Any) -> None:
    """A line with its label at the right end, or a few points above it."""
    axes.plot(list(seconds), list(seconds.values()), color=color, linewidth=1.8, **style)
    end = max(seconds), seconds[max(seconds)]
    text = {"textcoords": "offset points", "va": "center", "fontsize": 9.5, "color": color}
    axes.annotate(label, end, (8, up), **text)


def main() -> None:
    if os.environ.get("OMP_NUM_THREADS") != "1":
        sys.exit("run this with OMP_NUM_THREADS=1")
    batch = measure(28, 2**33, exact)
    floor = measure(26, 2**33, two_products)
    single = measure(28, 0, exact)
    tables = [measure(22, 2**26, dense_table(size)) for size in (peers.IN_CACHE, peers.IN_MEMORY)]
    table = {spins: min(seconds[spins] for seconds in tables) for spins in tables[0]}
    solver = measure(20, 0, exact_solver)
    for name, seconds in (
        ("batch", batch),
        ("two products", floor),
        ("one query", single),
        ("dense table", table),
        ("ExactSolver", solver),
    ):
        print(name, {spins: f"{value:.3g}" for spins, value in seconds.items()})

    figure, axes = plt.subplots(figsize=(7.2, 4.4), dpi=160, layout="constrained")
    dots = {"marker": "o", "markersize": 4}
    draw(axes, solver, "#D55E00", "dimod.ExactSolver", up=6, **dots)
    draw(axes, table, "#E69F00", "softmax over\na dense table", up=9, **dots)
    draw(axes, single, "#56B4E9", "Exact, one query", **dots)
    draw(axes, batch, "#0072B2", "Exact, a batch", **dots)
    draw(axes, floor, "#777777", "its two products alone", linestyle=":")
    for spins, peer in ((16, table), (20, solver)):
        ends = (spins, batch[spins] * 1.4), (spins, peer[spins] / 1.4)
        arrow = {"arrowstyle": "<->", "color": "#777777", "linewidth": 0.9}
        axes.annotate("", *ends, arrowprops=arrow)
        ratio = float(f"{peer[spins] / batch[spins]:.2g}")
        axes.annotate(f"{ratio:,.0f} ×", (spins + 0.25, 8 * batch[spins]), fontsize=9)
    axes.set_yscale("log")
    axes.set_xticks(range(4, 29, 4))
    axes.set_xlim(3.4, 34)
    axes.set_yticks([10.0**power for power in range(-8, 1)])
    axes.yaxis.set_major_formatter(FuncFormatter(spelled_out))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("spins")
    axes.set_title("time per query, one CPU core", loc="left", fontsize=10)
    figure.savefig(ROOT / "docs" / "_static" / "exact_cost.png")


if __name__ == "__main__":
    main()
