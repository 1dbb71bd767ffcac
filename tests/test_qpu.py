"""D-Wave submissions, on stand-ins: nothing here reaches a network."""

import math
import unittest
from typing import Any

import dimod
import dimod.testing
import networkx as nx
import numpy as np
import pytest
from dwave.embedding import embed_bqm, verify_embedding
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system import EmbeddingComposite
from dwave.system.coupling_groups import coupling_groups
from fixtures import ASYM3, KNOWN, PAIR, Known, couplings, three_body
from hypothesis import given, settings
from hypothesis import strategies as st
from qpu_standins import Hybrid, Late, Recorder, Torn
from strategies import symmetric

from isingsample import IsingProblem
from isingsample.errors import (
    IsingSampleError,
)
from isingsample.interop import as_dimod, bqm_of, from_bqm
from isingsample.mock_qpu import mock_dwave
from isingsample.samplers import _qpu_batch, _qpu_client, _qpu_submissions
from isingsample.samplers._qpu_journal import Journal
from isingsample.samplers.ocean import Dimod
from isingsample.samplers.qpu import DWave
from isingsample.testing import enumerate_moments


def chain_of(length: int, J: float) -> np.ndarray:
    return couplings(length, {(k, k + 1): J for k in range(length - 1)})


# The law


def test_uncoupled_spins_hold_to_shot_noise(rng: np.random.Generator) -> None:
    h = rng.normal(0, 0.7, size=(5, 6))
    result = DWave(child=mock_dwave(topology_shape=[2, 4], seed=3), num_reads=2000).sample(
        IsingProblem(h)
    )
    exact = np.tanh(h)
    assert (np.abs(result.magnetization - exact) <= 5 * np.sqrt((1 - exact**2) / 2000)).all()
    assert result.info["scale"] == 1.0
    assert result.info["max_chain_length"] == 1


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("beta", [1.0, 0.4])
def test_directly_coupled_spins_follow_the_submitted_law(known: Known, beta: float) -> None:
    """Zephyr has triangles, so neither problem needs a chain, and the mock is at beta = 1."""
    reads = 4000
    sampler = DWave(child=mock_dwave(topology_shape=[2, 4], seed=5), num_reads=reads)
    result = sampler.sample(IsingProblem(known.h / beta, known.J / beta), beta=beta)
    assert result.info["max_chain_length"] == 1
    exact = known.magnetization
    assert (np.abs(result.magnetization - exact) <= 5 * np.sqrt((1 - exact**2) / reads)).all()
    error = np.abs(result.correlation - known.correlation)
    assert (error <= 5 * np.sqrt((1 - known.correlation**2) / reads) + 1e-12).all()


def test_nothing_pretends_to_be_thermal() -> None:
    result = DWave(child=Recorder(), num_reads=20).sample(PAIR.problem())
    assert not result.thermal
    assert np.isnan(result.std_error).all()
    assert result.log_partition is None


def test_chains_distort_but_keep_the_signs(rng: np.random.Generator) -> None:
    """A clique of 8 has chains of two qubits; its law is a little off, and no spin is mixed up."""
    h, J = rng.choice([-0.8, 0.8], size=(4, 8)), 0.1 * symmetric(rng, (), 8, 2)
    problem = IsingProblem(h, J)
    result = DWave(child=mock_dwave(topology_shape=[2, 4], seed=2), num_reads=1000).sample(problem)
    assert result.info["max_chain_length"] == 2
    exact = enumerate_moments(problem).magnetization
    assert np.abs(result.magnetization - exact).max() < 0.2
    broken = result.info["chain_break_fraction"]
    assert broken.shape == (4,)
    assert ((broken > 0) & (broken < 0.1)).all()


# Shapes, order and labels


def test_a_batch_comes_back_in_order() -> None:
    """Query k has the bits of k in the signs of its fields."""
    signs = 2.0 * (np.arange(40)[:, None] >> np.arange(6) & 1) - 1
    recorder = Recorder(num_sweeps=20)
    problem = IsingProblem(3 * signs.reshape(5, 8, 6), chain_of(6, 0.1))
    result = DWave(child=recorder, num_reads=30).sample(problem)
    assert result.samples.shape == (5, 8, 30, 6)
    np.testing.assert_array_equal(np.sign(result.magnetization), signs.reshape(5, 8, 6))
    assert len(recorder.sent) == len(set(result.info["problem_ids"])) == 40


