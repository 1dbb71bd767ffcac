"""The spins, pairs and triples whose averages a fit matches, in one row of numbers."""

import math
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import to_numpy
from isingsample._core.memory import available_memory, readable_bytes
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.sparse import SparseCouplings
from isingsample._core.states import spin_table
from isingsample.errors import TooLargeError
from isingsample.samplers._shared.pairs import shot_noise
from isingsample.samplers.base import Sampler
from isingsample.samplers.exact.sampler import Exact

_ENTRIES = 2**24  # of temporary arrays
_BYTES_EACH = 24  # of a product in a pattern: three floats while it is made
_BYTES_LISTED = 200  # of its spins, and the model's numbers for it


@dataclass(frozen=True, eq=False)
class Statistics:
    """Products of spins, each with a parameter of the model: h_j, J_jk or K_jkl.

    Attributes:
        num_spins: n.
        tuples: (k, width) spins of each product of one, two and three; ascending along a row.
        is_sparse: whether the model keeps its pairs as edges.
    """

    num_spins: int
    tuples: tuple[np.ndarray, np.ndarray, np.ndarray]
    is_sparse: bool

    @classmethod
    def chosen(
        cls, num_patterns: int, num_spins: int, fields: bool, edges: Any, triples: Any
    ) -> "Statistics":
        """Those that a caller named.

        Args:
            num_patterns: how many states they will be computed for at a time.
            num_spins: n.
            fields: all single spins, or none.
            edges: "all", or (edges, 2) distinct spins of each pair.
            triples: None, "all", or (triples, 3) distinct spins of each.

        Raises:
            TypeError, ValueError: edges or triples that are no such thing.
            TooLargeError: there are too many of them to hold.
        """
        _check_size(num_patterns, num_spins, edges, triples)
        singles = np.arange(num_spins if fields else 0)[:, None]
        pairs = _tuples("edges", edges, 2, num_spins)
        threes = np.empty((0, 3), int)
        if triples is not None:
            threes = _tuples("triples", triples, 3, num_spins)
        return cls(
            num_spins, (singles, pairs, threes), not isinstance(edges, str) and not len(threes)
        )

    @property
    def orders(self) -> np.ndarray:
        """How many spins each statistic multiplies: (size,)."""
        return np.repeat([1, 2, 3], [len(spins) for spins in self.tuples])

    def of(self, states: np.ndarray) -> np.ndarray:
        """The products in each of (states, n): (states, size)."""
        return np.concatenate([_products(states, spins) for spins in self.tuples], axis=1)

    def moments(self, result: SampleResult, sampler: Sampler) -> tuple[np.ndarray, np.ndarray]:
        """Averages in a sampler's result, and one standard deviation of their noise: (size,) both.

        The noise of a sampler with unknown bias is the shot noise of its reads, and 0 without
        reads: what would be different in another call.

        Raises:
            ValueError: the sampler has no way to averages of pairs, or of triples.
        """
        singles, pairs, triples = self.tuples
        if self.is_sparse:
            of_pairs = result.edge_correlation, result.edge_correlation_error
        else:
            j, k = pairs.T
            of_pairs = result.correlation[j, k], result.correlation_error[j, k]
        of_triples = _triple_moments(triples, result, sampler)
        at = singles[:, 0]
        parts = [(result.magnetization[at], result.std_error[at]), of_pairs, of_triples]
        mean, error = (np.concatenate(column) for column in zip(*parts, strict=True))
        reads = 0 if result.samples is None else len(result.samples)
        unseen = shot_noise(mean, max(reads, 2)) if reads else np.zeros_like(mean)
        return mean, np.where(np.isnan(error), unseen, error)

    def problem(self, parameters: np.ndarray, fields: np.ndarray) -> IsingProblem:
        """The model with these parameters (size,); with fields (n,) where none are among them."""
        counts = np.cumsum([len(spins) for spins in self.tuples])
        h, J, K = np.split(parameters, counts[:-1])
        singles, pairs, triples = self.tuples
        n = self.num_spins
        if self.is_sparse:
            # A pair at 0 would no longer count as coupled, and have no correlation: the smallest
            # number keeps its place and changes nothing.
            kept = np.where(J == 0, np.finfo(float).tiny, J)
            couplings: Any = SparseCouplings(n, pairs[:, 0].copy(), pairs[:, 1].copy(), kept)
        else:
            couplings = _symmetric(n, pairs, J)
        K_array = _symmetric(n, triples, K) if len(triples) else None
        return IsingProblem(h if len(singles) else fields, couplings, K_array)

    def parameters(self, problem: IsingProblem) -> np.ndarray:
        """The inverse of `problem`: (size,).

        Raises:
            ValueError: the problem is a batch, has another n, or couples what is not fitted.
        """
        if (
            problem.batch_shape
            or problem.num_spins != self.num_spins
            or problem.present is not None
        ):
            raise ValueError(
                f"start must be a single problem of {self.num_spins} spins, as data has, all of "
                f"them present; it is {problem}"
            )
        given = problem.to_numpy()
        singles, pairs, triples = self.tuples
        edges = given.edges
        values = given.J.values if given.is_sparse else given.J[tuple(edges.T)]
        K = np.zeros((self.num_spins,) * 3) if given.K is None else given.K
        threes = np.argwhere(K)
        threes = threes[(np.diff(threes) > 0).all(axis=1)]
        parts = [given.h[singles[:, 0]]]
        of_threes = K[tuple(threes.T)]
        for name, known, listed, numbers in (
            ("edges", pairs, edges, values), ("triples", triples, threes, of_threes)
        ):  # fmt: skip
            parts.append(_looked_up(name, known, listed, numbers, self.num_spins))
        return np.concatenate(parts).astype(float)


