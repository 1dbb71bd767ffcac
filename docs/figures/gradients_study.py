"""Measure and draw docs/_static/gradients.png. The numbers are kept in gradients_study.csv:

    OMP_NUM_THREADS=1 python docs/figures/gradients_study.py --measure    # some minutes
    python docs/figures/gradients_study.py                                # draws what is there

One J and 8 queries of 8 spins, and a gradient that arrives at m, all normal. Estimates from many
seeds are compared with the gradient of exact Boltzmann averages at beta = 1, or of the sampler's
own expectations. All numbers are norms, relative to that of this gradient.
"""

import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from torch import Tensor

from attention_bridge.gradients import up_probability
from isingsample import (
    DQA,
    Exact,
    Gibbs,
    IsingProblem,
    Sampler,
    SimulatedAnnealing,
    StrongFieldWarning,
)

HERE = Path(__file__).parent
TABLE, FIGURE = HERE / "gradients_study.csv", HERE.parent / "_static" / "gradients.png"
SPINS, QUERIES, FIELDS, PAIRS = 8, 8, 0.5, 0.3
SEEDS = {100: 400, 1000: 100, 10000: 40}  # by reads
RAW: dict[str, Any] = {"engine": "statevector", "calibration": "none"}
CALIBRATED: dict[str, Any] = {"engine": "statevector"}
SAMPLERS: dict[str, Callable[[int], Sampler]] = {
    "Gibbs": lambda reads: Gibbs(num_reads=reads),
    "SA": lambda reads: SimulatedAnnealing(num_reads=reads),
    "DQA, raw": lambda reads: DQA(num_reads=reads, **RAW),
    "DQA, calibrated": lambda reads: DQA(num_reads=reads, **CALIBRATED),
}
EXPECTATIONS = {"DQA, raw": DQA(**RAW), "DQA, calibrated": DQA(**CALIBRATED)}
COLOURS = {  # that the colour-blind can tell apart
    "correlation": "#0072B2",
    "straight_through": "#D55E00",
    "mean_field": "#009E73",
    "exact": "#777777",
}


class Row(NamedTuple):
    """What the estimates of one gradient by one estimator are like.

    bias is the distance of their mean from the truth without what noise adds to it, floor the
    smallest that would show above the noise (3 sigma), noise the standard deviation of an
    estimate, and cosine the mean cosine of its angle to the truth.
    """

    sampler: str
    gradient: str
    reads: int
    seeds: int
    truth: str
    by: str
    bias: float
    floor: float
    noise: float
    cosine: float


Pair = tuple[Tensor, Tensor]  # by h (seeds, queries, n) and by J (seeds, n, n)


def gradients(sampler: Sampler, gradient: str, seeds: int) -> Pair:
    """Estimates by h and J of sum g m, from this many independent copies of the batch."""
    generator = torch.Generator().manual_seed(7)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    h, W, g = FIELDS * normal(QUERIES, SPINS), PAIRS * normal(SPINS, SPINS), normal(QUERIES, SPINS)
    upper = W.triu(1)
    h = h.expand(seeds, -1, -1).clone().requires_grad_()
    J = (upper + upper.T).expand(seeds, 1, -1, -1).clone().requires_grad_()
    up = up_probability(IsingProblem(h, J), sampler, beta=1.0, seed=1, gradient=gradient)
    by_h, by_J = torch.autograd.grad((2 * up * g).sum(), (h, J))
    return by_h, by_J[:, 0]


def described(estimates: Tensor, truth: Tensor) -> tuple[float, float, float, float]:
    """bias, floor, noise and cosine of estimates (seeds, ...) of truth (...)."""
    seeds, scale = len(estimates), truth.norm()
    flat, true = estimates.flatten(1) / scale, truth.flatten() / scale
    variance = flat.var(0) if seeds > 1 else torch.zeros_like(true)
    from_noise = variance.sum() / seeds
    bias = ((flat.mean(0) - true).square().sum() - from_noise).clamp(min=0).sqrt()
    floor = (3 * (2 * variance.square().sum()).sqrt() / seeds).sqrt()
    cosine = torch.cosine_similarity(flat, true[None], dim=1).mean()
    return bias.item(), floor.item(), variance.sum().sqrt().item(), cosine.item()


