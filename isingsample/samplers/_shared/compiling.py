"""How kernels are compiled, and where that is kept. Imports numba, from the `numba` extra."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """function compiled at its first call; kept on disk where some folder can be written.

    Kernels release the interpreter's lock, and may fuse products with sums.

    Warns:
        UserWarning: no folder can, so that each process compiles for itself.
    """
    return _compiled(function, {"contract", "nsz"})


def compiled_sums(function: F) -> F:
    """function like `compiled`, whose sums may be taken in any order: in vector registers."""
    return _compiled(function, {"contract", "nsz", "reassoc"})


def _compiled(function: F, fastmath: set[str]) -> F:
    options = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        kept: F = njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no place: packages and home are read-only
        _warn()
        kept = njit(**options)(function)
    return kept


@cache
def _warn() -> None:
    warnings.warn(
        "compiled kernels cannot be kept, since neither the package's folder nor the home "
        "directory can be written: each process takes some ten seconds to compile them. Set the "
        "environment variable NUMBA_CACHE_DIR to a folder that can",
        UserWarning,
        stacklevel=4,
    )
