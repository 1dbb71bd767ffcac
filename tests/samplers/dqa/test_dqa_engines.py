"""Engines with exact probabilities: the same moments on each, and noise where there is any."""

from typing import Any

import numpy as np
import pytest

from isingsample import DQA, IsingProblem
from support.dqa_cases import (
    ASYM3,
    TROT3,
    TROT3_CORRELATION,
    TROT3_OPTIONS,
    assert_within_shot_noise,
)
from support.dqa_primitives import depolarizing, fake, of_qiskit

pytest.importorskip("qiskit_aer")

READS = 20_000


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("engine", ["aer", "statevector"])
def test_exact_engines(engine: str, library: str, order: int) -> None:
    problem = ASYM3
    if library == "torch":
        torch = pytest.importorskip("torch")
        problem = IsingProblem(torch.tensor(ASYM3.h), torch.tensor(ASYM3.J))
    result = DQA(**TROT3_OPTIONS, trotter_order=order, engine=engine).sample(problem)
    np.testing.assert_allclose(np.asarray(result.magnetization), TROT3[order], atol=1e-6)
    if order == 1:
        np.testing.assert_allclose(np.asarray(result.correlation), TROT3_CORRELATION, atol=1e-6)


# --- noise ---------------------------------------------------------------------------------------


def test_more_noise_takes_more_of_the_magnetization() -> None:
    found = [
        DQA(**TROT3_OPTIONS, noise_model=depolarizing(strength)).sample(ASYM3)
        for strength in (0.0, 0.01, 0.05, 0.2, 1.0)
    ]
    assert not any(result.thermal for result in found)
    assert all(np.isnan(result.std_error).all() for result in found)
    np.testing.assert_allclose(found[0].magnetization, TROT3[1], atol=1e-6)
    np.testing.assert_allclose(found[-1].magnetization, 0, atol=1e-12)
    sizes = np.array([abs(result.magnetization) for result in found])
    assert (np.diff(sizes, axis=0) < 0).all()
    assert all(np.sign(result.magnetization[0]) == 1 for result in found[:-1])


def test_reads_come_from_the_noisy_distribution() -> None:
    options: dict[str, Any] = {**TROT3_OPTIONS, "noise_model": depolarizing(0.05)}
    exact = DQA(**options).sample(ASYM3)
    drawn = DQA(**options, num_reads=READS).sample(ASYM3, seed=1)
    assert_within_shot_noise(drawn.magnetization, exact.magnetization, READS)
    assert not drawn.thermal


# --- refusals ------------------------------------------------------------------------------------


def test_readout_errors_are_for_primitives() -> None:
    from qiskit_aer.noise import ReadoutError

    noise = depolarizing(0.01)
    noise.add_all_qubit_readout_error(ReadoutError([[0.9, 0.1], [0.1, 0.9]]))
    with pytest.raises(ValueError, match=r"readout errors.*SamplerV2"):
        DQA(noise_model=noise)


def test_noise_that_would_not_be_felt_is_refused() -> None:
    from qiskit_aer.noise import NoiseModel

    device = NoiseModel.from_backend(fake(), readout_error=False)
    with pytest.raises(ValueError, match=r"errors of sx, x, which .* h, rz, rzz, cx, rx.*Backend"):
        DQA(noise_model=device)
    with pytest.raises(TypeError, match="noise_model must be a qiskit_aer NoiseModel, not 'loud'"):
        DQA(noise_model="loud")


def test_what_does_not_go_together_is_refused() -> None:
    primitive = of_qiskit()["engine"]
    with pytest.raises(ValueError, match="set num_reads"):
        DQA(engine=primitive)
    with pytest.raises(ValueError, match="num_reads must be at least 1"):
        DQA(engine=primitive, num_reads=0)
    with pytest.raises(TypeError, match="reads, not probabilities"):
        DQA(engine=primitive, num_reads=1).distribution(ASYM3)
    with pytest.raises(ValueError, match="did you mean 'statevector'"):
        DQA(engine="state_vector")
    with pytest.raises(TypeError, match="BaseSamplerV2"):
        DQA(engine=3)
    with pytest.raises(ValueError, match="did you mean 'single'"):
        DQA(engine="statevector", precision="singel")
    with pytest.raises(TypeError, match="precision is for"):
        DQA(precision="single")
    with pytest.raises(TypeError, match="noise_model is for"):
        DQA(engine="statevector", noise_model=object())
    with pytest.raises(TypeError, match="pass_manager is for"):
        DQA(pass_manager=object())
    with pytest.raises(TypeError, match=r"pass_manager must have a run\(\).*not 3"):
        DQA(engine=primitive, num_reads=1, pass_manager=3)
