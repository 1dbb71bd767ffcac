r"""The Ising problem: what every sampler takes.

.. math::

    E(s) = c - \sum_j h_j s_j - \sum_{j<k} J_{jk} s_j s_k - \sum_{j<k<l} K_{jkl} s_j s_k s_l,
    \qquad s_j \in \{-1, +1\}, \qquad P(s) \propto e^{-\beta E(s)}

J > 0 is ferromagnetic and each pair counts once. dimod, D-Wave and QUBOs use the other sign;
`isingsample.interop` converts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample._core import checks as check
from isingsample._core import problem_inputs as inputs
from isingsample._core.arrays import (
    Array,
    deepcopied,
    in_own_precision,
    is_torch,
    like,
    to_numpy,
)
from isingsample._core.sparse import SPARSE_FROM, SparseCouplings, check_dense_size
from isingsample._core.states import state_energies


@dataclass(frozen=True, eq=False)
class IsingProblem:
    """A batch of Ising problems, validated once, with couplings shared where they can be.

    NumPy arrays, PyTorch tensors and nested lists are taken alike; results come back in the
    same library and on the same device. Floats keep their dtype (half precision is computed,
    and returned, as float32); integers and bools become float64. The caller's arrays are
    never changed, and NumPy arrays are copied: what happens to them later does not matter.

    Attributes:
        h: fields, (..., n); the leading axes are the batch.
        J: couplings, (n, n) or (..., n, n) broadcast against h's batch; symmetric with zero
            diagonal. Or a scipy.sparse matrix or array (n, n) of any format, or
            SparseCouplings: then nothing of size n**2 is made, J is kept as SparseCouplings, on
            the host, and is a constant for gradients. None means no couplings.
        K: three-body couplings, (n, n, n) or (..., n, n, n), symmetric under every
            permutation and zero where an index repeats; or None. Not with a sparse J.
        present: (..., n) bool, or None for all. An absent spin is removed from its problem:
            magnetization 0, probability 0, samples 0.
        labels: n distinct hashables, the spins' names; 0 ... n-1 by default.
        offset: the constant c of the energy, a number or (...). It shifts energies and
            log_partition and changes nothing else.

    Raises:
        TypeError: an array that does not hold real numbers.
        ValueError: a shape that does not fit, NaN or infinity, a J or K that is not symmetric
            or couples a spin to itself, a sparse J with a K, labels that repeat.
    """

    h: Array
    J: Array = None
    K: Array | None = None
    present: Array | None = None
    labels: Any = None
    offset: Array = 0.0

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("h", "J", "K", "offset")}
        given = {name: a for name, a in given.items() if a is not None or name not in "JK"}
        graph = inputs.sparse_graph(given)
        arrays = {name: check.real_array(name, a) for name, a in given.items()}
        if arrays["h"].ndim < 1:
            raise ValueError("h must have at least one axis, (..., n); it is a single number")
        num_spins = arrays["h"].shape[-1]
        if not given.keys() & {"J", "K"} and num_spins > SPARSE_FROM:
            graph = SparseCouplings.from_pairs(num_spins, [], [], [])
            arrays["J"] = arrays["h"].reshape(-1)[:0]
        arrays = inputs.same_library(arrays)
        for name, array in arrays.items():
            check.check_finite(name, array)
        if graph is not None:
            check.check_square("J", graph, num_spins, rank=2)
            arrays["J"] = graph.with_values(to_numpy(arrays["J"]))
        else:
            arrays["J"] = inputs.dense_couplings(arrays, num_spins)
        if "K" in arrays:
            check.check_square("K", arrays["K"], num_spins, rank=3)
            exact = check.check_three_body("K", arrays["K"])
            arrays["K"] = inputs.symmetrised(arrays["K"], rank=3, exact=exact)
        if self.present is not None:
            arrays["present"] = inputs.presence(self.present, num_spins)
        for name, array in arrays.items():
            object.__setattr__(self, name, array)
        object.__setattr__(self, "labels", inputs.distinct_labels(self.labels, num_spins))
        _ = self.batch_shape  # refuses batch axes that do not broadcast

    @property
    def num_spins(self) -> int:
        """n, the number of spins of each problem, absent ones included."""
        return int(self.h.shape[-1])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes of the batch; () for a single problem."""
        shapes = {
            "h": tuple(self.h.shape[:-1]),
            "J": tuple(self.J.shape[:-2]),
            "K": () if self.K is None else tuple(self.K.shape[:-3]),
            "present": () if self.present is None else tuple(self.present.shape[:-1]),
            "offset": tuple(self.offset.shape),
        }
        try:
            return np.broadcast_shapes(*shapes.values())
        except ValueError:
            listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
            raise ValueError(f"batch axes do not broadcast against each other: {listed}") from None

    def energy(self, states: Any) -> Array:
        """Energy of states, in the units of h.

        Args:
            states: (..., n), one state for each problem, or (..., reads, n), several for each;
                -1 and +1, and 0 at absent spins. A batch axis may have length 1, for the same
                states in all problems along it.

        Returns:
            (...) or (..., reads), in h's library and dtype.

        Raises:
            ValueError: a shape that does not fit, entries other than -1 and +1, or other than 0
                at absent spins.
        """
        spins = inputs.spins(states, self.h)
        batch = self.batch_shape
        one_each = spins.ndim == len(batch) + 1
        fits = spins.ndim in (len(batch) + 1, len(batch) + 2) and spins.shape[-1] == self.num_spins
        if not fits or any(
            axis not in (1, wanted) for axis, wanted in zip(spins.shape, batch, strict=False)
        ):
            raise ValueError(
                f"states must have shape (..., n) or (..., reads, n) with batch {batch} and "
                f"n = {self.num_spins}; they have shape {tuple(spins.shape)}"
            )
        present = self.present
        if present is not None and not one_each:
            present = present[..., None, :]
        check.check_spins("states", spins, present)
        spins = spins[..., None, :] if one_each else spins
        with in_own_precision(self.h):
            energy = self.offset[..., None] + state_energies(spins, self.h, self.J, self.K)
        return energy[..., 0] if one_each else energy

    @classmethod
    def unvalidated(cls, **fields: Any) -> "IsingProblem":
        """A problem from arrays that are already right: the caller vouches for every rule.

        For inner loops. All of h, J, K, present, labels and offset must be given, as
        __post_init__ would have left them.
        """
        problem = object.__new__(cls)
        for name in ("h", "J", "K", "present", "labels", "offset"):
            object.__setattr__(problem, name, fields[name])
        return problem

    @property
    def is_sparse(self) -> bool:
        """Whether J is SparseCouplings."""
        return isinstance(self.J, SparseCouplings)

    @property
    def edges(self) -> np.ndarray:
        """The pairs j < k that are coupled in any problem of the batch, ascending: (edges, 2)."""
        if isinstance(self.J, SparseCouplings):
            return np.stack([self.J.first, self.J.second], axis=-1)
        J = to_numpy(self.J)
        coupled = (J != 0).any(axis=tuple(range(J.ndim - 2)))
        return np.argwhere(np.triu(coupled, 1))

    def to_dense(self) -> "IsingProblem":
        """The same problem with a dense J, in h's library.

        Raises:
            TooLargeError: J is sparse and has more than 8192 spins.
        """
        if not isinstance(self.J, SparseCouplings):
            return self
        check_dense_size("J", self.num_spins, "Make it by J.toarray() if you must")
        fields = {name: getattr(self, name) for name in ("h", "K", "present", "labels", "offset")}
        return IsingProblem.unvalidated(J=like(self.J.toarray(), self.h), **fields)

    def to_numpy(self) -> "IsingProblem":
        """The same problem on the host, in NumPy arrays without autograd history."""
        if not is_torch(self.h):
            return self
        return IsingProblem.unvalidated(
            h=to_numpy(self.h),
            J=self.J if self.is_sparse else to_numpy(self.J),
            K=None if self.K is None else to_numpy(self.K),
            present=self.present,
            labels=self.labels,
            offset=to_numpy(self.offset),
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> "IsingProblem":
        """A copy of its own arrays; tensors that were computed lose their autograd history."""
        return deepcopied(self, self.__dict__, memo)

    def __repr__(self) -> str:
        parts = [f"num_spins={self.num_spins}", f"batch_shape={self.batch_shape}"]
        parts += [f"num_edges={self.J.num_edges}"] if self.is_sparse else []
        parts += ["three_body=True"] if self.K is not None else []
        parts += [f"dtype={str(self.h.dtype).removeprefix('torch.')}"]
        parts += [f"device={self.h.device}"] if is_torch(self.h) else []
        return f"IsingProblem({', '.join(parts)})"
