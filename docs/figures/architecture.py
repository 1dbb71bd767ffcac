"""Draws the layers of the code, as docs/_static/architecture.png.

    python docs/figures/architecture.py

Each row imports only from the rows below it: the order is that of the contracts in pyproject.toml,
which `make lint` holds against the imports of the code. Boxes are folders or files.
"""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).parents[2]
WIDTH = 10.0
COLOURS = ("#dbe7f3", "#f3e6d3", "#e0eddc", "#eadff0")


def main() -> None:
    """Draw both pictures side by side: the package, and the samplers inside it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    figure, axes = plt.subplots(1, 2, figsize=(11, 5.4), width_ratios=(1, 1.3))
    titles = ("the packages", "inside isingsample/samplers")
    for ax, contract, title in zip(axes, contracts["contracts"], titles, strict=False):
        container = contract["containers"][0]
        rows = [[f"{container}.{n.strip()}" for n in split(row)] for row in contract["layers"]]
        if container == "isingsample":
            rows.insert(0, ["attention_bridge"])
        draw(ax, rows)
        ax.set_title(title, loc="left", fontsize=11)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "_static" / "architecture.png", dpi=140)


def split(row: str) -> list[str]:
    """The names of a row of a layers contract."""
    return row.replace("|", ":").split(":")


def lines_of(module: str) -> int:
    """Lines of a module, or of all modules in a package."""
    path = ROOT / module.replace(".", "/")
    files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def draw(ax: plt.Axes, rows: Sequence[Sequence[str]]) -> None:
    """Rows of boxes from the top down; those of a row share its width."""
    for level, row in enumerate(rows):
        y, width = len(rows) - 1 - level, WIDTH / len(row)
        for place, module in enumerate(row):
            x = place * width
            box = FancyBboxPatch(
                (x + 0.06, y), width - 0.12, 0.7,
                boxstyle="round,pad=0.02", fc=COLOURS[level % len(COLOURS)], ec="#555555",
            )  # fmt: skip
            ax.add_patch(box)
            name, lines = module.rpartition(".")[2], lines_of(module)
            ax.text(x + width / 2, y + 0.46, name, ha="center", va="center", fontsize=10)
            ax.text(x + width / 2, y + 0.17, f"{lines} lines", ha="center", va="center", fontsize=7)
    ax.set_xlim(-0.1, WIDTH + 0.1)
    ax.set_ylim(-0.15, len(rows))
    ax.axis("off")


if __name__ == "__main__":
    main()
