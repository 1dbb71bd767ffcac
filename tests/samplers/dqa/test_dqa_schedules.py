"""Schedules, conventions, named settings, and the temperature that comes of them."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isingsample import (
    DQA,
    Exact,
    IsingProblem,
    Sampler,
    Schedule,
    StrongFieldWarning,
    TooLargeError,
    compare,
    distance_to_boltzmann,
    dqa_circuit,
    get_sampler,
)
from isingsample._core.states import spin_table
from isingsample.samplers.dqa.anneal import Anneal
from support.strategies import symmetric


def draws(n: int, fields: float, pairs: float, *, number: int = 6) -> list[IsingProblem]:
    problems = []
    for seed in range(number):
        rng = np.random.default_rng(seed)
        h = rng.normal(0, fields, (8, n))
        problems.append(IsingProblem(h, pairs * symmetric(rng, (), n, 2)))
    return problems


def ours(**options: Any) -> DQA:
    return DQA(**options, engine="statevector")


# --- schedules -----------------------------------------------------------------------------------


def test_powers() -> None:
    linear, square = Schedule.power(1), Schedule.power(2.0)
    assert [linear.A(0.3), linear.B(0.3)] == [0.7, 0.3]
    assert [square.A(0.5), square.B(0.5)] == [0.75, 0.25]
    assert Schedule.of("linear") == linear


def test_tables_are_lines_between_their_rows() -> None:
    table = Schedule.table([0, 0.25, 1], [3, 2, 0], [0, 1, 4])
    s = np.linspace(0, 1, 41)
    for curve, values in ((table.A, [3, 2, 0]), (table.B, [0, 1, 4])):
        np.testing.assert_allclose([curve(x) for x in s], np.interp(s, [0, 0.25, 1], values))
    assert pickle.loads(pickle.dumps(table)) == table


def test_impossible_schedules_are_refused() -> None:
    with pytest.raises(ValueError, match="exponent must be above 0"):
        Schedule.power(0)
    with pytest.raises(ValueError, match="equal lengths, not 2, 2 and 3"):
        Schedule.table([0, 1], [1, 0], [0, 1, 2])
    with pytest.raises(TypeError, match=r"B\[0\] must be a number"):
        Schedule.table([0, 1], [1, 0], ["0", 1])
    with pytest.raises(ValueError, match="did you mean 'GHz'"):
        DQA(convention="Ghz")
    with pytest.raises(TypeError, match=r"B of a schedule must be a function of s, not \[0, 1\]"):
        Schedule(abs, [0, 1])  # type: ignore[arg-type]


# --- conventions ---------------------------------------------------------------------------------


def test_conventions_are_units_of_the_same_anneal() -> None:
    problem = draws(3, 0.5, 0.3, number=1)[0]
    unit = ours(total_time=2.5).sample(problem)
    half = ours(total_time=5.0, convention="half").sample(problem)
    gigahertz = ours(total_time=2.5 / np.pi, convention="GHz").sample(problem)
    for other in (half, gigahertz):
        np.testing.assert_allclose(other.magnetization, unit.magnetization, atol=1e-12)
        assert other.info["beta_h"] == pytest.approx(unit.info["beta_h"], rel=1e-9)
    one = IsingProblem(problem.h[0], problem.J)
    circuits = (
        dqa_circuit(one, parameters="", total_time=2.5, num_steps=3),
        dqa_circuit(one, parameters="", total_time=5.0, num_steps=3, convention="half"),
    )
    assert circuits[0] == circuits[1]


# --- named settings ------------------------------------------------------------------------------


def test_presets_are_options() -> None:
    assert DQA.preset("default") == DQA()
    assert DQA.preset("paper") == DQA(calibration="none")
    assert DQA.preset("slow", num_reads=5) == DQA(total_time=20.0, num_steps=800, num_reads=5)
    assert DQA.preset("boltzmann", engine="statevector").schedule == "trained"
    assert DQA.preset("monotone") == DQA(schedule="monotone", trotter_order=2)
    with pytest.raises(ValueError, match="did you mean 'paper'"):
        DQA.preset("papr")


@pytest.mark.parametrize("change", [{"schedule": "linear"}, {"total_time": 10.0}])
def test_trained_counterterms_stay_with_their_anneal(change):
    with pytest.raises(ValueError, match=f"another {next(iter(change))} give counterterms too"):
        DQA.preset("boltzmann", **change)
    assert DQA.preset("boltzmann", counterterms=None, **change).counterterms is None


# How many times nearer to Boltzmann than the linear schedule, at least, by number of spins and
# standard deviations of fields and couplings.
NEARER = {
    "boltzmann": [(6, 0.5, 0.3, 4), (8, 0.5, 0.3, 4), (8, 0.3, 0.1, 4), (8, 1.0, 0.3, 3)],
    "monotone": [(6, 0.5, 0.3, 2.5), (8, 0.5, 0.3, 2.5), (8, 0.3, 0.1, 2.5), (8, 1.0, 0.3, 2)],
}


@pytest.mark.filterwarnings("ignore::isingsample.errors.StrongFieldWarning")
@pytest.mark.parametrize(
    ("name", "n", "fields", "pairs", "times"),
    [(name, *row) for name, rows in NEARER.items() for row in rows],
)
def test_trained_settings_are_nearer_to_boltzmann(
    name: str, n: int, fields: float, pairs: float, times: float
) -> None:
    batch = draws(n, fields, pairs, number=20)
    linear, trained = (
        np.mean([distance_to_boltzmann(anneal, p).total_variation.mean() for p in batch])
        for anneal in (ours(), DQA.preset(name, engine="statevector"))
    )
    assert trained < linear / times


@pytest.mark.filterwarnings("ignore::isingsample.errors.StrongFieldWarning")
@pytest.mark.parametrize("n", [10, 12])
def test_larger_problems_too(n: int) -> None:
    test_trained_settings_are_nearer_to_boltzmann("boltzmann", n, 0.5, 0.3, 3)


def test_a_monotone_schedule_is_one_for_annealers() -> None:
    schedule, s = Schedule.of("monotone"), np.linspace(0, 1, 201)
    assert (np.diff([schedule.A(x) for x in s]) < 0).all()
    assert (np.diff([schedule.B(x) for x in s]) > 0).all()
    assert schedule.A(0.0) == 1
    trained = [Schedule.of("trained").A(x) for x in s]
    assert min(trained) >= 0
    assert max(trained) <= 1


# --- temperature ---------------------------------------------------------------------------------


RAW, SHORTER = {"calibration": "none"}, {"total_time": 2.5}
LONGER, SLOW = {"total_time": 10.0, "num_steps": 400}, {"total_time": 20.0, "num_steps": 800}
# The least and the largest total variation among 20 draws of J, of 8 queries each: 8 spins,
# by the standard deviations of fields and of couplings.
PUBLISHED: list[tuple[tuple[float, float], dict[str, Any], tuple[float, float]]] = [
    ((0.3, 0.1), RAW, (0.249, 0.302)),
    ((0.3, 0.1), SHORTER, (0.048, 0.078)),
    ((0.3, 0.1), {}, (0.026, 0.040)),
    ((0.3, 0.1), LONGER, (0.017, 0.026)),
    ((0.3, 0.1), SLOW, (0.011, 0.016)),
    ((0.5, 0.3), RAW, (0.246, 0.310)),
    ((0.5, 0.3), SHORTER, (0.185, 0.317)),
    ((0.5, 0.3), {}, (0.093, 0.190)),
    ((0.5, 0.3), LONGER, (0.060, 0.119)),
    ((0.5, 0.3), SLOW, (0.047, 0.089)),
    ((1.0, 0.3), RAW, (0.255, 0.348)),
    ((1.0, 0.3), SHORTER, (0.270, 0.397)),
    ((1.0, 0.3), {}, (0.096, 0.159)),
    ((1.0, 0.3), LONGER, (0.073, 0.107)),
    ((1.0, 0.3), SLOW, (0.063, 0.104)),
]


@pytest.mark.filterwarnings("ignore::isingsample.errors.StrongFieldWarning")
@pytest.mark.parametrize(("strengths", "options", "range_"), PUBLISHED)
def test_distances_fall_where_they_should(
    strengths: tuple[float, float], options: dict[str, Any], range_: tuple[float, float]
) -> None:
    found = [
        distance_to_boltzmann(ours(**options), p).total_variation.mean()
        for p in draws(8, *strengths, number=20)
    ]
    assert range_[0] < np.mean(found) < range_[1]


def test_distances_are_what_they_say() -> None:
    problem = draws(3, 0.5, 0.3, number=1)[0]
    found = distance_to_boltzmann(ours(), problem, beta=0.7)
    q, p = ours().distribution(problem, beta=0.7), Exact().distribution(problem, beta=0.7)
    np.testing.assert_allclose(found.total_variation, np.maximum(q - p, 0).sum(-1), atol=1e-12)
    np.testing.assert_allclose(found.divergence, (p * np.log(p / q)).sum(-1), atol=1e-12)
    gaps = abs((q - p) @ spin_table(3)).max(axis=-1)
    np.testing.assert_allclose(found.moment_error, gaps, atol=1e-12)
    for zero in distance_to_boltzmann(Exact(), problem):
        np.testing.assert_allclose(zero, 0, atol=1e-12)
    with pytest.raises(TooLargeError, match="n = 17"):
        distance_to_boltzmann(Exact(), IsingProblem(np.zeros(17)))


def test_distances_are_of_distributions() -> None:
    problem = draws(3, 0.3, 0.1, number=1)[0]
    with pytest.raises(TypeError, match=r"has a distribution, such as .*not Gibbs"):
        distance_to_boltzmann(get_sampler("gibbs"), problem)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="IsingProblem, not ndarray"):
        distance_to_boltzmann(ours(), problem.h)


# --- the range of fields -------------------------------------------------------------------------


def lone_spin_error(anneal: DQA, h: float) -> float:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        found = anneal.sample(IsingProblem([h])).magnetization[0]
    return float(abs(found - np.tanh(h)))


@pytest.mark.parametrize("options", [{"total_time": 2.5}, {}, {"schedule": Schedule.power(2.0)}])
def test_one_warning_where_even_a_lone_spin_is_wrong(options: dict[str, Any]) -> None:
    anneal = ours(**options)
    limit = anneal.sample(IsingProblem([0.1])).info["field_range"]
    inside, outside = 0.99 * limit, 1.1 * limit
    assert lone_spin_error(anneal, inside) < 0.1 < lone_spin_error(anneal, outside)
    anneal.sample(IsingProblem([[inside, 0.1]]))
    strong = IsingProblem([[outside, 0.1], [0.2, -outside]])
    with pytest.warns(StrongFieldWarning, match=r"beyond what this anneal can do") as caught:
        result = anneal.sample(strong)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert result.info["largest_field"] == pytest.approx(outside)
    with pytest.warns(StrongFieldWarning):
        anneal.sample(IsingProblem([[0.6 * outside]]), beta=2)


def test_a_raw_anneal_promises_nothing_and_does_not_warn() -> None:
    result = ours(calibration="none").sample(IsingProblem([30.0]))
    betas = Anneal(5.0, 200, 1, "linear").betas
    calibrated = ours().sample(IsingProblem([0.1])).info["field_range"]
    assert result.info["field_range"] == pytest.approx(calibrated / betas.h)


def test_a_comparison_is_not_interrupted() -> None:
    makers: dict[str, Callable[[], Sampler]] = {"dqa": lambda: ours(total_time=2.0)}
    (row,) = compare(IsingProblem([[3.0, 0.1]]), makers)
    assert row.failure is None
