import pickle
import subprocess
import sys
from functools import reduce
from itertools import combinations

import fixtures
import numpy as np
import pytest
from fixtures import couplings, three_body
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import symmetric

from isingsample import Exact, IsingProblem, MissingExtraError, TooLargeError, get_sampler
from isingsample.calibration import effective_betas
from isingsample.samplers.dqa import DQA, Schedule, aer, dqa_circuit
from isingsample.samplers.dqa.aer import outcome_probabilities
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.circuit import BlockCircuit

pytest.importorskip("qiskit_aer")

PAIR, ASYM3 = fixtures.PAIR.problem(), fixtures.ASYM3.problem()

SHORT = {"total_time": 2, "num_steps": 8, "calibration": "none"}
FIRST_ORDER = (0.51131790, -0.18628731, 0.11511127)
FIRST_ORDER_C = {(0, 1): 0.11667323, (0, 2): 0.09221830, (1, 2): -0.57249982}


def reference(h, J, K, options):
    """Moments of the Trotterized anneal from dense matrices, spin 0 being the leftmost factor."""
    h, J = np.asarray(h, float), np.asarray(J, float)
    n = len(h)
    X, Z, one = np.array([[0, 1], [1, 0]]), np.diag([1, -1]), np.eye(2)

    def operator(pauli, spins):
        return reduce(np.kron, [pauli if j in spins else one for j in range(n)])

    def exponential(hermitian, duration):
        values, vectors = np.linalg.eigh(hermitian)
        return (vectors * np.exp(-1j * duration * values)) @ vectors.T

    driver = -sum(operator(X, (j,)) for j in range(n))
    cost = -sum(h[j] * operator(Z, (j,)) for j in range(n))
    cost = cost - sum(J[p] * operator(Z, p) for p in combinations(range(n), 2))
    if K is not None:
        cost = cost - sum(K[t] * operator(Z, t) for t in combinations(range(n), 3))
    state = np.full(2**n, 2 ** (-n / 2), complex)
    steps, dt = options["num_steps"], options["total_time"] / options["num_steps"]
    for step in range(steps):
        s = (step + 0.5) / steps
        A, B = options["schedule"][0](s), options["schedule"][1](s)
        if options["trotter_order"] == 2:
            state = exponential(driver, A * dt / 2) @ state
        state = exponential(cost, B * dt) @ state
        state = exponential(driver, A * dt / options["trotter_order"]) @ state
    probability = abs(state) ** 2
    spins = np.array([np.diag(operator(Z, (j,))) for j in range(n)])
    return spins @ probability, (spins * probability) @ spins.T


# --- the circuit ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "expected"), [(1, FIRST_ORDER), (2, (0.436857, -0.162479, 0.088676))]
)
def test_trotter_steps_one_by_one(order, expected):
    result = DQA(**SHORT, trotter_order=order).sample(ASYM3)
    np.testing.assert_allclose(result.magnetization, expected, atol=1e-6)


def test_correlations_of_the_short_anneal():
    result = DQA(**SHORT).sample(ASYM3)
    expected = np.eye(3) + couplings(3, FIRST_ORDER_C)
    np.testing.assert_allclose(result.correlation, expected, atol=1e-6)
    np.testing.assert_array_equal(np.diagonal(result.correlation), 1)
    np.testing.assert_allclose(result.probability, (1 + result.magnetization) / 2, atol=1e-12)


