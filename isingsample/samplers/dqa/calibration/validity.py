"""Where an anneal can be trusted."""

import math
import warnings

import numpy as np

from isingsample.errors import StrongFieldWarning
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.engines.statevector import StatevectorEngine

_LARGEST_ERROR = 0.1
_FIELDS = np.concatenate([np.linspace(0.0, 8.0, 161), np.geomspace(8.2, 820.0, 200)])


def field_range(anneal: Anneal, beta_h: float) -> float:
    """The largest field up to which a lone spin comes out right, to 0.1 in its magnetization.

    Args:
        anneal: the steps.
        beta_h: inverse temperature of fields.

    Returns:
        h as the circuit has it, right being tanh(beta_h h): infinite if beta_h h = 820 is still
        right, NaN if beta_h is not above 0.
    """
    if not beta_h > 0:
        return math.nan
    h = (_FIELDS / beta_h)[None, :, None]
    found = StatevectorEngine().probabilities(h, np.zeros((1, 1, 1)), None, anneal)
    up, down = np.concatenate(list(found)).T
    wrong = np.flatnonzero(np.abs(up - down - np.tanh(_FIELDS)) > _LARGEST_ERROR)
    return float(h[0, wrong[0] - 1, 0]) if wrong.size else math.inf


def warn_of_strong_fields(largest: float, allowed: float) -> None:
    """A StrongFieldWarning, at the call of `sample`, where beta h goes beyond what is allowed."""
    if largest > allowed:
        warnings.warn(
            f"fields up to |beta h| = {largest:.3g} are beyond what this anneal can do: above "
            f"{allowed:.3g} even a lone spin's magnetization is wrong by more than "
            f"{_LARGEST_ERROR:g}",
            StrongFieldWarning,
            stacklevel=5,
        )
