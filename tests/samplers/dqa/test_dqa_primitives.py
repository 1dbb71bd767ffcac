"""Reads by Qiskit's sampler primitives: the same anneal, to shot noise, in one job."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isingsample import DQA, IsingProblem, TooLargeError
from isingsample.samplers.dqa.engines import primitive as primitive_module
from support.dqa_cases import (
    ASYM3,
    TROT3,
    TROT3_CORRELATION,
    TROT3_OPTIONS,
    assert_within_shot_noise,
)
from support.dqa_primitives import (
    PRIMITIVES,
    backend_sampler,
    client_side_runtime_sampler,
    depolarizing,
    fake,
    of_aer,
    on_backend,
    runtime_sampler,
)

pytest.importorskip("qiskit_aer")

READS = 20_000
ON_PRIMITIVES = pytest.mark.parametrize("name", PRIMITIVES)


@pytest.mark.parametrize("order", [1, 2])
@ON_PRIMITIVES
def test_primitives(name: str, order: int) -> None:
    anneal = DQA(**TROT3_OPTIONS, trotter_order=order, num_reads=READS, **PRIMITIVES[name]())
    result = anneal.sample(ASYM3)
    assert result.samples.shape == (READS, 3)
    assert not result.thermal
    assert_within_shot_noise(result.magnetization, TROT3[order], READS)
    if order == 1:
        assert_within_shot_noise(result.correlation, TROT3_CORRELATION, READS)


@ON_PRIMITIVES
def test_a_batch_on_primitives(name: str) -> None:
    reads = 2000
    h = np.stack([ASYM3.h, -ASYM3.h, ASYM3.h[::-1]])
    problem = IsingProblem(h, ASYM3.J)
    exact = DQA(**TROT3_OPTIONS, engine="statevector").sample(problem)
    drawn = DQA(**TROT3_OPTIONS, num_reads=reads, **PRIMITIVES[name]()).sample(problem)
    assert_within_shot_noise(drawn.magnetization, exact.magnetization, reads)
    # Alike queries make a circuit without parameters, and get reads of their own all the same.
    alike = DQA(**TROT3_OPTIONS, num_reads=50, **PRIMITIVES[name]())
    twice = alike.sample(IsingProblem(np.stack([ASYM3.h] * 2), ASYM3.J)).samples
    assert not (twice[0] == twice[1]).all()


def test_queries_of_a_primitive_are_independent() -> None:
    """Reads of two free spins in two queries that differ a little, not at all in their signs."""
    reads = 4000
    problem = IsingProblem(np.array([[0.0, 1e-9], [1e-9, 0.0]]))
    options: dict[str, Any] = {"num_steps": 4, "num_reads": reads}
    for name in ("Aer's SamplerV2", "StatevectorSampler"):
        samples = DQA(**options, **PRIMITIVES[name]()).sample(problem).samples.astype(float)
        across = (samples[0] * samples[1]).mean(axis=0)
        assert (abs(across) < 5 / np.sqrt(reads)).all()


def test_a_seed_that_every_query_would_share_is_refused() -> None:
    from qiskit.primitives import StatevectorSampler

    with pytest.raises(ValueError, match=r"StatevectorSampler\(seed=numpy.random.default_rng\(7\)"):
        DQA(engine=StatevectorSampler(seed=7), num_reads=10)
    assert DQA(engine=StatevectorSampler(), num_reads=10).engine is not None


# --- devices and noise ---------------------------------------------------------------------------


def test_a_primitive_brings_its_own_noise() -> None:
    engine = of_aer(noise_model=depolarizing(0.05))
    drawn = DQA(**TROT3_OPTIONS, num_reads=READS, **engine).sample(ASYM3)
    exact = DQA(**TROT3_OPTIONS, noise_model=depolarizing(0.05)).sample(ASYM3)
    assert_within_shot_noise(drawn.magnetization, exact.magnetization, READS)


@pytest.mark.parametrize("make", [backend_sampler, runtime_sampler, client_side_runtime_sampler])
def test_a_noisy_device_shows_the_signs(make: Callable[[Any], Any]) -> None:
    """Two steps on a device with its noise: magnetizations shrink, and keep their signs."""
    options: dict[str, Any] = TROT3_OPTIONS | {"num_steps": 2}
    exact = DQA(**options, engine="statevector").sample(ASYM3).magnetization
    drawn = DQA(**options, num_reads=4000, **on_backend(make, fake())).sample(ASYM3)
    share = (drawn.magnetization @ exact) / (exact @ exact)
    assert 0.5 < share < 0.95
    assert abs(drawn.magnetization - share * exact).max() < 0.1


# --- jobs of primitives --------------------------------------------------------------------------


def ragged() -> IsingProblem:
    """Alike fields, but three masks: two circuits with parameters for two queries, one without."""
    present = np.arange(4) < np.array([2, 3, 4, 2, 3])[:, None]
    return IsingProblem(np.full(4, 0.2), np.full((4, 4), 0.3) - 0.3 * np.eye(4), present=present)


class Counted:
    """Stands in the way of a primitive's run and keeps its jobs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, primitive: Any) -> None:
        self.jobs: list[int] = []
        run = primitive.run

        def counted(pubs: Any, **options: Any) -> Any:
            pubs = list(pubs)
            self.jobs.append(len(pubs))
            return run(pubs, **options)

        monkeypatch.setattr(primitive, "run", counted)


@ON_PRIMITIVES
def test_one_job_for_a_batch_of_several_circuits(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, primitive = 1000, PRIMITIVES[name]()
    jobs = Counted(monkeypatch, primitive["engine"]).jobs
    result = DQA(**TROT3_OPTIONS, num_reads=reads, **primitive).sample(ragged())
    assert jobs == [3]
    exact = DQA(**TROT3_OPTIONS, engine="statevector").sample(ragged())
    assert_within_shot_noise(result.magnetization, exact.magnetization, reads)
    # Spins 0 and 1 are in all of them: reads of different queries do not go together.
    m = exact.magnetization
    for other in range(1, 5):
        together = (result.samples[0, :, :2] * result.samples[other, :, :2]).mean(axis=0)
        assert_within_shot_noise(together, m[0, :2] * m[other, :2], reads)


def test_jobs_are_of_a_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    from qiskit_aer.primitives import SamplerV2

    # A query has 8 steps of 3 fields.
    monkeypatch.setattr(primitive_module, "_ANGLES_PER_JOB", 60)
    problem = IsingProblem(np.outer(np.linspace(-1, 1, 7), ASYM3.h), ASYM3.J)
    exact = DQA(**TROT3_OPTIONS, engine="statevector").sample(problem).magnetization
    engine = SamplerV2(options={"backend_options": {"max_parallel_threads": 1}})
    jobs = Counted(monkeypatch, engine).jobs
    drawn = DQA(**TROT3_OPTIONS, num_reads=1000, engine=engine).sample(problem)
    assert jobs == [1] * 4
    assert_within_shot_noise(drawn.magnetization, exact, 1000)
    with pytest.raises(ValueError, match=r"takes 4 jobs, .* \(SamplerV2.seed = 1\)"):
        DQA(**TROT3_OPTIONS, num_reads=10, **of_aer()).sample(problem)


def test_more_spins_than_allowed_are_not_sent() -> None:
    with pytest.raises(TooLargeError, match="21 spins are above max_spins=20; raise it if"):
        DQA(num_reads=10, **of_aer()).sample(IsingProblem(np.zeros(21)))
