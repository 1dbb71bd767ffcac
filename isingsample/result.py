"""What every sampler returns: moments with error bars, and the samples behind them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from isingsample._arrays import Array
from isingsample.problem import IsingProblem

if TYPE_CHECKING:
    import dimod


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
            of its own; None when the sampler drew none.
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
    _entropy: Callable[[], Array] | None = field(default=None, repr=False)

    @cached_property
    def correlation(self) -> Array:
        """<s_j s_k>, (..., n, n); 1 on the diagonal, 0 at absent spins. Computed when asked."""
        return self._asked_for("correlations", self._correlation)

    @cached_property
    def entropy(self) -> Array:
        """-sum_s P(s) ln P(s) in nats, (...). Computed when asked, by exact solvers only."""
        return self._asked_for("entropy", self._entropy)

    @cached_property
    def energy(self) -> Array | None:
        """Energy of each sample, (..., num_reads), in the units of h; None without samples."""
        return None if self.samples is None else self.problem.energy(self.samples)

    def to_sampleset(self, index: tuple[int, ...] | int = ()) -> "dimod.SampleSet":
        """The samples of one problem as a dimod SampleSet, labelled, absent spins left out.

        Args:
            index: which problem of the batch; () for a problem without a batch.

        Raises:
            ValueError: there are no samples, or index does not name one problem.
            MissingExtraError: dimod is not installed.
        """
        from isingsample.interop import to_sampleset

        return to_sampleset(self, index)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy take: values in place of the ways to them, which cannot be sent."""
        state = dict(self.__dict__)
        if self._correlation is not None:
            state["_correlation"] = partial(_given, self.correlation)
        if self._entropy is not None:
            state["_entropy"] = partial(_given, self.entropy)
        return state

    def _asked_for(self, what: str, compute: Callable[[], Array] | None) -> Array:
        if compute is None:
            raise ValueError(f"{self.info.get('sampler', 'this sampler')} gives no {what}")
        return compute()

    def __repr__(self) -> str:
        reads = None if self.samples is None else self.samples.shape[-2]
        return (
            f"SampleResult(sampler={self.info.get('sampler')!r}, "
            f"batch_shape={self.problem.batch_shape}, num_spins={self.problem.num_spins}, "
            f"beta={self.beta}, thermal={self.thermal}, num_reads={reads})"
        )


def _given(value: Array) -> Array:
    return value