def test_answers_come_back_in_order_however_late() -> None:
    """All problems are submitted before any is waited for, those of all masks together."""
    late = Late(expected=6)
    signs = np.where(np.tri(6, dtype=bool), 1.0, -1.0)
    present = ~np.eye(6, k=2, dtype=bool)
    problem = IsingProblem(3 * signs, chain_of(6, 0.2), present=present)
    result = DWave(child=late, num_reads=30, timeout=20).sample(problem)
    np.testing.assert_array_equal(np.sign(result.magnetization), np.where(present, signs, 0))
    assert result.info["problem_ids"] == [answer.info["problem_id"] for _, answer in late.queue]


def test_problems_at_the_solver_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_qpu_submissions, "_MAX_WAITING", 4)
    pending: list[int] = []

    class Counting(Recorder):
        answered = 0

        def sample(self, bqm: dimod.BQM, **arguments: Any) -> dimod.SampleSet:
            sampleset = super().sample(bqm, **arguments)

            def resolve(_: Any) -> dimod.SampleSet:
                pending.append(len(self.sent) - self.answered)
                self.answered += 1
                return sampleset

            return dimod.SampleSet.from_future(object(), resolve)

    DWave(child=Counting(), num_reads=2).sample(IsingProblem(np.zeros((11, 2))))
    assert pending == [4] * 8 + [3, 2, 1]


def test_masks(rng: np.random.Generator) -> None:
    problem = IsingProblem(
        rng.normal(size=(5, 4)), symmetric(rng, (), 4, 2), present=np.tri(5, 4, k=-1, dtype=bool)
    )
    recorder = Recorder()
    result = DWave(child=recorder, num_reads=50).sample(problem)
    assert (result.samples == 0).all(axis=-2).tolist() == (~problem.present).tolist()
    assert [len(bqm) for bqm, _ in recorder.sent] == [1, 2, 3, 4]
    assert result.info["problem_ids"][0] is None  # no spins: nothing to send
    assert None not in result.info["problem_ids"][1:]
    assert np.isnan(result.info["chain_break_fraction"]).tolist() == [True] + [False] * 4
    assert len(result.info["embeddings"]) == 4


def test_couplings_per_group_share_one_embedding_of_all_edges(rng: np.random.Generator) -> None:
    """Head 0 couples (0, 1), head 1 couples (1, 2): the union has both, and each its own."""
    J = np.stack([couplings(3, {(0, 1): 0.9}), couplings(3, {(1, 2): -0.9})])
    problem = IsingProblem(np.zeros((2, 2, 3)), J[:, None])
    result = DWave(child=mock_dwave(topology_shape=[2, 4], seed=4), num_reads=1000).sample(problem)
    assert len(result.info["embeddings"]) == 1
    exact = enumerate_moments(problem).correlation
    assert np.abs(result.correlation - exact).max() < 5 / np.sqrt(1000)


@pytest.mark.parametrize("labels", [("c", "a", "b"), (("a",), 7, frozenset({1}))])
def test_labels_are_the_callers_business(labels: tuple[Any, ...]) -> None:
    recorder = Recorder()
    h = np.array([3.0, -3.0, 3.0])
    result = DWave(child=recorder, num_reads=20).sample(IsingProblem(h, ASYM3.J, labels=labels))
    np.testing.assert_array_equal(np.sign(result.magnetization), np.sign(h))
    assert list(result.info["embeddings"][0]) == list(labels)
    assert set(result.to_sampleset().variables) == set(labels)


