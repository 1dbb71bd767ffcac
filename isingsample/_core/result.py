"""What every sampler returns: moments with error bars, and the samples behind them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from isingsample._core.arrays import Array, deepcopied, in_own_precision, like, namespace, to_numpy
from isingsample._core.problem import IsingProblem
from isingsample._core.sampleset import to_sampleset
from isingsample._core.sparse import DENSE_LIMIT, check_dense_size

if TYPE_CHECKING:
    import dimod

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SampleResult:
    """Moments of a batch of Ising problems at inverse temperature beta.

    All arrays are in the problem's library, on its device and in its dtype.

    Attributes:
        problem: the problem that was sampled.
        beta: the inverse temperature asked for, in units of 1/energy.
        thermal: whether the sampler targets exp(-beta E); False for optimisers, uncorrected
            anneals and mean-field approximations, whose bias is not known.
        magnetization: <s_j>, (..., n); 0 at absent spins.
        probability: P(s_j = +1), (..., n), exact also where it is tiny; 0 at absent spins.
        std_error: one standard deviation of magnetization, (..., n): 0 when exact, NaN where
            the bias is not known.
        samples: (..., num_reads, n) int8 of -1 and +1 (0 at absent spins), each read in a row
            of its own; 0 throughout where a read was discarded; None when there are no samples.
        log_partition: ln sum_s exp(-beta E(s)), (...); None when the sampler has no access.
        info: how the result came about: "sampler", "options", "timing" in nanoseconds and
            whatever the sampler reports.
    """

    problem: IsingProblem
    beta: Any
    thermal: bool
    magnetization: Array
    probability: Array
    std_error: Array
    samples: Array | None = None
    log_partition: Array | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    _correlation: Callable[[], Array] | None = field(default=None, repr=False)
    _correlation_error: Callable[[], Array] | None = field(default=None, repr=False)
    _edges: Callable[[], tuple[Array, Array]] | None = field(default=None, repr=False)
    _entropy: Callable[[], Array] | None = field(default=None, repr=False)

    @cached_property
    def correlation(self) -> Array:
        """<s_j s_k>, (..., n, n); 1 on the diagonal, 0 at absent spins. Computed when asked.

        Raises:
            TooLargeError: couplings are sparse and there are more than 8192 spins; take
                edge_correlation.
            ValueError: the sampler gives none.
        """
        return self._matrix("correlations", self._correlation)

    @cached_property
    def correlation_error(self) -> Array:
        """One standard deviation of correlation, (..., n, n).

        To the rules of std_error, 0 when exact and on the diagonal, NaN where the bias is not
        known. Computed when asked; raises what correlation does.
        """
        return self._matrix("errors of correlations", self._correlation_error)

    @property
    def edge_correlation(self) -> Array:
        """<s_j s_k> of the coupled pairs alone, (..., edges), in the order of `problem.edges`;
        0 at absent spins. Computed when asked, without an (n, n) array where couplings are sparse.

        Raises:
            TooLargeError: only the whole matrix can be computed, and it is too large.
            ValueError: the sampler gives none.
        """
        return self._edge_moments[0]

    @property
    def edge_correlation_error(self) -> Array:
        """One standard deviation of edge_correlation, (..., edges)."""
        return self._edge_moments[1]

    @cached_property
    def _edge_moments(self) -> tuple[Array, Array]:
        if self._edges is not None:
            with in_own_precision(self.magnetization):
                return self._edges()
        first, second = (
            like(spins, self.correlation, keep_dtype=True) for spins in self.problem.edges.T
        )
        return self.correlation[..., first, second], self.correlation_error[..., first, second]

    def _matrix(self, what: str, compute: Callable[[], Array] | None) -> Array:
        if self.problem.is_sparse:
            remedy = "Take edge_correlation and edge_correlation_error, of the coupled pairs alone"
            check_dense_size(f"the {what}", self.problem.num_spins, remedy)
        return self._asked_for(what, compute)

    @cached_property
    def entropy(self) -> Array:
        """-sum_s P(s) ln P(s) in nats, (...). Computed when asked, by exact solvers only."""
        return self._asked_for("entropy", self._entropy)

    @cached_property
    def energy(self) -> Array | None:
        """Energy of each sample, (..., num_reads), in the units of h; NaN where a read was
        discarded; None without samples."""
        if self.samples is None or "kept_reads" not in self.info:
            return None if self.samples is None else self.problem.energy(self.samples)
        # A discarded read is 0 at every spin: some state stands in for it until it is NaN.
        xp, shape = namespace(self.samples), self.samples.shape
        present = np.ones(shape[-1], bool) if self.problem.present is None else self.problem.present
        exists = np.broadcast_to(present[..., None, :], shape)
        kept = (to_numpy(self.samples) != 0).any(axis=-1) | ~exists.any(axis=-1)
        states = np.where(kept[..., None], to_numpy(self.samples), exists)
        energy = self.problem.energy(like(states.astype(np.int8), self.samples, keep_dtype=True))
        return xp.where(like(kept, self.samples, keep_dtype=True), energy, math.nan)

    def to_sampleset(self, index: tuple[int, ...] | int = ()) -> "dimod.SampleSet":
        """The samples of one problem as a dimod SampleSet, labelled, absent spins left out.

        Its info is that of the result, without what would have to be computed first.

        Args:
            index: which problem of the batch; () for a problem without a batch.

        Raises:
            ValueError: there are no samples, or index does not name one problem.
            MissingExtraError: dimod is not installed.
        """
        return to_sampleset(self.problem, self.samples, self.info, index)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy take: values in place of the ways to them, which cannot be sent."""
        state = dict(self.__dict__)
        if self._edges is not None and self.problem.num_spins > DENSE_LIMIT:
            state["_edges"] = partial(_given, self._edge_moments)
            state["_correlation"] = state["_correlation_error"] = None
        elif self._correlation is not None:
            state["_edges"] = None
            state["_correlation"] = partial(_given, self.correlation)
            state["_correlation_error"] = partial(_given, self.correlation_error)
        if self._entropy is not None:
            state["_entropy"] = partial(_given, self.entropy)
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> "SampleResult":
        """A copy of its own arrays; tensors that were computed lose their autograd history."""
        return deepcopied(self, self.__getstate__(), memo)

    def _asked_for(self, what: str, compute: Callable[[], Array] | None) -> Array:
        if compute is None:
            raise ValueError(f"{self.info.get('sampler', 'this sampler')} gives no {what}")
        with in_own_precision(self.magnetization):
            return compute()

    def __repr__(self) -> str:
        reads = None if self.samples is None else self.samples.shape[-2]
        return (
            f"SampleResult(sampler={self.info.get('sampler')!r}, "
            f"batch_shape={self.problem.batch_shape}, num_spins={self.problem.num_spins}, "
            f"beta={self.beta}, thermal={self.thermal}, num_reads={reads})"
        )


def _given(value: T) -> T:
    return value
