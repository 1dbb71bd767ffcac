"""The mean-field equation of a block of queries: its solution and how that responds.

beta is multiplied into h, J and K throughout. Shapes: m, h and what is like them (groups,
queries, n); J (groups, n, n), or SparseCouplings in NumPy; K, where there is any, (groups,
n(n-1)/2, n), a row for each pair of spins, with the pair's coupling to every third spin.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from isingsample._core.arrays import Array, detach, like, namespace
from isingsample._core.sparse import SparseCouplings
from isingsample._core.states import pair_indices, pair_products
from isingsample.samplers.mean_field.fixed_point import DampedIteration, Settled


@dataclass(frozen=True)
class Equation:
    """m = tanh(field(m)), and the iteration that solves it.

    Attributes:
        reaction: whether the field has Onsager's term (TAP) or not (naive).
        iteration: how to get to a solution, and to its response.
    """

    reaction: bool
    iteration: DampedIteration

    def solve(self, h: Array, *couplings: Array) -> Settled:
        """The solution that iteration from m = tanh(h) leads to."""
        xp = namespace(h)
        # A sparse J belongs to all groups, of which there is one.
        is_shared = isinstance(couplings[0], SparseCouplings)

        def step(m: Array, h: Array, *by_group: Array) -> Array:
            return xp.tanh(self.field(m, h, *(couplings if is_shared else by_group)))

        return self.iteration.settle(step, xp.tanh(h), (h,), () if is_shared else couplings)

    def field(self, m: Array, h: Array, J: Array, K: Array | None = None) -> Array:
        """The field on each spin when the others have averages m."""
        total = h + m @ J  # J is symmetric
        if K is not None:
            total = total + pair_products(m) @ K
        if self.reaction:
            total = total - m * ((1 - m * m) @ (J * J))
        return total

    def bend(self, v: Array, m: Array, J: Array, K: Array | None = None) -> Array:
        """How the field changes as m moves along v: B v with B = d field / d m.

        B is symmetric, since the field is the gradient of an energy.
        """
        total = v @ J
        if K is not None:
            j, k = pair_indices(m)
            total = total + (v[..., j] * m[..., k] + m[..., j] * v[..., k]) @ K
        if self.reaction:
            squares = J * J
            total = total - v * ((1 - m * m) @ squares) + 2 * m * ((m * v) @ squares)
        return total

    def jacobian(self, m: Array, J: Array, K: Array | None = None) -> Array:
        """B of each query, as a matrix: (groups, queries, n, n)."""
        directions = like(np.eye(m.shape[-1]), m) + namespace(m).zeros_like(m)[..., None]
        by_query = (None if c is None else c[:, None] for c in (J, K))
        return self.bend(directions, m[..., None, :], *by_query)

    def response(self, g: Array, m: Array, *couplings: Array) -> Array:
        """R g with R = dm/dh = (1/D - B)^-1 and D = 1 - m^2, at a solution m.

        It is the fixed point of v = D (g + B v), which is reached where m itself was. Where not,
        the result is D g, the response of each spin by itself, and a warning says so.
        """
        xp = namespace(m)
        slope = 1 - m * m
        largest = xp.max(xp.abs(g), axis=-1, keepdims=True)
        unit = g / xp.where(largest > 0, largest, xp.ones_like(largest))

        def step(v: Array, unit: Array, slope: Array, m: Array, *couplings: Array) -> Array:
            return slope * (unit + self.bend(v, m, *couplings))

        alone = slope * unit
        found = self.iteration.settle(step, alone, (unit, slope, m), couplings)
        self.warn_unless(found.converged, "gradient")
        sound = like(found.converged, m, keep_dtype=True)[..., None]
        return largest * xp.where(sound, found.x, alone)

    def correlation(self, m: Array, J: Array, K: Array | None = None) -> Array:
        """m_j m_k + R_jk, and 1 on the diagonal: (groups, queries, n, n).

        NaN where 1/D - B is not positive, since no stable phase responds like that.
        """
        xp = namespace(m)
        eye = like(np.eye(m.shape[-1]), m)
        B = self.jacobian(m, J, K)
        slope = 1 - m * m
        root = xp.sqrt(detach(slope))
        scaled = eye - root[..., :, None] * detach(B) * root[..., None, :]
        rounding = 10 * m.shape[-1] * xp.finfo(m.dtype).eps
        stable = (xp.linalg.eigvalsh(scaled)[..., 0] > rounding)[..., None, None]
        # (1/D - B)^-1 = (1 - D B)^-1 D, for D may be 0.
        matrix = xp.where(stable, eye - slope[..., :, None] * B, eye)
        R = xp.linalg.solve(matrix, eye * slope[..., None, :])
        pairs = m[..., :, None] * m[..., None, :] + 0.5 * (R + R.mT)
        return xp.where(stable, pairs * (1 - eye) + eye, xp.nan)

    def warn_unless(self, converged: np.ndarray, what: str) -> None:
        """One UserWarning if queries have not converged, with what to try."""
        failed = np.size(converged) - np.count_nonzero(converged)
        if failed:
            warnings.warn(
                f"mean field: the {what} of {failed} of {np.size(converged)} problems did not "
                f"converge; raise max_iterations ({self.iteration.max_iterations}) where it is "
                f"slow, or damping ({self.iteration.damping}) where strong couplings make it swing",
                stacklevel=3,
            )
