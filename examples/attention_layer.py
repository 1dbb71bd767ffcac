"""Train one Boltzmann attention layer on text, with any sampler.

A decoder block of width 64 (Kim & Park 2026, arXiv 2606.12478) learns to predict the character
after each window of T characters. Its query is at the last position and attends to all T keys, so
a window costs one Ising problem of T spins, whatever the sampler:

    python examples/attention_layer.py
    python examples/attention_layer.py --sampler sa --reads 100
    python examples/attention_layer.py --sampler dqa --reads 200 --length 4 \
        --gradient straight_through
    python examples/attention_layer.py --mode softmax

"exact" solves a batch at once. Samplers that take problems one by one (annealing: some 5 ms each,
circuits: 30 ms) see fewer windows in each step unless --batch says otherwise.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from attention_bridge import BoltzmannAttention
from isingsample import IsingSampleError, get_sampler, list_samplers
from isingsample.comparison.text import load_text

WIDTH, HIDDEN = 64, 128
LEARNING_RATE = 3e-3
REPORT_EVERY = 20
BATCH = {"sa": 16, "dimod": 16, "dqa": 4, "dwave": 4}  # windows in each step
DEFAULT_BATCH = 64


class NextCharacter(nn.Module):
    """One pre-norm decoder block that reads a window and predicts the character after it."""

    def __init__(self, alphabet: int, length: int, **attention: object) -> None:
        super().__init__()
        self.embedding = nn.Embedding(alphabet, WIDTH)
        self.position = nn.Parameter(0.1 * torch.randn(length, WIDTH))
        self.before_attention = nn.LayerNorm(WIDTH)
        self.attention = BoltzmannAttention(WIDTH, 1, length, **attention)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH)
        )
        self.logits = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, alphabet))

    def forward(self, windows: Tensor) -> Tensor:
        """Logits (batch, alphabet) for windows (batch, length) of character codes."""
        x = self.embedding(windows) + self.position  # (batch, length, width)
        normed = self.before_attention(x)
        attended, _ = self.attention(normed[:, -1:], normed, need_weights=False)
        last = x[:, -1:] + attended  # (batch, 1, width)
        last = last + self.feed_forward(last)
        return self.logits(last[:, 0])


def train(
    text: str,
    *,
    sampler: str = "exact",
    reads: int | None = None,
    gradient: str = "auto",
    mode: str = "h+J",
    length: int = 8,
    steps: int = 200,
    batch: int | None = None,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> list[float]:
    """Train on random windows of a text.

    Args:
        text: longer than `length` characters.
        sampler: a name from `isingsample.list_samplers()`.
        reads: samples of each problem; the sampler's default if None.
        gradient: an estimator of `attention_bridge.gradients`.
        mode: "h+J", "h", "J" or "softmax".
        length: characters in a window, the number of spins.
        steps: optimiser steps.
        batch: windows in each step; by default 64, or fewer where a problem is dear.
        seed: of parameters, windows and samples.
        report: takes a line of progress every 20 steps.

    Returns:
        The cross-entropy of each step, in nats per character.

    Raises:
        ValueError: the text is too short, or an option is impossible.
    """
    if len(text) <= length:
        raise ValueError(f"the text has {len(text)} characters; a window needs {length} and one")
    torch.manual_seed(seed)
    batch = batch or BATCH.get(sampler, DEFAULT_BATCH)
    alphabet = sorted(set(text))
    code = {character: number for number, character in enumerate(alphabet)}
    codes = torch.tensor([code[character] for character in text])
    options = {} if reads is None else {"num_reads": reads}
    with get_sampler(sampler, **options) as chosen:
        model = NextCharacter(len(alphabet), length, sampler=chosen, gradient=gradient, mode=mode)
        optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
        losses: list[float] = []
        for step in range(1, steps + 1):
            starts = torch.randint(len(text) - length, (batch,))
            rows = codes[starts[:, None] + torch.arange(length + 1)]  # (batch, length + 1)
            loss = nn.functional.cross_entropy(model(rows[:, :-1]), rows[:, -1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if step % REPORT_EVERY == 0:
                report(f"step {step:4d}  loss {mean(losses[-REPORT_EVERY:]):.3f}")
    return losses


def mean(losses: list[float]) -> float:
    """The mean of some losses."""
    return sum(losses) / len(losses)


def main(arguments: list[str] | None = None) -> None:
    """Read the options, train, and say how far the loss fell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sampler", default="exact", help=", ".join(list_samplers()))
    parser.add_argument("--reads", type=int, help="samples of each problem")
    parser.add_argument("--gradient", default="auto", help="auto, exact, correlation, ...")
    parser.add_argument("--mode", default="h+J", help="h+J, h, J or softmax")
    parser.add_argument("--length", type=int, default=8, help="characters in a window")
    parser.add_argument("--steps", type=int, default=200, help="optimiser steps")
    parser.add_argument("--batch", type=int, help="windows in each step")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--text", type=Path, help="a text file (default: Tiny Shakespeare)")
    options = vars(parser.parse_args(arguments))
    if min(options["steps"], options["length"]) < 1:
        parser.error("--steps and --length must be at least 1")
    try:
        text = load_text(options.pop("text"))
        losses = train(text, **options)
    except (IsingSampleError, ValueError, TypeError, OSError) as error:
        parser.error(str(error))
    window = min(REPORT_EVERY, -(-len(losses) // 2))
    first, last = losses[:window], losses[-window:]
    print(f"loss: first {mean(first):.3f} last {mean(last):.3f}")


if __name__ == "__main__":
    main()
