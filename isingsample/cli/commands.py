"""The commands of the command line. Imports typer and rich, from the `cli` extra."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from isingsample import __version__
from isingsample._core.progress import progress
from isingsample.cli.console import err as _err
from isingsample.cli.console import help_without_command
from isingsample.cli.console import out as _out
from isingsample.cli.dwave import dwave_app
from isingsample.cli.interrupts import carry_interrupts
from isingsample.cli.options import BetaOption, JsonOption, SeedOption
from isingsample.cli.solve import solve
from isingsample.comparison.attention_problems import attention_problem
from isingsample.comparison.compare import Row, compare
from isingsample.comparison.contenders import contenders
from isingsample.comparison.figure import figure_file, save_comparison
from isingsample.comparison.table import comparison_records, comparison_tables, failures
from isingsample.comparison.text import PROSE, find_corpus
from isingsample.samplers.registry import list_samplers

app = typer.Typer(
    help="Batches of small Ising problems, from any sampler.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # its tracebacks would show a token among the local variables
)
app.add_typer(dwave_app, name="dwave")
app.command()(solve)

_NOTHING_WORKED = 1


def _version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Batches of small Ising problems, from any sampler."""
    help_without_command(context)


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
    as_json: JsonOption = False,
) -> int:
    """Compare samplers with the exact solution, on the problems of an attention layer."""
    names = None if samplers is None else [name.strip() for name in samplers.split(",")]
    chosen = contenders(reads, names, seed=seed)
    figure = figure_file("--out", out)
    corpus = find_corpus(text)
    if corpus.source == PROSE:
        _err.print(
            f"isingsample: note: Tiny Shakespeare is neither in ISINGSAMPLE_DATA nor can it be "
            f"downloaded: the problems are made from {PROSE}, {len(corpus.text)} characters",
            soft_wrap=True,
        )
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
        for table in comparison_tables(rows, title, _out.width):
            _out.print(table)
        for line in failures(rows):
            _out.print(line, style="dim", soft_wrap=True)
    save_comparison(rows, figure, title)
    if not as_json:
        _out.print(f"Figure: {figure}", soft_wrap=True)
    return _NOTHING_WORKED if len(failures(rows)) == len(rows) else 0


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


carry_interrupts(app)
