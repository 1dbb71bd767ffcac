"""Couplings alone: J learned by backpropagation, and without it.

In Kim & Park 2026 (arXiv 2606.12478) attention by couplings alone (h = 0) learns J by matching
correlations, without backpropagation through attention. Taken literally, h = 0 gives equal weights
whatever J is: flipping all spins leaves the energy as it is, so every <s> is 0 (mode "J" here). To
let J matter, the asking position's own spin is held at +1 (mode "J+self"): the weight of a key is
then (1 + <s_key s_own>) / 2, a correlation. Its J is learned in three ways, all else by Adam and
backpropagation as ever:

exact     the gradient of the loss, through the sampler
nudged    the same gradient from two phases of sampling, h + eps g and h - eps g
matched   <s s>_data - <s s>_model, where data spins are up at the asking position and where the
          answer is (brackets: its position; text: the same character)

    python examples/j_only.py --quick
    python examples/j_only.py --length 8 --out study/j-only
    python examples/j_only.py --task text --sampler exact,gibbs-nudged,gibbs-matched
"""

from pathlib import Path
from typing import Annotated

import typer

from boltzmann_study import options
from boltzmann_study.brackets import BracketMatching
from boltzmann_study.modes import arms
from boltzmann_study.statistics import ACCURACY, PERPLEXITY
from boltzmann_study.study import perform
from boltzmann_study.task import Task
from boltzmann_study.text import NextCharacter
from boltzmann_study.training import Protocol, Run
from isingsample._core import checks as check

TASKS = {"brackets": ACCURACY, "text": PERPLEXITY}


def main(
    task: Annotated[str, typer.Option(help="'brackets' or 'text'.")] = "brackets",
    length: Annotated[int, typer.Option(min=2, help="Length T.")] = 8,
    modes: options.ModesOption = "softmax,J,J+self",
    sampler: options.SamplerOption = "exact,nudged,matched",
    seeds: options.SeedsOption = None,
    steps: options.StepsOption = None,
    batch: options.BatchOption = None,
    rate: options.RateOption = 3e-3,
    ffn: Annotated[bool, typer.Option(help="With the feed-forward network.")] = False,
    reads: options.ReadsOption = 100,
    judged: options.JudgedOption = None,
    threads: options.ThreadsOption = 1,
    out: options.OutOption = None,
    restart: options.RestartOption = False,
    quick: options.QuickOption = False,
) -> None:
    """Learn J by backpropagation and by two kinds of correlation matching, and compare."""
    options.use_threads(threads)
    metric = TASKS[check.check_choice("task", task, TASKS)]
    questions = options.chosen(judged, quick, 500, 4000)
    learned: Task
    if task == "brackets":
        learned = BracketMatching(length, judged=questions)
    else:
        learned = NextCharacter(options.corpus(None, quick).text, length, judged=questions)
    run = Run(
        f"T{length:02}",
        learned,
        arms(options.words(modes), options.words(sampler), reads),
        options.chosen(seeds, quick, 2, options.seeds_at(length, None)),
        ffn,
        Protocol(
            steps=options.chosen(steps, quick, 100, 2000),
            batch=options.chosen(batch, quick, 32, 256),
            rate=rate,
        ),
    )
    perform(
        [run],
        options.chosen(out, quick, Path("study/j-only-quick"), Path(f"study/j-only-{task}")),
        metric,
        options.console(),
        command=options.command_line(),
        restart=restart,
    )


if __name__ == "__main__":
    options.run(main)
