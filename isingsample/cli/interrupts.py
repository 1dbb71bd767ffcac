"""Ctrl-C on its way through typer, which would make a plain exit code of it.

An interrupt may carry a job that has been paid for. So it leaves a command as an exception that
typer does not know and hands on.
"""

import functools
from collections.abc import Callable
from typing import Any


class Interrupted(Exception):  # noqa: N818  (an interrupt is no error)
    """A KeyboardInterrupt inside a command.

    Attributes:
        interrupt: the interrupt itself.
    """

    def __init__(self, interrupt: KeyboardInterrupt) -> None:
        super().__init__("interrupted")
        self.interrupt = interrupt


def carry_interrupts(app: Any) -> None:
    """Let all commands of a typer app, and of the groups in it, end with Interrupted on Ctrl-C."""
    for command in app.registered_commands:
        command.callback = _carrying(command.callback)
    for group in app.registered_groups:
        carry_interrupts(group.typer_instance)


def _carrying(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def carrying(*arguments: Any, **options: Any) -> Any:
        try:
            return callback(*arguments, **options)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(interrupt) from interrupt

    return carrying
