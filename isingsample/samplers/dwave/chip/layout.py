"""Batches of problems on the qubits of a chip, and back, in index arrays.

A layout is disjoint tiles, each with a chain of qubits for every spin of a structure. A spin's
field is spread evenly over its chain, each coupling over all couplers between two chains.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample.samplers.dwave.chip.structure import Structure
from isingsample.samplers.dwave.chip.tiles import Chains


@dataclass(frozen=True, eq=False)
class Layout:
    """Tiles for problems of one structure, and index arrays to go back and forth.

    It follows from structure, tiles and chip alone: to store a layout, store the first two.
    Arrays run over the chip's qubits tile after tile, so their beginnings are the first tiles.

    Attributes:
        structure: of the problems.
        tiles: for each tile the qubits of each spin.
        qubits: (m,) all of them, tile after tile and chain after chain.
        spin: (m,) the chain of each qubit, counted through all tiles: tile * n + spin.
        start: (tiles * n,) where each chain begins.
        length: (tiles * n,) its number of qubits.
        couplers: (2, E) ends of the couplers between chains, as positions in qubits.
        pairs: (3, E) the tile and the two spins of each.
        share: (E,) each coupler's share of the coupling of its pair.
        links: (2, C) ends of the couplers inside chains.
        budgets: (2, E) the two sums of couplings that a chip limits and that a coupler counts
            towards, numbered from 0.
        link_budgets: (2, C) the same for links.
    """

    structure: Structure
    tiles: tuple[Chains, ...]
    qubits: np.ndarray
    spin: np.ndarray
    start: np.ndarray
    length: np.ndarray
    couplers: np.ndarray
    pairs: np.ndarray
    share: np.ndarray
    links: np.ndarray
    budgets: np.ndarray
    link_budgets: np.ndarray

    @classmethod
    def of(
        cls,
        structure: Structure,
        tiles: tuple[Chains, ...],
        graph: Any,
        budget: Callable[[int, int], int],
    ) -> "Layout":
        """Index arrays for tiles.

        Args:
            structure: what each tile embeds.
            tiles: at least one.
            graph: the chip's (NetworkX).
            budget: number of the limited sum that the coupler (p, q) counts towards beside q.

        Raises:
            ValueError: the tiles overlap, or one of them is no embedding of the structure.
        """
        n = structure.num_spins
        chains = [chain for tile in tiles for chain in tile]
        length = np.array([len(chain) for chain in chains])
        qubits = [qubit for chain in chains for qubit in chain]
        place = {qubit: position for position, qubit in enumerate(qubits)}
        if len(place) < len(qubits) or (length == 0).any() or len(chains) != len(tiles) * n:
            raise ValueError("the tiles overlap, or lack a chain")
        if not all(qubit in graph for qubit in qubits):
            raise ValueError("the chip has no such qubit")
        spin = np.repeat(np.arange(len(chains)), length)
        ends = _edges_between(qubits, place, graph)
        chain = spin[ends]  # (2, edges)
        inside = chain[0] == chain[1]
        _check_chains_connected(ends[:, inside], spin, len(chains))
        coupled = np.zeros((n, n), bool)
        coupled[tuple(np.array(structure.edges, int).reshape(-1, 2).T)] = True
        coupled |= coupled.T
        within = (chain[0] // n == chain[1] // n) & ~inside
        used = within & coupled[tuple(chain % n)]
        couplers, (first, second) = ends[:, used], np.sort(chain[:, used], axis=0)
        pair, number, count = np.unique(
            first * n + second % n, return_inverse=True, return_counts=True
        )
        if len(pair) != len(tiles) * len(structure.edges):
            raise ValueError("a tile has no coupler for a pair that is coupled")
        both, position = ends[:, inside], np.array(qubits)

        def budgets(edges: np.ndarray) -> np.ndarray:
            sides = [(budget(p, q), budget(q, p)) for p, q in position[edges].T.tolist()]
            return np.array(sides, int).reshape(-1, 2).T

        sums = np.hstack([budgets(couplers), budgets(both)])
        numbered = np.unique(sums, return_inverse=True)[1].reshape(sums.shape)
        return cls(
            structure=structure,
            tiles=tuple(tiles),
            qubits=position,
            spin=spin,
            start=np.cumsum(length) - length,
            length=length,
            couplers=couplers,
            pairs=np.stack([first // n, first % n, second % n]),
            share=1 / count[number],
            links=both,
            budgets=numbered[:, : couplers.shape[1]],
            link_budgets=numbered[:, couplers.shape[1] :],
        )

    @property
    def num_tiles(self) -> int:
        """Problems that fit into one submission."""
        return len(self.tiles)

    @property
    def max_chain_length(self) -> int:
        """Qubits of the longest chain."""
        return int(self.length.max())

    def first(self, tiles: int) -> "Layout":
        """The same layout, with its first tiles alone."""
        if tiles == self.num_tiles:
            return self
        chains = tiles * self.structure.num_spins
        m = int(self.start[chains])
        couplers, links = self.couplers[0] < m, self.links[0] < m
        return Layout(
            structure=self.structure,
            tiles=self.tiles[:tiles],
            qubits=self.qubits[:m],
            spin=self.spin[:m],
            start=self.start[:chains],
            length=self.length[:chains],
            couplers=self.couplers[:, couplers],
            pairs=self.pairs[:, couplers],
            share=self.share[couplers],
            links=self.links[:, links],
            budgets=self.budgets[:, couplers],
            link_budgets=self.link_budgets[:, links],
        )

    def fields(self, h: np.ndarray) -> np.ndarray:
        """Fields of spins (tiles, n) as fields of qubits (m,)."""
        share: np.ndarray = h.ravel()[self.spin] / self.length[self.spin]
        return share

    def couplings(self, J: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Couplings of spins as couplings of couplers (E,).

        Args:
            J: (groups, n, n).
            which: (tiles,) the group of each tile's problem.
        """
        tile, j, k = self.pairs
        share: np.ndarray = J[which[tile], j, k] * self.share
        return share

    def sums(self, couplings: np.ndarray, links: np.ndarray) -> np.ndarray:
        """The limited sums of couplings (E,) and links (C,): (budgets,)."""
        weights = np.concatenate([couplings, couplings, links, links])
        towards = np.concatenate([self.budgets.ravel(), self.link_budgets.ravel()])
        return np.bincount(towards, weights)

    def votes(self, states: np.ndarray) -> np.ndarray:
        """The sum of each chain's qubits: (reads, m) of -1, 0 and +1 to (reads, tiles, n)."""
        sums: np.ndarray = np.add.reduceat(states, self.start, axis=1, dtype=np.int16)
        return sums.reshape(len(states), self.num_tiles, self.structure.num_spins)


def _edges_between(qubits: list[int], place: dict[int, int], graph: Any) -> np.ndarray:
    """The chip's edges between qubits, as positions (2, edges) with the lower one first."""
    edges = [
        (place[qubit], place[other])
        for qubit in qubits
        for other in graph[qubit]
        if place.get(other, -1) > place[qubit]
    ]
    return np.array(edges, int).reshape(-1, 2).T


def _check_chains_connected(links: np.ndarray, spin: np.ndarray, num_chains: int) -> None:
    """ValueError unless the links join the qubits of every chain."""
    label = np.arange(len(spin))
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, links[0], label[links[1]])
        np.minimum.at(lowest, links[1], label[links[0]])
        if np.array_equal(lowest, label):
            break
        label = lowest
    if len(np.unique(label)) != num_chains:
        raise ValueError("a chain is not connected")
