"""Where the command line prints. Imports rich, from the `cli` extra."""

import codecs
import sys
from typing import TextIO

import typer
from rich.console import Console

# Wide enough for the tables where the output is a file or a pipe, whose width nobody knows.
out = Console(width=None if sys.stdout.isatty() else 150, markup=False, highlight=False)
err = Console(stderr=True, markup=False, highlight=False)

_SPELLED_OUT = {"β": "beta", "Δ": "d", "–": "-", "µ": "u", "∞": "inf"}
_MISUSE = 2


def spell_out(*streams: TextIO) -> None:
    """Let streams write what their encoding lacks: 'beta' for its sign, '?' for the unknown.

    Windows consoles and pipes are often in code pages without Greek letters.
    """
    codecs.register_error("isingsample.spell_out", _spelled_out)
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="isingsample.spell_out")


def _spelled_out(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_SPELLED_OUT.get(letter, "?") for letter in missing), error.end


def help_without_command(context: typer.Context) -> None:
    """Print the help of a group that was called without a command, and end as for misuse."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(_MISUSE)
