"""The circuit for users: drawn, bound, transpiled, exported and run by Qiskit alone."""

import io
import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from isingsample import DQA, IsingProblem, MissingExtraError, dqa_circuit
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.circuit import BlockCircuit
from support.dqa_cases import ASYM3, OUTCOMES3, TROT3, TROT3_OPTIONS
from support.fixtures import couplings, three_body
from support.strategies import symmetric

pytest.importorskip("qiskit_aer")

ORDERS = pytest.mark.parametrize("order", [1, 2])


def trot3(order: int = 1, **options: Any) -> Any:
    return dqa_circuit(ASYM3, **TROT3_OPTIONS, trotter_order=order, **options)


def magnetization(bound: Any) -> np.ndarray:
    """Of a circuit of three qubits without parameters, by Qiskit's own state vector."""
    from qiskit.quantum_info import Statevector

    return Statevector(bound).probabilities() @ OUTCOMES3


# --- parameters ----------------------------------------------------------------------------------


@ORDERS
@pytest.mark.parametrize("parameters", ["h", "", "hJ", "J", ("J", "h")])
def test_any_coefficients_can_stay_free(parameters: str, order: int) -> None:
    circuit = trot3(order, parameters=parameters)
    values = {"J": ASYM3.J[np.triu_indices(3, 1)], "h": ASYM3.h}
    # By position: in the order of the circuit's own list, which is by name.
    listed = np.concatenate([[], *(values[name] for name in "Jh" if name in parameters)])
    assert circuit.num_parameters == len(listed)
    found = magnetization(circuit.assign_parameters(listed))
    np.testing.assert_allclose(found, TROT3[order], atol=1e-6)
    # And by vector.
    vectors = {parameter.vector for parameter in circuit.parameters}
    by_vector = circuit.assign_parameters({vector: values[vector.name] for vector in vectors})
    np.testing.assert_allclose(magnetization(by_vector), found, atol=1e-12)


def test_three_body_couplings_bound_and_free() -> None:
    rng = np.random.default_rng(3)
    h, J, K = rng.normal(size=4), symmetric(rng, (), 4, 2), symmetric(rng, (), 4, 3)
    problem = IsingProblem(h, J, K)
    options: dict[str, Any] = {"total_time": 2, "num_steps": 4}
    sampler = DQA(**options, calibration="none", engine="statevector")
    signs = 1 - 2 * (np.arange(16)[:, None] >> np.arange(4) & 1)
    from qiskit.quantum_info import Statevector

    for parameters in ("", "h", "hJK", "K"):
        circuit = dqa_circuit(problem, parameters=parameters, **options)
        listed = {"J": J, "K": K, "h": h}
        values = [
            array[product]
            for name, array in listed.items()
            if name in parameters
            for product in combinations(range(4), array.ndim)
        ]
        found = Statevector(circuit.assign_parameters(values)).probabilities() @ signs
        np.testing.assert_allclose(found, sampler.sample(problem).magnetization, atol=1e-10)


def test_more_than_ten_parameters_keep_their_order() -> None:
    from qiskit.quantum_info import Statevector

    h = 0.1 * np.arange(1, 13)
    circuit = dqa_circuit(IsingProblem(np.zeros(12)), total_time=2, num_steps=8)
    assert [p.name for p in circuit.parameters] == [f"h[{i}]" for i in range(12)]
    state = Statevector(circuit.assign_parameters(h))
    m = [1 - 2 * state.probabilities([qubit])[1] for qubit in range(12)]
    assert (np.diff(m) > 0).all()
    expected = DQA(**TROT3_OPTIONS).sample(IsingProblem(h)).magnetization
    np.testing.assert_allclose(m, expected, atol=1e-10)


def test_calibrated_it_is_the_samplers_own() -> None:
    K = three_body(3, {(0, 1, 2): 0.3})
    problem = IsingProblem(ASYM3.h, ASYM3.J, K)
    circuit = dqa_circuit(problem, num_steps=30, calibration="analytic")
    expected = DQA(num_steps=30, engine="statevector").sample(problem).magnetization
    found = magnetization(circuit.assign_parameters(ASYM3.h))
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_one_circuit_for_a_batch_that_shares_couplings() -> None:
    batch = IsingProblem(np.stack([ASYM3.h, -ASYM3.h]), ASYM3.J)
    circuit = dqa_circuit(batch, **TROT3_OPTIONS)
    for h, sign in ((ASYM3.h, 1), (-ASYM3.h, -1)):
        found = magnetization(circuit.assign_parameters(h))
        np.testing.assert_allclose(found, sign * TROT3[1], atol=1e-6)


# --- what users do with it -----------------------------------------------------------------------


def test_it_can_be_drawn() -> None:
    drawn = str(dqa_circuit(ASYM3, num_steps=1).draw("text", fold=-1))
    assert drawn.count("h[1]") == 1
    assert drawn.count("ZZ") == 3


@ORDERS
def test_aer_takes_it_without_a_transpile(order: int) -> None:
    from qiskit_aer import AerSimulator

    circuit = trot3(order)
    circuit.save_probabilities()
    binds = [{parameter: [h] for parameter, h in zip(circuit.parameters, ASYM3.h, strict=True)}]
    simulator = AerSimulator(method="statevector", max_parallel_threads=1)
    result = simulator.run(circuit, parameter_binds=binds).result()
    found = result.data(0)["probabilities"] @ OUTCOMES3
    np.testing.assert_allclose(found, TROT3[order], atol=1e-6)


