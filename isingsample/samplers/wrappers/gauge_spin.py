"""Problems in another form, for samplers that take no fields.

One more spin a, the gauge spin, turns every field into a coupling: h_j s_j becomes h_j s_a s_j. All
couplings being between pairs, the energy does not change when all spins flip, and folding s_a s_j
back into s_j gives exactly the Boltzmann distribution of the first problem. Fast anneals of D-Wave
processors take no fields, and a diabatic anneal samples fields and couplings at two temperatures:
in this form there is one.
"""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isingsample._core.arrays import Array, like, namespace, to_numpy
from isingsample._core.info import Info
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.streams import Seed
from isingsample.samplers.base import Sampler, check_has_distribution, check_is_problem
from isingsample.samplers.solution import Solution


def with_gauge_spin(problem: IsingProblem) -> IsingProblem:
    """The same problem without fields, with one more spin at the end.

    Couplings then differ from query to query, and are no longer shared; sparse ones become dense.

    Args:
        problem: (..., n), without K.

    Returns:
        (..., n + 1); the gauge spin is always present.

    Raises:
        TypeError: problem is not an IsingProblem.
        ValueError: the problem has a K, which would couple four spins.
    """
    check_is_problem(problem)
    if problem.K is not None:
        raise ValueError("a gauge spin makes K a coupling of four spins; encode problems without K")
    problem = problem.to_dense()
    xp, n = namespace(problem.h), problem.num_spins
    batch = np.broadcast_shapes(tuple(problem.h.shape[:-1]), tuple(problem.J.shape[:-2]))
    h = xp.broadcast_to(problem.h, (*batch, n))[..., None]
    J = xp.broadcast_to(problem.J, (*batch, n, n))
    corner = like(np.zeros((*batch, 1, 1)), h)
    fields = xp.concat([xp.swapaxes(h, -1, -2), corner], axis=-1)
    coupled = xp.concat([xp.concat([J, h], axis=-1), fields], axis=-2)
    present = problem.present
    if present is not None:
        present = np.concatenate([present, np.ones((*present.shape[:-1], 1), bool)], axis=-1)
    flat = like(np.zeros(n + 1), h)
    return IsingProblem(flat, coupled, present=present, offset=problem.offset)


def without_gauge_spin(states: Array) -> Array:
    """States (..., n + 1) of the encoded problem as states (..., n) of the first one."""
    return states[..., :-1] * states[..., -1:]


@dataclass(frozen=True)
class GaugeSpin(Sampler):
    """Any sampler, given fields as couplings to one more spin.

    Moments are those of the folded reads; of samplers without reads, they come from correlations
    with the gauge spin. K is refused.

    Attributes:
        sampler: what samples the n + 1 spins.
    """

    sampler: Any

    name: ClassVar[str] = "gauge_spin"

    def __post_init__(self) -> None:
        if not isinstance(self.sampler, Sampler):
            raise TypeError(f"sampler must be a Sampler, not {self.sampler!r}")

    @property
    def thermal(self) -> bool:
        """Whether the sampler's results are."""
        return bool(self.sampler.thermal)

    @property
    def differentiable(self) -> bool:
        """Whether the sampler is; its correlations then carry the gradient."""
        return bool(self.sampler.differentiable)

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; see `Sampler.sample`."""
        check_is_problem(problem)
        result = self.sampler.sample(with_gauge_spin(problem), beta=beta, seed=seed)
        folded = _from_correlation(result) if result.samples is None else _from_samples(result)
        xp = namespace(problem.h)
        exists = like(np.ones(problem.num_spins), problem.h)
        if problem.present is not None:
            exists = like(np.broadcast_to(problem.present, folded.magnetization.shape), problem.h)
        log_partition = result.log_partition
        return SampleResult(
            problem=problem,
            beta=result.beta,
            thermal=result.thermal,
            magnetization=folded.magnetization * exists,
            probability=folded.probability * exists,
            std_error=xp.where(exists > 0, folded.std_error, 0 * exists),
            samples=folded.samples,
            # Each state stands for two of the encoded problem.
            log_partition=None if log_partition is None else log_partition - math.log(2.0),
            info=Info(result.info).also(sampler=self.name, options=self.options),
            _correlation=folded.correlation,
            _correlation_error=folded.correlation_error,
        )

    def distribution(self, problem: IsingProblem, *, beta: Any = 1.0) -> Array:
        """P(s) of every state of the folded spins, as `DQA.distribution` and `Exact`'s.

        Raises:
            TypeError: the sampler has no distribution.
            TooLargeError, ValueError: whatever its distribution refuses of n + 1 spins.
        """
        check_has_distribution(self.sampler)
        check_is_problem(problem)
        found = self.sampler.distribution(with_gauge_spin(problem), beta=beta)
        xp = namespace(found)
        by_gauge = xp.reshape(found, (*found.shape[:-1], -1, 2))
        # The table's last spin is the gauge spin, and flips the other spins where it is -1: the
        # state of all spins flipped is as far from the end as the state itself from the start.
        return by_gauge[..., 1] + xp.flip(by_gauge[..., 0], axis=-1)

    def close(self) -> None:
        """Close the sampler."""
        self.sampler.close()


def _from_correlation(result: SampleResult) -> Solution:
    pairs, errors = (
        (m[..., -1, :-1], m[..., :-1, :-1]) for m in (result.correlation, result.correlation_error)
    )
    return Solution(
        pairs[0],
        0.5 * (1 + pairs[0]),
        errors[0],
        correlation=lambda: pairs[1],
        correlation_error=lambda: errors[1],
    )


def _from_samples(result: SampleResult) -> Solution:
    samples = without_gauge_spin(result.samples)
    found = Solution.from_samples(to_numpy(samples), thermal=result.thermal)
    h = result.magnetization

    def converted(values: Callable[[], Array] | None) -> Callable[[], Array] | None:
        return None if values is None else lambda: like(values(), h)

    return dataclasses.replace(
        found,
        magnetization=like(found.magnetization, h),
        probability=like(found.probability, h),
        std_error=like(found.std_error, h),
        correlation=converted(found.correlation),
        correlation_error=converted(found.correlation_error),
        samples=samples,
    )
