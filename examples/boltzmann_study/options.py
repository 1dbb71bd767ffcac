"""Options that the studies share, and how their mistakes are told."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import torch
import typer
from rich.console import Console

from boltzmann_study.modes import MODES
from boltzmann_study.samplers import SETTINGS
from isingsample import IsingSampleError
from isingsample.comparison.text import PROSE, Corpus, find_corpus

T = TypeVar("T")

LengthsOption = Annotated[str | None, typer.Option(help="Lengths T, separated by commas.")]
ModesOption = Annotated[
    str, typer.Option(help=f"'all', or some of {', '.join(MODES)}, separated by commas.")
]
SamplerOption = Annotated[
    str, typer.Option(help=f"One or more of {', '.join(SETTINGS)}, separated by commas.")
]
SeedsOption = Annotated[
    int | None, typer.Option(min=1, help="Paired seeds; by default 8 from T = 12 on, else 4.")
]
StepsOption = Annotated[int | None, typer.Option(min=1, help="Optimiser steps.")]
BatchOption = Annotated[int | None, typer.Option(min=1, help="Questions in each step.")]
RateOption = Annotated[float, typer.Option(min=0.0, max=1.0, help="Largest learning rate.")]
ReadsOption = Annotated[int, typer.Option(min=1, help="Reads, for samplers that draw them.")]
JudgedOption = Annotated[int | None, typer.Option(min=1, help="Held-out questions, about.")]
NormalizeOption = Annotated[bool, typer.Option(help="Divide the weights by their sum.")]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Threads of PyTorch.")]
OutOption = Annotated[Path | None, typer.Option(help="Folder for checkpoints and results.")]
QuickOption = Annotated[bool, typer.Option("--quick", help="A small run that shows how it works.")]
RestartOption = Annotated[bool, typer.Option("--restart", help="Forget the folder's checkpoints.")]


def numbers(text: str) -> list[int]:
    """'4,8' as numbers, each of them once.

    Raises:
        ValueError: something else.
    """
    try:
        found = list(dict.fromkeys(int(item) for item in words(text)))
    except ValueError:
        found = []
    if not found:
        raise ValueError(f"{text!r} is not a list of whole numbers such as 4,8,12")
    return found


def words(text: str) -> list[str]:
    """'a, b' as words."""
    return [item.strip() for item in text.split(",") if item.strip()]


def corpus(path: Path | None, quick: bool) -> Corpus:
    """The text to learn, Tiny Shakespeare by default; a quick run takes what there is.

    Raises:
        ValueError: no file is named and Tiny Shakespeare cannot be had.
        OSError: the file cannot be read.
    """
    found = find_corpus(path)
    if found.source == PROSE and not quick:
        raise ValueError(
            "Tiny Shakespeare could not be downloaded; name a text file with --text, or put "
            "tinyshakespeare.txt into a folder and its path into ISINGSAMPLE_DATA"
        )
    return found


def seeds_at(length: int, seeds: int | None) -> int:
    """The number of seeds at a length: as asked for, else enough to decide small differences."""
    return seeds or (8 if length >= 12 else 4)


def chosen(value: T | None, quick: bool, quick_value: T, full_value: T) -> T:
    """An option as given, else by whether the run is a quick one."""
    if value is not None:
        return value
    return quick_value if quick else full_value


def console() -> Console:
    """Wide enough for tables where nobody knows the width of the output."""
    return Console(width=None if sys.stdout.isatty() else 150, markup=False, highlight=False)


def command_line() -> str:
    """The command that was given."""
    script = Path(sys.argv[0]).name
    return shlex.join(["python", f"examples/{script}", *sys.argv[1:]])


def use_threads(threads: int) -> None:
    """Sums come out the same at each run with the same number of threads."""
    torch.set_num_threads(threads)


def run(main: Callable[..., None]) -> None:
    """A function as a command line: bad input is one message and exit code 2."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(main)
    try:
        app()
    except (IsingSampleError, ValueError, TypeError, OSError) as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(2)