@pytest.mark.parametrize(
    ("h", "J"),
    [
        (np.zeros(1), None),
        (np.zeros(3), None),
        (np.zeros((2, 5)), np.zeros((5, 5))),
        (np.zeros(2), couplings(2, {(0, 1): 1e-40})),
        (np.zeros(0), None),
        (np.zeros((0, 3)), None),
        (np.zeros((2, 0)), None),
        (PAIR.h, PAIR.J),
    ],
)
@pytest.mark.parametrize("beta", [1.0, 0.0])
def test_small_zero_and_empty_problems(h: np.ndarray, J: np.ndarray | None, beta: float) -> None:
    result = DWave(child=Recorder(), num_reads=1).sample(IsingProblem(h, J), beta=beta)
    assert result.samples.shape == (*h.shape[:-1], 1, h.shape[-1])
    assert np.isfinite(result.magnetization).all()
    if h.size:
        assert result.info["scale"] == 1.0
        assert result.info["chain_strength"] > 0


def test_huge_problems_are_scaled_and_overflow_is_said() -> None:
    huge = IsingProblem([1e200, 0.0], couplings(2, {(0, 1): -1e250}))
    result = DWave(child=Recorder(), num_reads=5).sample(huge)
    assert 0 < result.info["scale"] < 1e-249
    assert (result.samples[:, 0] == -result.samples[:, 1]).mean() > 0.5
    with pytest.raises(ValueError, match="overflows"):
        DWave(child=Recorder(), num_reads=5).sample(huge, beta=1e100)


def test_tensors_come_back_as_tensors() -> None:
    torch = pytest.importorskip("torch")
    problem = IsingProblem(torch.zeros(2, 3), torch.zeros(3, 3))
    result = DWave(child=Recorder(), num_reads=10).sample(problem)
    assert result.magnetization.dtype == torch.float32
    assert result.samples.dtype == torch.int8


def test_200_sparse_variables(rng: np.random.Generator) -> None:
    """A ring with random chords, from a BQM, through a heuristic embedding."""
    graph = nx.cycle_graph(200)
    while graph.number_of_edges() < 300:
        a, b = (int(v) for v in rng.integers(200, size=2))
        if a != b:
            graph.add_edge(a, b)
    bqm = dimod.BQM.from_ising(
        {f"v{v}": rng.normal(0, 0.3) for v in graph},
        {(f"v{a}", f"v{b}"): rng.normal(0, 0.3) for a, b in graph.edges},
    )
    chip = mock_dwave(topology_shape=[6, 4], num_sweeps=50, seed=0)
    result = DWave(child=chip, num_reads=50).sample(from_bqm(bqm))
    embedding = result.info["embeddings"][0]
    assert verify_embedding(embedding, dimod.to_networkx_graph(bqm), chip.to_networkx_graph())
    assert 1 < result.info["max_chain_length"] <= 8
    sampleset = result.to_sampleset()
    assert set(sampleset.variables) == set(bqm.variables)
    assert sampleset.record.energy.mean() < 0


# What is submitted


def test_the_submitted_model_is_oceans_own(rng: np.random.Generator) -> None:
    """The same biases as dwave.embedding.embed_bqm, times the scale, chains excepted."""
    recorder = Recorder()
    h, J = 9 * rng.normal(size=(1, 8)), symmetric(rng, (), 8, 2)
    result = DWave(child=recorder, num_reads=1).sample(IsingProblem(h, J), beta=0.5)
    scale, strength = result.info["scale"], result.info["chain_strength"]
    assert scale < 1
    source = bqm_of(0.5 * scale * h[0], 0.5 * scale * J, range(8))
    chains = {v: set(chain) for v, chain in result.info["embeddings"][0].items()}
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
    sent = [sorted(bqm.linear.values()) for bqm, _ in recorder.sent]
    np.testing.assert_allclose(sent[0], [-0.125, -0.025])
    np.testing.assert_allclose(sent[1], [-2.0])
    np.testing.assert_allclose(sent[2], [-0.1, 0.25])


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
    assert all(type(q) is int for chain in result.info["embeddings"][0].values() for q in chain)
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


# Broken chains


def test_even_votes_are_fair_and_repeatable() -> None:
    sampler = DWave(child=Torn(), num_reads=4000)
    problem = IsingProblem(np.ones((2, 8)), 0.1 * (np.ones((8, 8)) - np.eye(8)))
    result = sampler.sample(problem, seed=3)
    assert np.abs(result.info["chain_break_fraction"] - 0.5).max() < 0.02
    assert np.abs(result.magnetization).max() < 5 / np.sqrt(4000)
    np.testing.assert_array_equal(result.samples, sampler.sample(problem, seed=3).samples)
    other = sampler.sample(problem, seed=4).samples
    kept = (result.samples == other).mean()  # all whole chains, and half of the broken ones
    assert 0.7 < kept < 0.8


