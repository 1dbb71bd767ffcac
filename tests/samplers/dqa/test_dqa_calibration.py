"""Calibrated anneals: at the temperature asked for, as near to Boltzmann as they should be."""

import numpy as np
import pytest

from isingsample import DQA, Exact, IsingProblem, distance_to_boltzmann, dqa_circuit, schedule_betas
from isingsample._core.states import spin_table
from isingsample.samplers.dqa.engines.aer import outcome_probabilities
from support.dqa_cases import ASYM3
from support.fixtures import PAIR, couplings, three_body
from support.strategies import symmetric

pytest.importorskip("qiskit_aer")

CALIBRATIONS = ("analytic", "none")


def test_calibrated_fixtures():
    anneal = DQA(trotter_order=2)
    np.testing.assert_allclose(
        anneal.sample(PAIR.problem()).magnetization, (0.1846, -0.0622), atol=6e-5
    )
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
    found = outcome_probabilities(dqa_circuit(problem, parameters="", trotter_order=2), {})[0]
    signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(order) & 1)
    response = found @ signs.prod(axis=1) / weak
    betas = schedule_betas(lambda s: 1 - s, lambda s: s, 5.0)
    assert response == pytest.approx(betas[order - 1], abs=2e-4)


@pytest.mark.parametrize("steps", [2, 5, 200])
@pytest.mark.parametrize("trotter_order", [1, 2])
@pytest.mark.parametrize("body", [1, 2, 3])
def test_temperatures_of_a_circuit_are_its_response(body, trotter_order, steps):
    weak, n = 1e-5, 3
    problem = [
        IsingProblem([weak, 0, 0]),
        IsingProblem(np.zeros(n), couplings(n, {(0, 1): weak})),
        IsingProblem(np.zeros(n), K=three_body(n, {(0, 1, 2): weak})),
    ][body - 1]
    options = {"num_steps": steps, "trotter_order": trotter_order, "total_time": 2.5}
    anneal = DQA(**options, calibration="circuit", engine="statevector")
    signs = spin_table(n)[:, :body].prod(axis=1)
    assert anneal.distribution(problem) @ signs == pytest.approx(weak, rel=1e-6)
    circuit = dqa_circuit(problem, parameters="", **options, calibration="circuit")
    outcomes = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(body) & 1)
    found = outcome_probabilities(circuit, {})[0] @ outcomes.prod(axis=1)
    assert found == pytest.approx(weak, rel=1e-6)


def test_temperatures_of_many_steps_are_those_of_the_anneal():
    gaps = []
    for steps in (200, 400):
        names = ("beta_h", "beta_J", "beta_K")
        found = [
            DQA(num_steps=steps, trotter_order=2, calibration=c).sample(ASYM3).info
            for c in ("circuit", "analytic")
        ]
        gaps.append([found[0][name] - found[1][name] for name in names])
    assert (np.abs(gaps) < 2e-4).all()
    np.testing.assert_allclose(np.divide(*gaps), 4, rtol=0.05)  # second order in the step


@pytest.mark.filterwarnings("ignore::isingsample.errors.StrongFieldWarning")
@pytest.mark.parametrize(("total_time", "steps"), [(2.5, 4), (2.5, 8), (5.0, 8)])
def test_few_steps_are_nearer_to_boltzmann_by_their_own_temperatures(total_time, steps):
    rng, n = np.random.default_rng(5), 6
    distances = []
    for _ in range(6):
        problem = IsingProblem(rng.normal(0, 0.3, (8, n)), 0.1 * symmetric(rng, (), n, 2))
        anneals = (
            DQA(total_time, steps, calibration=c, engine="statevector")
            for c in ("circuit", "analytic")
        )
        distances.append([
            distance_to_boltzmann(anneal, problem).total_variation.mean() for anneal in anneals
        ])  # fmt: skip
    circuit, analytic = np.mean(distances, axis=0)
    assert circuit < 0.75 * analytic


def test_calibrated_weak_problems_have_nearly_the_magnetization_of_boltzmann():
    """The mean over 20 draws of 8 queries was .022; raw .163."""
    rng, n = np.random.default_rng(5), 8
    errors = []
    for _ in range(8):
        problem = IsingProblem(rng.normal(0, 0.3, (8, n)), 0.1 * symmetric(rng, (), n, 2))
        exact = Exact().sample(problem).magnetization
        found = (DQA(engine="statevector", calibration=c).sample(problem) for c in CALIBRATIONS)
        errors.append([abs(result.magnetization - exact).mean() for result in found])
    calibrated, raw = np.mean(errors, axis=0)
    assert 0.015 < calibrated < 0.030
    assert 0.12 < raw < 0.21


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


def test_schedules_without_a_temperature_are_refused():
    uncoupled = (lambda s: 1 - s, lambda s: 0.0)
    with pytest.raises(ValueError, match=r"cannot be calibrated.*to h is 0"):
        DQA(schedule=uncoupled).sample(PAIR.problem())
    plain = DQA(schedule=uncoupled, num_steps=5, calibration="none")
    np.testing.assert_allclose(plain.sample(PAIR.problem()).magnetization, 0, atol=1e-12)
    with pytest.raises(ValueError, match=r"to h is -.*, not above 0"):
        DQA(schedule=(lambda s: s - 1, lambda s: s)).sample(PAIR.problem())