@ORDERS
@pytest.mark.parametrize("level", [0, 1, 3])
def test_it_survives_a_line_of_qubits(order: int, level: int) -> None:
    from qiskit import transpile
    from qiskit.quantum_info import Statevector

    circuit = trot3(order)
    circuit.measure_all()
    moved = transpile(
        circuit,
        coupling_map=[[0, 1], [1, 2]],
        basis_gates=["rz", "sx", "x", "cx"],
        initial_layout=[2, 0, 1],
        optimization_level=level,
        seed_transpiler=7,
    )
    assert moved.count_ops()["cx"] > 8 * 3 * 2  # swaps were needed, so the layout was moved
    assert moved.num_parameters == 3
    moved = moved.assign_parameters(ASYM3.h)
    measured = {
        moved.find_bit(step.clbits[0]).index: moved.find_bit(step.qubits[0]).index
        for step in moved.data
        if step.operation.name == "measure"
    }
    state = Statevector(moved.remove_final_measurements(inplace=False))
    found = state.probabilities([measured[bit] for bit in range(3)]) @ OUTCOMES3
    np.testing.assert_allclose(found, TROT3[order], atol=1e-6)


@ORDERS
def test_openqasm_3_and_back(order: int) -> None:
    from qiskit import qasm3

    circuit = trot3(order)
    text = qasm3.dumps(circuit)
    assert text.startswith("OPENQASM 3.0;")
    assert text.count("input float[64]") == 3
    pytest.importorskip("qiskit_qasm3_import")
    back = qasm3.loads(qasm3.dumps(circuit.assign_parameters(ASYM3.h)))
    np.testing.assert_allclose(magnetization(back), TROT3[order], atol=1e-6)


@pytest.mark.parametrize("parameters", ["", "h", "hJK"])
def test_qpy_and_back(parameters: str) -> None:
    from qiskit import qpy

    circuit = trot3(parameters=parameters)
    file = io.BytesIO()
    qpy.dump(circuit, file)
    file.seek(0)
    (back,) = qpy.load(file)
    assert back == circuit
    if parameters == "h":
        found = magnetization(back.assign_parameters(ASYM3.h))
        np.testing.assert_allclose(found, TROT3[1], atol=1e-6)


# --- gates ---------------------------------------------------------------------------------------


def test_zero_terms_cost_no_gates() -> None:
    J = np.stack([couplings(4, {(0, 1): 0.3}), couplings(4, {(0, 1): -0.2, (2, 3): 1.0})])
    h = np.array([[[0.1, 0.0, 0.2, 0.3]], [[0.2, 0.0, 0.2, 0.0]]])
    program = BlockCircuit.of(h, J, None, Anneal(1.0, 10, 1, "linear"))
    assert program.circuit.count_ops() == {"h": 4, "rz": 30, "rzz": 20, "rx": 40}
    assert program.circuit.num_parameters == 50
    nothing = IsingProblem(np.zeros(3))
    gates = dqa_circuit(nothing, num_steps=10, parameters="").count_ops()
    assert gates == {"h": 3, "rx": 30}
    # Free ones may not stay zero.
    gates = dqa_circuit(nothing, num_steps=10, parameters="hJK").count_ops()
    assert gates == {"h": 3, "rx": 30, "rz": 30, "rzz": 40, "cx": 20}


@pytest.mark.parametrize("parameters", ["h", "", "hJK"])
def test_no_spins_make_an_empty_circuit(parameters: str) -> None:
    circuit = dqa_circuit(IsingProblem(np.zeros(0)), parameters=parameters)
    assert (circuit.num_qubits, len(circuit.data), circuit.num_parameters) == (0, 0, 0)


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "options", "error", "message"),
    [
        ([0.1, 0.2], {}, TypeError, "IsingProblem"),
        (IsingProblem(np.zeros((2, 3))), {"parameters": ""}, ValueError, "h has batch axes"),
        (
            IsingProblem(np.zeros((2, 3)), np.zeros((2, 3, 3))),
            {},
            ValueError,
            r"J has batch axes \(2,\).*parameters='hJ'",
        ),
        (
            IsingProblem(np.zeros(3), present=[True, False, True]),
            {},
            ValueError,
            "without absent spins",
        ),
        (ASYM3, {"parameters": "hj"}, ValueError, "parameters must be one of h, J, K, not 'j'"),
        (ASYM3, {"parameters": 3}, TypeError, "parameters must be letters of 'hJK', not 3"),
        (ASYM3, {"num_steps": 0}, ValueError, "num_steps must be at least 1"),
        (ASYM3, {"total_time": float("nan")}, ValueError, "total_time must be finite"),
        (ASYM3, {"total_time": -1.0}, ValueError, "total_time must be above 0"),
        (
            ASYM3,
            {"calibration": "fit"},
            ValueError,
            "one of none, analytic, circuit",
        ),
        (
            ASYM3,
            {"calibration": "analytic", "schedule": (lambda s: 1 - s, lambda s: 0.0)},
            ValueError,
            "cannot be calibrated",
        ),
    ],
)
def test_what_is_refused(
    problem: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        dqa_circuit(problem, **options)


def test_without_qiskit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qiskit.circuit", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'isingsample\[qiskit\]'"):
        dqa_circuit(ASYM3)
