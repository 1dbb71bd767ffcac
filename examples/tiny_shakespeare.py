"""Next characters of a text: Boltzmann attention beside softmax, by length.

Repeats the text experiment of Kim & Park 2026 (arXiv 2606.12478): a single-layer, single-head
decoder of width 64 predicts a character from the T before it. All kinds of attention and all seeds
of one length train at once, with equal initial weights and data; perplexity is measured on random
held-out blocks and on the text's last tenth.

    python examples/tiny_shakespeare.py --quick
    python examples/tiny_shakespeare.py --lengths 4,8,12,16 --out study/text
    python examples/tiny_shakespeare.py --text ptb.txt --modes softmax,h+J --out study/ptb
    python examples/tiny_shakespeare.py --lengths 4,6,8 --modes softmax,h+J --batch 32 \
        --sampler exact,dqa,dqa-raw --out study/dqa

A run that was stopped goes on when started again with the same options.
"""

from pathlib import Path
from typing import Annotated

import typer

from boltzmann_study import options
from boltzmann_study.modes import arms
from boltzmann_study.statistics import PERPLEXITY
from boltzmann_study.study import perform
from boltzmann_study.text import NextCharacter
from boltzmann_study.training import Protocol, Run
from isingsample._core import checks as check

POSITIONS = ("last", "all")


def main(
    text: Annotated[
        Path | None, typer.Option(help="A text file in UTF-8 (default: Tiny Shakespeare).")
    ] = None,
    lengths: options.LengthsOption = None,
    modes: options.ModesOption = "all",
    sampler: options.SamplerOption = "exact",
    seeds: options.SeedsOption = None,
    steps: options.StepsOption = None,
    batch: options.BatchOption = None,
    rate: options.RateOption = 8e-3,
    positions: Annotated[
        str, typer.Option(help="Which positions predict: 'last', or 'all' with a causal mask.")
    ] = "last",
    normalize: options.NormalizeOption = True,
    reads: options.ReadsOption = 100,
    judged: options.JudgedOption = None,
    threads: options.ThreadsOption = 1,
    out: options.OutOption = None,
    restart: options.RestartOption = False,
    quick: options.QuickOption = False,
) -> None:
    """Train all kinds of attention on a text and compare their perplexities."""
    options.use_threads(threads)
    check.check_choice("positions", positions, POSITIONS)
    corpus = options.corpus(text, quick)
    compared = arms(options.words(modes), options.words(sampler), reads)
    protocol = Protocol(
        steps=options.chosen(steps, quick, 60, 8000),
        batch=options.chosen(batch, quick, 32, 256),
        rate=rate,
        normalize=normalize,
    )
    runs = []
    for length in options.numbers(options.chosen(lengths, quick, "4,8", "4,8,12,16")):
        task = NextCharacter(
            corpus.text,
            length,
            last_only=positions == "last",
            judged=options.chosen(judged, quick, 500, 20_000),
        )
        members = options.chosen(seeds, quick, 2, options.seeds_at(length, None))
        runs.append(Run(f"T{length:02}", task, compared, members, ffn=True, protocol=protocol))
    out = options.chosen(out, quick, Path("study/text-quick"), Path("study/text"))
    console = options.console()
    console.print(f"{corpus.source}: {len(corpus.text)} characters")
    perform(runs, out, PERPLEXITY, console, command=options.command_line(), restart=restart)


if __name__ == "__main__":
    options.run(main)
