"""Entry point of the command `isingsample`.

The commands themselves (`isingsample.cli.commands`) need the packages of the `cli` extra; this
module needs none, so that it can say what is missing.
"""

import sys
import warnings
from typing import TYPE_CHECKING, NoReturn

from isingsample.cli.interrupts import Interrupted
from isingsample.errors import IsingSampleError
from isingsample.samplers.dwave.errors import BackendError, CredentialsError

if TYPE_CHECKING:
    from isingsample.samplers.dwave.call.job import DWaveJob

_BAD_INPUT = 2
_NO_CREDENTIALS = 3
_NO_BACKEND = 4
_INTERRUPTED = 130


def main() -> None:
    """Run the command line: an error is one line on standard error and an exit code.

    2 for bad input, 3 for credentials that a remote solver lacks or refuses, 4 for one that cannot
    be reached or fails, 130 for Ctrl-C.
    """
    try:
        import typer

        from isingsample.cli.commands import app
        from isingsample.cli.console import spell_out
    except ImportError as error:
        _fail(f"the command line needs {error.name}: pip install 'isingsample[cli]'")
    spell_out(sys.stdout, sys.stderr)
    # Typer brings its own copy of click since 0.26: the base of its errors has no public name.
    usage_error = typer.BadParameter.__mro__[2]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn  # type: ignore[assignment]  # it has no use for the rest
            status = app(standalone_mode=False, prog_name="isingsample")
    except Interrupted as stopped:
        _keep_job(stopped.interrupt)
        sys.exit(_INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):  # outside of any command
        sys.exit(_INTERRUPTED)
    except CredentialsError as error:
        _keep_job(error)
        _fail(str(error), _NO_CREDENTIALS)
    except BackendError as error:
        _keep_job(error)
        _fail(str(error), _NO_BACKEND)
    except (IsingSampleError, ValueError, TypeError, OSError, MemoryError) as error:
        _fail(str(error) or type(error).__name__)
    except Exception as error:
        if not isinstance(error, usage_error):
            raise
        _fail(error.format_message())  # type: ignore[attr-defined]  # as all usage errors can
    sys.exit(status if isinstance(status, int) else 0)


def _keep_job(error: BaseException) -> None:
    """Save what has been submitted to a remote solver, and is paid for, in the current folder."""
    job: DWaveJob | None = getattr(error, "job", None)
    if job is not None:
        name = next(known for known in job.problem_ids if known)
        path = f"isingsample-job-{name}.json"
        job.save(path)
        _say(f"kept in {path}: DWave().resume(DWaveJob.load({path!r}), problem) goes on from there")


def _fail(message: str, status: int = _BAD_INPUT) -> NoReturn:
    _say(message)
    sys.exit(status)


def _warn(message: Warning | str, *_: object) -> None:
    """A warning as one line, without the place in the code that it comes from."""
    _say(f"note: {message}")


def _say(message: str) -> None:
    print(f"isingsample: {' '.join(message.split())}", file=sys.stderr)