def test_majority_decides() -> None:
    embedding = next(e for n in range(9, 14) if (e := clique_embedding(n)).max_chain_length == 3)
    states = np.ones((1, len(embedding.qubits)), np.int8)
    long = int(np.argmax(embedding.length == 3))
    states[0, embedding.start[long]] = -1
    assert embedding.votes(states)[0, long] == 1
    states[0, embedding.start[long] + 1] = -1
    votes = embedding.votes(states)[0]
    assert votes[long] == -1
    assert np.delete(votes, long).tolist() == np.delete(embedding.length, long).tolist()


def clique_embedding(num_spins: int) -> Any:
    sampler = DWave(child=Recorder())
    return sampler._connection.embed(
        _qpu_batch.Structure.of(np.ones((1, num_spins, num_spins))), "", Journal()
    )


# What comes with the answer


def test_info() -> None:
    recorder = Recorder()
    sampler = DWave(child=recorder, num_reads=10, annealing_time=5.0)
    result = sampler.sample(IsingProblem(np.zeros((3, 2)), PAIR.J))
    info = result.info
    assert info["sampler"] == "dwave"
    assert info["options"] == sampler.options
    assert info["options"]["annealing_time"] == 5.0
    assert info["solver"] == "MockDWaveSampler"
    assert info["qpu_timing"]["qpu_access_time"] == pytest.approx(3 * 8550.28)
    assert info["qpu_timing"]["qpu_anneal_time_per_sample"] == pytest.approx(20.0)
    assert info["chain_break_fraction"].tolist() == [0, 0, 0]
    (embedding,) = info["embeddings"]
    assert recorder.adjacency[embedding[0][0]] & {embedding[1][0]}
    assert info["timing"]["sampling_ns"] > 0


def test_an_embedding_is_found_once_for_a_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    find = _qpu_client.find_chains
    monkeypatch.setattr(
        _qpu_client, "find_chains", lambda s, graph: found.append(s) or find(s, graph)
    )
    sampler = DWave(child=Recorder(), num_reads=1)
    first = sampler.sample(ASYM3.problem())
    again = sampler.sample(IsingProblem(-ASYM3.h, -2 * ASYM3.J))
    assert len(found) == 1
    assert first.info["embeddings"] == again.info["embeddings"]
    other = DWave(child=Recorder(), num_reads=1).sample(ASYM3.problem())
    assert first.info["embeddings"] == other.info["embeddings"]


def test_few_embeddings_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_qpu_client, "_MAX_EMBEDDINGS", 2)
    sampler = DWave(child=Recorder(), num_reads=1)
    for num_spins in (1, 2, 3, 1):
        sampler.sample(IsingProblem(np.zeros(num_spins)))
    assert [key.num_spins for key in sampler._connection._embeddings] == [3, 1]


def test_any_structured_sampler_serves() -> None:
    """A ring of four qubits is no chip of D-Wave's, has no ranges and knows other arguments."""
    ring = [(0, 1), (1, 2), (2, 3), (0, 3)]
    child = dimod.StructureComposite(SimulatedAnnealingSampler(), range(4), ring)
    triangle = IsingProblem(np.ones(3), np.ones((3, 3)) - np.eye(3), labels="abc")
    result = DWave(child=child, num_reads=10).sample(triangle)
    assert result.info["max_chain_length"] == 2
    assert result.info["problem_ids"] == [None]
    np.testing.assert_array_equal(result.magnetization, 1)


# Optimisation


def test_minimize_finds_ground_states(rng: np.random.Generator) -> None:
    problem = IsingProblem(rng.normal(size=(3, 6)), symmetric(rng, (), 6, 2))
    state, energy = DWave(child=mock_dwave(topology_shape=[2, 4], seed=0), num_reads=200).minimize(
        problem
    )
    states = 2 * (np.arange(64)[:, None] >> np.arange(6) & 1) - 1
    lowest = problem.energy(np.broadcast_to(states, (3, 64, 6))).min(axis=-1)
    np.testing.assert_allclose(energy, lowest)
    assert state.dtype == np.int8


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_minimize_fills_the_ranges_whatever_the_units(
    rng: np.random.Generator, size: float
) -> None:
    h = size * rng.choice([-1.0, 1.0], size=100)
    state, _ = DWave(child=Recorder(), num_reads=20).minimize(IsingProblem(h))
    np.testing.assert_array_equal(state, np.sign(h))