@pytest.mark.parametrize(("order", "steps", "tolerance"), [(2, 1000, 1e-6), (1, 2000, 1e-3)])
def test_many_steps_reach_the_continuous_anneal(order, steps, tolerance):
    anneal = DQA(total_time=2, num_steps=steps, trotter_order=order, calibration="none")
    expected = (0.430689, -0.160617, 0.087353)
    np.testing.assert_allclose(anneal.sample(ASYM3).magnetization, expected, atol=tolerance)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    num_spins=st.integers(1, 4),
    queries=st.integers(1, 3),
    order=st.sampled_from([1, 2]),
    shared=st.booleans(),
    three_body=st.booleans(),
)
def test_agrees_with_dense_matrices(seed, num_spins, queries, order, shared, three_body):
    rng = np.random.default_rng(seed)
    batch = () if shared else (queries,)
    h = rng.normal(0, 0.7, (queries, num_spins))
    J = 0.5 * symmetric(rng, batch, num_spins, 2)
    K = 0.5 * symmetric(rng, batch, num_spins, 3) if three_body else None
    schedule = (lambda s: 1.2 - s**2, lambda s: 0.1 + s)
    options = {"total_time": 3, "num_steps": 5, "trotter_order": order, "schedule": schedule}
    result = DQA(**options, calibration="none").sample(IsingProblem(h, J, K), beta=0.8)
    for q in range(queries):
        pairs = J if shared else J[q]
        triples = None if K is None else 0.8 * (K if shared else K[q])
        m, C = reference(0.8 * h[q], 0.8 * pairs, triples, options)
        np.testing.assert_allclose(result.magnetization[q], m, atol=1e-12)
        np.testing.assert_allclose(result.correlation[q], C, atol=1e-12)


def test_order_of_spins_beyond_ten():
    h = 0.1 * np.arange(1, 13)
    numbers = DQA(**SHORT).sample(IsingProblem(h)).magnetization
    assert (np.diff(numbers) > 0).all()
    parameters = DQA(**SHORT).sample(IsingProblem(np.stack([h, h[::-1]]))).magnetization
    np.testing.assert_allclose(parameters, [numbers, numbers[::-1]], atol=1e-12)


def test_public_circuit_survives_a_line_of_qubits():
    from qiskit import transpile
    from qiskit.quantum_info import Statevector

    circuit = dqa_circuit(ASYM3, total_time=2, num_steps=8)
    exact = outcome_probabilities(circuit, {})[0]
    circuit.measure_all()
    moved = transpile(
        circuit,
        coupling_map=[[0, 1], [1, 2]],
        basis_gates=["rz", "sx", "x", "cx"],
        initial_layout=[2, 0, 1],
        optimization_level=1,
        seed_transpiler=7,
    )
    assert moved.count_ops()["cx"] > 8 * 3 * 2  # swaps were needed, so the layout was moved
    measured = {
        moved.find_bit(step.clbits[0]).index: moved.find_bit(step.qubits[0]).index
        for step in moved.data
        if step.operation.name == "measure"
    }
    state = Statevector(moved.remove_final_measurements(inplace=False))
    found = state.probabilities([measured[bit] for bit in range(3)])
    np.testing.assert_allclose(found, exact, atol=1e-10)
    signs = 1 - 2 * (np.arange(8)[:, None] >> np.arange(3) & 1)
    np.testing.assert_allclose(found @ signs, FIRST_ORDER, atol=1e-6)


def test_zero_terms_cost_no_gates():
    J = np.stack([couplings(4, {(0, 1): 0.3}), couplings(4, {(0, 1): -0.2, (2, 3): 1.0})])
    h = np.array([[[0.1, 0.0, 0.2, 0.3]], [[0.2, 0.0, 0.2, 0.0]]])
    program = BlockCircuit.of(h, J, None, Anneal(1.0, 10, 1, "linear"))
    assert program.circuit.count_ops() == {"h": 4, "rz": 30, "rzz": 20, "rx": 40}
    assert program.circuit.num_parameters == 50
    assert dqa_circuit(IsingProblem(np.zeros(3)), num_steps=10).count_ops() == {"h": 3, "rx": 30}


def test_circuit_is_of_one_whole_problem():
    with pytest.raises(ValueError, match="one problem, not a batch"):
        dqa_circuit(IsingProblem(np.zeros((2, 3))))
    with pytest.raises(ValueError, match="without absent spins"):
        dqa_circuit(IsingProblem(np.zeros(3), present=[True, False, True]))


