"""Simulated anneals: the right circuit, for any batch, and clear refusals."""

import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isingsample import DQA, IsingProblem, MissingExtraError, Schedule, TooLargeError, get_sampler
from isingsample.samplers.dqa.engines.aer import outcome_probabilities
from support import fixtures
from support.dqa_cases import (
    ASYM3,
    TROT3_CONTINUOUS,
    TROT3_CORRELATION,
    TROT3_OPTIONS,
    trotterized,
)
from support.strategies import symmetric

pytest.importorskip("qiskit_aer")

PAIR = fixtures.PAIR.problem()


# --- the circuit ---------------------------------------------------------------------------------


def test_correlations_of_the_short_anneal():
    result = DQA(**TROT3_OPTIONS).sample(ASYM3)
    np.testing.assert_allclose(result.correlation, TROT3_CORRELATION, atol=1e-6)
    np.testing.assert_array_equal(np.diagonal(result.correlation), 1)
    np.testing.assert_allclose(result.probability, (1 + result.magnetization) / 2, atol=1e-12)


@pytest.mark.parametrize(("order", "steps", "tolerance"), [(2, 1000, 1e-6), (1, 2000, 1e-3)])
def test_many_steps_reach_the_continuous_anneal(order, steps, tolerance):
    anneal = DQA(total_time=2, num_steps=steps, trotter_order=order, calibration="none")
    found = anneal.sample(ASYM3).magnetization
    np.testing.assert_allclose(found, TROT3_CONTINUOUS, atol=tolerance)


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
        m, C = trotterized(0.8 * h[q], 0.8 * pairs, triples, options)
        np.testing.assert_allclose(result.magnetization[q], m, atol=1e-12)
        np.testing.assert_allclose(result.correlation[q], C, atol=1e-12)


def test_order_of_spins_beyond_ten():
    h = 0.1 * np.arange(1, 13)
    numbers = DQA(**TROT3_OPTIONS).sample(IsingProblem(h)).magnetization
    assert (np.diff(numbers) > 0).all()
    parameters = DQA(**TROT3_OPTIONS).sample(IsingProblem(np.stack([h, h[::-1]]))).magnetization
    np.testing.assert_allclose(parameters, [numbers, numbers[::-1]], atol=1e-12)


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


@pytest.mark.parametrize("calibration", ["analytic", "circuit", "fit", "none"])
@pytest.mark.parametrize("engine", ["aer", "statevector"])
@pytest.mark.parametrize("reads", [None, 3])
def test_empty_problems_are_reported_as_the_others(engine, calibration, reads):
    anneal = DQA(num_steps=9, engine=engine, calibration=calibration, num_reads=reads)
    expected = anneal.sample(PAIR).info
    for shape in ((0,), (2, 0), (0, 3)):
        result = anneal.sample(IsingProblem(np.zeros(shape)))
        assert result.info.keys() == expected.keys()
        assert result.info["largest_field"] == 0
        assert result.info["field_range"] > 0
        assert (result.samples is None) == (reads is None)


def test_beta_zero_is_uniform():
    np.testing.assert_allclose(DQA().sample(ASYM3, beta=0).magnetization, 0, atol=1e-12)


def test_never_thermal():
    for result in (
        DQA(num_steps=5).sample(PAIR),
        DQA(num_steps=5, num_reads=9).sample(PAIR),
    ):
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
