"""Batches on a D-Wave solver: shapes, order, masks, labels and what comes with the answer."""

from typing import Any

import dimod
import dimod.testing
import networkx as nx
import numpy as np
import pytest
from dwave.embedding import verify_embedding
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system import FixedEmbeddingComposite

from isingsample import DWave, IsingProblem, from_bqm
from isingsample.samplers.dwave.call import submissions
from isingsample.samplers.dwave.mock import mock_dwave
from isingsample.samplers.dwave.service import connection as client
from isingsample.testing import enumerate_moments
from support.dwave_standins import Late, Recorder
from support.fixtures import ASYM3, PAIR, couplings
from support.strategies import symmetric


def chain_of(length: int, J: float) -> np.ndarray:
    return couplings(length, {(k, k + 1): J for k in range(length - 1)})


# Shapes, order and labels


def test_a_batch_comes_back_in_order() -> None:
    """Query k has the bits of k in the signs of its fields."""
    signs = 2.0 * (np.arange(40)[:, None] >> np.arange(6) & 1) - 1
    recorder = Recorder(num_sweeps=20)
    problem = IsingProblem(3 * signs.reshape(5, 8, 6), chain_of(6, 0.1))
    result = DWave(child=recorder, max_tiles=7, num_reads=30).sample(problem)
    assert result.samples.shape == (5, 8, 30, 6)
    np.testing.assert_array_equal(np.sign(result.magnetization), signs.reshape(5, 8, 6))
    assert len(recorder.sent) == result.info["num_submissions"] == 6
    assert [
        result.info["problem_ids"].count(name) for name in dict.fromkeys(result.info["problem_ids"])
    ] == [7, 7, 7, 7, 7, 5]
    np.testing.assert_array_equal(result.info["tile"].ravel(), np.arange(40) % 7)


def test_answers_come_back_in_order_however_late() -> None:
    """All problems are submitted before any is waited for, those of all masks together."""
    late = Late(expected=6)
    signs = np.where(np.tri(6, dtype=bool), 1.0, -1.0)
    present = ~np.eye(6, k=2, dtype=bool)
    problem = IsingProblem(3 * signs, chain_of(6, 0.2), present=present)
    result = DWave(child=late, max_tiles=1, num_reads=30, timeout=20).sample(problem)
    np.testing.assert_array_equal(np.sign(result.magnetization), np.where(present, signs, 0))
    assert result.info["problem_ids"] == [answer.info["problem_id"] for _, answer in late.queue]


def test_problems_at_the_solver_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "_MAX_WAITING", 4)
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

    DWave(child=Counting(), max_tiles=1, num_reads=2).sample(IsingProblem(np.zeros((11, 2))))
    assert pending == [4] * 8 + [3, 2, 1]


def test_masks(rng: np.random.Generator) -> None:
    problem = IsingProblem(
        rng.normal(size=(5, 4)), symmetric(rng, (), 4, 2), present=np.tri(5, 4, k=-1, dtype=bool)
    )
    recorder = Recorder()
    result = DWave(child=recorder, num_reads=50).sample(problem)
    assert (result.samples == 0).all(axis=-2).tolist() == (~problem.present).tolist()
    # Three and four spins go together; a spin that is not there leaves its qubits out.
    assert [len(bqm) for bqm, _ in recorder.sent] == [1, 2, 3 + 4]
    assert result.info["problem_ids"][0] is None  # no spins: nothing to send
    assert None not in result.info["problem_ids"][1:]
    assert np.isnan(result.info["chain_break_fraction"]).tolist() == [True] + [False] * 4
    assert len(result.info["embeddings"]) == 4


