"""All runs of a study: what they will cost, the runs, and their results as files."""

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from boltzmann_study import plots
from boltzmann_study.judging import Record
from boltzmann_study.report import parts, report, write_couplings, write_records
from boltzmann_study.statistics import Metric
from boltzmann_study.training import Outcome, Run, Trainer, train

# Judging a question, in units of training on it: the backward pass is not needed.
_JUDGING_SHARE = 0.4


def perform(
    runs: Sequence[Run],
    out: Path,
    metric: Metric,
    console: Console,
    *,
    command: str,
    breakdown: Sequence[str] = (),
    restart: bool = False,
) -> list[Record]:
    """Do all runs, or what is left of them, and write their results.

    Args:
        runs: in this order.
        out: folder of checkpoints and results.
        metric: what tables and figures show.
        console: for progress and tables.
        command: that repeats the study, for the report.
        breakdown: labels for a figure of their own.
        restart: forget the checkpoints.

    Returns:
        All records.

    Raises:
        ValueError: a checkpoint in the folder belongs to another run.
    """
    out.mkdir(parents=True, exist_ok=True)
    paths = {run.name: out / f"{run.name}.pt" for run in runs}
    if restart:
        for path in paths.values():
            path.unlink(missing_ok=True)
    with _each_kind_once(console):
        console.print(_cost_table(runs, paths))
        outcomes = [(run.name, _watched(run, paths[run.name], console)) for run in runs]
    records = [record for _, outcome in outcomes for record in outcome.records]
    write_records(records, out / "results.csv")
    write_couplings(outcomes, out / "couplings.csv")
    text = report(records, metric, command)
    (out / "results.md").write_text(text, encoding="utf-8")
    part = parts(records)[0]
    plots.save_lengths(records, metric, part, out / "lengths.png")
    plots.save_curves(records, metric, part, out / "training.png")
    plots.save_couplings(outcomes, "h+J", out / "couplings.png")
    if breakdown:
        plots.save_breakdown(records, metric, part, breakdown, out / "breakdown.png")
    console.print(text, soft_wrap=True)
    console.print(f"results.csv, couplings.csv, results.md and figures are in {out}")
    return records


def _cost_table(runs: Sequence[Run], paths: dict[str, Path]) -> Table:
    """What is to be done, from one timed step of each run."""
    table = Table(
        "run", "members", "steps left", "s per step", "minutes", title="What it will cost"
    )
    total = 0.0
    for run in runs:
        trainer = Trainer(run)
        trainer.load(paths[run.name])
        left = run.protocol.steps - trainer.done
        seconds = 0.0
        if left:
            probe = Trainer(run)
            probe.step()  # the first one compiles kernels and warms caches
            started = time.perf_counter()
            probe.step()
            seconds = time.perf_counter() - started
        questions = sum(map(len, run.task.held_out().values()))
        judging = _JUDGING_SHARE * questions / run.protocol.batch if left else 0.0
        minutes = seconds * (left + judging) / 60
        total += minutes
        members = str(len(run.arms) * run.seeds)
        table.add_row(run.name, members, str(left), f"{seconds:.3f}", f"{minutes:.1f}")
    table.add_row("all", "", "", "", f"{total:.1f}")
    return table


@contextmanager
def _each_kind_once(console: Console) -> Iterator[None]:
    """One line for each kind of warning: those of samplers have numbers that change each step."""
    seen: set[type[Warning]] = set()

    def show(message: Warning | str, category: type[Warning], *_: object) -> None:
        if category not in seen:
            seen.add(category)
            console.print(f"{category.__name__}, told once: {message}", soft_wrap=True)

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _watched(run: Run, path: Path, console: Console) -> Outcome:
    """Train a run with a progress bar, and without one, a line now and then."""
    steps = run.protocol.steps
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(run.name, total=steps)

        def watch(done: int, losses: torch.Tensor) -> None:
            progress.update(task, completed=done)
            if done % max(1, steps // 10) == 0:
                console.print(f"{run.name}: step {done} of {steps}, mean loss {losses.mean():.4f}")

        return train(run, path, watch)
