"""Tiles on disk: what took seconds to find on a chip is found once.

One small JSON file for each chip (its working graph, by a hash of qubits and couplers), structure
and bound on chains. A file that cannot be read, or is not what its name says, is found anew and
written again; where nothing can be written, nothing is kept.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from isingsample.errors import MissingExtraError
from isingsample.samplers.dwave.chip.structure import Structure
from isingsample.samplers.dwave.chip.tiles import Chains

# Raised whenever tiles are found in another way: older files are then ignored.
_VERSION = 1
_VARIABLE = "ISINGSAMPLE_CACHE"


def cache_folder(chosen: str | os.PathLike[str] | None = None) -> Path:
    """Where files are kept: chosen, or $ISINGSAMPLE_CACHE, or the platform's cache folder."""
    folder = chosen or os.environ.get(_VARIABLE)
    if folder:
        return Path(folder).expanduser()
    try:
        from platformdirs import user_cache_path
    except ImportError:
        raise MissingExtraError("the sampler 'dwave'", "dwave") from None
    return Path(user_cache_path("isingsample"))


def graph_hash(graph: Any) -> str | None:
    """A name for a working graph (NetworkX); None for one whose nodes are not integers."""
    if not all(type(node) is int for node in graph):
        return None
    edges = np.sort(np.array(graph.edges, np.int64).reshape(-1, 2), axis=1)
    edges = edges[np.lexsort(edges.T[::-1])]
    nodes = np.sort(np.array(graph.nodes, np.int64))
    sizes = np.array([len(nodes), len(edges)])
    parts = [array.astype("<i8").tobytes() for array in (sizes, nodes, edges)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def load_tiles(
    folder: Path, graph: str, structure: Structure, max_chain_length: int | None
) -> list[Chains] | None:
    """The tiles that `save_tiles` kept, or None. Whether they fit the chip, a Layout checks."""
    key = _key(graph, structure, max_chain_length)
    kept = read_json(_path(folder, key))
    if not isinstance(kept, dict) or kept.get("key") != key:
        return None
    try:
        return [tuple(tuple(map(int, chain)) for chain in tile) for tile in kept["tiles"]]
    except (KeyError, TypeError, ValueError):
        return None


def save_tiles(
    folder: Path,
    graph: str,
    structure: Structure,
    max_chain_length: int | None,
    tiles: Iterable[Chains],
) -> None:
    """Keep tiles for `load_tiles`."""
    key = _key(graph, structure, max_chain_length)
    write_json(_path(folder, key), {"key": key, "tiles": list(tiles)})


def read_json(path: Path) -> Any:
    """What a file holds, or None where it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path, content: Any) -> bool:
    """Replace a file as a whole, so that no reader sees half of it; False if that is forbidden."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=path.name, suffix=".part", delete=False
        ) as part:
            json.dump(content, part)
        os.replace(part.name, path)
    except OSError:
        return False
    return True


def json_digest(content: Mapping[str, Any]) -> str:
    """A name for what JSON can hold: the same for equal contents alone."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _key(graph: str, structure: Structure, max_chain_length: int | None) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "graph": graph,
        "num_spins": structure.num_spins,
        "edges": [list(edge) for edge in structure.edges],
        "max_chain_length": max_chain_length,
    }


def _path(folder: Path, key: dict[str, Any]) -> Path:
    return folder / "layouts" / f"{json_digest(key)[:32]}.json"
