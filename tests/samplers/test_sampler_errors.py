"""What the base class refuses for every sampler, before any work."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from isingsample import IsingProblem, Sampler
from support.fixtures import ASYM3
from support.tiny_samplers import Coins, Tanh


@pytest.mark.parametrize(
    ("beta", "error", "message"),
    [
        ("1", TypeError, "beta must be a number, not '1'"),
        (None, TypeError, "beta must be a number, not None"),
        (True, TypeError, "beta must be a number, not True"),
        (1j, TypeError, "beta must be a number, not 1j"),
        ([1.0, 2.0], TypeError, "beta must be a number"),
        (np.nan, ValueError, "beta must be finite, not nan"),
        (np.inf, ValueError, "beta must be finite, not inf"),
        (10**400, ValueError, "beta must be finite, not inf"),
        (-0.5, ValueError, "beta must be at least 0, not -0.5"),
    ],
)
def test_beta_is_one_finite_number(beta: Any, error: type[Exception], message: str) -> None:
    for call in (Coins().sample, Tanh().sample):
        with pytest.raises(error, match=message):
            call(IsingProblem(np.zeros(2)), beta=beta)


@pytest.mark.parametrize("problem", [None, 3, np.zeros(3), {"h": [0.0]}])
def test_only_problems_are_sampled(problem: Any) -> None:
    for call in (Coins().sample, Coins().minimize):
        with pytest.raises(TypeError, match=r"takes an IsingProblem, not .*IsingProblem\(h, J\)"):
            call(problem)


def test_a_problem_that_does_not_suit_is_refused_before_any_work() -> None:
    for call in (Coins().sample, Coins().minimize):
        with pytest.raises(ValueError, match="coins have no couplings"):
            call(ASYM3.problem())


@pytest.mark.parametrize("seed", [True, 0.5, "7"])
def test_wrong_seeds(seed: Any) -> None:
    for call in (Coins().sample, Coins().minimize):
        with pytest.raises(TypeError, match="seed must be an integer"):
            call(IsingProblem(np.zeros(2)), seed=seed)


def test_unknown_options_name_the_nearest_and_all() -> None:
    with pytest.raises(TypeError, match=r"did you mean 'num_reads'\?\); it has num_reads, token"):
        Coins(num_read=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Tanh has no option 'num_reads'; it has none"):
        Tanh(num_reads=3)  # type: ignore[call-arg]


def test_options_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Coins().num_reads = 3  # type: ignore[misc]


def test_a_sampler_without_solve_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Sampler()  # type: ignore[abstract]