# Refusals, before anything is sent


@pytest.mark.parametrize(
    ("options", "properties", "message"),
    [
        ({"num_reads": 20_000}, {}, r"num_reads=20000 is outside num_reads_range \[1, 10000\]"),
        ({"annealing_time": 0.1}, {}, r"annealing_time=0.1 .*annealing_time_range \[0.5, 2000\]"),
        ({"annealing_time": 2001}, {}, r"annealing_time=2001 .*annealing_time_range"),
        (
            {"num_reads": 5000, "annealing_time": 300},
            {"problem_run_duration_range": [0, 1_000_000]},
            r"num_reads=5000 of 300 .*1.501e\+06 .*problem_run_duration_range \[0, 1e\+06\]",
        ),
        ({"num_reads": 5000}, {"problem_run_duration_range": [0, 90_000]}, "of 20 microseconds"),
        ({"chain_strength": 2.5}, {}, r"chain_strength=2.5, .*extended_j_range \[-2, 1\]"),
        ({"chain_strength": 1.5}, {"per_qubit_coupling_range": [-1, 1]}, "per_qubit_coupling_ran"),
    ],
)
def test_ranges_are_checked_here(
    options: dict[str, Any], properties: dict[str, Any], message: str
) -> None:
    recorder = Recorder(**properties)
    problem = IsingProblem(np.ones(8), 0.1 * (np.ones((8, 8)) - np.eye(8)))
    for call in (
        DWave(child=recorder, **options).sample,
        DWave(child=recorder, **options).minimize,
    ):
        with pytest.raises(ValueError, match=message):
            call(problem)
    assert not recorder.sent


def test_without_extended_range_chains_keep_to_the_plain_one() -> None:
    recorder = Recorder()
    del recorder.properties["extended_j_range"]
    with pytest.raises(ValueError, match=r"j_range \[-1, 1\]"):
        DWave(child=recorder, chain_strength=1.5).sample(PAIR.problem())
    result = DWave(child=recorder, num_reads=5).sample(PAIR.problem())
    assert result.info["chain_strength"] == 1.0


def test_chains_that_leave_no_room_are_refused() -> None:
    recorder = Recorder(per_qubit_coupling_range=[-2.0, 2.0])
    problem = IsingProblem(np.ones(8), np.ones((8, 8)) - np.eye(8))
    with pytest.raises(ValueError, match=r"chain_strength=2 leaves .* no room"):
        DWave(child=recorder).sample(problem)
    DWave(child=recorder, chain_strength=1, num_reads=1).sample(problem)


def test_no_embedding_is_said_before_anything_is_sent() -> None:
    recorder = Recorder()
    J = 0.1 * (np.ones((2, 40, 40)) - np.eye(40))
    present = np.ones((2, 40), bool)
    present[0, 3:] = False  # this one would fit
    message = (
        r"no embedding .*problem 1 .*40 spins with 780 couplings, on MockDWaveSampler with 160 q"
    )
    with pytest.raises(ValueError, match=message):
        DWave(child=recorder).sample(IsingProblem(np.zeros((2, 40)), J, present=present))
    with pytest.raises(ValueError, match="161 spins with 0 couplings"):
        DWave(child=recorder).sample(IsingProblem(np.zeros(161)))
    assert not recorder.sent


