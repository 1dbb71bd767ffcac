"""Facts in plain Python, as JSON takes them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from isingsample._core.arrays import is_torch, to_numpy
from isingsample._core.info import Info


def plain(value: Any) -> Any:
    """value in plain Python numbers, lists and dicts, as JSON takes them; else its repr.

    Facts of an Info that would have to be computed first are left out.
    """
    if isinstance(value, Info):
        value = value.known()
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic) or is_torch(value) or isinstance(value, np.ndarray):
        return to_numpy(value).tolist()  # NumPy's float64 is a float, but writes itself otherwise
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)
