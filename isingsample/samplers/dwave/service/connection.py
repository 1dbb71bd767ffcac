"""A D-Wave solver in use, or what stands in for one: closed surely, and the layouts found on it."""

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from isingsample.samplers.dwave.chip.layout import Layout
from isingsample.samplers.dwave.chip.ranges import Ranges
from isingsample.samplers.dwave.chip.structure import Structure
from isingsample.samplers.dwave.chip.tile_store import (
    cache_folder,
    graph_hash,
    load_tiles,
    save_tiles,
)
from isingsample.samplers.dwave.chip.tiles import Chains, find_tiles
from isingsample.samplers.dwave.service.failures import redact_client_log

_MAX_LAYOUTS = 256


class Connection:
    """A solver in use: its graph, its ranges and the layouts found on it so far.

    Attributes:
        child: the structured dimod sampler that takes the submissions.
        ranges: what it accepts.
    """

    def __init__(
        self, child: Any, *, owned: bool, cache: str | os.PathLike[str] | None = None
    ) -> None:
        """Take up a child; an owned one is closed with the connection, or when that is lost.

        Args:
            child: the solver.
            owned: whether to close it.
            cache: folder for layouts, as in `cache_folder`.
        """
        self.child = child
        redact_client_log(_token(child))
        self.ranges = Ranges(_solver_name(child), properties_of(child))
        self._cache = cache
        self._layouts: dict[tuple[Structure, int | None], Layout] = {}
        self._close = weakref.finalize(self, _close, child) if owned else None
        if self._close:
            self._close.atexit = False  # the interpreter does not wait for the client's threads

    def layout(self, structure: Structure, max_chain_length: int | None, what: str) -> Layout:
        """The layout of a structure; the same one whenever it is asked for.

        Args:
            structure: of the problems.
            max_chain_length: as for `find_tiles`.
            what: names the problem, should there be none.

        Raises:
            ValueError: none is found; the message names the problem and the chip.
        """
        key = structure, max_chain_length
        if key not in self._layouts:
            if len(self._layouts) >= _MAX_LAYOUTS:
                del self._layouts[next(iter(self._layouts))]  # the oldest
            self._layouts[key] = self._kept_layout(*key) or self._new_layout(*key, what)
        return self._layouts[key]

    def layout_on(
        self, structure: Structure, max_chain_length: int | None, tiles: Sequence[Chains]
    ) -> Layout:
        """The layout of a structure on given tiles, such as those of a call that is resumed.

        Raises:
            ValueError: the tiles do not fit the structure or the chip.
        """
        given = tuple(tuple(tuple(chain) for chain in tile) for tile in tiles)
        own = self._layouts.get((structure, max_chain_length))
        if own is not None and own.tiles == given:
            return own
        return Layout.of(structure, given, self._graph, self._budget)

    def _kept_layout(self, structure: Structure, max_chain_length: int | None) -> Layout | None:
        """The layout on disk; None where there is none or it does not fit."""
        if self.graph_hash is None:
            return None
        kept = load_tiles(cache_folder(self._cache), self.graph_hash, structure, max_chain_length)
        try:
            return self.layout_on(structure, max_chain_length, kept) if kept else None
        except ValueError:
            return None

    def _new_layout(self, structure: Structure, max_chain_length: int | None, what: str) -> Layout:
        tiles = find_tiles(structure, self._graph, max_chain_length)
        if not tiles:
            bound = "" if max_chain_length is None else f" in chains of up to {max_chain_length}"
            raise ValueError(
                f"no embedding found for {what}, {structure.num_spins} spins with "
                f"{len(structure.edges)} couplings,{bound} on {self.ranges.solver} with "
                f"{self._graph.number_of_nodes()} qubits and {self._graph.number_of_edges()} "
                f"couplers; fewer spins or sparser couplings may fit"
            )
        found = self.layout_on(structure, max_chain_length, tiles)
        if self.graph_hash is not None:
            folder = cache_folder(self._cache)
            save_tiles(folder, self.graph_hash, structure, max_chain_length, tiles)
        return found

    @cached_property
    def graph_hash(self) -> str | None:
        """A name for the working graph, which changes with each qubit that comes or goes."""
        return graph_hash(self._graph)

    @cached_property
    def _graph(self) -> Any:
        return self.child.to_networkx_graph()

    @cached_property
    def _budget(self) -> Callable[[int, int], int]:
        """Which limited sum a coupler (p, q) counts towards beside q: its group's, or all of q."""
        if "per_group_coupling_range" not in self.ranges.properties:
            return lambda p, q: q
        from dwave.system.coupling_groups import coupling_groups

        groups = enumerate(coupling_groups(self._graph))
        numbers = {edge: number for number, group in groups for edge in group}
        return lambda p, q: numbers[p, q]

    def fetch(self, problem_id: str) -> Any:
        """The SampleSet to be of a problem that was submitted before; does not wait.

        Raises:
            ValueError: the child keeps no answers.
        """
        self.check_keeps_answers(problem_id)
        future = self.child.client.retrieve_answer(problem_id)
        future.solver = self.child.solver  # else the client looks it up for each answer
        return future.sampleset

    def check_keeps_answers(self, problem_id: str) -> None:
        """ValueError for a child that cannot be asked for the answer to an earlier submission."""
        if getattr(self.child, "client", None) is None:
            raise ValueError(
                f"{self.ranges.solver} keeps no answers: only a D-Wave solver can be asked for the "
                f"problem {problem_id}"
            )

    def close(self) -> None:
        """Close the child if it is ours; a client has 17 threads."""
        if self._close:
            self._close()


def _token(child: Any) -> str | None:
    """What a DWaveSampler has for a token."""
    config = getattr(getattr(child, "client", None), "config", None)
    token = getattr(config, "token", None)
    return token if isinstance(token, str) else None


def _close(child: Any) -> None:
    """Close a DWaveSampler. By itself it would wait for all that is still at the solver."""
    client = getattr(child, "client", None)
    if client is not None:
        client.config.polling_timeout = 0
    child.close()


def _solver_name(child: Any) -> str:
    solver = getattr(child, "solver", None)
    name = getattr(solver, "name", None) or properties_of(child).get("chip_id")
    return str(name or type(child).__name__)


def properties_of(child: Any) -> Mapping[str, Any]:
    """A child's properties; those of the solver inside, where it is a composite."""
    properties: Mapping[str, Any] = child.properties
    while "child_properties" in properties:
        properties = properties["child_properties"]
    return properties
