"""What engines of Qiskit are asked before a job: seeds, gates and noise that would not be felt."""

import dataclasses

import numpy as np
import pytest

from isingsample import DQA, IsingProblem
from support import fixtures

pytest.importorskip("qiskit_aer")
pytest.importorskip("qiskit_ibm_runtime")

from qiskit.primitives import BackendSamplerV2
from qiskit.transpiler import generate_preset_pass_manager
from qiskit_aer import AerSimulator
from qiskit_aer.noise import NoiseModel, pauli_error
from qiskit_aer.primitives import SamplerV2
from qiskit_ibm_runtime.fake_provider import FakeManilaV2

from isingsample.samplers.dqa.engines import primitive as primitive_module


def repeated(reads: np.ndarray) -> bool:
    """Whether the reads of the first and the last query are the same."""
    return bool((reads[0] == reads[-1]).all())


SEEDED = {
    "seed": lambda: SamplerV2(seed=1),
    "run options": lambda: SamplerV2(options={"run_options": {"seed_simulator": 1}}),
    "backend options": lambda: SamplerV2(options={"backend_options": {"seed_simulator": 1}}),
    "backend": lambda: BackendSamplerV2(backend=AerSimulator(seed_simulator=1)),
    "options": lambda: BackendSamplerV2(backend=AerSimulator(), options={"seed_simulator": 1}),
}


@pytest.mark.parametrize("way", list(SEEDED))
def test_a_seed_in_any_place_does_not_serve_several_jobs(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a fixed seed, jobs draw the same random numbers: queries would repeat each other."""
    problem = IsingProblem(np.full((4, 3), 0.2))
    monkeypatch.setattr(primitive_module, "_ANGLES_PER_JOB", 20)
    sampler = DQA(engine=SEEDED[way](), num_reads=20, num_steps=4, calibration="none")
    with pytest.raises(ValueError, match=r"a fixed seed \(.*seed.* = 1\).*leave the seed out"):
        sampler.sample(problem)
    monkeypatch.undo()
    assert not repeated(sampler.sample(problem).samples)  # in one job they are apart


def test_a_device_needs_its_own_gates() -> None:
    """Without them a fake device runs the anneal nearly without noise, and says nothing."""
    problem = fixtures.ASYM3.problem()
    device = FakeManilaV2()
    for engine in (
        BackendSamplerV2(backend=device),
        BackendSamplerV2(backend=AerSimulator.from_backend(device)),
        SamplerV2.from_backend(device),
    ):
        bare = DQA(engine=engine, num_reads=50, num_steps=4, calibration="none")
        with pytest.raises(ValueError, match=r"noise of its gates would not be felt.*pass_manager"):
            bare.sample(problem)
        translated = generate_preset_pass_manager(
            optimization_level=1, backend=device, seed_transpiler=1
        )
        felt = dataclasses.replace(bare, pass_manager=translated).sample(problem)
        assert felt.samples.shape == (50, 3)


def test_errors_of_the_measurement_are_refused() -> None:
    model = NoiseModel()
    model.add_all_qubit_quantum_error(pauli_error([("X", 0.25), ("I", 0.75)]), "measure")
    with pytest.raises(ValueError, match=r"errors of the measurement.*SamplerV2"):
        DQA(noise_model=model, calibration="none")


def test_noise_of_a_device_is_advised_the_way_that_feels_it() -> None:
    """Its gates are named first: a primitive without a pass manager would not feel them either."""
    with pytest.raises(ValueError, match=r"errors of .*sx.*BackendSamplerV2.*pass_manager"):
        DQA(noise_model=NoiseModel.from_backend(FakeManilaV2()))
