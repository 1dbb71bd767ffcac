"""Banded problems, for the sampler that needs them."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from isingsample import IsingProblem
from support.strategies import LIBRARIES, in_library, problem_fields, symmetric


def within(couplings: Any, width: int, rank: int) -> Any:
    """J (rank 2) or K (rank 3) without the entries whose spins are further than width apart."""
    index = np.indices((couplings.shape[-1],) * rank)
    inside = index.max(axis=0) - index.min(axis=0) <= width
    return np.where(inside, couplings, couplings.dtype.type(0))


def band(
    rng: np.random.Generator, num_spins: int, width: int, rank: int = 2, size: Any = ()
) -> Any:
    """Random banded J or K of unit size."""
    return within(symmetric(rng, size, num_spins, rank), width, rank)


@st.composite
def banded_problems(
    draw: st.DrawFn, *, max_reach: int = 4, libraries: tuple[str, ...] = LIBRARIES, **options: Any
) -> IsingProblem:
    """Problems whose couplings reach no further than some width; options of problem_fields."""
    fields, width = draw(problem_fields(**options)), draw(st.integers(0, max_reach))
    for name, rank in (("J", 2), ("K", 3)):
        if name in fields:
            fields[name] = within(fields[name], width, rank)
    return IsingProblem(**in_library(draw(st.sampled_from(libraries)), fields))
