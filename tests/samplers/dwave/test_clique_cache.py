"""minorminer's cache of cliques on disk, when a file of it is gone."""

import pickle
from pathlib import Path

import networkx as nx
import pytest
from dwave.graphs import zephyr_graph
from minorminer import busclique

from isingsample.samplers.dwave.chip.structure import Structure
from isingsample.samplers.dwave.chip.tiles import find_tiles


def test_a_full_cache_that_lost_a_file_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It would drop its oldest files, which are not there."""
    folder = tmp_path / "clique"
    folder.mkdir()
    gone = [f"zephyr_{number:016x}" for number in range(102)]
    (folder / ".lru").write_bytes(pickle.dumps(gone))
    monkeypatch.setattr(busclique.busgraph_cache, "cache_rootdir", lambda *_: str(tmp_path))
    graph = zephyr_graph(2, 4)
    with pytest.raises(FileNotFoundError):
        busclique.find_clique_embedding(8, graph)
    (tile, *_) = find_tiles(Structure(8, tuple(nx.complete_graph(8).edges)), graph, None)
    assert max(map(len, tile)) == 2
    assert pickle.loads((folder / ".lru").read_bytes()) == gone
