"""Where chains start, what they refuse, and the states that minimize finds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isingsample import Exact, Gibbs, IsingProblem, ParallelTempering, SimulatedAnnealing
from support.fixtures import PAIR
from support.monte_carlo import (
    glass,
    ignore_unconverged,
    monte_carlo,
)
from support.strategies import LIBRARIES, in_library


@monte_carlo
@pytest.mark.parametrize("library", LIBRARIES)
def test_chains_can_go_on_from_the_last_result(make: Callable[..., Any], library: str) -> None:
    present = np.array([[True] * 4, [True, False, True, True]])
    fields = {"h": np.full((2, 4), 3.0), "present": present}
    problem = IsingProblem(**in_library(library, fields))
    first = make(num_reads=5).sample(problem, seed=0)
    second = make(num_reads=5, initial_states=first.samples).sample(problem, seed=1)
    assert second.samples.shape == (2, 5, 4)
    assert "initial_states" not in second.info["options"]


@ignore_unconverged
def test_chains_start_where_they_are_told() -> None:
    """Fields and couplings so strong that no chain ever moves."""
    frozen = IsingProblem(np.zeros(6), 1e6 * (np.ones((6, 6)) - np.eye(6)))
    signs = np.array([1, -1, -1, 1])
    states = np.repeat(signs[:, None], 6, axis=1)
    found = Gibbs(num_reads=4, initial_states=states).sample(frozen, seed=0)
    np.testing.assert_array_equal(found.samples, states)
    batch = IsingProblem(np.zeros((2, 6)), frozen.J)
    each = np.stack([states, -states])
    found = Gibbs(num_reads=4, initial_states=each).sample(batch, seed=0)
    np.testing.assert_array_equal(found.samples, each)


@monte_carlo
@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([0, 1], r"initial_states\[0\] is 0"),
        ([1, 10], r"initial_states\[1\] is 10"),
        ([[1, 1]] * 3, "one of the shapes"),
        ([1, 1, 1], "one of the shapes"),
    ],
)
def test_illegal_initial_states_are_refused(
    make: Callable[..., Any], states: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(num_reads=4, initial_states=states).sample(PAIR.problem())


@monte_carlo
def test_minimize_finds_ground_states_of_a_batch(make: Callable[..., Any]) -> None:
    problem = glass(8, seed=5, batch=(2, 3))
    state, energy = make(num_reads=50).minimize(problem, seed=0)
    exact_state, exact_energy = Exact().minimize(problem)
    np.testing.assert_array_equal(state, exact_state)
    np.testing.assert_allclose(energy, exact_energy)


@monte_carlo
@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e6, 1e300])
def test_optimising_scales_with_the_problem(make: Callable[..., Any], scale: float) -> None:
    signs = np.random.default_rng(0).choice([-1, 1], size=100)
    state, _ = make(num_reads=2).minimize(IsingProblem(scale * signs), seed=1)
    np.testing.assert_array_equal(state, signs)
    small = glass(10, seed=1, K=0.3)
    scaled = IsingProblem(scale * small.h, scale * small.J, scale * small.K)
    state, _ = make(num_reads=64).minimize(scaled, seed=1)
    np.testing.assert_array_equal(state, Exact().minimize(small)[0])


@monte_carlo
def test_options_are_checked(make: Callable[..., Any]) -> None:
    for option in ("num_reads", "num_sweeps"):
        with pytest.raises(ValueError, match=f"{option} must be at least 1"):
            make(**{option: 0})
    with pytest.raises(TypeError, match="did you mean 'num_reads'"):
        make(num_read=3)


@monte_carlo
def test_flags_are_true_or_false(make: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="random_order must be True or False, not 'yes'"):
        make(random_order="yes")
    assert make(random_order=np.bool_(True)).random_order
    with pytest.raises(TypeError, match="adapt must be True or False, not None"):
        ParallelTempering(adapt=None)


def test_what_the_caller_does_with_its_arrays_later_does_not_matter() -> None:
    """Correlations are counted when they are asked for, in chains that start again."""
    states = np.ones((4, 6), np.int8)
    problem = glass(6, seed=1)
    sampler = Gibbs(num_reads=4, initial_states=states)
    result, expected = (sampler.sample(problem, seed=0) for _ in range(2))
    states[:] = -1
    np.testing.assert_array_equal(result.correlation, expected.correlation)
    again = sampler.sample(problem, seed=0)
    np.testing.assert_array_equal(again.samples, expected.samples)
    betas = [0.0, 0.5, 1.0]
    ladder = ParallelTempering(num_reads=4, betas=betas)
    betas[-1] = 7.0
    assert ladder.betas == (0.0, 0.5, 1.0)
    assert ladder != ParallelTempering(num_reads=4, betas=[0.0, 1.0])


@monte_carlo
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4), (2, 0, 3)])
def test_where_nothing_is_sampled_figures_have_the_shape_of_the_batch(
    make: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    sampler = make(num_reads=3)
    info = sampler.sample(IsingProblem(np.zeros(shape)), seed=0).info
    usual = sampler.sample(IsingProblem(np.zeros((2, 3))), seed=0).info
    assert info.keys() == usual.keys()
    for name in info.keys() - {"sampler", "options", "timing"}:
        assert info[name].shape == (*shape[:-1], *usual[name].shape[1:])
        assert info[name].dtype == usual[name].dtype
    assert info["converged"].all()


@pytest.mark.parametrize(
    ("sampler", "remedy"),
    [
        (Gibbs(num_sweeps=2), "raise burn_in and num_sweeps"),
        (SimulatedAnnealing(hold=0.01), "raise num_sweeps or hold"),
        (
            SimulatedAnnealing(beta_schedule_type="custom", beta_schedule=[0.5, 1.0]),
            "let beta_schedule stay at its last value for longer",
        ),
        (ParallelTempering(num_sweeps=2), "raise num_sweeps, burn_in or num_replicas"),
        (ParallelTempering(num_sweeps=2, betas=[0, 1]), "or give more betas"),
    ],
)
def test_warnings_say_what_would_help(sampler: Any, remedy: str) -> None:
    with pytest.warns(UserWarning, match=remedy):
        sampler.sample(PAIR.problem(), seed=0)
