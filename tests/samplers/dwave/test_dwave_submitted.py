"""What is submitted to a D-Wave solver: biases, scale, chains and arguments."""

import math

import dimod
import dimod.testing
import numpy as np
import pytest
from dwave.embedding import embed_bqm
from dwave.system.coupling_groups import coupling_groups
from hypothesis import given, settings
from hypothesis import strategies as st

from isingsample import DWave, IsingProblem
from isingsample.interop.convert import bqm_of
from support.dwave_standins import Recorder
from support.fixtures import PAIR, couplings
from support.strategies import symmetric


def test_the_submitted_model_is_oceans_own(rng: np.random.Generator) -> None:
    """The same biases as dwave.embedding.embed_bqm, times the scale, chains excepted."""
    recorder = Recorder()
    h, J = 9 * rng.normal(size=(1, 8)), symmetric(rng, (), 8, 2)
    result = DWave(child=recorder, num_reads=1).sample(IsingProblem(h, J), beta=0.5)
    scale, strength = result.info["scale"], result.info["chain_strength"]
    assert scale < 1
    source = bqm_of(0.5 * scale * h[0], 0.5 * scale * J, range(8))
    chains = {v: set(chain) for v, chain in result.info["embeddings"][0][0].items()}
    expected = embed_bqm(source, chains, recorder.adjacency, chain_strength=strength)
    sent, arguments = recorder.sent[0]
    expected.offset = 0
    assert dimod.testing.assert_bqm_almost_equal(sent, expected, places=9) is None
    assert arguments == {"num_reads": 1, "answer_mode": "raw", "auto_scale": False}


def test_one_scale_for_the_whole_call() -> None:
    """The strongest query sets it, in whichever block; nothing is scaled on its own."""
    recorder = Recorder(h_range=[-2.0, 2.0])
    h = np.array([[0.5, 0.1], [8.0, 0.1], [-1.0, 0.4]])
    present = np.array([[True, True], [True, False], [True, True]])
    result = DWave(child=recorder, num_reads=1).sample(IsingProblem(h, present=present))
    assert result.info["scale"] == pytest.approx(0.25)
    sent = sorted(bias for bqm, _ in recorder.sent for bias in bqm.linear.values())
    np.testing.assert_allclose(sent, [-2.0, -0.125, -0.1, -0.025, 0.25])


@st.composite
def narrow_ranges(draw: st.DrawFn) -> dict[str, list[float]]:
    def width(low: float, high: float) -> list[float]:
        return [-draw(st.floats(low, high)), draw(st.floats(low, high))]

    ranges = {"h_range": width(0.3, 4), "j_range": width(0.2, 1), "extended_j_range": width(1, 2)}
    sums = draw(st.sampled_from(["per_qubit_coupling_range", "per_group_coupling_range"]))
    return {**ranges, sums: [-draw(st.floats(9, 18)), draw(st.floats(0.5, 15))]}


@given(
    ranges=narrow_ranges(),
    seed=st.integers(0, 2**32 - 1),
    num_spins=st.sampled_from([1, 2, 4, 8]),
    size=st.sampled_from([0.01, 1.0, 30.0]),
)
@settings(max_examples=25)
def test_every_bias_fits_the_ranges(
    ranges: dict[str, list[float]], seed: int, num_spins: int, size: float
) -> None:
    rng = np.random.default_rng(seed)
    recorder = Recorder(num_sweeps=1, **ranges)
    if "per_group_coupling_range" in ranges:
        del recorder.properties["per_qubit_coupling_range"]
    h = size * rng.normal(size=(2, 3, num_spins))
    J = size * symmetric(rng, (2,), num_spins, 2)
    problem = IsingProblem(h, J[:, None])
    result = DWave(child=recorder, num_reads=1).sample(problem)
    assert 0 < result.info["scale"] <= 1
    graph = recorder.to_networkx_graph()
    sums = next(name for name in ranges if name.startswith("per_"))
    by_qubit = (graph.edges(qubit) for qubit in graph)
    groups = list(coupling_groups(graph) if "group" in sums else by_qubit)
    for bqm, _ in recorder.sent:
        for name, values in {
            "h_range": list(bqm.linear.values()),
            "extended_j_range": list(bqm.quadratic.values()),
            sums: [sum(bqm.quadratic.get(edge, 0.0) for edge in group) for group in groups],
        }.items():
            low, high = ranges[name]
            assert low <= min(values, default=0.0)
            assert max(values, default=0.0) <= high


def test_a_scale_is_as_large_as_the_ranges_allow() -> None:
    recorder = Recorder(h_range=[-3.0, 2.0], extended_j_range=[-2.0, 0.5])
    sampler = DWave(child=recorder, num_reads=1)
    for h, J, scale in (
        ([4.0, -1.0], 0.0, 3 / 4),  # dimod's sign: -4 against -3
        ([-4.0, -1.0], 0.0, 2 / 4),  # +4 against 2
        ([0.1, 0.1], 5.0, 2 / 5),  # ferromagnetic: -5 against -2
        ([0.1, 0.1], -5.0, 0.5 / 5),  # antiferromagnetic: +5 against 0.5
        ([0.1, 0.1], -0.5, 1.0),
    ):
        result = sampler.sample(IsingProblem(h, couplings(2, {(0, 1): J})))
        assert result.info["scale"] == pytest.approx(scale)


def test_default_chains_are_as_strong_as_the_couplings_need() -> None:
    clique = np.ones((8, 8)) - np.eye(8)
    strengths = {}
    for size in (0.0, 0.01, 1.0):
        recorder = Recorder(extended_j_range=[-4.0, 1.0])
        info = (
            DWave(child=recorder, num_reads=1).sample(IsingProblem(np.ones(8), size * clique)).info
        )
        strengths[size] = info["chain_strength"]
    assert strengths[0.0] == strengths[0.01] == 2.0
    assert strengths[1.0] == pytest.approx(1.414 * math.sqrt(7))  # uniform torque compensation


def test_only_plain_numbers_reach_the_child() -> None:
    recorder = Recorder()
    options = {
        "num_reads": np.int64(7),
        "annealing_time": np.float32(20),
        "chain_strength": np.float64(1.5),
        "label": "mine",
    }
    result = DWave(child=recorder, **options).sample(
        IsingProblem(np.float32([0.1, 0.2]), np.zeros((2, 2), np.float32)), beta=np.float64(0.5)
    )
    bqm, arguments = recorder.sent[0]
    assert {name: type(value) for name, value in arguments.items()} == {
        "num_reads": int,
        "annealing_time": float,
        "label": str,
        "answer_mode": str,
        "auto_scale": bool,
    }
    assert all(type(qubit) is int for qubit in bqm.variables)
    assert all(type(q) is int for chain in result.info["embeddings"][0][0].values() for q in chain)
    assert all(type(result.info[key]) is float for key in ("scale", "chain_strength"))


def test_the_child_gets_only_what_it_knows() -> None:
    """A solver without answer_mode aggregates; its rows are weighted by how often they came."""
    recorder = Recorder()
    for name in ("answer_mode", "auto_scale", "annealing_time"):
        del recorder.parameters[name]
    result = DWave(child=recorder, num_reads=500).sample(PAIR.problem())
    assert recorder.sent[0][1] == {"num_reads": 500}
    assert result.samples.shape == (500, 2)
    assert np.abs(result.magnetization - PAIR.magnetization).max() < 5 / np.sqrt(500)
    with pytest.raises(ValueError, match="has no parameter 'annealing_time'"):
        DWave(child=recorder, annealing_time=5).sample(PAIR.problem())
