"""The same problem twice: with a dense J, and with its sparse form."""

from typing import Any

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

from isingsample import IsingProblem
from support.strategies import BATCHES, SCALES


@st.composite
def twins(
    draw: st.DrawFn,
    *,
    max_spins: int = 8,
    batches: tuple[tuple[int, ...], ...] = BATCHES,
    scales: tuple[float, ...] = SCALES,
    dtypes: tuple[str, ...] = ("float32", "float64"),
    band: int | None = None,
) -> tuple[IsingProblem, IsingProblem]:
    """(dense, sparse): a random graph, fields of every query, and masks of each kind.

    With band, spins couple over that distance at most.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, batch = draw(st.integers(1, max_spins)), draw(st.sampled_from(batches))
    dtype, scale = draw(st.sampled_from(dtypes)), st.sampled_from(scales)
    density = draw(st.sampled_from((0.0, 0.2, 0.5, 1.0)))
    upper = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < density), 1)
    if band is not None:
        upper = np.tril(upper, band)
    J = (draw(scale) * (upper + upper.T)).astype(dtype)
    fields: dict[str, Any] = {"h": (draw(scale) * rng.normal(size=(*batch, n))).astype(dtype)}
    mask = draw(st.sampled_from(("all", "shared", "each")))
    if mask != "all":
        fields["present"] = rng.random((*(batch if mask == "each" else ()), n)) < 0.7
    return IsingProblem(J=J, **fields), IsingProblem(J=scipy.sparse.csr_array(J), **fields)


def ring(num_spins: int, coupling: float) -> scipy.sparse.csr_array:
    """J of a ring of spins."""
    here = np.arange(num_spins)
    there = (here + 1) % num_spins
    upper = scipy.sparse.coo_array(
        (np.full(num_spins, coupling), (here, there)), shape=(num_spins, num_spins)
    )
    return (upper + upper.T).tocsr()
