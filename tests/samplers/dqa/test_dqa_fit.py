"""The fitted calibration: one temperature for a batch, from its energy or from its reads."""

from typing import Any

import numpy as np
import pytest

from isingsample import DQA, Exact, IsingProblem, effective_beta
from isingsample._core.states import spin_table
from support.strategies import symmetric

pytest.importorskip("qiskit_aer")


def batch(n: int, *, queries: int = 8, strength: float = 0.5) -> IsingProblem:
    rng = np.random.default_rng(0)
    h = rng.normal(0, strength, (queries, n))
    return IsingProblem(h, strength * symmetric(rng, (), n, 2))


def ours(**options: Any) -> DQA:
    return DQA(**options, engine="statevector")


def sampler_v2(**options: Any) -> Any:
    from qiskit_aer.primitives import SamplerV2

    options = {"max_parallel_threads": 1, **options}
    return SamplerV2(seed=1, options={"backend_options": options})


# --- to the mean energy --------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.6, 1.0])
def test_a_fit_gives_the_batch_its_mean_energy(beta: float) -> None:
    rng = np.random.default_rng(4)
    n = 6
    h, J, K = rng.normal(0, 0.5, (4, n)), symmetric(rng, (), n, 2), symmetric(rng, (), n, 3)
    present = np.arange(n) < np.array([6, 4, 6, 5])[:, None]
    problem = IsingProblem(h, 0.2 * J, 0.05 * K, present, offset=3.0)
    result = ours(calibration="fit", num_steps=60).sample(problem, beta=beta)
    analytic = ours(num_steps=60).sample(problem, beta=beta)
    ratios = [result.info[name] / analytic.info[name] for name in ("beta_h", "beta_J", "beta_K")]
    assert ratios[0] != pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(ratios, ratios[0])
    whole = IsingProblem(h, 0.2 * J, 0.05 * K)
    fitted = ours(calibration="fit", num_steps=60)
    energy = whole.energy(spin_table(n)[None])
    means = [(s.distribution(whole, beta=beta) * energy).sum() for s in (fitted, Exact())]
    assert means[0] == pytest.approx(means[1], abs=1e-3)
    on_aer = DQA(calibration="fit", num_steps=60).sample(problem, beta=beta)
    np.testing.assert_allclose(on_aer.magnetization, result.magnetization, atol=1e-9)


def test_fits_without_an_answer() -> None:
    free = ours(calibration="fit", num_steps=10)
    assert free.sample(IsingProblem([0.3]), beta=0).magnetization == pytest.approx(0)
    assert free.sample(IsingProblem([0.0, 0.0])).magnetization == pytest.approx(0)
    short = ours(calibration="fit", total_time=0.3)
    with pytest.raises(ValueError, match="use a longer total_time"):
        short.sample(batch(6), beta=3.0)


def test_a_fit_makes_up_for_noise() -> None:
    from qiskit_aer.noise import NoiseModel, depolarizing_error

    noise = NoiseModel()
    noise.add_all_qubit_quantum_error(depolarizing_error(0.01, 1), ["rx"])
    problem = batch(3, queries=2, strength=0.3)
    energy = problem.energy(spin_table(3)[None])
    wanted = (Exact().distribution(problem) * energy).sum()
    found = [
        (DQA(num_steps=20, noise_model=noise, calibration=c).distribution(problem) * energy).sum()
        for c in ("fit", "analytic")
    ]
    assert found[0] == pytest.approx(wanted, abs=1e-3)
    assert abs(found[1] - wanted) > 0.02


# --- to the reads of a primitive -----------------------------------------------------------------


def test_a_primitive_is_fitted_to_its_own_reads() -> None:
    present = np.arange(4) < np.array([4, 4, 3, 4, 2, 3, 4, 4])[:, None]
    whole = batch(4, strength=0.3)
    problem = IsingProblem(whole.h, whole.J, present=present)
    options: dict[str, Any] = {"num_steps": 12, "total_time": 3.0, "num_reads": 4000}
    found = DQA(**options, engine=sampler_v2(), calibration="fit").sample(problem)
    fitted = effective_beta(problem, found.samples)
    # Its last run was within one standard error, of which blocks of masks know a little less.
    assert abs(fitted.beta - 1) < 2 * fitted.std_error
    plain = DQA(**options, engine=sampler_v2()).sample(problem)
    unfitted = effective_beta(problem, plain.samples)
    assert abs(unfitted.beta - 1) > 4 * unfitted.std_error
    ratios = [found.info[f"beta_{name}"] / plain.info[f"beta_{name}"] for name in "hJK"]
    assert ratios[0] < 0.99
    np.testing.assert_allclose(ratios, ratios[0])


def test_a_primitive_with_more_spins_than_can_be_summed_over() -> None:
    n = 26
    rng = np.random.default_rng(2)
    bonds = np.diag(rng.normal(0, 0.4, n - 1), 1)
    problem = IsingProblem(rng.normal(0, 0.4, n), bonds + bonds.T)
    found = DQA(
        num_steps=8,
        total_time=2.0,
        num_reads=400,
        max_spins=n,
        engine=sampler_v2(method="matrix_product_state"),
        calibration="fit",
    ).sample(problem)
    fitted = effective_beta(problem, found.samples)
    assert abs(fitted.beta - 1) <= 1.01 * fitted.std_error


def test_reads_that_never_get_there() -> None:
    options: dict[str, Any] = {"num_steps": 4, "total_time": 0.3, "num_reads": 200}
    short = DQA(**options, engine=sampler_v2(), calibration="fit")
    with pytest.raises(ValueError, match=r"did not come to beta = 3; the last were at"):
        short.sample(batch(4), beta=3.0)


def test_a_primitive_with_nothing_to_fit() -> None:
    fitted = DQA(num_steps=4, num_reads=10, engine=sampler_v2(), calibration="fit")
    for problem, beta in (
        (IsingProblem(np.zeros((2, 3))), 1.0),
        (IsingProblem(np.ones((2, 3))), 0.0),
        (IsingProblem(np.ones((0, 3))), 1.0),
    ):
        info = fitted.sample(problem, beta=beta).info
        assert info.get("beta_h", 1.8953) == pytest.approx(1.8953, abs=1e-4)
