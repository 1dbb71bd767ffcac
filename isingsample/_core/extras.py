"""Optional packages: imported when needed, missed in words that help."""

from typing import Any

from isingsample.errors import MissingExtraError


def import_dimod(what: str) -> Any:
    """The dimod module, or MissingExtraError saying that `what` needs it."""
    try:
        import dimod
    except ImportError:
        raise MissingExtraError(what, "dimod") from None
    return dimod
