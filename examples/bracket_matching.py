"""Which bracket does this one close? Boltzmann attention beside softmax, by length.

Repeats the bracket experiment of Kim & Park 2026 (arXiv 2606.12478): in Dyck-1 words with random
fillers, of T letters, each closing bracket points to its opening one. All kinds of attention and
all seeds of one length train at once, with equal initial weights and data, with and without a
feed-forward network; accuracy is over closing brackets of held-out words, by depth and distance.

    python examples/bracket_matching.py --quick
    python examples/bracket_matching.py --lengths 4,8,12,16 --out study/brackets
    python examples/bracket_matching.py --lengths 4,6,8 --modes softmax,h+J --batch 32 \
        --sampler exact,dqa,dqa-raw --ffn --out study/brackets-dqa

A run that was stopped goes on when started again with the same options.
"""

from pathlib import Path
from typing import Annotated

import typer

from boltzmann_study import options
from boltzmann_study.brackets import BracketMatching
from boltzmann_study.modes import arms
from boltzmann_study.statistics import ACCURACY
from boltzmann_study.study import perform
from boltzmann_study.training import Protocol, Run


def main(
    lengths: options.LengthsOption = None,
    ffn: Annotated[
        bool | None, typer.Option(help="With the feed-forward network, or without; default both.")
    ] = None,
    modes: options.ModesOption = "all",
    sampler: options.SamplerOption = "exact",
    seeds: options.SeedsOption = None,
    steps: options.StepsOption = None,
    batch: options.BatchOption = None,
    rate: options.RateOption = 3e-3,
    causal: Annotated[
        bool, typer.Option(help="A bracket sees what is before it, or the whole word.")
    ] = False,
    normalize: options.NormalizeOption = True,
    reads: options.ReadsOption = 100,
    judged: options.JudgedOption = None,
    threads: options.ThreadsOption = 1,
    out: options.OutOption = None,
    restart: options.RestartOption = False,
    quick: options.QuickOption = False,
) -> None:
    """Train all kinds of attention on bracket words and compare their accuracies."""
    options.use_threads(threads)
    compared = arms(options.words(modes), options.words(sampler), reads)
    protocol = Protocol(
        steps=options.chosen(steps, quick, 60, 4000),
        batch=options.chosen(batch, quick, 32, 256),
        rate=rate,
        normalize=normalize,
    )
    runs = []
    for length in options.numbers(options.chosen(lengths, quick, "4,8", "4,8,12,16")):
        task = BracketMatching(
            length, causal=causal, judged=options.chosen(judged, quick, 200, 4000)
        )
        members = options.chosen(seeds, quick, 2, options.seeds_at(length, None))
        for network in [True, False] if ffn is None else [ffn]:
            name = f"T{length:02}" + ("" if network else "-no-ffn")
            runs.append(Run(name, task, compared, members, ffn=network, protocol=protocol))
    perform(
        runs,
        options.chosen(out, quick, Path("study/brackets-quick"), Path("study/brackets")),
        ACCURACY,
        options.console(),
        command=options.command_line(),
        breakdown=("depth", "distance"),
        restart=restart,
    )


if __name__ == "__main__":
    options.run(main)
