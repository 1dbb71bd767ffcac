"""The circuit of an anneal: spin i is qubit i, and |0> is s = +1.

`dqa_circuit` makes one for users: parameters are the problem's own coefficients, so that it can be
drawn, bound, transpiled and exported. `BlockCircuit` makes the one that the engines run, with a
parameter for each angle.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from isingsample._core import checks as check
from isingsample._core.problem import IsingProblem
from isingsample.errors import MissingExtraError
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.schedule import ScheduleLike

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import Parameter, ParameterVector

# What an anneal is made of; cx is for products of three spins.
GATES = ("h", "rz", "rzz", "cx", "rx")


def dqa_circuit(
    problem: IsingProblem,
    *,
    parameters: Collection[str] = "h",
    total_time: float = 5.0,
    num_steps: int = 200,
    trotter_order: int = 1,
    schedule: ScheduleLike = "linear",
    convention: str = "unit",
    calibration: str = "none",
) -> "QuantumCircuit":
    """The anneal as a Qiskit circuit of h, rz, rzz, cx and rx, not measured.

    One circuit serves all problems that share what is bound in it. Aer takes these gates as they
    are; for a device, transpile. What the circuit samples is a distribution near Boltzmann at
    other temperatures than 1, which calibration="analytic" makes up for.

    >>> circuit = dqa_circuit(IsingProblem([0.3, -0.2], [[0, 0.7], [0.7, 0]]), num_steps=2)
    >>> [parameter.name for parameter in circuit.parameters]
    ['h[0]', 'h[1]']
    >>> circuit.assign_parameters([0.3, -0.2]).num_parameters
    0

    Args:
        problem: one problem, or a batch whose members differ only in what stays free; without
            absent spins. The values of what stays free do not matter.
        parameters: which coefficients stay free, as any of the letters of "hJK": "h", "hJ", "" and
            so on. Each becomes a ParameterVector of its name: h of n spins, J of all pairs j < k
            in the order of `itertools.combinations(range(n), 2)`, K of all triples in that of
            `combinations(range(n), 3)`. The circuit lists them as Qiskit sorts them, by name: J,
            K, h. The others are numbers, and cost no gate where they are zero.
        total_time, num_steps, trotter_order, schedule, convention: as for DQA.
        calibration: "none" takes h, J and K as they are; "analytic" divides each by the inverse
            temperature that its body order has in this anneal, as DQA does by default; "circuit"
            by that of its steps.

    Returns:
        A circuit on n qubits: spin i is qubit i, and ``|0>`` is s = +1. In Qiskit's bit strings
        qubit 0 is the rightmost character.

    Raises:
        ValueError: coefficients that are bound differ within the batch, absent spins, an option
            out of its range, or a schedule that cannot be calibrated.
        TypeError: problem is not an IsingProblem, or an option of the wrong kind.
        MissingExtraError: qiskit is not installed.
    """
    if not isinstance(problem, IsingProblem):
        raise TypeError(f"problem must be an IsingProblem, not {type(problem).__name__}")
    if not isinstance(parameters, Collection):
        raise TypeError(f"parameters must be letters of 'hJK', not {parameters!r}")
    for name in parameters:
        check.check_choice("parameters", name, "hJK")
    check.check_choice("calibration", calibration, ("none", "analytic", "circuit"))
    if problem.present is not None and not problem.present.all():
        raise ValueError("dqa_circuit takes a problem without absent spins; leave them out of h")
    anneal = Anneal(total_time, num_steps, trotter_order, schedule, convention)
    local = problem.to_dense().to_numpy()
    used = [name for name in "hJK" if name in parameters or getattr(local, name) is not None]
    anneal.check_calibration(calibration, used)
    betas = anneal.betas_by(calibration)
    ParameterVector = _parameter_vector()
    rotations: dict[tuple[int, ...], Sequence[Any]] = {}
    for name in used:
        array, order = getattr(local, name), "hJK".index(name) + 1
        products = list(combinations(range(local.num_spins), order))
        angles = anneal.problem_angles / getattr(betas, name)
        if name in parameters:
            vector = ParameterVector(name, len(products))
            for product, parameter in zip(products, vector, strict=True):
                rotations[product] = [angle * parameter for angle in angles.tolist()]
            continue
        if array.ndim > order:
            raise ValueError(
                f"{name} has batch axes {array.shape[:-order]}, and one circuit cannot hold them "
                f"all: pass one problem, or parameters={''.join(parameters) + name!r}"
            )
        rotations |= {p: (angles * array[p]).tolist() for p in products if array[p]}
    return _anneal_circuit(local.num_spins, rotations, anneal)


def _parameter_vector() -> Any:
    """The class."""
    try:
        from qiskit.circuit import ParameterVector
    except ImportError:
        raise MissingExtraError("the sampler 'dqa'", "qiskit") from None
    return ParameterVector


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
        ParameterVector = _parameter_vector()
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
    try:
        from qiskit import QuantumCircuit
    except ImportError:
        raise MissingExtraError("the sampler 'dqa' on Qiskit", "qiskit") from None

    spins = range(num_spins)
    circuit = QuantumCircuit(num_spins, name="dqa")
    if not num_spins:  # gates without qubits are an error
        return circuit
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
