"""Many problems in one submission: tiles on the chip, what goes onto them, tiles on disk."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from dwave.embedding import verify_embedding
from dwave.graphs import chimera_graph, pegasus_graph, zephyr_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from isingsample import DWave, IsingProblem
from isingsample.samplers.dwave.chip import tiles as _tiles
from isingsample.samplers.dwave.chip.layout import Layout
from isingsample.samplers.dwave.chip.structure import Structure
from isingsample.samplers.dwave.chip.tile_store import graph_hash
from isingsample.samplers.dwave.chip.tiles import find_tiles
from isingsample.samplers.dwave.mock import mock_dwave
from isingsample.samplers.dwave.service import connection as client
from isingsample.testing import enumerate_moments
from support.dwave_standins import Recorder
from support.fixtures import couplings
from support.strategies import symmetric


def clique(num_spins: int) -> Structure:
    return Structure.of(np.ones((1, num_spins, num_spins)))


def structure_of(graph: nx.Graph) -> Structure:
    return Structure(len(graph), tuple(sorted(tuple(sorted(edge)) for edge in graph.edges)))


# The chip


@given(
    make=st.sampled_from(
        [lambda: zephyr_graph(3), lambda: pegasus_graph(4), lambda: chimera_graph(5)]
    ),
    source=st.sampled_from(
        [nx.complete_graph(3), nx.complete_graph(7), nx.complete_graph(10), nx.cycle_graph(7)]
    ),
    dead=st.integers(0, 12),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=15)
def test_tiles_are_disjoint_embeddings(make: Any, source: nx.Graph, dead: int, seed: int) -> None:
    graph, rng = make(), np.random.default_rng(seed)
    graph.remove_nodes_from(rng.choice(sorted(graph), size=dead, replace=False).tolist())
    tiles = find_tiles(structure_of(source), graph, None)
    assert tiles
    qubits = [qubit for tile in tiles for chain in tile for qubit in chain]
    assert len(qubits) == len(set(qubits))
    for tile in tiles:
        assert verify_embedding(dict(enumerate(tile)), source, graph)
    longest = [max(map(len, tile)) for tile in tiles]
    assert longest == sorted(longest)


def test_chains_are_as_short_as_asked_for() -> None:
    graph = zephyr_graph(3)
    assert {len(chain) for tile in find_tiles(clique(4), graph, None) for chain in tile} == {1}
    for bound in (2, 3):
        tiles = find_tiles(clique(8), graph, bound)
        assert max(len(chain) for tile in tiles for chain in tile) <= bound
        assert len(tiles) > 5
    assert find_tiles(clique(8), graph, 1) == []
    with pytest.raises(ValueError, match=r"problem 0 of the batch, 8 spins .* chains of up to 1"):
        DWave(child=Recorder(), max_chain_length=1).sample(
            IsingProblem(np.ones(8), np.ones((8, 8)) - np.eye(8))
        )


def test_what_no_embedding_can_hold_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tiles, "_sparse", None)
    monkeypatch.setattr(_tiles, "_cliques", None)
    assert find_tiles(clique(292), zephyr_graph(12), None) == []
    graph = zephyr_graph(1)  # the centre of this star needs two qubits: 49 in all
    assert find_tiles(structure_of(nx.star_graph(47)), graph, None) == []
    assert find_tiles(clique(4), nx.cycle_graph(4), None) == []


def test_a_layout_believes_no_tiles() -> None:
    graph = zephyr_graph(2)
    near = min(graph[0])
    far = next(q for q in graph if q and q not in graph[0] and q in graph[near])
    (good, *_) = find_tiles(clique(2), graph, None)
    for tiles, message in (
        ([((0,), (far,))], "no coupler"),
        ([((0,), (10**6,))], "no such qubit"),
        ([((0, far), (near,))], "not connected"),
        ([((0,),)], "overlap, or lack"),
        ([good, good], "overlap"),
    ):
        with pytest.raises(ValueError, match=message):
            Layout.of(clique(2), tiles, graph, lambda p, q: q)


def test_the_first_tiles_of_a_layout_are_a_layout(rng: np.random.Generator) -> None:
    graph = zephyr_graph(3)
    tiles = tuple(find_tiles(clique(6), graph, None))
    whole = Layout.of(clique(6), tiles, graph, lambda p, q: q)
    few, part = Layout.of(clique(6), tiles[:3], graph, lambda p, q: q), whole.first(3)
    assert part.tiles == few.tiles
    for name in ("qubits", "spin", "start", "length", "couplers", "pairs", "share", "links"):
        np.testing.assert_array_equal(getattr(part, name), getattr(few, name))
    h, J = rng.normal(size=(3, 6)), symmetric(rng, (2,), 6, 2)
    couplings_of = few.couplings(J, np.array([0, 1, 0]))
    np.testing.assert_array_equal(part.couplings(J, np.array([0, 1, 0])), couplings_of)
    assert few.fields(h).sum() == pytest.approx(h.sum())
    pairs = np.triu(J, 1)[[0, 1, 0]].sum()
    assert couplings_of.sum() == pytest.approx(pairs)


# What goes onto it


@given(seed=st.integers(0, 2**32 - 1), masked=st.booleans(), shared=st.booleans())
@settings(max_examples=12)
def test_every_query_comes_back_to_its_place(seed: int, masked: bool, shared: bool) -> None:
    """Fields so strong that the sign is certain: no query, spin or tile is mistaken for another."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], size=(2, 11, 5))
    J = 0.02 * symmetric(rng, () if shared else (2, 1), 5, 2)
    present = rng.random((2, 11, 5)) < 0.7 if masked else np.ones((2, 11, 5), bool)
    recorder = Recorder(num_sweeps=20)
    result = DWave(child=recorder, num_reads=15, chain_strength=1.0).sample(
        IsingProblem(3 * signs, J, present=present)
    )
    np.testing.assert_array_equal(np.sign(result.magnetization), signs * present)
    assert len(recorder.sent) < 22