@pytest.mark.parametrize("options", [{}, {"trotter_order": 2}, {"num_reads": 50}])
def test_nothing_to_do_gives_nothing(options):
    result = DQA(**options).sample(IsingProblem(np.zeros((4, 3))), seed=0)
    if "num_reads" not in options:
        np.testing.assert_allclose(result.magnetization, 0, atol=1e-12)
        expected = np.broadcast_to(np.eye(3), (4, 3, 3))
        np.testing.assert_allclose(result.correlation, expected, atol=1e-12)
    else:
        assert result.samples.shape == (4, 50, 3)
        assert len(np.unique(result.samples.reshape(4, -1), axis=0)) == 4
    assert DQA(**options).sample(IsingProblem(np.zeros((2, 0)))).magnetization.shape == (2, 0)
    assert DQA(**options).sample(IsingProblem(np.zeros((0, 3)))).magnetization.shape == (0, 3)


def test_beta_zero_is_uniform():
    np.testing.assert_allclose(DQA().sample(ASYM3, beta=0).magnetization, 0, atol=1e-12)


# --- calibration ---------------------------------------------------------------------------------


def test_calibrated_fixtures():
    anneal = DQA(trotter_order=2)
    np.testing.assert_allclose(anneal.sample(PAIR).magnetization, (0.1846, -0.0622), atol=6e-5)
    np.testing.assert_allclose(
        anneal.sample(ASYM3).magnetization, (0.6815, -0.2018, 0.2781), atol=6e-5
    )


@pytest.mark.parametrize("order", [1, 2, 3])
def test_analytic_temperatures_are_the_response_of_the_circuit(order):
    weak, n = 1e-3, 3
    problem = [
        IsingProblem([weak, 0, 0]),
        IsingProblem(np.zeros(n), couplings(n, {(0, 1): weak})),
        IsingProblem(np.zeros(n), K=three_body(n, {(0, 1, 2): weak})),
    ][order - 1]
    found = outcome_probabilities(dqa_circuit(problem, trotter_order=2), {})[0]
    signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(order) & 1)
    response = found @ signs.prod(axis=1) / weak
    betas = effective_betas(lambda s: 1 - s, lambda s: s, 5.0)
    assert response == pytest.approx(betas[order - 1], abs=2e-4)


def test_calibrated_weak_problems_are_near_boltzmann():
    rng = np.random.default_rng(5)
    n, draws, queries = 8, 4, 8
    betas = effective_betas(lambda s: 1 - s, lambda s: s, 5.0)
    distances, errors = [], []
    for _ in range(draws):
        h, J = rng.normal(0, 0.3, (queries, n)), 0.1 * symmetric(rng, (), n, 2)
        program = BlockCircuit.of(
            h[None] / betas.h, J[None] / betas.J, None, Anneal(5.0, 200, 1, "linear")
        )
        found = outcome_probabilities(program.circuit, program.values(slice(None)))
        # From bit i = spin i (0 is +1) to the order of spin_table: spin 0 slowest, -1 first.
        table = np.moveaxis(found.reshape(queries, *[2] * n), range(1, n + 1), range(n, 0, -1))
        problem = IsingProblem(h, J)
        exact = Exact().distribution(problem)
        distances.append(abs(table.reshape(queries, -1)[:, ::-1] - exact).sum(axis=-1).mean() / 2)
        m = DQA().sample(problem).magnetization
        errors.append(abs(m - Exact().sample(problem).magnetization).mean())
    # Over 40 draws of 8 queries: total variation .033 with a standard deviation of .008.
    assert 0.026 < np.mean(distances) < 0.040
    assert 0.015 < np.mean(errors) < 0.030


