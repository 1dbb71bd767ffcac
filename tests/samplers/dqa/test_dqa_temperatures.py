import subprocess
import sys

import numpy as np
import pytest

from isingsample import MissingExtraError, schedule_betas


def falling(s):
    return 1 - s


def rising(s):
    return s


@pytest.mark.parametrize(
    ("total_time", "betas"),
    [
        (1, (0.1608, 0.2896, 0.3666)),
        (2.5, (0.8376, 0.9476, 0.7924)),
        (2.863, (1.0288, 1.0287, 0.8752)),
        (5, (1.8953, 1.4919, 1.2768)),
        (10, (2.9838, 2.2916, 1.9604)),
    ],
)
def test_linear_schedule(total_time, betas):
    np.testing.assert_allclose(schedule_betas(falling, rising, total_time), betas, atol=6e-5)


def test_constant_strengths_have_a_closed_form():
    A, B, total_time = 0.7, 1.3, 3.0
    expected = [B * (1 - np.cos(2 * k * A * total_time)) / (k * A) for k in (1, 2, 3)]
    found = schedule_betas(lambda s: A, lambda s: B, total_time)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("total_time", [0.3, 50, 1000])
def test_quadrature_has_converged(total_time):
    # The same integral by a plain sum on a much finer grid, where Phi is known.
    s = (np.arange(4_000_000) + 0.5) / 4_000_000
    phase = total_time * (1 - s) ** 2 / 2
    expected = [2 * total_time * np.mean(s * np.sin(2 * k * phase)) for k in (1, 2, 3)]
    np.testing.assert_allclose(
        schedule_betas(falling, rising, total_time), expected, rtol=1e-6, atol=1e-6
    )


def test_no_driver_or_no_problem_gives_no_temperature():
    np.testing.assert_array_equal(schedule_betas(lambda s: 0, rising, 5), (0, 0, 0))
    np.testing.assert_array_equal(schedule_betas(falling, lambda s: 0, 5), (0, 0, 0))


def test_a_long_anneal_is_bounded_work():
    assert np.isfinite(schedule_betas(lambda s: 0.0, rising, 1e300)).all()


@pytest.mark.parametrize("total_time", [0, -1, float("nan"), float("inf")])
def test_impossible_times_are_refused(total_time):
    with pytest.raises(ValueError, match="total_time"):
        schedule_betas(falling, rising, total_time)


def test_schedules_that_are_not_finite_numbers_are_refused():
    with pytest.raises(ValueError, match="schedule A at s = 0 must be finite, not inf"):
        schedule_betas(lambda s: float("inf"), rising, 5)
    with pytest.raises(TypeError, match="schedule B at s = 0 must be a number, not 'x'"):
        schedule_betas(falling, lambda s: "x", 5)
    with pytest.raises(TypeError, match="schedule A must be a function of s, not 1"):
        schedule_betas(1, rising, 5)


def test_scipy_is_loaded_only_when_needed(monkeypatch):
    script = "import sys, isingsample.samplers.dqa.temperatures; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    monkeypatch.setitem(sys.modules, "scipy.integrate", None)
    with pytest.raises(MissingExtraError, match=r"isingsample\[qiskit\]"):
        schedule_betas(falling, rising, 5)
