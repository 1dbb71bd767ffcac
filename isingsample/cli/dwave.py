"""The command `isingsample dwave`: what the connection to D-Wave would be, without using it."""

import json
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from isingsample._core.problem import IsingProblem
from isingsample.cli.console import help_without_command, out
from isingsample.samplers.dwave.mock import mock_dwave
from isingsample.samplers.dwave.sampler import DWave
from isingsample.samplers.dwave.service.settings import Setting, qpu_settings

dwave_app = typer.Typer(help="D-Wave annealers.", add_completion=False, rich_markup_mode=None)
# The properties shown, in D-Wave's terms and microseconds.
_SHOWN = (
    "topology",
    "h_range",
    "j_range",
    "extended_j_range",
    "per_qubit_coupling_range",
    "per_group_coupling_range",
    "num_reads_range",
    "annealing_time_range",
    "default_annealing_time",
    "fast_anneal_time_range",
    "problem_run_duration_range",
)


@dwave_app.callback(invoke_without_command=True)
def _dwave(context: typer.Context) -> None:
    """D-Wave annealers."""
    help_without_command(context)


@dwave_app.command()
def check(
    spins: Annotated[int, typer.Option(min=1, help="Spins of each problem, all coupled.")] = 8,
    queries: Annotated[int, typer.Option(min=1, help="Problems of the batch.")] = 1000,
    reads: Annotated[int, typer.Option(min=1, help="Reads of each problem.")] = 1000,
    annealing_time: Annotated[
        float | None, typer.Option(help="Of each read, in microseconds (default: the solver's).")
    ] = None,
    fast_anneal: Annotated[
        bool, typer.Option("--fast-anneal", help="Of nanoseconds: --annealing-time 0.005 is 5.")
    ] = False,
    solver: Annotated[str | None, typer.Option(help="Name of a solver.")] = None,
    profile: Annotated[str | None, typer.Option(help="Of the configuration file.")] = None,
    region: Annotated[str | None, typer.Option(help="Such as na-west-1.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="URL of the service.")] = None,
    config_file: Annotated[str | None, typer.Option(help="A configuration file.")] = None,
    mock: Annotated[bool, typer.Option("--mock", help="A stand-in; no token, no network.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Say what is configured, which solver that gives, and what a batch would cost there.

    Nothing is submitted. The token comes from the environment variable DWAVE_API_TOKEN or a
    configuration file. Exit codes: 3 without a valid token, 4 without an answer of the service.
    """
    named = {
        "solver": solver,
        "profile": profile,
        "region": region,
        "endpoint": endpoint,
        "config_file": config_file,
    }
    found: dict[str, Any] = {}
    if not mock:
        settings = qpu_settings(named)
        found["configuration"] = [vars(setting) for setting in settings]
        if not as_json:
            out.print(_settings_table(settings))
    options: dict[str, Any] = {"child": mock_dwave()} if mock else named
    options |= {"annealing_time": annealing_time, "fast_anneal": fast_anneal}
    with DWave(num_reads=reads, **options) as sampler:
        found["solver"] = _facts(sampler.solver_properties)
        if not as_json:
            out.print(_solver_table(found["solver"]))
        estimate = sampler.estimate(_batch(queries, spins))
        found["estimate"] = vars(estimate) | {"seconds_per_1000": estimate.seconds_per_1000}
        if not as_json:
            out.print(f"A batch like that: {estimate}.", soft_wrap=True)
    if as_json:
        print(json.dumps(found, indent=2))


def _batch(queries: int, spins: int) -> IsingProblem:
    """Problems of a common kind: fields of their own, and couplings between all spins."""
    rng = np.random.default_rng(0)
    J = np.triu(rng.normal(0.0, 0.3, (spins, spins)), 1)
    return IsingProblem(rng.normal(0.0, 0.5, (queries, spins)), J + J.T)


def _facts(properties: dict[str, Any]) -> dict[str, Any]:
    """What of a solver's properties matters here."""
    counts = {name: len(properties.get(name, ())) for name in ("qubits", "couplers")}
    shown = {name: properties[name] for name in _SHOWN if name in properties}
    return {"name": properties["chip_id"], **counts, **shown}


def _settings_table(settings: list[Setting]) -> Table:
    table = _table("configured", "", "from")
    for setting in settings:
        table.add_row(*map(Text, (setting.name, setting.value, setting.source)))
    return table


def _solver_table(facts: dict[str, Any]) -> Table:
    table = _table("solver", "times in microseconds")
    for name, value in facts.items():
        table.add_row(Text(name), Text(_brief(value)))
    return table


def _table(*headings: str) -> Table:
    table = Table()
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _brief(value: Any) -> str:
    if isinstance(value, dict):  # of the topology
        return f"{value.get('type')} {value.get('shape')}"
    if isinstance(value, (list, tuple)):
        return f"{value[0]:g} to {value[1]:g}"
    return str(value)