def test_three_body_couplings_are_refused() -> None:
    recorder = Recorder()
    problem = IsingProblem(np.zeros(3), K=three_body(3, {(0, 1, 2): 0.5}))
    with pytest.raises(ValueError, match="three-body"):
        DWave(child=recorder).sample(problem)
    assert not recorder.sent


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_reads": 0}, ValueError, "num_reads must be at least 1"),
        ({"num_reads": 1.5}, TypeError, "num_reads must be an integer"),
        ({"annealing_time": 0}, ValueError, "annealing_time must be positive"),
        ({"annealing_time": math.nan}, ValueError, "annealing_time must be finite"),
        ({"annealing_time": "20"}, TypeError, "annealing_time must be a number"),
        ({"chain_strength": -1}, ValueError, "chain_strength must be positive"),
        ({"timeout": 0}, ValueError, "timeout must be positive"),
        ({"anneal_time": 20}, TypeError, "did you mean 'annealing_time'"),
        ({"seed": 1}, TypeError, "no option 'seed'"),
        ({"num_sweeps": 1}, TypeError, "no option 'num_sweeps'"),
        ({"child": SimulatedAnnealingSampler()}, TypeError, "structured dimod sampler"),
        ({"child": EmbeddingComposite(Recorder())}, TypeError, "composites do not count"),
        ({"child": "MockDWaveSampler"}, TypeError, "structured dimod sampler"),
    ],
)
def test_options_are_checked(options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        DWave(**options)


# The mock


def test_mock_has_its_own_temperature() -> None:
    problem = IsingProblem([0.5])
    for beta in (0.0, 0.5, 2.0):
        child = mock_dwave("chimera", [2, 2, 4], beta=beta, seed=1)
        result = DWave(child=child, num_reads=4000).sample(problem)
        exact = math.tanh(beta * 0.5)
        assert abs(result.magnetization[0] - exact) < 5 * math.sqrt((1 - exact**2) / 4000)


def test_mock_repeats_with_a_seed_and_differs_from_call_to_call() -> None:
    def two_calls(seed: int) -> list[np.ndarray]:
        sampler = DWave(child=mock_dwave(topology_shape=[2, 4], seed=seed), num_reads=50)
        return [sampler.sample(PAIR.problem(), seed=0).samples for _ in range(2)]

    first, second = two_calls(2**70)
    np.testing.assert_array_equal(two_calls(2**70), [first, second])
    assert (first != second).any()
    assert (first != two_calls(-1)[0]).any()


@pytest.mark.parametrize(("family", "qubits"), [("zephyr", 4800), ("pegasus", 5640)])
def test_mock_has_the_size_of_todays_machines(family: str, qubits: int) -> None:
    assert len(mock_dwave(family).nodelist) == qubits


def test_mock_takes_what_a_qpu_takes_without_a_warning() -> None:
    mock = mock_dwave("pegasus", [2], num_sweeps=5, broken_nodes=[40])
    sampleset = mock.sample_ising(
        {mock.nodelist[0]: 0.1},
        {},
        num_reads=3,
        annealing_time=20.0,
        label="x",
        readout_thermalization=1.0,
        answer_mode="raw",
    )
    assert len(sampleset) == 3
    assert 40 not in mock.nodelist
    with pytest.raises(ValueError, match="did you mean 'zephyr'"):
        mock_dwave("zephir")
    with pytest.raises(ValueError, match="num_sweeps"):
        mock_dwave(num_sweeps=0)


# Other doors to D-Wave


def test_a_hybrid_solver_minimises_and_does_not_sample(rng: np.random.Generator) -> None:
    problem = IsingProblem(rng.normal(size=(2, 6)), symmetric(rng, (), 6, 2))
    _, energy = Dimod(Hybrid(), parameters={"time_limit": 3.0}).minimize(problem)
    states = 2 * (np.arange(64)[:, None] >> np.arange(6) & 1) - 1
    lowest = problem.energy(np.broadcast_to(states, (2, 64, 6))).min(axis=-1)
    np.testing.assert_allclose(energy, lowest)
    with pytest.raises(IsingSampleError, match="1 reads where num_reads=1000"):
        Dimod(Hybrid(), num_reads=1000).sample(problem)


SMALL = mock_dwave(topology_shape=[2, 4], num_sweeps=10)


def as_a_dimod_sampler() -> dimod.Sampler:
    return as_dimod(DWave(child=SMALL, num_reads=10))


@dimod.testing.load_sampler_bqm_tests(as_a_dimod_sampler)
class TestAsDimod(unittest.TestCase):
    def test_api(self) -> None:
        dimod.testing.assert_sampler_api(as_a_dimod_sampler())
