r"""Mean field: each spin sees the averages of the others.

.. math::

    m_j = \tanh \beta f_j, \qquad
    f_j = h_j + \sum_k J_{jk} m_k + \sum_{k<l} K_{jkl} m_k m_l
          - \beta m_j \sum_k J_{jk}^2 (1 - m_k^2)

The last term is Onsager's reaction, in the equation of Thouless, Anderson and Palmer (1977, TAP)
only: it takes off what spin j itself has caused in its neighbours. The two equations end an
expansion in beta J after first and after second order (Plefka 1982; Opper & Winther in Opper &
Saad (eds.), Advanced Mean Field Methods, 2001, ch. 2), so m is wrong by O(J^2) and by O(J^3).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import Array, detach, is_torch, like, namespace, to_numpy
from isingsample._core.blocks import Block
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.sparse import SparseCouplings, check_dense_size
from isingsample._core.states import pair_indices
from isingsample._core.streams import Seed, Streams
from isingsample.samplers.block_sampler import BlockSampler
from isingsample.samplers.mean_field.equation import Equation
from isingsample.samplers.mean_field.fixed_point import DampedIteration
from isingsample.samplers.solution import Solution

EQUATIONS = ("naive", "tap")


@dataclass(frozen=True)
class MeanField(BlockSampler):
    """Fixed point of the mean-field equation, reached by damped iteration from tanh(beta h).

    Approximate: the error is not known, so results are not thermal and std_error is NaN. It is
    small while beta J is weak. Ferromagnetic couplings that are strong (beta J has an eigenvalue
    above 1) break the symmetry: all spins align with the fields, however weak those are, where
    the exact magnetization is still small. Strong couplings of mixed sign have many solutions, or
    none in reach; TAP loses its own first.

    An iteration is a matrix product, 2 Q n**2 flops for Q queries that share J. In PyTorch m and
    the probability are differentiable in h, J, K and beta, to any order: by the implicit function
    theorem, which sees the solution and not the way there, so no steps are kept. The linear
    equation of the gradient is solved by the same iteration, which converges where that for m
    did. Where it does not, the gradient is that of each spin in a fixed field of the others.

    correlation is that of linear response, m_j m_k + dm_j / d(beta h_k) (Kappen & Rodriguez
    1998), and as accurate as m; m_j m_k alone would miss the first order in J. It costs n**3 for
    each query, and is NaN for a solution that is not stable.

    Attributes:
        equation: "naive", or "tap" for the equation with the reaction term, which takes no K.
        max_iterations: steps after which a query counts as not converged.
        damping: share of the old m kept at each step, in [0, 1).
        tolerance: largest distance of a converged query's m_j from tanh(beta f_j), and likewise
            for its gradient. Each query stops at its own convergence: no result depends on what
            else is in the batch. info["converged"] and info["iterations"] are NumPy arrays with
            an entry for each problem.

    Raises:
        ValueError: three-body couplings with equation="tap"; fields or couplings (for TAP also
            their squares) that, summed, leave the range of the problem's dtype.

    Warns:
        UserWarning: there are queries that did not converge. Their m is the last iterate.
    """

    equation: str = "naive"
    max_iterations: int = 1000
    damping: float = 0.5
    tolerance: float = 1e-6

    name: ClassVar[str] = "mean_field"
    runs_on_host: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = True
    differentiable: ClassVar[bool] = True
    thermal: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check.check_choice("equation", self.equation, EQUATIONS)
        check.check_count("max_iterations", self.max_iterations)
        if not 0 <= check.check_number("damping", self.damping) < 1:
            raise ValueError(f"damping must be at least 0 and below 1, not {self.damping}")
        if check.check_number("tolerance", self.tolerance) <= 0:
            raise ValueError(f"tolerance must be above 0, not {self.tolerance}")

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler. Nothing is drawn, so the seed changes nothing."""
        result = super().sample(problem, beta=beta, seed=seed)
        self._equation.warn_unless(result.info.get("converged", np.ones(0)), "magnetization")
        return result

    def _check(self, problem: IsingProblem) -> None:
        if self.equation == "tap" and problem.K is not None and to_numpy(problem.K).any():
            raise ValueError(
                "mean_field with equation='tap' takes no three-body couplings K; "
                "use equation='naive'"
            )

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        equation = self._equation
        # NumPy sums over the edges of a sparse J; PyTorch, which differentiates, gets a matrix.
        J = _dense(block) if is_torch(block.h) else block.J
        with np.errstate(over="ignore"):  # what overflows is refused
            h, J = beta * block.h, beta * J
            couplings = (J,) if block.K is None else (J, beta * block.K[:, *pair_indices(J)])
            _check_range(h, *couplings, *([J * J] if equation.reaction else []))
        found = equation.solve(detach(h), *map(detach, couplings))
        m = found.x
        if is_torch(m):
            from isingsample.samplers.mean_field.gradient import implicit

            m = implicit(equation, m, h, *couplings)
        return Solution(
            m,
            _logistic(equation.field(m, h, *couplings)),
            namespace(m).full_like(found.x, np.nan),
            correlation=lambda: equation.correlation(m, *map(_as_matrix, couplings)),
            per_query={"converged": found.converged, "iterations": found.iterations},
        )

    @property
    def _equation(self) -> Equation:
        iteration = DampedIteration(self.max_iterations, self.damping, self.tolerance)
        return Equation(self.equation == "tap", iteration)


def _dense(block: Block) -> Array:
    """J of a block as (groups, n, n), in h's library."""
    if not isinstance(block.J, SparseCouplings):
        return block.J
    check_dense_size("J", block.num_spins, "mean_field takes a sparse J with NumPy arrays")
    return like(block.J.toarray()[None], block.h)


def _as_matrix(couplings: Array) -> Array:
    return couplings.toarray()[None] if isinstance(couplings, SparseCouplings) else couplings


def _logistic(field: Array) -> Array:
    """P(s = +1) = 1 / (1 + exp(-2 field)), by the branch that neither cancels nor overflows.

    Each branch is right at 0 too, so no derivative has a kink there.
    """
    xp = namespace(field)
    up = field > 0
    with np.errstate(over="ignore"):  # exp(-infinity) is as good as what it stands for
        weight = xp.exp(2 * xp.where(up, -field, field))
    return xp.where(up, xp.ones_like(weight), weight) / (1 + weight)


def _sizes(couplings: Array) -> Array:
    """The sum of absolute values of a spin's couplings: (groups, n)."""
    if isinstance(couplings, SparseCouplings):
        return couplings.sizes()[None]
    xp = namespace(couplings)
    return xp.sum(xp.abs(couplings), axis=-2)


def _check_range(h: Array, *couplings: Array) -> None:
    """ValueError unless the largest field that a spin could feel is finite."""
    xp = namespace(h)
    largest = xp.abs(h) + sum(_sizes(c) for c in couplings)[:, None]
    check.check_in_range(largest)
