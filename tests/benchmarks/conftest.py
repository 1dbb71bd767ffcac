"""A table of what was compared with what, at the end of `make bench`."""

import os
from collections.abc import Callable

import pytest

_ROWS = pytest.StashKey[list[tuple[str, str, str]]]()


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str, str, str], None]:
    """note(group, what, value) adds a row to the table."""
    rows = request.config.stash.setdefault(_ROWS, [])
    return lambda group, what, value: rows.append((group, what, value))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    rows = config.stash.get(_ROWS, [])
    if not rows:
        return
    kept = "kept" if "MALLOC_TRIM_THRESHOLD_" in os.environ else "returned"
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    terminalreporter.section("ratios")
    terminalreporter.line(f"load {load}; freed memory is {kept}")
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    last = ""
    for group, what, value in rows:
        shown = "" if group == last else group
        terminalreporter.line(f"{shown:{widths[0]}}  {what:{widths[1]}}  {value:>{widths[2]}}")
        last = group
