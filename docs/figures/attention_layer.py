"""Draw docs/_static/attention_layer.png: from one query's scores to its attention weights.

python docs/figures/attention_layer.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes

from attention_bridge import RelativeCouplings, boltzmann_attention

ROOT = Path(__file__).parents[2]
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"

# A query with two good keys near each other, and one by itself; near keys draw each other in,
# keys further apart compete.
SCORES = torch.tensor([0.3, -0.9, -1.2, -0.6, 0.5, -0.4, 0.4, -1.0])
BY_DISTANCE = torch.tensor([0.25, 0.35, -0.05, -0.25, -0.3, -0.2, -0.1])


def weights(J: torch.Tensor, *, normalize: bool) -> torch.Tensor:
    """The attention weights of a query with these scores."""
    keys = torch.eye(len(SCORES))
    options = {"scale": 1.0, "normalize": normalize, "return_weights": True}
    return boltzmann_attention(SCORES[None], keys, keys, coupling=J, **options)[1][0]


def bars(axes: Axes, values: torch.Tensor, color: str, title: str) -> None:
    axes.bar(range(len(values)), values, color=color, width=0.7)
    axes.set_title(title, fontsize=10)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("key", fontsize=9)
    axes.tick_params(labelsize=8)


def main() -> None:
    J = RelativeCouplings(1, len(BY_DISTANCE), init=BY_DISTANCE).matrix(len(SCORES))[0].detach()
    figure, (fields, couplings, spins, result) = plt.subplots(
        1, 4, figsize=(10.4, 2.9), dpi=160, layout="constrained"
    )
    figure.get_layout_engine().set(wspace=0.12)
    bars(fields, SCORES, GREY, "fields: one query's scores\n$h_j = q \\cdot k_j / \\sqrt{d}$")
    image = couplings.imshow(J, cmap="RdBu", vmin=-0.4, vmax=0.4)
    couplings.set_title("couplings $J_{jk}$: learned,\nshared by all queries", fontsize=10)
    couplings.set_xlabel("key", fontsize=9)
    couplings.tick_params(labelsize=8)
    figure.colorbar(image, ax=couplings, shrink=0.75).ax.tick_params(labelsize=8)
    bars(spins, weights(J, normalize=False), BLUE, "any sampler:\n$P(s_j = +1)$")
    spins.set_ylim(0, 1)
    bars(
        result, weights(J, normalize=True), BLUE, "divided by their sum:\nthe weights of the values"
    )
    apart = weights(torch.zeros_like(J), normalize=True)
    result.step(range(len(apart)), apart, where="mid", color=ORANGE, label="without $J$")
    result.legend(fontsize=8, frameon=False, loc="upper right")
    result.set_ylim(0, 0.42)
    figure.savefig(ROOT / "docs" / "_static" / "attention_layer.png")


if __name__ == "__main__":
    main()
