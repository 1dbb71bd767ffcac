"""Many Trotter steps are the Schroedinger equation's own solution, for every schedule and unit."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isingsample import DQA, IsingProblem, Schedule
from support.dqa_cases import DenseAnneal
from support.strategies import symmetric

integrate = pytest.importorskip("scipy.integrate")

RNG = np.random.default_rng(8)
H, J, K = RNG.normal(0, 0.5, 3), 0.4 * symmetric(RNG, (), 3, 2), 0.2 * symmetric(RNG, (), 3, 3)
PROBLEM = IsingProblem(H, J, K)
# H of an anneal in 1/time, by convention: D-Wave's halves, and 2 pi radians in a turn.
UNITS = {"unit": 1.0, "half": 0.5, "GHz": 0.5 * 2 * math.pi}
# Strengths in GHz against s, as an annealer's maker publishes them.
GIGAHERTZ = "s,A(s) (GHz),B(s) (GHz)\n0,6.2,0.1\n0.2,2.8,0.5\n0.5,0.6,2.4\n0.7,0.1,4.6\n1,0,8.9\n"


def integrated(
    schedule: Schedule,
    total_time: float,
    convention: str,
    problem: tuple[np.ndarray, ...] = (H, J, K),
) -> np.ndarray:
    """Magnetizations after i d psi / dt = H(t) psi, of h, J and K."""
    dense = DenseAnneal(*problem)
    unit = UNITS[convention]

    def derivative(t: float, psi: np.ndarray) -> np.ndarray:
        s = min(t / total_time, 1.0)
        return (
            -1j * unit * (schedule.A(s) * (dense.driver @ psi) + schedule.B(s) * (dense.cost @ psi))
        )

    def piece(psi: np.ndarray, start: float) -> np.ndarray:
        """Tables have their kinks at multiples of 1/10: between them everything is smooth."""
        times = (start * total_time, (start + 0.1) * total_time)
        return integrate.solve_ivp(
            derivative, times, psi, method="DOP853", rtol=1e-10, atol=1e-12
        ).y[:, -1]

    psi = dense.start
    for tenth in range(10):
        psi = piece(psi, tenth / 10)
    return dense.moments(psi)[0]


def trotterized(num_steps: int, order: int, **options: Any) -> np.ndarray:
    anneal = DQA(
        num_steps=num_steps,
        trotter_order=order,
        calibration="none",
        engine="statevector",
        **options,
    )
    found: np.ndarray = anneal.sample(PROBLEM).magnetization
    return found


SCHEDULES: dict[str, Any] = {
    "linear": "linear",
    "trained": "trained",
    "power": Schedule.power(2.5),
    "functions": (lambda s: math.cos(s * math.pi / 2), lambda s: 0.2 + s**3),
    "table": Schedule.table([0, 0.3, 1], [2, 0.5, 0], [0, 0.4, 1.5]),
}


@pytest.mark.parametrize("convention", UNITS)
@pytest.mark.parametrize("name", SCHEDULES)
def test_many_steps_are_the_continuous_anneal(name: str, convention: str) -> None:
    schedule, total_time = SCHEDULES[name], 2.5 / UNITS[convention]
    options = {"schedule": schedule, "total_time": total_time, "convention": convention}
    exact = integrated(Schedule.of(schedule), total_time, convention)
    np.testing.assert_allclose(trotterized(2000, 2, **options), exact, atol=2e-6)


def test_a_published_table_in_gigahertz(tmp_path: Path) -> None:
    path = tmp_path / "annealer.csv"
    path.write_text(GIGAHERTZ, encoding="utf-8")
    schedule = Schedule.from_csv(path)
    options: dict[str, Any] = {"schedule": schedule, "total_time": 0.4, "convention": "GHz"}
    exact = integrated(**options)
    np.testing.assert_allclose(trotterized(2000, 2, **options), exact, atol=2e-6)


@pytest.mark.parametrize("name", ["default", "paper", "monotone", "boltzmann", "slow"])
def test_named_settings(name: str) -> None:
    """Their own steps are near the continuous anneal, and more steps reach it."""
    own = DQA.preset(name, engine="statevector")
    many = DQA.preset(name, engine="statevector", num_steps=4000, trotter_order=2)
    result = own.sample(PROBLEM)
    of_h, of_J = result.info.get("counterterms", (0, 0))
    square = J @ J - np.diag((J @ J).diagonal())
    annealed = tuple(
        array / result.info.get(f"beta_{coefficient}", 1.0)
        for coefficient, array in (("h", H - of_h * J @ H), ("J", J - of_J * square), ("K", K))
    )
    exact = integrated(Schedule.of(own.schedule), own.total_time, own.convention, annealed)
    np.testing.assert_allclose(many.sample(PROBLEM).magnetization, exact, atol=1e-5)
    np.testing.assert_allclose(result.magnetization, exact, atol=0.02)


@pytest.mark.parametrize("order", [1, 2])
def test_the_error_of_a_step_has_the_order_it_should(order: int) -> None:
    exact = integrated(Schedule.of("linear"), 2.5, "unit")
    errors = [
        abs(trotterized(steps, order, total_time=2.5) - exact).max() for steps in (100, 200, 400)
    ]
    for coarse, fine in pairwise(errors):
        assert coarse / fine == pytest.approx(2**order, rel=0.05)
