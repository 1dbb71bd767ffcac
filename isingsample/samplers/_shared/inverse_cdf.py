"""Samples from tabulated distributions."""

import numpy as np


def invert(cumulative: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """The state each uniform number falls on: bisection over a power of two of states.

    Args:
        cumulative: (..., 2**k) cumulative weights, not necessarily ending at 1.
        uniforms: (..., reads) in [0, 1).

    Returns:
        (..., reads) integers in [0, 2**k).
    """
    target = uniforms * cumulative[..., -1:]
    state = np.zeros(uniforms.shape, dtype=np.int64)
    step = cumulative.shape[-1] // 2
    while step:
        passed = np.take_along_axis(cumulative, state + step - 1, axis=-1) <= target
        state += step * passed
        step //= 2
    return state
