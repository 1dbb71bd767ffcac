r"""Mean field: each spin sees the averages of the others.

.. math::

    m_j = \tanh \beta f_j, \qquad
    f_j = h_j + \sum_k J_{jk} m_k + \sum_{k<l} K_{jkl} m_k m_l
          - \beta m_j \sum_k J_{jk}^2 (1 - m_k^2)

The last term is Onsager's reaction: what spin j itself has caused in its neighbours, which the
equation of Thouless, Anderson and Palmer (TAP) takes off again. Both equations are the beginning
of an expansion in beta J, to first and to second order (Plefka 1982; Opper & Saad (eds.),
Advanced Mean Field Methods, MIT Press 2001, ch. 2), so that m is wrong by O(J^2) and O(J^3).
"""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isingsample import _validation as check
from isingsample._arrays import Array, detach, is_torch, like, namespace, to_numpy
from isingsample.blocks import Block
from isingsample.energies import pair_indices, pair_products
from isingsample.problem import IsingProblem
from isingsample.result import SampleResult
from isingsample.samplers._fixed_point import DampedIteration, Settled
from isingsample.samplers.base import Sampler, Solution
from isingsample.streams import Seed, Streams

ORDERS = ("naive", "tap")


@dataclass(frozen=True)
class MeanField(Sampler):
    """Fixed point of the mean-field equation, reached by damped iteration from tanh(beta h).

    Approximate: the error is not known, so results are not thermal and std_error is NaN. Good
    while beta J is weak. Where ferromagnetic couplings are strong (an eigenvalue of beta J above
    1) the equation has several solutions: the spins align in the direction of the fields, however
    small, where the exact magnetization would still be small. Strong couplings of mixed sign may
    leave it without any solution that can be reached; the TAP equation loses it first.

    An iteration costs one matrix product, 2 Q n**2 flops for Q queries that share J. Queries are
    independent of each other: info["converged"] and info["iterations"] hold a number for each.
    In PyTorch, moments are differentiable in h, J, K and beta, to any order and on any device.
    Derivatives are those of the fixed point itself (implicit function theorem); their linear
    equation is solved by the same iteration, so that no steps are stored. A query for which that
    does not converge gets the gradient of a single step, h and J m held apart; a warning says so.

    correlation is that of linear response, m_j m_k + dm_j / d(beta h_k), and 1 on the diagonal:
    right to first order in J, where m_j m_k alone is right to none. NaN where the solution is not
    stable. It costs n**3 for each query.

    Attributes:
        order: "naive", or "tap" for the equation with the reaction term, which takes no K.
        max_iterations: steps after which a query counts as not converged.
        damping: share of the old m kept at each step, in [0, 1).
        tolerance: largest |m_j - tanh(beta f_j)| of a converged query. Rounding in float32 is
            about 1e-7 times the largest field that a spin could feel.

    Raises:
        ValueError: order="tap" with three-body couplings, or fields or couplings whose sums
            (for TAP, of their squares) leave the range of the problem's dtype.

    Warns:
        UserWarning: queries that did not converge; their m is the last one.
    """

    order: str = "naive"
    max_iterations: int = 1000
    damping: float = 0.5
    tolerance: float = 1e-6

    name: ClassVar[str] = "mean_field"
    runs_on_host: ClassVar[bool] = False
    thermal: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check.check_choice("order", self.order, ORDERS)
        check.check_count("max_iterations", self.max_iterations)
        if not 0 <= check.check_number("damping", self.damping) < 1:
            raise ValueError(f"damping must be at least 0 and below 1, not {self.damping}")
        if check.check_number("tolerance", self.tolerance) <= 0:
            raise ValueError(f"tolerance must be above 0, not {self.tolerance}")

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; nothing is drawn, so seed changes nothing."""
        result = super().sample(problem, beta=beta, seed=seed)
        self._warn(result.info.get("converged", np.ones(0, bool)), "magnetization")
        return result

    def field(self, m: Array, h: Array, J: Array, K: Array | None = None) -> Array:
        """beta f, the field on each spin when the others have averages m.

        Args:
            m: (..., queries, n).
            h: (..., queries, n), beta multiplied in, as in J and K.
            J: (..., n, n).
            K: (..., n(n-1)/2, n), a row for each pair of spins; or None.

        Returns:
            (..., queries, n).
        """
        total = h + m @ J  # J is symmetric
        if K is not None:
            total = total + pair_products(m) @ K
        if self.order == "tap":
            total = total - m * ((1 - m * m) @ (J * J))
        return total

    def bend(self, v: Array, m: Array, J: Array, K: Array | None = None) -> Array:
        """The derivative of the field as m moves along v: a symmetric matrix times v.

        Symmetric since the field is the gradient of an energy. Shapes as for `field`.
        """
        total = v @ J
        if K is not None:
            j, k = pair_indices(m)
            total = total + (v[..., j] * m[..., k] + m[..., j] * v[..., k]) @ K
        if self.order == "tap":
            squares = J * J
            total = total - v * ((1 - m * m) @ squares) + 2 * m * ((m * v) @ squares)
        return total

    def response(self, g: Array, m: Array, *couplings: Array) -> Array:
        """(1/D - B)^-1 g with D = 1 - m**2 and B what `bend` multiplies by: g.dm / d(beta h).

        Args:
            g: (groups, queries, n).
            m: (groups, queries, n), a solution.
            couplings: J (groups, n, n), and K where there is any, as for `field`.

        Returns:
            (groups, queries, n); where the iteration does not converge D g, its first step.
        """
        xp = namespace(m)
        slope = 1 - m * m
        largest = xp.max(xp.abs(g), axis=-1, keepdims=True)
        unit = g / xp.where(largest > 0, largest, xp.ones_like(largest))

        def step(v: Array, unit: Array, slope: Array, m: Array, *couplings: Array) -> Array:
            return slope * (unit + self.bend(v, m, *couplings))

        first = slope * unit
        found = self._iteration.settle(step, first, (unit, slope, m), couplings)
        self._warn(found.converged, "gradient")
        sound = like(found.converged, m, keep_dtype=True)[..., None]
        return largest * xp.where(sound, found.x, first)

    def _check(self, problem: IsingProblem) -> None:
        if self.order == "tap" and problem.K is not None and to_numpy(problem.K).any():
            raise ValueError(
                "mean_field with order='tap' takes no three-body couplings K; use order='naive'"
            )

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        with np.errstate(over="ignore"):  # what overflows is refused
            h, J = beta * block.h, beta * block.J
            couplings = (J,) if block.K is None else (J, beta * block.K[:, *pair_indices(J)])
            self._check_range(h, *couplings)
        found = self._magnetization(detach(h), tuple(detach(c) for c in couplings))
        m = found.x
        if is_torch(m):
            from isingsample._torch import implicit

            m = implicit(self, m, h, *couplings)
        xp = namespace(m)
        field = self.field(m, h, *couplings)
        return Solution(
            m,
            # The logistic function of 2 field, without overflow, cancellation or kink.
            xp.exp(-xp.logaddexp(xp.zeros_like(field), -2 * field)),
            xp.full_like(detach(m), np.nan),
            correlation=lambda: self._correlation(m, *couplings),
            per_query={"converged": found.converged, "iterations": found.iterations},
        )

    @property
    def _iteration(self) -> DampedIteration:
        return DampedIteration(self.max_iterations, self.damping, self.tolerance)

    def _magnetization(self, h: Array, couplings: tuple[Array, ...]) -> Settled:
        xp = namespace(h)

        def step(m: Array, h: Array, *couplings: Array) -> Array:
            return xp.tanh(self.field(m, h, *couplings))

        return self._iteration.settle(step, xp.tanh(h), (h,), couplings)

    def _check_range(self, h: Array, J: Array, K: Array | None = None) -> None:
        """ValueError where a field, |m| <= 1, could overflow."""
        xp = namespace(h)
        sizes = [xp.sum(xp.abs(c), axis=-2) for c in (J, K) if c is not None]
        sizes += [xp.sum(J * J, axis=-2)] if self.order == "tap" else []
        if not np.isfinite(to_numpy(xp.abs(h) + sum(sizes)[..., None, :])).all():
            raise ValueError(
                f"beta times the fields or couplings leaves the range of "
                f"{str(h.dtype).removeprefix('torch.')}; scale the problem down"
            )

    def _correlation(self, m: Array, J: Array, K: Array | None = None) -> Array:
        xp = namespace(m)
        eye = like(np.eye(m.shape[-1]), m)
        ones = eye + 0 * m[..., None]  # (groups, queries, n, n), a matrix for each query
        matrix = self.bend(ones, m[..., None, :], J[:, None], None if K is None else K[:, None])
        slope = 1 - m * m
        root = xp.sqrt(detach(slope))
        symmetric = eye - root[..., :, None] * detach(matrix) * root[..., None, :]
        rounding = 10 * m.shape[-1] * xp.finfo(m.dtype).eps
        stable = (xp.linalg.eigvalsh(symmetric)[..., 0] > rounding)[..., None, None]
        # (1/D - B)^-1 = (1 - D B)^-1 D, which does without 1/D
        inverse = xp.where(stable, eye - slope[..., :, None] * matrix, eye)
        response = xp.linalg.solve(inverse, eye * slope[..., None, :])
        pairs = m[..., :, None] * m[..., None, :] + 0.5 * (response + response.mT)
        return xp.where(stable, pairs * (1 - eye) + eye, xp.nan)

    def _warn(self, converged: np.ndarray, what: str) -> None:
        failed = np.size(converged) - np.count_nonzero(converged)
        if failed:
            warnings.warn(
                f"the {what} of {failed} of {np.size(converged)} problems did not converge within "
                f"max_iterations={self.max_iterations}: raise that, or damping={self.damping} for "
                f"strong couplings; info['converged'] says which",
                stacklevel=3,
            )
