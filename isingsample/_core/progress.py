"""A progress bar for long loops, shown only when someone is watching and it takes a while."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any, TypeVar

T = TypeVar("T")

# Loops shorter than this show nothing.
_PATIENCE_SECONDS = 2.0
_enabled: ContextVar[bool] = ContextVar("isingsample_progress", default=True)


@contextmanager
def progress(enabled: bool) -> Iterator[None]:
    """Switch progress bars on or off inside a with block.

    Bars are on by default, and drawn on standard error only when it is a terminal or a notebook
    with ipywidgets, and the `cli` extra (rich) is installed.
    """
    token = _enabled.set(enabled)
    try:
        yield
    finally:
        _enabled.reset(token)


def track(items: Sequence[T], description: str) -> Iterable[T]:
    """items, with a bar from the moment the loop has taken more than two seconds."""
    return _tracked(items, description) if _enabled.get() else items


def _tracked(items: Sequence[T], description: str) -> Iterator[T]:
    started = time.monotonic()
    for done, item in enumerate(items):
        yield item
        if time.monotonic() - started > _PATIENCE_SECONDS:
            yield from _with_bar(items, done + 1, description)
            return


def _with_bar(items: Sequence[T], done: int, description: str) -> Iterator[T]:
    bar = _new_bar()
    if bar is None:
        yield from items[done:]
        return
    with bar:
        task = bar.add_task(description, total=len(items), completed=done)
        for item in items[done:]:
            yield item
            bar.advance(task)


def _new_bar() -> Any:
    """A rich Progress bar, or None when nobody would see it or rich is missing."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    console = Console(file=sys.stderr)
    # In a notebook rich draws with widgets, and warns at each bar where they are not installed.
    in_notebook = console.is_jupyter and find_spec("ipywidgets") is not None
    watched = in_notebook or (console.is_terminal and not console.is_jupyter)
    return Progress(console=console, transient=True) if watched else None
