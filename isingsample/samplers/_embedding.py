"""Problems on the qubits of a chip: chains of qubits for spins, and back.

A chip couples each qubit to some twenty others. A spin with more neighbours than that, or with
neighbours elsewhere, becomes a chain: several qubits held together by a strong coupling. The
spin's field is spread evenly over its chain, each coupling over all couplers between two chains.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# An embedding depends on the problem and the chip alone, never on the seed of a call.
_SEED = 0
# minorminer gives up after this many seconds; its own default is 1000.
_PATIENCE_SECONDS = 60
_CLIQUE_FAMILIES = ("chimera", "pegasus", "zephyr")


@dataclass(frozen=True)
class Structure:
    """Which spins of a problem are coupled.

    Attributes:
        num_spins: n.
        edges: pairs (j, k), j < k, in order.
    """

    num_spins: int
    edges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, J: np.ndarray) -> "Structure":
        """All pairs that any of the couplings (groups, n, n) couples."""
        coupled = np.triu((J != 0).any(axis=0), 1)
        return cls(J.shape[-1], tuple((int(j), int(k)) for j, k in np.argwhere(coupled)))

    @property
    def digest(self) -> str:
        """A short name that tells it from others."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    @property
    def is_dense(self) -> bool:
        """Whether more than half of all pairs are coupled."""
        return 4 * len(self.edges) > self.num_spins * (self.num_spins - 1)


@dataclass(frozen=True, eq=False)
class Embedding:
    """The chains of a problem's spins, and index arrays to go back and forth.

    Attributes:
        chains: the qubits of each spin.
        qubits: (m,) all of them, chain after chain: the order of the arrays below.
        spin: (m,) the spin that each qubit belongs to.
        start: (n,) where each chain begins.
        length: (n,) its number of qubits.
        couplers: (2, E) ends of the couplers between chains, as positions in qubits.
        pairs: (2, E) the spins that they couple.
        share: (E,) each coupler's share of the coupling of its pair.
        links: (2, C) ends of the couplers inside chains.
        budgets: (2, E + C) for each coupler and then each link the two sums of couplings that
            a chip limits and that it counts towards, numbered from 0.
    """

    chains: tuple[tuple[int, ...], ...]
    qubits: tuple[int, ...]
    spin: np.ndarray
    start: np.ndarray
    length: np.ndarray
    couplers: np.ndarray
    pairs: np.ndarray
    share: np.ndarray
    links: np.ndarray
    budgets: np.ndarray

    @classmethod
    def of(
        cls,
        structure: Structure,
        chains: list[tuple[int, ...]],
        graph: Any,
        budget: Callable[[int, int], int],
    ) -> "Embedding":
        """Index arrays for chains.

        Args:
            structure: what they embed.
            chains: one for each spin.
            graph: the chip's (NetworkX).
            budget: number of the limited sum that the coupler (p, q) counts towards beside q.
        """
        from dwave.embedding import EmbeddedStructure

        qubits = tuple(qubit for chain in chains for qubit in chain)
        place = {qubit: position for position, qubit in enumerate(qubits)}
        embedded = EmbeddedStructure(graph.subgraph(qubits).edges, dict(enumerate(chains)))
        physical: list[tuple[int, int]] = []
        pairs: list[tuple[int, int]] = []
        share: list[float] = []
        for pair in structure.edges:
            between = list(embedded.interaction_edges(*pair))
            physical += between
            pairs += [pair] * len(between)
            share += [1 / len(between)] * len(between)
        physical += [link for spin in range(len(chains)) for link in embedded.chain_edges(spin)]
        ends = _columns([(place[p], place[q]) for p, q in physical])
        sides = _columns([(budget(p, q), budget(q, p)) for p, q in physical])
        length = np.array([len(chain) for chain in chains])
        return cls(
            chains=tuple(chains),
            qubits=qubits,
            spin=np.repeat(np.arange(len(chains)), length),
            start=np.cumsum(length) - length,
            length=length,
            couplers=ends[:, : len(pairs)],
            pairs=_columns(pairs),
            share=np.array(share),
            links=ends[:, len(pairs) :],
            budgets=np.unique(sides, return_inverse=True)[1].reshape(2, -1),
        )

    @property
    def max_chain_length(self) -> int:
        """Qubits of the longest chain."""
        return int(self.length.max())

    def fields(self, h: np.ndarray) -> np.ndarray:
        """Fields of spins (..., n) as fields of qubits (..., m)."""
        share: np.ndarray = h[..., self.spin] / self.length[self.spin]
        return share

    def couplings(self, J: np.ndarray) -> np.ndarray:
        """Couplings of spins (..., n, n) as couplings of couplers (..., E)."""
        share: np.ndarray = J[..., self.pairs[0], self.pairs[1]] * self.share
        return share

    def sums(self, physical: np.ndarray) -> np.ndarray:
        """The limited sums of couplings (E + C,), of couplers and then links: (budgets,)."""
        weights = np.tile(physical, 2)
        return np.bincount(self.budgets.ravel(), weights)

    def votes(self, states: np.ndarray) -> np.ndarray:
        """The sum of each chain's qubits: (reads, m) int8 of -1 and +1 to (reads, n) int64."""
        sums: np.ndarray = np.add.reduceat(states, self.start, axis=1, dtype=np.int64)
        return sums


def find_chains(structure: Structure, graph: Any) -> list[tuple[int, ...]] | None:
    """A chain of qubits for each spin, or None if there seems to be no embedding.

    Cliques have embeddings of even chain length that are found at once; sparse structures are
    left to minorminer's heuristic. Each is tried where the other finds nothing.

    Args:
        structure: the problem's.
        graph: the chip's graph (NetworkX), as its `to_networkx_graph()` gives it.
    """
    too_large = structure.num_spins > len(graph)
    if too_large or len(structure.edges) > graph.number_of_edges():
        return None
    first, second = (_clique, _sparse) if structure.is_dense else (_sparse, _clique)
    found = first(structure, graph) or second(structure, graph)
    return [tuple(found[spin]) for spin in range(structure.num_spins)] if found else None


def _clique(structure: Structure, graph: Any) -> Any:
    from minorminer.busclique import find_clique_embedding

    if graph.graph.get("family") not in _CLIQUE_FAMILIES:
        return {}
    return find_clique_embedding(structure.num_spins, graph)


def _sparse(structure: Structure, graph: Any) -> Any:
    import networkx
    from minorminer import find_embedding

    source = networkx.Graph(structure.edges)
    source.add_nodes_from(range(structure.num_spins))
    return find_embedding(source, graph, random_seed=_SEED, timeout=_PATIENCE_SECONDS)


def _columns(rows: list[tuple[int, int]]) -> np.ndarray:
    """Pairs of integers as (2, len(rows)), for no rows too."""
    return np.array(rows, int).reshape(-1, 2).T
