"""Where the command line prints. Imports rich, from the `cli` extra."""

import sys

from rich.console import Console

# Wide enough for the tables where the output is a file or a pipe, whose width nobody knows.
out = Console(width=None if sys.stdout.isatty() else 150, markup=False, highlight=False)
err = Console(stderr=True)
