"""The temperature of an annealer: measured, and set by the scale of what is sent."""

import json
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isingsample import (
    BackendError,
    DWave,
    DWaveCalibration,
    EffectiveBeta,
    IsingProblem,
    Refine,
    SampleResult,
)
from isingsample.samplers.dwave.calibration import measured_beta, search, store_scale, stored_scale
from isingsample.samplers.dwave.call import calls as _qpu_calls
from isingsample.samplers.dwave.mock import mock_dwave
from isingsample.testing import enumerate_moments
from support.dwave_standins import Recorder, Torn
from support.fixtures import PAIR
from support.strategies import symmetric


@pytest.fixture
def batch(rng: np.random.Generator) -> IsingProblem:
    """Three spins each: no chains on Zephyr, so the mock's law is Boltzmann's."""
    return IsingProblem(rng.normal(0, 0.7, (24, 3)), 0.5 * symmetric(rng, (), 3, 2))


def annealer(hidden: float, **options: Any) -> DWave:
    child = mock_dwave(topology_shape=[2, 4], beta=hidden, num_sweeps=60, seed=4)
    return DWave(child=child, num_reads=600, **options)


@pytest.mark.parametrize("hidden", [0.4, 1.0, 2.5])
def test_beta_effective_is_the_annealers_own(batch: IsingProblem, hidden: float) -> None:
    info = annealer(hidden, scale=0.8).sample(batch, beta=0.5).info
    error = info["beta_effective_std_error"]
    assert 0 < error < 0.1 * hidden
    # What is sent is 0.8 * 0.5 of the problem, and the annealer multiplies that by its own.
    assert abs(info["beta_effective"] - 0.8 * 0.5 * hidden) < 5 * error


def test_beta_effective_is_measured_once_and_only_for_a_reader(
    batch: IsingProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[SampleResult] = []

    def counted(result: SampleResult) -> EffectiveBeta:
        calls.append(result)
        return measured_beta(result)

    monkeypatch.setattr(_qpu_calls, "measured_beta", counted)
    result = annealer(1.0).sample(batch)
    assert not calls
    copied = pickle.loads(pickle.dumps(result))
    assert copied.info["beta_effective"] == result.info["beta_effective"] == pytest.approx(1, 0.2)
    assert result.info["beta_effective_std_error"] > 0
    assert len(calls) == 1


@pytest.mark.parametrize("hidden", [0.37, 3.1])
def test_calibrate_finds_a_hidden_temperature(
    batch: IsingProblem, hidden: float, tmp_path: Path
) -> None:
    sampler = annealer(hidden, cache_dir=tmp_path)
    found = sampler.calibrate(batch, beta=0.6, seed=1)
    assert found.converged
    assert len(found.trials) <= 8
    assert abs(found.beta_effective - 0.6) <= found.std_error
    # The scale is wrong by as much as the measurement was, and by the tolerance of the search.
    relative = found.std_error / found.beta_effective
    assert abs(found.scale * hidden - 1) < 5 * relative

    calibrated = annealer(hidden, cache_dir=tmp_path, scale="calibrated")
    result = calibrated.sample(batch, beta=0.6)
    assert result.info["scale"] == found.scale
    assert not result.thermal
    exact = enumerate_moments(batch, 0.6).magnetization
    noise = np.sqrt((1 - exact**2) / 600)
    assert np.abs((result.magnetization - exact) / noise).mean() < 1.5  # 0.8 without any bias
    kept = json.loads(found.path.read_text())
    assert kept["scale"] == found.scale
    assert kept["setting"]["annealing_time"] == 20.0  # the solver's default, by its number


def test_a_scale_holds_for_its_setting_alone(batch: IsingProblem, tmp_path: Path) -> None:
    annealer(0.5, cache_dir=tmp_path).calibrate(batch)
    for options in (
        {"annealing_time": 5.0},
        {"chain_strength": 1.5},
        {"fast_anneal": True, "annealing_time": 20.0},
    ):
        other = annealer(0.5, cache_dir=tmp_path, scale="calibrated", **options)
        with pytest.raises(ValueError, match="no scale has been calibrated for solver='Mock"):
            other.sample(batch)
    annealer(0.5, cache_dir=tmp_path, scale="calibrated", annealing_time=20.0).sample(batch)


def test_a_scale_need_not_be_kept(batch: IsingProblem, tmp_path: Path) -> None:
    assert annealer(0.5, cache_dir=tmp_path).calibrate(batch, store=False).path is None
    assert not (tmp_path / "scales").exists()


def test_scales_stored_at_once_are_all_kept(tmp_path: Path) -> None:
    """Each has a file of its own: nobody writes back an older list of all."""

    def keep(number: int) -> None:
        found = DWaveCalibration(1.0 + number, 1.0, 1.0, 0.1, True, ())
        store_scale(tmp_path, {"solver": f"chip {number}"}, found)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(keep, range(32)))
    assert all(stored_scale(tmp_path, {"solver": f"chip {n}"}) == 1.0 + n for n in range(32))
    keep(3)
    (path,) = (p for p in (tmp_path / "scales").iterdir() if '"chip 3"' in p.read_text())
    path.write_text(path.read_text().replace("4.0", "NaN"))
    assert stored_scale(tmp_path, {"solver": "chip 3"}) is None


def test_what_cannot_be_calibrated_says_so(batch: IsingProblem) -> None:
    with pytest.raises(ValueError, match=r"at the largest scale .* below beta=50"):
        annealer(0.2).calibrate(batch, beta=50.0)
    with pytest.raises(ValueError, match="one energy"):
        annealer(1.0).calibrate(IsingProblem(np.zeros((2, 3))))
    with pytest.raises(ValueError, match="nothing to calibrate on"):
        annealer(1.0).calibrate(IsingProblem(np.zeros((0, 3))))
    with pytest.raises(ValueError, match="beta must be positive"):
        annealer(1.0).calibrate(batch, beta=0.0)