def test_calibration_scales_each_body_order():
    rng = np.random.default_rng(3)
    h, J, K = (
        rng.normal(0, 0.5, (2, 4)),
        0.5 * symmetric(rng, (), 4, 2),
        0.5 * symmetric(rng, (), 4, 3),
    )
    result = DQA(num_steps=20).sample(IsingProblem(h, J, K), beta=0.7)
    betas = [result.info[f"beta_{name}"] for name in "hJK"]
    np.testing.assert_allclose(betas, (1.8953, 1.4919, 1.2768), atol=6e-5)
    assert result.info["calibration"] == "analytic"
    scaled = (array * 0.7 / beta for array, beta in zip((h, J, K), betas, strict=True))
    plain = DQA(num_steps=20, calibration="none").sample(IsingProblem(*scaled))
    np.testing.assert_allclose(result.magnetization, plain.magnetization, atol=1e-12)
    assert plain.info["calibration"] == "none"
    assert "beta_h" not in plain.info


def test_never_thermal():
    for result in (DQA(num_steps=5).sample(PAIR), DQA(num_steps=5, num_reads=9).sample(PAIR)):
        assert not result.thermal
        assert np.isnan(result.std_error).all()


def test_schedules():
    by_name = DQA(num_steps=20).sample(ASYM3).magnetization
    pair = (lambda s: 1 - s, lambda s: s)
    for schedule in (pair, list(pair), Schedule(*pair)):
        found = DQA(num_steps=20, schedule=schedule).sample(ASYM3).magnetization
        np.testing.assert_array_equal(found, by_name)
    other = DQA(num_steps=20, schedule=(lambda s: 1 - s, lambda s: s**2)).sample(ASYM3)
    assert abs(other.magnetization - by_name).max() > 1e-3


# --- reads ---------------------------------------------------------------------------------------


def test_reads_follow_the_circuit():
    reads = 4000
    exact = DQA(num_steps=30).sample(ASYM3)
    drawn = DQA(num_steps=30, num_reads=reads).sample(ASYM3, seed=11)
    assert exact.samples is None
    assert drawn.samples.shape == (reads, 3)
    assert drawn.samples.dtype == np.int8
    m, C = exact.magnetization, exact.correlation
    assert (abs(drawn.magnetization - m) <= 5 * np.sqrt((1 - m**2) / reads)).all()
    assert (abs(drawn.correlation - C) <= 5 * np.sqrt((1 - C**2) / reads)).all()
    np.testing.assert_allclose(drawn.magnetization, drawn.samples.mean(axis=0))
    np.testing.assert_array_equal(DQA(num_steps=5, num_reads=1).sample(PAIR).samples.shape, (1, 2))


def test_one_stream_for_each_problem():
    rng = np.random.default_rng(0)
    h, J = np.tile(rng.normal(0, 0.5, 4), (3, 1)), 0.5 * symmetric(rng, (), 4, 2)
    anneal = DQA(num_steps=10, num_reads=64)

    def draw(fields, pairs=J):
        return anneal.sample(IsingProblem(fields, pairs), seed=2**70).samples

    batch = draw(h)
    np.testing.assert_array_equal(batch, draw(h))
    assert len(np.unique(batch.reshape(3, -1), axis=0)) == 3
    assert len(np.unique(batch[0], axis=0)) > 1
    np.testing.assert_array_equal(draw(h[:1])[0], batch[0])
    np.testing.assert_array_equal(draw(h[:2]), batch[:2])
    changed = h.copy()
    changed[1] = -1
    np.testing.assert_array_equal(draw(changed)[[0, 2]], batch[[0, 2]])
    per_query = np.stack([J, 0.5 * symmetric(rng, (), 4, 2), J])
    np.testing.assert_array_equal(draw(h, per_query)[[0, 2]], batch[[0, 2]])


