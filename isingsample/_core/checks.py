"""Checks that turn bad input into one clear error before any work starts."""

import difflib
import math
import numbers
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from isingsample._core.arrays import Array, is_torch, to_numpy

_HALF_PRECISION = ("float16", "bfloat16")
_REAL_KINDS = "fiub"
# Rounding that a symmetric matrix computed in this dtype may show, relative to its largest entry.
_SYMMETRY_TOLERANCE = {"float32": 1e-5, "float64": 1e-10}
_TRIANGLE = "Each pair counts once: for an upper-triangular {name} pass {name} + {name}.T"


def suggestion(name: str, known: Iterable[str]) -> str:
    """' (did you mean ...?)' for the known name nearest to name, or an empty string."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {nearest[0]!r}?)" if nearest else ""


def check_count(name: str, value: Any, minimum: int = 1) -> int:
    """value as an int of at least minimum; TypeError or ValueError name the option."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {value}")
    return int(value)


def check_number(
    name: str, value: Any, minimum: float = -math.inf, maximum: float = math.inf
) -> float:
    """value as a finite float from minimum to maximum; TypeError or ValueError name the option."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, not {number}")
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum:g}, not {number:g}")
    if number > maximum:
        raise ValueError(f"{name} must be at most {maximum:g}, not {number:g}")
    return number


def check_flag(name: str, value: Any) -> bool:
    """value if it is True or False; TypeError names the option."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """value if it is one of choices; ValueError names the option and the nearest choice."""
    known = list(choices)
    if value not in known:
        hint = suggestion(value, known) if isinstance(value, str) else ""
        raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}{hint}")
    return str(value)


def real_array(name: str, value: Any) -> Array:
    """value as a float array of its own library: floats keep their dtype, half precision
    becomes float32, integers and bools become float64; native byte order, never a copy
    where none is needed.

    Raises:
        TypeError: value is None, text, complex or anything else that is not real numbers.
    """
    if is_torch(value):
        return _real_tensor(name, value)
    if value is None:
        raise TypeError(f"{name} is None; pass an array of real numbers")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; pass its data, and what is there as present=")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"{name} is not a rectangular array of numbers: {error}") from None
    if array.size == 0 and array.dtype == object:
        array = array.astype(float)
    if array.dtype.kind not in _REAL_KINDS:
        what = "complex" if array.dtype.kind == "c" else f"of dtype {array.dtype}"
        raise TypeError(f"{name} must hold real numbers; it is {what}")
    is_float32 = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return array.astype(np.float32 if is_float32 else np.float64, copy=False)


def _real_tensor(name: str, tensor: Array) -> Array:
    if str(tensor.layout) != "torch.strided":
        raise TypeError(
            f"{name} is a sparse tensor; pass {name}.to_dense(), or a sparse J from scipy.sparse"
        )
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind in ("float32", "float64"):
        return tensor
    if kind.startswith("complex"):
        raise TypeError(f"{name} must hold real numbers; it is complex")
    return tensor.float() if kind in _HALF_PRECISION else tensor.double()


def check_finite(name: str, array: Array) -> None:
    """ValueError naming the first entry of array that is NaN or infinite."""
    values = to_numpy(array)
    # One sum decides the usual case; the search for the culprit runs only when it fails.
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        raise ValueError(f"{name} must be finite, but {entry(name, where)} is {values[where]}")


def check_in_range(*scaled: Array) -> None:
    """ValueError where beta times fields or couplings, or what they sum to, is not finite."""
    for array in scaled:
        if not np.isfinite(to_numpy(array)).all():
            raise ValueError(
                f"beta times the fields or couplings leaves the range of "
                f"{str(array.dtype).removeprefix('torch.')}; scale the problem down"
            )


def check_square(name: str, array: Array, num_spins: int, rank: int) -> None:
    """ValueError unless the last `rank` axes of array all have length num_spins."""
    wanted = ", ".join([str(num_spins)] * rank)
    if array.ndim < rank or tuple(array.shape[-rank:]) != (num_spins,) * rank:
        raise ValueError(
            f"{name} must have shape (..., {wanted}) to fit h with {num_spins} spins; "
            f"it has shape {tuple(array.shape)}"
        )


def check_couplings(name: str, array: Array) -> bool:
    """Refuse self-couplings and asymmetry of a J, over its last two axes.

    Returns:
        Whether the array is exactly symmetric (else only up to rounding).
    """
    values = to_numpy(array)
    diagonal = np.diagonal(values, axis1=-2, axis2=-1)
    if diagonal.any():
        *batch, spin = (int(i) for i in np.argwhere(diagonal)[0])
        where = (*batch, spin, spin)
        raise ValueError(self_coupling(name, where, diagonal[*batch, spin]))
    return _check_symmetric(name, values, 2, (-2, -1), _TRIANGLE.format(name=name))


def self_coupling(name: str, where: Sequence[int], value: float) -> str:
    """What is wrong with a J that couples a spin to itself."""
    return (
        f"{name} must have a zero diagonal, but {entry(name, where)} = {value:g}. A spin's "
        f"coupling to itself is a constant (s*s = 1): set it to zero; it belongs in offset, if "
        f"energies matter"
    )


def asymmetry(
    name: str,
    where: Sequence[int],
    value: float,
    mirror: Sequence[int],
    mirrored: float,
    remedy: str | None = None,
) -> str:
    """What is wrong with a J, or K, two of whose entries differ."""
    return (
        f"{name} must be symmetric, but {entry(name, where)} = {value:g} and "
        f"{entry(name, mirror)} = {mirrored:g}. {remedy or _TRIANGLE.format(name=name)}"
    )


def differ(values: np.ndarray, mirrored: np.ndarray, scale: Any) -> np.ndarray:
    """Where entries that should be equal differ by more than rounding, relative to scale."""
    with np.errstate(over="ignore"):
        gap = np.abs(values - mirrored)
    wrong: np.ndarray = gap > _SYMMETRY_TOLERANCE[values.dtype.name] * scale
    return wrong


def check_three_body(name: str, array: Array) -> bool:
    """Refuse a K that is not symmetric under every permutation or repeats a spin.

    Returns:
        Whether the array is exactly symmetric (else only up to rounding).
    """
    values = to_numpy(array)
    repeats = values * ~distinct_indices(values.shape[-1], rank=3)
    if repeats.any():
        where = tuple(int(i) for i in np.argwhere(repeats)[0])
        raise ValueError(
            f"{name} must be zero where an index repeats, but {entry(name, where)} = "
            f"{values[where]:g}. A spin taken twice drops out (s*s = 1): set it to zero; what is "
            f"left is a field on the other spin and belongs in h"
        )
    remedy = f"Each triple counts once: its six entries of {name} must be equal"
    swaps = [_check_symmetric(name, values, 3, axes, remedy) for axes in ((-2, -1), (-3, -2))]
    return all(swaps)


def distinct_indices(num_spins: int, rank: int) -> np.ndarray:
    """Where no index repeats, the only place for couplings: (n,) * rank bool."""
    index = np.indices((num_spins,) * rank)
    distinct: np.ndarray = np.all([a != b for a, b in combinations(index, 2)], axis=0)
    return distinct


def _check_symmetric(
    name: str, values: np.ndarray, rank: int, axes: tuple[int, int], remedy: str
) -> bool:
    """Whether values are exactly the same with two axes swapped; ValueError if not nearly."""
    mirrored = np.swapaxes(values, *axes)
    # Relative to each problem's own couplings: its neighbours in a batch may be far larger.
    scale = np.abs(values).max(axis=tuple(range(-rank, 0)), keepdims=True, initial=0.0)
    wrong = differ(values, mirrored, scale)
    if wrong.any():
        where = [int(i) for i in np.argwhere(wrong)[0]]
        mirror = where.copy()
        mirror[axes[0]], mirror[axes[1]] = where[axes[1]], where[axes[0]]
        raise ValueError(asymmetry(name, where, values[*where], mirror, values[*mirror], remedy))
    return bool((values == mirrored).all())


def entry(name: str, where: Sequence[int]) -> str:
    """'J[0, 1]', as the caller would write it."""
    return f"{name}[{', '.join(map(str, where))}]" if where else name


def check_spins(name: str, states: Array, present: np.ndarray | None = None) -> None:
    """ValueError naming the first entry that is not -1 or +1, nor 0 at an absent spin.

    Args:
        name: what the caller calls them.
        states: (..., n).
        present: the spins there are, broadcast against states; None for all.
    """
    values, sizes = np.broadcast_arrays(to_numpy(states), True if present is None else present)
    wrong = np.argwhere(np.abs(values) != sizes)
    if len(wrong):
        where = tuple(int(i) for i in wrong[0])
        raise ValueError(
            f"{name} must hold spins -1 and +1 (0 where a spin is absent, and only there), but "
            f"{entry(name, where)} is {values[where]:g}; for bits x use 2 * x - 1"
        )
