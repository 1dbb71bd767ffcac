"""Options that several commands have. Imports typer, from the `cli` extra."""

from typing import Annotated

import typer

BetaOption = Annotated[float, typer.Option(min=0.0, help="Inverse temperature.")]
SeedOption = Annotated[int, typer.Option(help="Seed: equal seeds give equal results.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