@pytest.mark.parametrize("error", [math.nan, math.inf])
def test_a_measurement_without_an_error_ends_no_search(error: float) -> None:
    trials = search(lambda _: EffectiveBeta(1.0, error), 1.0, start=1.0, most=9.0, num_trials=3)
    assert len(trials) == 3
    assert not trials[-1].agrees_with(1.0)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("own", [0.02, 1.0, 60.0])
def test_the_search_takes_few_trials(own: float, power: float) -> None:
    """beta_effective = own * scale**power; all ground states above 20, no order below 1e-3."""

    def measure(scale: float) -> EffectiveBeta:
        beta = own * scale**power
        if beta > 20:
            return EffectiveBeta(math.inf, math.nan)
        return EffectiveBeta(beta if beta > 1e-3 else -1e-4, 0.01 * beta + 1e-5)

    trials = search(measure, 1.0, start=1.0, most=1e4, num_trials=12)
    assert abs(trials[-1].beta_effective - 1) <= trials[-1].std_error
    assert len(trials) <= 7


@pytest.mark.parametrize("scale", [None, 1.0])
def test_biases_may_lie_on_the_edge_of_their_range(scale: float | None) -> None:
    recorder = Recorder()
    problem = IsingProblem([recorder.properties["h_range"][1], -1.0])
    assert DWave(child=recorder, num_reads=1, scale=scale).sample(problem).info["scale"] == 1.0


def test_an_explicit_scale_is_kept_or_refused() -> None:
    recorder = Recorder()
    result = DWave(child=recorder, num_reads=1, scale=2.0).sample(PAIR.problem())
    assert result.info["scale"] == 2.0
    assert sorted(recorder.sent[0][0].linear.values()) == pytest.approx([-0.6, 0.4])
    with pytest.raises(ValueError, match=r"scale=5 takes the problem out .* 2.857\d* is the most"):
        DWave(child=recorder, scale=5).sample(PAIR.problem())
    for scale, error in ((0.0, ValueError), ("calibratd", ValueError), ([1.0], TypeError)):
        with pytest.raises(error, match="scale"):
            DWave(child=recorder, scale=scale)


def test_refined_reads_are_thermal(rng: np.random.Generator) -> None:
    """From an annealer at the wrong temperature, with chains."""
    problem = IsingProblem(rng.normal(0, 0.4, (4, 6)), 0.15 * symmetric(rng, (), 6, 2))
    child = mock_dwave(topology_shape=[2, 4], beta=3.0, num_sweeps=50, seed=2)
    result = Refine(DWave(child=child, num_reads=1000), num_sweeps=20).sample(problem, seed=1)
    assert result.thermal
    exact = enumerate_moments(problem).magnetization
    assert (np.abs(result.magnetization - exact) < 5 * result.std_error).all()
    start = result.info["start"]
    assert abs(start["beta_effective"] - 1) > 5 * start["beta_effective_std_error"]


# Reads with broken chains


def torn(**options: Any) -> DWave:
    return DWave(child=Torn(), num_reads=2000, chain_break_method="discard", **options)


def test_discarded_reads_do_not_count() -> None:
    """Every qubit at random: a read of five chains of two, or one, is whole in 1 of 2**twos."""
    clique = 0.1 * (np.ones((5, 5)) - np.eye(5))
    result = torn().sample(IsingProblem(np.ones((3, 5)), clique), seed=1)
    kept = result.info["kept_reads"]
    for query, tile in enumerate(result.info["embeddings"][0]):
        share = 0.5 ** sum(len(chain) - 1 for chain in tile.values())
        spread = math.sqrt(2000 * share * (1 - share))
        assert abs(kept[query] - 2000 * share) <= 5 * spread
    whole = (result.samples != 0).all(axis=-1)
    np.testing.assert_array_equal(whole.sum(axis=-1), kept)
    assert ((result.samples == 0).all(axis=-1) == ~whole).all()
    means = result.samples.sum(axis=-2) / kept[:, None]
    np.testing.assert_allclose(result.magnetization, means)
    np.testing.assert_allclose(np.einsum("...jj->...j", result.correlation), 1)
    assert np.isnan(result.energy)[~whole].all()
    assert np.isfinite(result.energy)[whole].all()
    assert len(result.to_sampleset(0)) == kept[0]
    assert np.isfinite(result.info["beta_effective"])


def test_where_no_read_is_left_the_error_names_the_query() -> None:
    clique = 0.01 * (np.ones((24, 24)) - np.eye(24))
    message = r"problem 0 of the batch has no read left: in each of 2000 .*majority_vote"
    with pytest.raises(BackendError, match=message):
        torn().sample(IsingProblem(np.ones((1, 24)), clique))


def test_minimize_ignores_discarded_reads() -> None:
    clique = 0.1 * (np.ones((5, 5)) - np.eye(5))
    state, _ = torn().minimize(IsingProblem(np.ones((2, 5)), clique))
    np.testing.assert_array_equal(np.abs(state), 1)


def test_misspelt_methods_are_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'majority_vote'"):
        DWave(chain_break_method="majority")


def test_scales_are_kept_for_one_chip_as_it_is(tmp_path: Path) -> None:
    """The name of a solver stays when its qubits, or its temperature, do not."""
    settings = [
        DWave(child=mock_dwave("zephyr", [2, 4], **options), cache_dir=tmp_path)._setting()
        for options in ({}, {"beta": 2.0}, {"broken_nodes": [7]}, {})
    ]
    assert settings[0] == settings[3]
    assert settings[0] not in settings[1:3]
    assert settings[1]["solver"] == settings[0]["solver"]
