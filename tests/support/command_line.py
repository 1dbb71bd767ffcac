"""The command line, run in this process as the console script runs it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from isingsample.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a finished command left behind."""

    returncode: int
    stdout: str
    stderr: str


def runner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """A function that runs a command: its arguments, and environment variables by keyword."""

    def run(*arguments: str, **environment: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["isingsample", *arguments])
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as finished:
            main()
        printed = capsys.readouterr()
        return Done(int(finished.value.code or 0), printed.out, printed.err)

    return run