def test_tiles_follow_the_law_each_with_couplings_of_its_own(rng: np.random.Generator) -> None:
    """Three spins need no chains on Zephyr, and the mock is at beta = 1."""
    reads, chip = 2000, mock_dwave(topology_shape=[2, 4], num_sweeps=100, seed=5)
    problem = IsingProblem(rng.normal(0, 0.7, (20, 3)), 0.5 * symmetric(rng, (20,), 3, 2))
    result = DWave(child=chip, num_reads=reads).sample(problem)
    assert result.info["max_chain_length"] == 1
    assert result.info["num_submissions"] == 1
    exact = enumerate_moments(problem)
    error = np.abs(result.magnetization - exact.magnetization)
    assert (error <= 5 * np.sqrt((1 - exact.magnetization**2) / reads)).all()
    error = np.abs(result.correlation - exact.correlation)
    assert (error <= 5 * np.sqrt(np.maximum(0, 1 - exact.correlation**2) / reads) + 1e-12).all()


def test_causal_prefixes_share_tiles() -> None:
    """Sizes 5 to 8 go together, 3 and 4, 2, 1: four submissions, not eight."""
    problem = IsingProblem(
        np.ones((8, 8)), 0.1 * (np.ones((8, 8)) - np.eye(8)), present=np.tri(8, dtype=bool)
    )
    recorder = Recorder(num_sweeps=10)
    result = DWave(child=recorder, num_reads=2).sample(problem)
    assert result.info["num_submissions"] == len(recorder.sent) == 4
    counts = [result.info["problem_ids"].count(name) for name in set(result.info["problem_ids"])]
    assert sorted(counts) == [1, 1, 2, 4]


def test_sparse_problems_keep_their_own_graph(rng: np.random.Generator) -> None:
    """Two rings of twelve: of a clique of twelve there is one tile only, with chains."""
    ring = nx.cycle_graph(12)
    J = np.stack([couplings(12, {edge: rng.normal() for edge in ring.edges}) for _ in range(4)])
    result = DWave(child=Recorder(), num_reads=5).sample(IsingProblem(np.zeros((4, 12)), J))
    assert result.info["max_chain_length"] == 1
    assert result.info["num_submissions"] == 1


# On disk


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[Structure]:
    """The structures that were searched for."""
    found: list[Structure] = []
    find = client.find_tiles
    monkeypatch.setattr(client, "find_tiles", lambda s, *a: found.append(s) or find(s, *a))
    return found


def embeddings(cache: Path, **chip: Any) -> Any:
    child = mock_dwave(topology_shape=[2, 4], num_sweeps=1, **chip)
    problem = IsingProblem(np.zeros((2, 5)), 0.1 * (np.ones((5, 5)) - np.eye(5)))
    return DWave(child=child, num_reads=1, cache_dir=cache).sample(problem).info["embeddings"]


def test_tiles_are_found_once_for_a_chip(searches: list[Structure], tmp_path: Path) -> None:
    first = embeddings(tmp_path)
    assert embeddings(tmp_path) == first
    assert len(searches) == 1
    other = embeddings(tmp_path, broken_nodes=[0, 1])
    assert len(searches) == 2
    assert not {0, 1} & {q for tile in other[0] for chain in tile.values() for q in chain}
    assert embeddings(tmp_path) == first
    assert len(searches) == 2
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: json.dumps({**json.loads(text), "tiles": [[[0], [1], [2], [3], [4]]]}),
        lambda text: json.dumps({**json.loads(text), "tiles": [[["x"]]]}),
        lambda text: json.dumps({"key": json.loads(text)["key"]}),
        lambda text: json.dumps({**json.loads(text), "key": {"version": 0}}),
    ],
)
def test_damaged_files_are_replaced(searches: list[Structure], tmp_path: Path, damage: Any) -> None:
    first = embeddings(tmp_path)
    (path,) = tmp_path.rglob("*.json")
    good = path.read_text()
    path.write_text(damage(good))
    assert embeddings(tmp_path) == first
    assert len(searches) == 2
    assert path.read_text() == good


def test_where_nothing_can_be_written_nothing_is_kept(
    searches: list[Structure], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    embeddings(tmp_path / "file")
    embeddings(tmp_path / "file")
    assert len(searches) == 2


def test_the_environment_moves_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ISINGSAMPLE_CACHE", str(tmp_path / "here"))
    DWave(child=Recorder(), num_reads=1).sample(IsingProblem(np.ones(7), np.zeros((7, 7))))
    assert len(list((tmp_path / "here").rglob("*.json"))) == 1


def test_a_graph_is_known_by_its_qubits_and_couplers() -> None:
    graph = zephyr_graph(2)
    shuffled = nx.Graph([(q, p) for p, q in reversed(list(graph.edges))])
    assert graph_hash(shuffled) == graph_hash(graph)
    for change in (lambda g: g.remove_node(7), lambda g: g.remove_edge(*next(iter(g.edges)))):
        other = graph.copy()
        change(other)
        assert graph_hash(other) != graph_hash(graph)
    assert graph_hash(nx.Graph([("a", "b")])) is None
