"""NumPy and PyTorch through one array namespace, without importing PyTorch.

Solvers are written once against the array API standard: `namespace(x)` is
array-api-compat's NumPy or PyTorch, whichever made x. PyTorch is only ever
seen through arrays that a caller made with it, so `import isingsample` never loads it.
"""

import copy
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from array_api_compat import numpy as numpy_namespace

# A numpy.ndarray or a torch.Tensor. Neither library offers one type for both.
Array: TypeAlias = Any

T = TypeVar("T")


def is_torch(x: object) -> bool:
    """Whether x is a torch.Tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def namespace(x: Array) -> Any:
    """The array namespace (NumPy's or PyTorch's) that x belongs to."""
    if not is_torch(x):
        return numpy_namespace
    from array_api_compat import torch as torch_namespace

    return torch_namespace


def detach(x: Array) -> Array:
    """x without its autograd history: a constant for differentiation."""
    return x.detach() if is_torch(x) else x


def deepcopied(instance: T, state: dict[str, Any], memo: dict[int, Any]) -> T:
    """A deep copy of an instance, made of its state, without autograd history.

    PyTorch refuses to copy tensors that were computed, for a copy cannot be part of the history
    of something else; here they become constants.
    """
    for tensor in _tensors(state):
        if tensor.grad_fn is not None:
            memo[id(tensor)] = tensor.detach().clone()
    twin = object.__new__(type(instance))
    twin.__dict__.update(copy.deepcopy(state, memo))
    return twin


def _tensors(value: Any) -> Iterator[Array]:
    """The tensors in a value, in containers and in the arguments that functions were given."""
    if is_torch(value):
        yield value
        return
    inner = value.args if isinstance(value, partial) else value
    if isinstance(inner, Mapping):
        known = getattr(inner, "known", None)  # of an Info, which computes what is read
        inner = list((inner if known is None else known()).values())
    if isinstance(inner, (tuple, list)):
        for item in inner:
            yield from _tensors(item)


def concat(arrays: list[Array], axis: int) -> Array:
    """Arrays joined along an axis; a single one as it is."""
    return arrays[0] if len(arrays) == 1 else namespace(arrays[0]).concat(arrays, axis=axis)


def in_own_precision(x: Array) -> AbstractContextManager[Any]:
    """In which PyTorch's autocast does not reach what is computed from x."""
    if not is_torch(x):
        return nullcontext()
    disabled: AbstractContextManager[Any] = sys.modules["torch"].autocast(
        x.device.type, enabled=False
    )
    return disabled


def records_gradient(x: Array) -> bool:
    """Whether operations on x are recorded to be differentiated."""
    return is_torch(x) and bool(x.requires_grad) and bool(namespace(x).is_grad_enabled())


def to_numpy(x: Array) -> np.ndarray:
    """x as a NumPy array on the host, detached; no copy where none is needed.

    Raises:
        RuntimeError: x is a tensor inside one of torch.func's transforms, which has no numbers.
    """
    if not is_torch(x):
        return np.asarray(x)
    try:
        return np.asarray(x.detach().cpu().numpy())
    except RuntimeError as error:
        if not is_transformed(x):
            raise
        raise RuntimeError(
            "problems cannot be sampled inside torch.func's transforms (vmap, grad, jacrev and "
            "their kin), whose tensors have no numbers: put what vmap would map over into leading "
            "axes, which are sampled together, and differentiate with torch.autograd"
        ) from error


def is_transformed(x: Array) -> bool:
    """Whether a tensor stands for many inside vmap, or for one that is differentiated by
    torch.func: it has no memory."""
    try:
        x.data_ptr()
    except RuntimeError:
        return True
    return False


def like(x: np.ndarray, reference: Array, *, keep_dtype: bool = False) -> Array:
    """x in the library and on the device of reference, and in its dtype unless keep_dtype."""
    dtype = None if keep_dtype else reference.dtype
    if not is_torch(reference):
        return np.asarray(x, dtype=dtype)
    x = x.copy()  # PyTorch takes no negative strides, and warns of read-only arrays
    return namespace(reference).asarray(x, dtype=dtype, device=reference.device)


def slices(length: int, step: int) -> list[slice]:
    """range(length) in slices of step, at least 1."""
    return [slice(i, min(i + max(1, step), length)) for i in range(0, length, max(1, step))]
