"""Room for many problems on one chip: disjoint embeddings of one structure.

A chip couples each qubit to some twenty others. A spin with more neighbours than that, or with
neighbours elsewhere, becomes a chain: several qubits held together by a strong coupling.

The chips are lattices, so an embedding into a small piece of one is found once and then moved
over the whole (minorminer's sublattice search; a place with a dead qubit is left out). On Zephyr
cliques are besides put greedily into what is left of the chip, or into all of it, where that
gives more tiles with chains that are hardly longer; on Pegasus that takes minutes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from isingsample.samplers.dwave.chip.structure import Structure

# The qubits of each spin, by spin; one for each tile.
Chains = tuple[tuple[int, ...], ...]

# An embedding depends on the problem and the chip alone, never on the seed of a call.
_SEED = 0
# minorminer's heuristic gives up after this many seconds; its own default is 1000.
_PATIENCE_SECONDS = 20
_FAMILIES = ("chimera", "pegasus", "zephyr")
# Qubits that the heuristic needs for each that it uses; with fewer it seldom finds anything.
_ROOM = 1.5
# Qubits by which chains may be longer than the shortest that are known, if that gives more tiles;
# where no chains are needed, there are none.
_SLACK = 1
# Moved tiles that fill this share of the chip leave nothing to gain, ...
_FULL = 0.8
# ... and this many times their number must be gained for longer chains.
_GAIN = 1.1
# Greedy tiles are found one at a time, 10 ms each: with more moved ones than this it does not pay.
_MANY = 200


def find_tiles(structure: Structure, graph: Any, max_chain_length: int | None) -> list[Chains]:
    """Disjoint embeddings of a structure, as many as are found; none if there seem to be none.

    Args:
        structure: the problem's.
        graph: the chip's graph (NetworkX), as its `to_networkx_graph()` gives it.
        max_chain_length: qubits of the longest chain allowed; None for one more than the
            shortest that are found, where that gives more tiles.
    """
    if _fewest_qubits(structure, graph) > len(graph):
        return []
    if len(structure.edges) > graph.number_of_edges():
        return []
    if not structure.edges:
        return _without_couplings(structure.num_spins, graph)
    first, second = (_cliques, _sparse) if structure.is_dense else (_sparse, _cliques)
    found = first(structure, graph, max_chain_length) or second(structure, graph, max_chain_length)
    found = sorted(found, key=_longest)  # a small batch gets the shortest chains
    return [tuple(tuple(map(int, tile[j])) for j in range(structure.num_spins)) for tile in found]


def _fewest_qubits(structure: Structure, graph: Any) -> int:
    """What no embedding can do with less: the search for one that cannot be takes a minute.

    A chain of L qubits, each with d couplers at most, has L d - 2 (L - 1) for other chains.
    """
    neighbours = np.bincount(np.array(structure.edges, int).ravel(), minlength=structure.num_spins)
    outwards = max(dict(graph.degree).values(), default=0) - 2
    if outwards < 1:
        return structure.num_spins
    return int(np.maximum(1, -(-(neighbours - 2) // outwards)).sum())


def _without_couplings(num_spins: int, graph: Any) -> list[Chains]:
    qubits = sorted(graph)
    starts = range(0, len(qubits) - num_spins + 1, num_spins)
    return [tuple((qubit,) for qubit in qubits[start : start + num_spins]) for start in starts]


def _cliques(structure: Structure, graph: Any, max_chain_length: int | None) -> list[Any]:
    n, family = structure.num_spins, graph.graph.get("family")
    if family not in _FAMILIES:
        return []
    single = _clique(n, graph)
    if not single:
        return []
    limit = max_chain_length or _longest(single) + _SLACK * (_longest(single) > 1)

    def embed(source: Any, target: Any) -> Any:
        return _clique(len(source), target)

    translated = _translated(structure, graph, embed, limit)
    if family == "zephyr":
        translated = _filled(n, graph, translated, limit)
    return translated or [tile for tile in [single] if _longest(tile) <= limit]


def _filled(num_spins: int, graph: Any, translated: list[Any], limit: int) -> list[Any]:
    """Moved tiles and others in what they leave over, or all of them put greedily."""
    if len(translated) > _MANY:
        return translated
    rest = _without(graph, translated)
    filled = translated + _greedy(num_spins, rest, max(map(_longest, translated), default=limit))
    if len(rest) < (1 - _FULL) * len(graph):
        return filled
    greedy = _greedy(num_spins, graph, limit)
    return greedy if len(greedy) > _GAIN * len(filled) else filled


def _greedy(num_spins: int, graph: Any, limit: int) -> list[Any]:
    """Cliques, one after the other, each in what the others left over of graph."""
    left, found = graph.copy(), []
    while tile := _clique(num_spins, left):
        if _longest(tile) > limit:
            break
        found.append(tile)
        left.remove_nodes_from(qubit for chain in tile.values() for qubit in chain)
    return found


def _clique(num_spins: int, graph: Any) -> Any:
    """A clique with chains as short as they can be, or nothing."""
    from minorminer.busclique import busgraph_cache

    class InMemory(busgraph_cache):  # type: ignore[misc]
        """Without the files that it would leave for each graph: the hundreds that are met here
        push those of the user's out, and processes that do so together break each other's."""

        def _fetch_cache(self, dirname: str, compute: Any, force_write: bool = False) -> Any:
            return compute()

    return InMemory(graph).find_clique_embedding(num_spins)


def _sparse(structure: Structure, graph: Any, max_chain_length: int | None) -> list[Any]:
    from minorminer import find_embedding

    def embed(source: Any, target: Any) -> Any:
        if len(target) < len(source):
            return {}
        return find_embedding(source, target, random_seed=_SEED, timeout=_PATIENCE_SECONDS)

    single = embed(_graph_of(structure), graph)
    if not single:
        return []
    limit = max_chain_length or _longest(single) + _SLACK * (_longest(single) > 1)
    size = sum(len(chain) for chain in single.values())
    many = graph.graph.get("family") in _FAMILIES and 2 * _ROOM * size <= len(graph)
    translated = _translated(structure, graph, embed, limit, _ROOM * size) if many else []
    return translated or [tile for tile in [single] if _longest(tile) <= limit]


def _translated(
    structure: Structure,
    graph: Any,
    embed: Callable[[Any, Any], Any],
    limit: int,
    room: float = 0.0,
) -> list[Any]:
    """Embeddings into the smallest piece of the lattice that takes any, in all their places."""
    from minorminer.utils.feasibility import lattice_size_lower_bound
    from minorminer.utils.parallel_embeddings import find_sublattice_embeddings

    source = _graph_of(structure)
    smallest = lattice_size_lower_bound(S=source, T=graph, one_to_one=False) or 1
    for size in range(smallest, min(graph.graph["rows"], graph.graph["columns"])):
        found: list[Any] = []
        piece = _piece(graph, size)
        if len(piece) < room:
            continue
        left = piece.copy()
        # A piece may hold several side by side; each is moved over what the others leave.
        while (tile := embed(source, left)) and _longest(tile) <= limit:
            found += find_sublattice_embeddings(
                source,
                _without(graph, found),
                tile=piece,
                tile_embedding=tile,
                max_num_emb=None,
                one_to_iterable=True,
                use_filter=False,
                use_tile_embedding=True,  # without it, the embeddings overlap
            )
            left.remove_nodes_from(qubit for chain in tile.values() for qubit in chain)
        if found:
            return found
    return []


def _piece(graph: Any, size: int) -> Any:
    """A lattice of the chip's family with every qubit, `size` cells wide and high."""
    from dwave import graphs

    if graph.graph["family"] == "pegasus":
        return graphs.pegasus_graph(size)
    make = {"chimera": graphs.chimera_graph, "zephyr": graphs.zephyr_graph}[graph.graph["family"]]
    return make(size, t=graph.graph["tile"])


def _graph_of(structure: Structure) -> Any:
    import networkx

    source = networkx.Graph(structure.edges)
    source.add_nodes_from(range(structure.num_spins))
    return source


def _without(graph: Any, tiles: list[Any]) -> Any:
    left = graph.copy()
    left.remove_nodes_from(q for tile in tiles for chain in tile.values() for q in chain)
    return left


def _longest(tile: Any) -> int:
    return max(map(len, tile.values()))
