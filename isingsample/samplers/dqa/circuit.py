"""The circuit of an anneal: spin i is qubit i, and |0> is s = +1."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from isingsample.errors import MissingExtraError
from isingsample.problem import IsingProblem
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.schedule import ScheduleLike

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import Parameter, ParameterVector


def dqa_circuit(
    problem: IsingProblem,
    *,
    total_time: float = 5.0,
    num_steps: int = 200,
    trotter_order: int = 1,
    schedule: ScheduleLike = "linear",
    convention: str = "unit",
) -> "QuantumCircuit":
    """The anneal of one problem as a Qiskit circuit of h, rz, rzz, cx and rx, not measured.

    Fields and couplings enter as they are: for samples at a given temperature scale them first,
    with `isingsample.calibration.effective_betas`. Zero ones cost no gate.

    Args:
        problem: one problem, without batch axes or absent spins.
        total_time, num_steps, trotter_order, schedule, convention: as for DQA.

    Returns:
        A circuit on n qubits. In Qiskit's bit strings qubit 0 is the rightmost character.

    Raises:
        ValueError: problem is a batch or has absent spins, or an option is out of its range.
        TypeError: an option of the wrong kind.
        MissingExtraError: qiskit is not installed.
    """
    if problem.batch_shape:
        raise ValueError(f"dqa_circuit takes one problem, not a batch {problem.batch_shape}")
    if problem.present is not None and not problem.present.all():
        raise ValueError("dqa_circuit takes a problem without absent spins; leave them out of h")
    anneal = Anneal(total_time, num_steps, trotter_order, schedule, convention)
    local = problem.to_numpy()
    K = None if local.K is None else local.K[None]
    return BlockCircuit.of(local.h[None, None], local.J[None], K, anneal).circuit


@dataclass(frozen=True)
class BlockCircuit:
    """One circuit for all queries of a block.

    Coefficients that the queries share are numbers in it. For the others each angle is a
    parameter of its own, not an expression in h or J: Aer would evaluate an expression in Python
    for each step of each query, which takes as long as simulating a few spins does.

    Attributes:
        circuit: the circuit.
        anneal: its angles.
        free: for each coefficient that differs, its angles in every step, and the coefficient
            of every query, (groups * queries,).
    """

    circuit: "QuantumCircuit"
    anneal: Anneal
    free: "Sequence[tuple[ParameterVector, np.ndarray]]"

    @classmethod
    def of(
        cls, h: np.ndarray, J: np.ndarray, K: np.ndarray | None, anneal: Anneal
    ) -> "BlockCircuit":
        """The circuit for h (groups, queries, n), J (groups, n, n), K (groups, n, n, n)."""
        try:
            from qiskit.circuit import ParameterVector
        except ImportError:
            raise MissingExtraError("the sampler 'dqa'", "qiskit") from None
        rotations: dict[tuple[int, ...], Sequence[Any]] = {}
        free = []
        for spins, coefficient in _terms(h, J, K):
            if coefficient.size == 1:
                rotations[spins] = (anneal.problem_angles * coefficient.item()).tolist()
            else:
                name = "angle_" + "_".join(map(str, spins))
                vector = ParameterVector(name, anneal.num_steps)
                rotations[spins] = list(vector)
                free.append((vector, np.broadcast_to(coefficient, h.shape[:2]).reshape(-1)))
        return cls(_anneal_circuit(h.shape[-1], rotations, anneal), anneal, free)

    def values(self, rows: slice) -> "dict[Parameter, list[float]]":
        """The value of every parameter for each query in rows."""
        found: dict[Parameter, list[float]] = {}
        for vector, coefficient in self.free:
            angles = np.multiply.outer(self.anneal.problem_angles, coefficient[rows])
            found.update(zip(vector, angles.tolist(), strict=True))
        return found


def _terms(
    h: np.ndarray, J: np.ndarray, K: np.ndarray | None
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Products of spins and their coefficients, (groups, queries) or (groups, 1).

    Those that are zero in every query are left out.
    """
    arrays = [h, J[:, None]] + ([] if K is None else [K[:, None]])
    for order, array in enumerate(arrays, start=1):
        spins_first = np.moveaxis(array, range(-order, 0), range(order))
        for spins in combinations(range(h.shape[-1]), order):
            coefficient = spins_first[spins]
            if coefficient.any():
                yield spins, coefficient


def _anneal_circuit(
    num_spins: int, rotations: Mapping[tuple[int, ...], Sequence[Any]], anneal: Anneal
) -> "QuantumCircuit":
    """The circuit that turns each product of spins by its angle in every step."""
    from qiskit import QuantumCircuit

    spins = range(num_spins)
    circuit = QuantumCircuit(num_spins, name="dqa")
    circuit.h(spins)
    for step, driver in enumerate(anneal.driver_angles.tolist()):
        for product, angles in rotations.items():
            _rotate(circuit, product, angles[step])
        circuit.rx(driver, spins)
    return circuit


def _rotate(circuit: "QuantumCircuit", product: tuple[int, ...], angle: Any) -> None:
    """exp(-i angle/2 Z...Z) on one, two or three qubits."""
    if len(product) == 1:
        circuit.rz(angle, *product)
    elif len(product) == 2:
        circuit.rzz(angle, *product)
    else:
        first, second, third = product
        circuit.cx(first, second)  # qubit `second` now holds the parity of the first two
        circuit.rzz(angle, second, third)
        circuit.cx(first, second)
