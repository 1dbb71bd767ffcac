"""What the compiled kernels are given, and what they add up."""

from typing import NamedTuple

import numpy as np


class Problems(NamedTuple):
    """Queries in the units of the kernels.

    Attributes:
        h: (queries, n) float32, divided by 2**exponent.
        group: (queries,) which couplings each has.
        share: (queries,) float32 factor of these couplings in the query's units.
        unit: (queries,) 2**exponent.
        place: (queries,) position in the batch.
        key: (2,) uint64, the seed.
    """

    h: np.ndarray
    group: np.ndarray
    share: np.ndarray
    unit: np.ndarray
    place: np.ndarray
    key: np.ndarray


class CouplingLists(NamedTuple):
    """The couplings of several groups of problems, spin by spin, zeros left out.

    Attributes:
        rows: (groups, n + 1) where each spin's neighbours start and the last one's end.
        neighbours: the other spin of each pair; rows are filled up to a multiple of GROUP.
        weights: float32, J divided by a power of 2 of each group.
        pair_rows: (groups, n + 1), the same for triples.
        first: one other spin of each triple.
        second: the other one.
        triple_weights: float32, K divided by the same power of 2.
    """

    rows: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray
    pair_rows: np.ndarray
    first: np.ndarray
    second: np.ndarray
    triple_weights: np.ndarray


class Tally(NamedTuple):
    """What a run leaves behind, apart from its states.

    Attributes:
        up: (tasks, n) sum over sweeps and chains of P(s = +1) given the others.
        squares: (tasks, n) sum over chains of the square of their mean.
        series: (queries, chains, draws) float32 means over successive sweeps, of the spin whose
            chains agree least.
        first: (pairs,) one spin of each pair whose products are counted.
        second: (pairs,) the other one.
        pairs: (tasks, pairs) sum over sweeps and chains of s_j s_k.
        pair_squares: (tasks, pairs) sum over subsets of the chains of the square of their sum of
            s_j s_k, over their number.
    """

    up: np.ndarray
    squares: np.ndarray
    series: np.ndarray
    first: np.ndarray
    second: np.ndarray
    pairs: np.ndarray
    pair_squares: np.ndarray
