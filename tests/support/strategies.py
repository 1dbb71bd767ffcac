"""Hypothesis strategies: problems of every shape that the package takes.

Hypothesis draws the shape, the kind of arrays and the scales; the numbers are normal deviates
from a drawn seed, so that no two spins, pairs or problems look alike.
"""

from importlib.util import find_spec
from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import strategies as st

from isingsample import IsingProblem

LIBRARIES = ("numpy", "torch") if find_spec("torch") else ("numpy",)
BATCHES = ((), (1,), (4,), (2, 3), (1, 3), (2, 1, 3))
SCALES = (0.0, 0.01, 0.3, 1.0, 5.0)


def symmetric(rng: np.random.Generator, batch: tuple[int, ...], num_spins: int, rank: int) -> Any:
    """Random J (rank 2) or K (rank 3) of unit size: symmetric, zero where an index repeats."""
    free = rng.normal(size=(*batch, *[num_spins] * rank))
    axes = range(len(batch), len(batch) + rank)
    orders = [(*range(len(batch)), *order) for order in permutations(axes)]
    index = np.indices((num_spins,) * rank)
    repeats = sum(index[a] == index[b] for a in range(rank) for b in range(a)) > 0
    total = sum(np.transpose(free, order) for order in orders) / np.sqrt(len(orders))
    return np.where(repeats, 0.0, total)


@st.composite
def partial_batches(draw: st.DrawFn, batch: tuple[int, ...]) -> tuple[int, ...]:
    """Axes that broadcast against a batch: none, or some of them of length 1 (as for heads)."""
    if not batch or draw(st.booleans()):
        return ()
    return tuple(draw(st.sampled_from((1, size))) for size in batch)


@st.composite
def problem_fields(
    draw: st.DrawFn,
    *,
    max_spins: int = 6,
    batches: tuple[tuple[int, ...], ...] = BATCHES,
    scales: tuple[float, ...] = SCALES,
    three_body: bool = True,
    masks: bool = True,
    dtypes: tuple[str, ...] = ("float32", "float64"),
) -> dict[str, Any]:
    """Keyword arguments of IsingProblem, in NumPy."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, batch = draw(st.integers(1, max_spins)), draw(st.sampled_from(batches))
    dtype = draw(st.sampled_from(dtypes))
    scale = st.sampled_from(scales)
    axes = st.one_of(st.just(batch), partial_batches(batch))
    fields = {
        "h": draw(scale) * rng.normal(size=(*draw(axes), n)),
        "J": draw(scale) * symmetric(rng, draw(partial_batches(batch)), n, 2),
        "offset": draw(scale) * rng.normal(size=draw(st.sampled_from(((), batch)))),
    }
    if three_body and draw(st.booleans()):
        fields["K"] = draw(scale) * symmetric(rng, draw(partial_batches(batch)), n, 3)
    fields = {name: np.asarray(array, dtype) for name, array in fields.items()}
    kind = draw(st.sampled_from(("all", "shared", "each", "causal"))) if masks else "all"
    if kind != "all":
        fields["present"] = {
            "shared": rng.random(n) < 0.7,
            "each": rng.random((*batch, n)) < 0.7,
            "causal": np.tri(batch[-1] if batch else 1, n, dtype=bool)[() if batch else 0],
        }[kind]
    return fields


def problems(*, libraries: tuple[str, ...] = LIBRARIES, **options: Any) -> Any:
    """IsingProblems in NumPy and PyTorch; options as for `problem_fields`."""
    return st.builds(
        lambda library, fields: IsingProblem(**in_library(library, fields)),
        st.sampled_from(libraries),
        problem_fields(**options),
    )


def in_library(library: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The same fields as tensors, for library "torch"."""
    if library == "numpy":
        return fields
    import torch

    return {name: torch.as_tensor(array) for name, array in fields.items()}
