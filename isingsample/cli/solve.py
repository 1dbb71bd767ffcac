"""The command `isingsample solve`. Imports typer and rich, from the `cli` extra."""

import ast
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from isingsample._core.result import SampleResult
from isingsample.cli.console import out
from isingsample.cli.options import BetaOption, JsonOption, SeedOption
from isingsample.formats import Model, Stream, load_model
from isingsample.samplers.base import Minimizer, Sampler
from isingsample.samplers.registry import get_sampler, suitable_sampler

_AUTO = "auto"


def solve(
    file: Annotated[
        Path, typer.Argument(help="BQM .json, .qubo or an edge list 'i j value'; - reads stdin.")
    ],
    sampler: Annotated[
        str, typer.Option(help="A name from `isingsample samplers`; auto: one that suits the size.")
    ] = _AUTO,
    option: Annotated[
        list[str] | None, typer.Option(help="name=value, an option of the sampler; repeatable.")
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="bqm, qubo or edges; by default by the file's suffix.")
    ] = None,
    beta: BetaOption = 1.0,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Solve the problem in a file: lowest energy, its state, and averages at beta.

    Variables have the values of the file: 0 and 1 for a QUBO, -1 and +1 for spins.
    """
    standard_input = str(file) == "-"
    source = Stream("standard input", sys.stdin.buffer.read()) if standard_input else file
    model = load_model(source, format)
    name = suitable_sampler(model.problem) if sampler == _AUTO else sampler
    with get_sampler(name, **dict(map(_option, option or []))) as chosen:
        result = chosen.sample(model.problem, beta=beta, seed=seed)
        answer = _Answer(model, result, *_lowest(chosen, result, seed))
    if as_json:
        print(json.dumps({"file": str(source), "sampler": name, **answer.record()}, indent=2))
        return
    out.print(answer.table())
    why = f", chosen for {model.problem.num_spins} variables" if sampler == _AUTO else ""
    out.print(f"sampler: {name}{why}")
    for line in answer.lines():
        out.print(line)


@dataclass(frozen=True)
class _Answer:
    """What was found, in the values of the file.

    Attributes:
        model: the problem, and whether its variables are spins or bits.
        result: of the sampler.
        state: the lowest state found, -1 and +1; None where none was looked for.
        energy: of that state.
    """

    model: Model
    result: SampleResult
    state: list[int] | None
    energy: float | None

    @cached_property
    def binary(self) -> bool:
        """Whether variables are 0 and 1."""
        return self.model.vartype == "BINARY"

    @cached_property
    def labels(self) -> list[str]:
        """The names of the variables."""
        return [str(label) for label in self.model.problem.labels]

    @cached_property
    def averages(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of each variable and its standard error."""
        if self.binary:
            return self.result.probability, self.result.std_error / 2
        return self.result.magnetization, self.result.std_error

    @cached_property
    def values(self) -> list[int] | None:
        """The lowest state found."""
        if self.state is None or not self.binary:
            return self.state
        return [(spin + 1) // 2 for spin in self.state]

    def record(self) -> dict[str, Any]:
        """The answer as JSON takes it; None where a number is not known."""
        mean, error = self.averages
        return {
            "beta": self.result.beta,
            "thermal": self.result.thermal,
            "vartype": self.model.vartype,
            "energy": self.energy,
            "state": None if self.values is None else self._named(self.values),
            "probability" if self.binary else "magnetization": self._named(mean),
            "std_error": self._named(error),
            "log_partition": self._log_partition,
        }

    def _named(self, numbers: Sequence[float] | np.ndarray) -> dict[str, float | None]:
        known = [None if np.isnan(number) else number for number in np.asarray(numbers).tolist()]
        return dict(zip(self.labels, known, strict=True))

    @property
    def _log_partition(self) -> float | None:
        found = self.result.log_partition
        return None if found is None else float(found)

    def table(self) -> Table:
        """A row for each variable."""
        table = Table()
        kind, mean = ("variable", "P(x = 1)") if self.binary else ("spin", "magnetization")
        for heading in (kind, "state", mean, "std. error"):
            table.add_column(heading, justify="right")
        style = "{:d}" if self.binary else "{:+d}"
        for place, (label, m, error) in enumerate(zip(self.labels, *self.averages, strict=True)):
            value = "–" if self.values is None else style.format(self.values[place])
            number = f"{m:.6f}" if self.binary else f"{m:+.6f}"
            table.add_row(Text(label), value, number, "–" if np.isnan(error) else f"{error:.2g}")
        return table

    def lines(self) -> list[str]:
        """What is said below the table."""
        energy = "–" if self.energy is None else f"{self.energy:.10g}"
        said = [f"energy of the state: {energy}"]
        if self._log_partition is not None:
            said.append(f"ln Z at β = {self.result.beta:g}: {self._log_partition:.10g}")
        if not self.result.thermal:
            said.append("Not thermal: averages carry a bias of unknown size.")
        return said


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

    A remote sampler is not asked twice, since its reads have been paid for, nor an optimiser, whose
    reads are low already.
    """
    optimises = result.samples is not None and not result.thermal
    if isinstance(sampler, Minimizer) and not (sampler.is_remote or optimises):
        state, energy = sampler.minimize(result.problem, seed=seed)
        return state.tolist(), float(energy)
    if result.samples is None or result.energy is None or np.isnan(result.energy).all():
        return None, None
    best = int(np.nanargmin(result.energy))
    return result.samples[best].tolist(), float(result.energy[best])