@pytest.mark.parametrize("fast", [{}, {"fast_anneal": True, "annealing_time": 0.005}])
def test_where_every_spin_is_absent_nothing_is_sent(fast: dict[str, Any]) -> None:
    recorder = Recorder()
    problem = IsingProblem(np.ones((2, 3)), present=np.zeros((2, 3), bool))
    result = DWave(child=recorder, num_reads=5, **fast).sample(problem)
    assert not recorder.sent
    assert not result.magnetization.any()
    assert np.isnan(result.info["beta_effective"])


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
    assert list(result.info["embeddings"][0][0]) == list(labels)
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
    with pytest.raises(ValueError, match="leaves the range"):
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
    while graph.number_of_edges() < 240:
        a, b = (int(v) for v in rng.integers(200, size=2))
        if a != b:
            graph.add_edge(a, b)
    bqm = dimod.BQM.from_ising(
        {f"v{v}": rng.normal(0, 0.3) for v in graph},
        {(f"v{a}", f"v{b}"): rng.normal(0, 0.3) for a, b in graph.edges},
    )
    chip = mock_dwave(topology_shape=[4, 4], num_sweeps=50, seed=0)
    result = DWave(child=chip, num_reads=50).sample(from_bqm(bqm))
    embedding = result.info["embeddings"][0][0]
    assert verify_embedding(embedding, dimod.to_networkx_graph(bqm), chip.to_networkx_graph())
    assert 1 < result.info["max_chain_length"] <= 4
    sampleset = result.to_sampleset()
    assert set(sampleset.variables) == set(bqm.variables)
    assert sampleset.record.energy.mean() < 0


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
    assert info["qpu_timing"]["qpu_access_time"] == pytest.approx(8550.28)
    assert info["qpu_timing"]["qpu_anneal_time_per_sample"] == pytest.approx(20.0)
    assert info["chain_break_fraction"].tolist() == [0, 0, 0]
    (tiles,) = info["embeddings"]
    assert info["tile"].tolist() == [0, 1, 2]
    assert all(recorder.adjacency[tile[0][0]] & {tile[1][0]} for tile in tiles)
    assert info["timing"]["sampling_ns"] > 0


def test_tiles_are_found_once_for_a_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    find = client.find_tiles
    monkeypatch.setattr(client, "find_tiles", lambda s, *a: found.append(s) or find(s, *a))
    sampler = DWave(child=Recorder(), num_reads=1)
    first = sampler.sample(ASYM3.problem())
    again = sampler.sample(IsingProblem(-ASYM3.h, -2 * ASYM3.J))
    assert len(found) <= 1
    assert first.info["embeddings"] == again.info["embeddings"]
    other = DWave(child=Recorder(), num_reads=1).sample(ASYM3.problem())
    assert first.info["embeddings"] == other.info["embeddings"]


def test_few_layouts_are_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_MAX_LAYOUTS", 2)
    sampler = DWave(child=Recorder(), num_reads=1)
    for num_spins in (1, 2, 3, 1):
        sampler.sample(IsingProblem(np.zeros(num_spins)))
    assert [structure.num_spins for structure, _ in sampler._connection._layouts] == [3, 1]


def test_any_structured_sampler_serves() -> None:
    """A ring of four qubits is no chip of D-Wave's, has no ranges and knows other arguments."""
    ring = [(0, 1), (1, 2), (2, 3), (0, 3)]
    child = dimod.StructureComposite(SimulatedAnnealingSampler(), range(4), ring)
    triangle = IsingProblem(np.ones(3), np.ones((3, 3)) - np.eye(3), labels="abc")
    result = DWave(child=child, num_reads=10).sample(triangle)
    assert result.info["max_chain_length"] == 2
    assert result.info["problem_ids"] == [None]
    np.testing.assert_array_equal(result.magnetization, 1)


def test_a_composite_keeps_to_the_ranges_of_the_solver_inside() -> None:
    recorder = Recorder()
    some = {qubit: (qubit,) for qubit in recorder.nodelist[:80]}
    sampler = DWave(child=FixedEmbeddingComposite(recorder, some), num_reads=10, label="mine")
    result = sampler.sample(IsingProblem([[8.0], [-1.0]]))
    assert result.info["scale"] == pytest.approx(recorder.properties["h_range"][1] / 8)
    assert result.info["solver"] == sampler._connection.ranges.solver == "MockDWaveSampler"
    assert set(recorder.sent[0][0].variables) <= set(some)
    assert recorder.sent[0][1]["auto_scale"] is False
    with pytest.raises(ValueError, match="num_reads_range"):
        DWave(child=sampler.child, num_reads=10**6).sample(IsingProblem([1.0]))
