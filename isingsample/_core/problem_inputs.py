"""From what a caller has to the arrays of a problem: one library, one dtype, rules kept."""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import Array, is_torch, like, namespace, to_numpy
from isingsample._core.sparse import SparseCouplings, is_sparse


def sparse_graph(given: dict[str, Any]) -> SparseCouplings | None:
    """A sparse J, whose values take its place in given; None where J is dense or missing."""
    J = given.get("J")
    if is_sparse(J):
        J = SparseCouplings.from_matrix(J)
    for name, array in given.items():
        if name != "J" and is_sparse(array):
            raise TypeError(f"{name} is a scipy.sparse matrix, as only J can be; use toarray()")
    if not isinstance(J, SparseCouplings):
        return None
    if "K" in given:
        raise ValueError(
            "a sparse J goes without three-body couplings K, which have n**3 entries; "
            "pass J.toarray() with K, or no K"
        )
    given["J"] = J.values
    return J


def dense_couplings(arrays: dict[str, Array], num_spins: int) -> Array:
    """J (..., n, n) that keeps the rules; zeros where there is none."""
    J = arrays.get("J")
    if J is None:
        J = like(np.zeros((num_spins, num_spins)), arrays["h"])
    check.check_square("J", J, num_spins, rank=2)
    return symmetrised(J, rank=2, exact=check.check_couplings("J", J))


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def same_library(arrays: dict[str, Array]) -> dict[str, Array]:
    """All arrays in one library, device and dtype: PyTorch if any of them is a tensor."""
    tensors = {name: a for name, a in arrays.items() if is_torch(a)}
    if not tensors:
        dtype = np.result_type(*(a for name, a in arrays.items() if name != "offset"))
        with np.errstate(over="ignore"):  # an offset that overflows is refused as infinite
            return {name: _frozen(a.astype(dtype)) for name, a in arrays.items()}
    reference = tensors.get("h", next(iter(tensors.values())))
    for name, tensor in tensors.items():
        if tensor.device != reference.device:
            raise ValueError(
                f"{name} is on device {tensor.device} but the other tensors are on "
                f"{reference.device}; move them to one device"
            )
    xp = namespace(reference)
    moved = {
        name: a if is_torch(a) else like(a, reference, keep_dtype=True)
        for name, a in arrays.items()
    }
    dtype = xp.result_type(*(a for name, a in moved.items() if name != "offset"))
    return {name: xp.astype(a, dtype, copy=False) for name, a in moved.items()}


def symmetrised(couplings: Array, *, rank: int, exact: bool) -> Array:
    """J or K (the last `rank` axes) without rounding asymmetry; for tensors, so that the entries
    of a pair or triple carry equal shares of its gradient, and repeated indices none."""
    if exact and not is_torch(couplings):
        return couplings
    xp = namespace(couplings)
    batch = tuple(range(couplings.ndim - rank))
    orders = [(*batch, *order) for order in permutations(range(len(batch), couplings.ndim))]
    share = couplings / len(orders)
    total = sum(xp.permute_dims(share, order) for order in orders)
    return total * like(check.distinct_indices(couplings.shape[-1], rank), couplings)


def presence(present: Any, num_spins: int) -> np.ndarray:
    """The mask (..., n) of the spins there are."""
    try:
        mask = to_numpy(present)
    except ValueError as error:
        raise TypeError(f"present is not a rectangular array of booleans: {error}") from None
    if mask.dtype != np.bool_:
        raise TypeError(f"present must be boolean (True = the spin exists); it is {mask.dtype}")
    if mask.ndim < 1 or mask.shape[-1] != num_spins:
        raise ValueError(
            f"present must have shape (..., {num_spins}) to fit h; it has shape {mask.shape}"
        )
    return mask


def distinct_labels(labels: Sequence[Hashable] | None, num_spins: int) -> tuple[Hashable, ...]:
    """The names of n spins, 0 ... n-1 where none are given."""
    if labels is None:
        return tuple(range(num_spins))
    try:
        names = tuple(labels)
        counts = Counter(names)
    except TypeError as error:
        raise TypeError(f"labels must be a sequence of hashable names: {error}") from None
    if len(names) != num_spins:
        raise ValueError(f"labels has {len(names)} entries for {num_spins} spins")
    for name, count in counts.most_common(1):
        if count > 1:
            raise ValueError(f"labels must be distinct, but {name!r} occurs {count} times")
    return names


def spins(states: Any, h: Array) -> Array:
    """States in h's library and dtype; 8-bit ones, which may be many, stay as they are."""
    if not is_torch(states):
        states = np.asarray(states)
        return like(states, h, keep_dtype=states.dtype == np.int8)
    small = str(states.dtype) == "torch.int8"
    return states if small else namespace(h).asarray(states, dtype=h.dtype)
