"""The commands of the command line. Imports typer and rich, from the `cli` extra."""

import ast
import json
from collections.abc import Hashable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from isingsample import __version__
from isingsample._core.progress import progress
from isingsample._core.result import SampleResult
from isingsample.cli.console import err as _err
from isingsample.cli.console import out as _out
from isingsample.cli.dwave import dwave_app
from isingsample.cli.interrupts import carry_interrupts
from isingsample.comparison.attention_problems import attention_problem
from isingsample.comparison.compare import Row, compare
from isingsample.comparison.contenders import contenders
from isingsample.comparison.figure import save_comparison
from isingsample.comparison.table import comparison_records, comparison_table, failures
from isingsample.comparison.text import find_corpus
from isingsample.formats import load_problem
from isingsample.samplers.base import Minimizer, Sampler
from isingsample.samplers.registry import get_sampler, list_samplers

app = typer.Typer(
    help="Batches of small Ising problems, from any sampler.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # its tracebacks would show a token among the local variables
)
app.add_typer(dwave_app, name="dwave")

BetaOption = Annotated[float, typer.Option(min=0.0, help="Inverse temperature.")]
SeedOption = Annotated[int, typer.Option(help="Seed: equal seeds give equal results.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Batches of small Ising problems, from any sampler."""


@app.command("compare")
def compare_command(
    text: Annotated[Path | None, typer.Option(help="Text to make problems from.")] = None,
    length: Annotated[int, typer.Option(min=1, max=16, help="Spins of each problem.")] = 10,
    windows: Annotated[
        int, typer.Option(min=1, help="Windows of text; each is LENGTH queries.")
    ] = 8,
    reads: Annotated[int, typer.Option(min=1, help="Reads of each problem.")] = 1000,
    samplers: Annotated[
        str | None, typer.Option(help="Rows to show, separated by commas (default: all).")
    ] = None,
    beta: BetaOption = 1.0,
    seed: SeedOption = 0,
    out: Annotated[Path, typer.Option(help="The figure to write.")] = Path("compare.png"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare samplers with the exact solution, on the problems of an attention layer."""
    names = None if samplers is None else [name.strip() for name in samplers.split(",")]
    chosen = contenders(reads, names, seed=seed)
    if out.is_dir() or not out.parent.is_dir():
        raise ValueError(f"--out {out} is not a file in an existing folder")
    corpus = find_corpus(text)
    problem = attention_problem(corpus.text, length=length, windows=windows, seed=seed)
    title = (
        f"{windows * length} queries of {length} spins from {corpus.source}, "
        f"β = {beta:g}, {reads} reads"
    )
    rows: list[Row] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with progress(False), Progress(*columns, console=_err, transient=True) as bar:
        labels = list(chosen)
        task = bar.add_task(labels[0], total=len(labels))
        for row in compare(problem, chosen, beta=beta, seed=seed):
            rows.append(row)
            following = labels[len(rows)] if len(rows) < len(labels) else "done"
            bar.update(task, advance=1, description=following)
    if as_json:
        print(json.dumps({"title": title, "rows": comparison_records(rows)}, indent=2))
    else:
        _out.print(comparison_table(rows, title))
        for line in failures(rows):
            _out.print(line, style="dim", soft_wrap=True)
    save_comparison(rows, out, title)
    if not as_json:
        _out.print(f"Figure: {out}")


@app.command()
def solve(
    file: Annotated[Path, typer.Argument(help="BQM .json, .qubo or an edge list 'i j value'.")],
    sampler: Annotated[str, typer.Option(help="A name from `isingsample samplers`.")] = "exact",
    option: Annotated[
        list[str] | None, typer.Option(help="name=value, an option of the sampler; repeatable.")
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="bqm, qubo or edges; by default by the file's suffix.")
    ] = None,
    beta: BetaOption = 1.0,
    seed: SeedOption = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Solve the problem in a file: lowest energy, its state, and magnetizations at beta."""
    problem = load_problem(file, format)
    with get_sampler(sampler, **dict(map(_option, option or []))) as chosen:
        result = chosen.sample(problem, beta=beta, seed=seed)
        state, energy = _lowest(chosen, result, seed)
    labels = [str(label) for label in problem.labels]
    log_partition = None if result.log_partition is None else float(result.log_partition)
    if as_json:
        found = {
            "file": str(file),
            "sampler": sampler,
            "beta": beta,
            "thermal": result.thermal,
            "energy": energy,
            "state": None if state is None else dict(zip(labels, state, strict=True)),
            "magnetization": dict(zip(labels, result.magnetization.tolist(), strict=True)),
            "std_error": dict(
                zip(labels, [_or_none(e) for e in result.std_error.tolist()], strict=True)
            ),
            "log_partition": log_partition,
        }
        print(json.dumps(found, indent=2))
        return
    _out.print(_solution_table(labels, state, result.magnetization, result.std_error))
    _out.print(f"energy of the state: {'–' if energy is None else f'{energy:.10g}'}")
    if log_partition is not None:
        _out.print(f"ln Z at β = {beta:g}: {log_partition:.10g}")
    if not result.thermal:
        _out.print("Not thermal: magnetizations carry a bias of unknown size.")


@app.command("samplers")
def samplers_command() -> None:
    """List the samplers: what each does, what it needs, whether it is available."""
    table = Table()
    for heading in ("name", "what it does", "needs", "available"):
        table.add_column(heading, no_wrap=heading == "available", overflow="fold")
    for name, entry in list_samplers().items():
        available = "yes" if entry.available else f"no: {entry.install}"
        table.add_row(*map(Text, (name, entry.summary, entry.extra or "–", available)))
    _out.print(table)


def _option(text: str) -> tuple[str, Any]:
    """'num_reads=100' as ('num_reads', 100); a value that is no Python literal stays text."""
    name, separator, value = text.partition("=")
    if not separator:
        # Not quoted: somebody may have put a token there.
        raise ValueError("--option takes name=value, and one that was given has no '='")
    if name.strip() == "token":
        raise ValueError(
            "a token does not belong on a command line, which others can read: set the environment "
            "variable DWAVE_API_TOKEN, or write a file with `dwave config create`"
        )
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return name.strip(), value.strip()


def _lowest(
    sampler: Sampler, result: SampleResult, seed: int
) -> tuple[list[int] | None, float | None]:
    """The lowest state that the sampler finds, or the lowest of its reads, with its energy.

    A remote sampler is not asked twice: its reads have been paid for.
    """
    if isinstance(sampler, Minimizer) and not sampler.is_remote:
        state, energy = sampler.minimize(result.problem, seed=seed)
        return state.tolist(), float(energy)
    if result.samples is None or result.energy is None or np.isnan(result.energy).all():
        return None, None
    best = int(np.nanargmin(result.energy))
    return result.samples[best].tolist(), float(result.energy[best])


def _solution_table(
    labels: list[Hashable] | list[str], state: list[int] | None, m: np.ndarray, error: np.ndarray
) -> Table:
    table = Table()
    for heading in ("spin", "state", "magnetization", "std. error"):
        table.add_column(heading, justify="right")
    for place, label in enumerate(labels):
        spin = "–" if state is None else f"{state[place]:+d}"
        spread = "–" if np.isnan(error[place]) else f"{error[place]:.2g}"
        table.add_row(Text(str(label)), spin, f"{m[place]:+.6f}", spread)
    return table


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value


carry_interrupts(app)
