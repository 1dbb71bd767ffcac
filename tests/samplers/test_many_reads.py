"""Many reads of exact samplers: drawn in portions, and refused where they would not fit."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from isingsample import Exact, IsingProblem, TooLargeError, Transfer, get_sampler
from isingsample.samplers.exact import halves
from isingsample.samplers.transfer import sampler as transfer
from support.fixtures import ASYM3

SAMPLERS = [Exact, Transfer]
PROBLEM = IsingProblem(ASYM3.h, ASYM3.J)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_temporary_arrays_are_bounded(sampler: Any) -> None:
    """2**20 reads of 3 spins are 3 MiB; their random numbers alone would be 16 MiB and more."""
    reads = 2**20
    tracemalloc.start()
    try:
        result = sampler(num_reads=reads).sample(PROBLEM, seed=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**28
    spread = 5 / np.sqrt(reads)
    np.testing.assert_allclose(result.samples.mean(axis=0), result.magnetization, atol=spread)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_reads_do_not_depend_on_portions(
    sampler: Any, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    problem = IsingProblem(rng.normal(size=(2, 3)), ASYM3.J)
    whole = sampler(num_reads=50).sample(problem, seed=1).samples
    monkeypatch.setattr(halves, "CHUNK_ENTRIES", 7 * 128)
    monkeypatch.setattr(transfer, "_READ_ENTRIES", 40)
    np.testing.assert_array_equal(sampler(num_reads=50).sample(problem, seed=1).samples, whole)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_reads_beyond_memory_are_refused(sampler: Any) -> None:
    with pytest.raises(TooLargeError, match=r"num_reads=10000000000000 .* ask for fewer reads"):
        sampler(num_reads=10**13).sample(PROBLEM)


@pytest.mark.parametrize("name", ["gibbs", "sa", "tempering", "dimod"])
def test_reads_that_cannot_fit_are_refused_before_work(name: str) -> None:
    problem = IsingProblem(np.zeros((1000, 50)))
    with pytest.raises(TooLargeError, match=r"num_reads=10000000000 of 50 spins for each of 1000"):
        get_sampler(name, num_reads=10**10).sample(problem)


@pytest.mark.parametrize("name", ["gibbs", "sa", "tempering"])
def test_sweeps_whose_schedule_cannot_fit_are_refused_before_work(name: str) -> None:
    sampler = get_sampler(name, num_sweeps=10**12)
    for call in (sampler.sample, sampler.minimize):
        with pytest.raises(TooLargeError, match=r"num_sweeps: temperatures of 10000000\d+ sweeps"):
            call(IsingProblem([0.5]))
