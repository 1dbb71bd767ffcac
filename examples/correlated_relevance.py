"""What couplings are good for: keys whose relevance is correlated.

Which keys are relevant is drawn from an Ising prior; each key shows noisy evidence of its own
relevance; the answer is the mean value of the relevant keys. Then Boltzmann attention can be the
exact Bayesian posterior, and weights that look at each key alone cannot. The study trains both, and
models that mix keys before a softmax, with paired seeds, and says how far above the Bayes error
each is.

    python examples/correlated_relevance.py --quick           a minute
    python examples/correlated_relevance.py                   under an hour on two cores

Results are appended to results.csv as they come: an interrupted run goes on where it was.
"""

from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.progress import Progress

from boltzmann_study import options
from isingsample._core import checks as check
from relevance_study.models import MODELS
from relevance_study.priors import priors
from relevance_study.report import Result, append, load, save_figure, table
from relevance_study.training import Protocol, train

_DEFAULT_PRIORS = "none,chain,pairs,exclusion,blocks,half"
_DEFAULT_MODES = "softmax,softmax+bias,h+bias,h+J,conv,mixed1,mixed2"


def main(
    prior: Annotated[
        str, typer.Option(help=f"Some of {', '.join(priors(4))}, separated by commas.")
    ] = _DEFAULT_PRIORS,
    modes: Annotated[
        str, typer.Option(help=f"Some of {', '.join(MODELS)}, separated by commas.")
    ] = _DEFAULT_MODES,
    length: Annotated[int, typer.Option(min=4, max=14, help="Keys, T.")] = 10,
    noise: Annotated[float, typer.Option(min=0.05, help="Of the evidence.")] = 1.0,
    seeds: options.SeedsOption = None,
    steps: options.StepsOption = None,
    batch: options.BatchOption = None,
    judged: options.JudgedOption = None,
    threads: options.ThreadsOption = 1,
    out: options.OutOption = None,
    restart: options.RestartOption = False,
    quick: options.QuickOption = False,
) -> None:
    """Train models on problems with correlated relevance, and measure their gap to Bayes."""
    options.use_threads(threads)
    known = priors(length)
    names = [check.check_choice("prior", name, known) for name in options.words(prior)]
    wanted = [check.check_choice("modes", name, MODELS) for name in options.words(modes)]
    protocol = Protocol(
        options.chosen(steps, quick, 60, 1500),
        options.chosen(batch, quick, 64, 256),
        options.chosen(judged, quick, 2000, 20000),
        options.chosen(seeds, quick, 2, 8),
    )
    folder = options.chosen(out, quick, Path("study/relevance-quick"), Path("study/relevance"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.csv"
    if restart:
        path.unlink(missing_ok=True)
    console = options.console()
    with Progress(console=console, transient=True) as bars:
        for name in names:
            for mode in wanted:
                if _is_done(load(path), name, noise, length, mode, protocol):
                    continue
                task = bars.add_task(f"{name}, {mode}", total=protocol.steps)
                found = train(
                    known[name], noise, mode, protocol,
                    lambda done, task=task: bars.update(task, completed=done),
                )  # fmt: skip
                bars.remove_task(task)
                append(
                    [
                        Result(
                            name, noise, length, mode, seed, protocol.steps, protocol.batch,
                            found.parameters, error, found.bayes,
                        )
                        for seed, error in enumerate(found.errors)
                    ],
                    path,
                )  # fmt: skip
                if found.J is not None:
                    torch.save(found.J, folder / f"J-{name}-{mode}-T{length}.pt")
    rows = [r for r in load(path) if (r.noise, r.length) == (noise, length) and r.prior in names]
    text = table(rows)
    (folder / "results.md").write_text(text, encoding="utf-8")
    save_figure(rows, folder / "gaps.png")
    console.print(text, soft_wrap=True)
    console.print(f"results.csv, results.md and gaps.png are in {folder}")


def _is_done(
    rows: list[Result], name: str, noise: float, length: int, mode: str, protocol: Protocol
) -> bool:
    """Whether a file has all seeds of a model already, trained in the same way."""
    key = (name, noise, length, mode, protocol.steps, protocol.batch)
    same = [
        r.seed for r in rows
        if (r.prior, r.noise, r.length, r.mode, r.steps, r.batch) == key
    ]  # fmt: skip
    return set(range(protocol.seeds)) <= set(same)


if __name__ == "__main__":
    options.run(main)