def test_chunks_do_not_show(monkeypatch):
    rng = np.random.default_rng(1)
    problem = IsingProblem(rng.normal(0, 1, (3, 2, 4)), 0.5 * symmetric(rng, (3, 1), 4, 2))
    drawn, exact = DQA(num_steps=10, num_reads=32), DQA(num_steps=10)
    whole, moments = drawn.sample(problem, seed=1), exact.sample(problem)
    monkeypatch.setattr(aer, "_CHUNK_BYTES", 15_000)
    np.testing.assert_array_equal(drawn.sample(problem, seed=1).samples, whole.samples)
    again = exact.sample(problem)
    np.testing.assert_array_equal(again.magnetization, moments.magnetization)
    np.testing.assert_allclose(again.correlation, moments.correlation, rtol=0, atol=1e-14)


IN_ANOTHER_PROCESS = """
import os, signal, sys
import numpy as np
import isingsample, isingsample.samplers.dqa
assert not {"qiskit", "qiskit_aer", "scipy"} & set(sys.modules), "loaded too early"
from isingsample import IsingProblem, get_sampler

def draw():
    problem = IsingProblem(np.full((2, 3), 0.2))
    return get_sampler("dqa", num_steps=10, num_reads=40).sample(problem, seed=3).samples

parent = draw()
child = os.fork()
if child == 0:
    os._exit(0 if (draw() == parent).all() else 1)
signal.alarm(30)  # a child that hangs ends the test
assert os.waitpid(child, 0)[1] == 0, "the forked child drew other samples"
sys.stdout.buffer.write(parent.tobytes())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_the_same_in_other_processes_and_loaded_late():
    other = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS], check=True, capture_output=True, timeout=120
    )
    problem = IsingProblem(np.full((2, 3), 0.2))
    here = DQA(num_steps=10, num_reads=40).sample(problem, seed=3).samples
    assert other.stdout == here.tobytes()


# --- batches, masks, libraries -------------------------------------------------------------------


def test_absent_spins_are_removed():
    rng = np.random.default_rng(4)
    h, J, K = (
        rng.normal(0, 0.5, (3, 4)),
        0.5 * symmetric(rng, (), 4, 2),
        0.5 * symmetric(rng, (), 4, 3),
    )
    present = np.array([[1, 1, 1, 1], [1, 0, 1, 1], [0, 0, 1, 0]], bool)
    anneal = DQA(num_steps=10, num_reads=None)
    result = anneal.sample(IsingProblem(h, J, K, present))
    for q, mask in enumerate(present):
        keep = np.flatnonzero(mask)
        alone = IsingProblem(h[q, keep], J[np.ix_(keep, keep)], K[np.ix_(keep, keep, keep)])
        expected = anneal.sample(alone)
        np.testing.assert_allclose(
            result.magnetization[q, keep], expected.magnetization, atol=1e-12
        )
        np.testing.assert_allclose(
            result.correlation[q][np.ix_(keep, keep)], expected.correlation, atol=1e-12
        )
        assert not result.magnetization[q, ~mask].any()
        assert not result.probability[q, ~mask].any()
        assert not result.correlation[q][~mask].any()
    drawn = DQA(num_steps=10, num_reads=7).sample(IsingProblem(h, J, K, present), seed=0)
    np.testing.assert_array_equal(drawn.samples != 0, np.tile(present[:, None], (1, 7, 1)))


def test_absent_spins_do_not_count_towards_the_limit():
    present = np.arange(30) < 3
    assert DQA(num_steps=5).sample(IsingProblem(np.ones(30), present=present)).probability[2] > 0.5


def test_libraries_and_dtypes():
    torch = pytest.importorskip("torch")
    expected = DQA(num_steps=20).sample(ASYM3)
    h, J = ASYM3.h, ASYM3.J
    single = DQA(num_steps=20).sample(IsingProblem(h.astype(np.float32), J.astype(np.float32)))
    assert single.magnetization.dtype == single.correlation.dtype == np.float32
    np.testing.assert_allclose(single.magnetization, expected.magnetization, atol=1e-6)
    tensors = IsingProblem(torch.tensor(h, dtype=torch.float32, requires_grad=True), J)
    found = DQA(num_steps=20, num_reads=8).sample(tensors, seed=1)
    assert isinstance(found.magnetization, torch.Tensor)
    assert found.samples.dtype == torch.int8
    exact = DQA(num_steps=20).sample(tensors)
    assert exact.magnetization.dtype == tensors.h.dtype
    np.testing.assert_allclose(exact.magnetization.numpy(), expected.magnetization, atol=1e-6)


def test_by_name_and_pickled():
    anneal = get_sampler("dqa", num_steps=7)
    assert anneal == DQA(num_steps=7)
    assert pickle.loads(pickle.dumps(anneal)) == anneal


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"total_time": 0}, ValueError, "total_time must be above 0"),
        ({"total_time": -1.0}, ValueError, "total_time must be above 0"),
        ({"total_time": float("nan")}, ValueError, "total_time must be finite"),
        ({"total_time": "5"}, TypeError, "total_time must be a number"),
        ({"num_steps": 0}, ValueError, "num_steps must be at least 1"),
        ({"num_steps": 2.5}, TypeError, "num_steps must be an integer"),
        ({"trotter_order": 3}, ValueError, "trotter_order must be 1 or 2"),
        ({"num_reads": 0}, ValueError, "num_reads must be at least 1"),
        ({"max_spins": 0}, ValueError, "max_spins must be at least 1"),
        ({"schedule": "linaer"}, ValueError, "did you mean 'linear'"),
        ({"schedule": 3}, TypeError, "a pair of functions"),
        ({"schedule": (abs,)}, TypeError, "a pair of functions"),
        ({"schedule": (lambda s: np.nan, abs)}, ValueError, "schedule A at s = .* finite"),
        ({"schedule": (abs, lambda s: 1j)}, TypeError, "schedule B at s = .* number"),
        ({"calibration": "analytical"}, ValueError, "did you mean 'analytic'"),
        ({"num_step": 3}, TypeError, "did you mean 'num_steps'"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        DQA(**options)


def test_too_many_spins_are_refused_at_once():
    with pytest.raises(TooLargeError, match=r"40 spins .* 64 TiB .* max_spins=20 .* available"):
        DQA().sample(IsingProblem(np.zeros((3, 40))))
    with pytest.raises(TooLargeError, match="64 TiB"):
        DQA(max_spins=50).sample(IsingProblem(np.zeros(40)))
    with pytest.raises(TooLargeError, match="5000 spins"):
        DQA().sample(IsingProblem(np.zeros((2, 5000)), np.zeros((5000, 5000), np.float32)))


def test_schedules_without_a_temperature_are_refused():
    uncoupled = (lambda s: 1 - s, lambda s: 0.0)
    with pytest.raises(ValueError, match=r"cannot be calibrated.*to h is 0"):
        DQA(schedule=uncoupled).sample(PAIR)
    plain = DQA(schedule=uncoupled, num_steps=5, calibration="none")
    np.testing.assert_allclose(plain.sample(PAIR).magnetization, 0, atol=1e-12)
    with pytest.raises(ValueError, match=r"to h is -.*, not above 0"):
        DQA(schedule=(lambda s: s - 1, lambda s: s)).sample(PAIR)


def test_out_of_range_is_refused_not_nan():
    with pytest.raises(ValueError, match="leaves the range of float64"):
        DQA(num_steps=5).sample(IsingProblem([1e308]), beta=100)


@pytest.mark.parametrize("module", ["qiskit.circuit", "qiskit_aer", "scipy.integrate"])
def test_missing_extra(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'isingsample\[qiskit\]'"):
        DQA(num_steps=5).sample(PAIR)


def test_simulator_failures_are_not_swallowed():
    from qiskit import QuantumCircuit

    with pytest.raises(RuntimeError, match=r"Qiskit Aer failed: .*memory"):
        outcome_probabilities(QuantumCircuit(50), {})
