"""Entry point of the command `isingsample`.

The commands themselves (`isingsample._commands`) need the packages of the `cli` extra; this
module needs none, so that it can say what is missing.
"""

import sys
import warnings
from typing import NoReturn

from isingsample.errors import IsingSampleError

_BAD_INPUT = 2
_INTERRUPTED = 130


def main() -> None:
    """Run the command line: bad input is one line on standard error and exit code 2."""
    try:
        import typer

        from isingsample._commands import app
    except ImportError as error:
        _fail(f"the command line needs {error.name}: pip install 'isingsample[cli]'")
    # Typer brings its own copy of click since 0.26: the base of its errors has no public name.
    usage_error = typer.BadParameter.__mro__[2]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn  # type: ignore[assignment]  # it has no use for the rest
            status = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(_INTERRUPTED)
    except (IsingSampleError, ValueError, TypeError, OSError, MemoryError) as error:
        _fail(str(error) or type(error).__name__)
    except Exception as error:
        if not isinstance(error, usage_error):
            raise
        _fail(error.format_message())  # type: ignore[attr-defined]  # as all usage errors can
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str) -> NoReturn:
    _say(message)
    sys.exit(_BAD_INPUT)


def _warn(message: Warning | str, *_: object) -> None:
    """A warning as one line, without the place in the code that it comes from."""
    _say(f"note: {message}")


def _say(message: str) -> None:
    print(f"isingsample: {' '.join(message.split())}", file=sys.stderr)


if __name__ == "__main__":
    main()