def _symmetric(num_spins: int, tuples: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(n, n) or (n, n, n) with each value at all orders of its row of (tuples, width)."""
    width = tuples.shape[1]
    full = np.zeros((num_spins,) * width)
    for order in permutations(range(width)):
        full[tuple(tuples[:, order].T)] = values
    return full


def _tuples(name: str, given: Any, width: int, num_spins: int) -> np.ndarray:
    """Distinct rows (k, width) of ascending spins, in ascending order."""
    if isinstance(given, str):
        check.check_choice(name, given, ["all"])
        return np.array(list(combinations(range(num_spins), width)), int).reshape(-1, width)
    listed = to_numpy(check.real_array(name, given))
    if not listed.size:
        return np.empty((0, width), int)
    if listed.ndim != 2 or listed.shape[1] != width or (listed != np.floor(listed)).any():
        raise ValueError(
            f"{name} must be 'all' or whole numbers of shape ({name}, {width}); it has shape "
            f"{listed.shape}"
        )
    rows = np.sort(listed.astype(int), axis=1)
    wrong = (rows < 0) | (rows >= num_spins)
    for at in np.flatnonzero(wrong.any(axis=1) | (np.diff(rows) == 0).any(axis=1))[:1]:
        raise ValueError(
            f"{name}[{at}] must be {width} different spins from 0 to {num_spins - 1}, not "
            f"{listed[at].tolist()}"
        )
    return np.unique(rows, axis=0)


def _looked_up(
    name: str, known: np.ndarray, listed: np.ndarray, values: np.ndarray, num_spins: int
) -> np.ndarray:
    """Values of listed tuples (k, width) at their places among the known; 0 elsewhere."""
    shape = (num_spins,) * known.shape[1]
    keys, wanted = (np.ravel_multi_index(tuple(rows.T), shape) for rows in (known, listed))
    for at in np.flatnonzero(~np.isin(wanted, keys) & (values != 0))[:1]:
        raise ValueError(
            f"start couples the spins {listed[at].tolist()}, which are not among the {name} to fit"
        )
    found = np.zeros(len(keys))
    inside = np.isin(wanted, keys)
    found[np.searchsorted(keys, wanted[inside])] = values[inside]
    return found


def _check_size(num_patterns: int, num_spins: int, edges: Any, triples: Any) -> None:
    """TooLargeError where the products of all patterns would not fit into memory."""
    size = num_spins
    for given, width in ((edges, 2), (triples, 3)):
        listed = 0 if given is None else np.size(given) // width
        size += math.comb(num_spins, width) if isinstance(given, str) else listed
    needed, available = size * (_BYTES_EACH * num_patterns + _BYTES_LISTED), available_memory()
    if needed > available:
        raise TooLargeError(
            f"{size} products of spins in {num_patterns} patterns take about "
            f"{readable_bytes(needed)} of memory, where {readable_bytes(available)} are available; "
            f"name fewer edges and triples, or take fewer patterns"
        )


def _products(states: np.ndarray, spins: np.ndarray) -> np.ndarray:
    """The product of each of (tuples, width) in (states, n): (states, tuples)."""
    product = states[:, spins[:, 0]]
    for others in spins.T[1:]:
        product *= states[:, others]
    return product


def _mean(states: np.ndarray, spins: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted averages over (states, n) of the products of (tuples, width): (tuples,)."""
    step = max(1, _ENTRIES // max(1, len(states)))
    starts = range(0, len(spins), step)
    parts = [weights @ _products(states, spins[at : at + step]) for at in starts]
    return np.concatenate([np.zeros(0), *parts])


def _triple_moments(
    triples: np.ndarray, result: SampleResult, sampler: Sampler
) -> tuple[np.ndarray, np.ndarray]:
    """<s_j s_k s_l> and its standard error: (triples,) both."""
    if not len(triples):
        return np.zeros(0), np.zeros(0)
    if isinstance(sampler, Exact):
        states = spin_table(result.problem.num_spins)
        mean = _mean(states, triples, sampler.distribution(result.problem, beta=result.beta))
        return mean, np.zeros_like(mean)
    if result.samples is None:
        raise ValueError(
            f"averages of triples come from samples, which {sampler.name!r} does not give; set "
            f"num_reads, or use the sampler 'exact'"
        )
    reads = len(result.samples)
    mean = _mean(result.samples.astype(float), triples, np.full(reads, 1 / reads))
    return mean, np.asarray(shot_noise(mean, max(reads, 2)))