def measured() -> Iterator[Row]:
    truths = {"Boltzmann": gradients(Exact(), "exact", 1)}
    for name, make in SAMPLERS.items():
        known = dict(truths)
        runs: list[tuple[str, int, int, Pair]] = []
        if name in EXPECTATIONS:
            known["own"] = gradients(EXPECTATIONS[name], "exact", 1)
            runs.append(("exact", 0, 1, known["own"]))
        for reads, seeds in SEEDS.items():
            for gradient in ("correlation", "straight_through", "mean_field"):
                runs.append((gradient, reads, seeds, gradients(make(reads), gradient, seeds)))
        for gradient, reads, seeds, pair in runs:
            for truth, exact in known.items():
                for by, estimates, target in zip("hJ", pair, exact, strict=True):
                    numbers = described(estimates, target[0])
                    yield Row(name, gradient, reads, seeds, truth, by, *numbers)
        print(name, file=sys.stderr)


def write(rows: Iterator[Row]) -> None:
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        file.write("# OMP_NUM_THREADS=1 python docs/figures/gradients_study.py --measure\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        for row in rows:
            writer.writerow(f"{x:.4g}" if isinstance(x, float) else x for x in row)


def read() -> list[Row]:
    with TABLE.open(encoding="utf-8") as file:
        next(file)
        return [
            Row(*(as_type(row[name]) for name, as_type in Row.__annotations__.items()))
            for row in csv.DictReader(file)
        ]


def draw(axes: Axes, rows: list[Row]) -> None:
    """Bias (solid, where it shows) and noise (dashed) of each estimator against the reads."""
    for gradient, colour in COLOURS.items():
        mine = [row for row in rows if row.gradient == gradient]
        if gradient == "exact":
            for row in mine:
                axes.axhline(row.bias, color=colour, linewidth=1.2, zorder=1)
            continue
        style: dict[str, Any] = {"color": colour, "linewidth": 1.6, "markersize": 4}
        axes.plot([r.reads for r in mine], [r.noise for r in mine], "--", **style)
        seen = [row for row in mine if row.bias > row.floor]
        axes.plot([r.reads for r in seen], [r.bias for r in seen], "o-", **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def figure(rows: list[Row]) -> None:
    drawing, grid = plt.subplots(
        2,
        len(SAMPLERS),
        figsize=(9.6, 5.4),
        dpi=160,
        sharex=True,
        sharey=True,
        layout="constrained",
    )
    for line, by in zip(grid, "hJ", strict=True):
        for axes, name in zip(line, SAMPLERS, strict=True):
            chosen = (name, "Boltzmann", by)
            draw(axes, [row for row in rows if (row.sampler, row.truth, row.by) == chosen])
        line[0].set_ylabel(f"relative error, by {by}")
    for axes, name in zip(grid[0], SAMPLERS, strict=True):
        axes.set_title(name, loc="left", fontsize=10)
    for axes in grid[1]:
        axes.set_xlabel("reads")
    names = [name for name in COLOURS if name != "exact"]
    lines = [plt.Line2D([], [], color=COLOURS[name], label=name) for name in names]
    lines += [
        plt.Line2D([], [], color=COLOURS["exact"], label="the anneal's own gradient"),
        plt.Line2D([], [], color="black", marker="o", markersize=4, label="bias"),
        plt.Line2D([], [], color="black", linestyle="--", label="noise"),
    ]
    drawing.legend(handles=lines, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    drawing.savefig(FIGURE)


def main() -> None:
    warnings.simplefilter("ignore", StrongFieldWarning)
    if "--measure" in sys.argv:
        write(measured())
    figure(read())


if __name__ == "__main__":
    main()
