"""How the problems of a call are put on a chip, settled as a whole before anything is sent."""

import dataclasses
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from isingsample._core import checks as check
from isingsample._core.blocks import Block
from isingsample._core.extras import import_dimod
from isingsample.interop.convert import flip_sign
from isingsample.samplers.dwave.chip.groups import Group, Place, group_blocks
from isingsample.samplers.dwave.chip.layout import Layout
from isingsample.samplers.dwave.chip.ranges import Ranges, torque
from isingsample.samplers.dwave.chip.structure import Structure


class Scale(NamedTuple):
    """The factor on all fields and couplings of a call, as it is asked for.

    Attributes:
        wanted: the factor; infinite to fill the ranges.
        exact: whether a smaller one will not do where the ranges require it.
    """

    wanted: float
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Chunk:
    """The problems of one submission, each on a tile of its own.

    Attributes:
        group: number of their group.
        rows: which of its problems.
        layout: their tiles alone.
        active: (m,) bool, the qubits in use: not those of spins that a problem lacks.
        fields: (m,) of qubits, unscaled and in this package's sign like couplings.
        couplings: (E,) of couplers between chains.
        whole: (C,) bool, the links of chains in use.
    """

    group: int
    rows: slice
    layout: Layout
    active: np.ndarray
    fields: np.ndarray
    couplings: np.ndarray
    whole: np.ndarray

    @classmethod
    def of(cls, number: int, group: Group, rows: slice, layout: Layout) -> "Chunk":
        """Rows of a group, on the first tiles of its layout."""
        layout = layout.first(rows.stop - rows.start)
        active = group.present[rows].ravel()[layout.spin]
        fields = layout.fields(group.h[rows])
        couplings = layout.couplings(group.J, group.which[rows])
        return cls(number, rows, layout, active, fields, couplings, active[layout.links[0]])

    @property
    def qubits(self) -> list[int]:
        """The qubits in use, in the layout's order."""
        qubits: list[int] = self.layout.qubits[self.active].tolist()
        return qubits


@dataclass(frozen=True, eq=False)
class Plan:
    """How the problems of a call are put on the chip.

    Attributes:
        blocks: in NumPy, their fields and couplings multiplied by beta.
        groups: the problems of the blocks, by the layout that they use.
        places: for each block where its problems are in the groups.
        layouts: one for each group: the tiles of its largest submission.
        capacity: problems in a submission that is full; the most, where tiles differ in size.
        scale: the factor on all fields and couplings.
        chain_strength: the ferromagnetic coupling within chains, not scaled.
    """

    blocks: list[Block]
    groups: list[Group]
    places: list[Place]
    layouts: list[Layout]
    capacity: int
    scale: float
    chain_strength: float

    @classmethod
    def of(
        cls,
        layout_of: Callable[[Structure, str], Layout],
        ranges: Ranges,
        blocks: list[Block],
        beta: float,
        chain_strength: float | None,
        scale: Scale,
        max_tiles: int | None = None,
    ) -> "Plan":
        """A plan that the solver accepts.

        Args:
            layout_of: gives a layout for a structure; the text names the problem, should there
                be none.
            ranges: of the solver.
            blocks: at least one, none of them empty.
            beta: inverse temperature.
            chain_strength: the caller's own, or None to suit the problem.
            scale: as it is asked for.
            max_tiles: problems in a submission at most.

        Raises:
            ValueError: a problem that cannot be embedded, chains too strong for the solver, or a
                scale that takes biases out of its ranges.
        """
        blocks = [block.to_numpy().times(beta) for block in blocks]
        check.check_in_range(*(block.h for block in blocks), *(block.J for block in blocks))
        groups, places = group_blocks(blocks)
        found = [layout_of(group.structure, _largest_problem(group)) for group in groups]
        most = [min(layout.num_tiles, max_tiles or layout.num_tiles) for layout in found]
        layouts = [
            layout.first(min(tiles, len(group)))
            for layout, tiles, group in zip(found, most, groups, strict=True)
        ]
        pull = max(
            torque(block.J) if layouts[place.group].max_chain_length > 1 else 0.0
            for block, place in zip(blocks, places, strict=True)
        )
        strength = ranges.chain_strength(
            chain_strength, pull * scale.wanted if scale.exact else pull
        )
        plan = cls(blocks, groups, places, layouts, max(most), 1.0, strength)

        def room(factor: float) -> float:
            """The largest scale after this one."""
            return min(
                ranges.largest_scale(
                    chunk.layout,
                    factor * chunk.fields,
                    factor * chunk.couplings,
                    strength * chunk.whole,
                )
                for chunk in plan.chunks()
            )

        largest = room(1.0)
        if largest == 0:
            raise ValueError(
                f"chain_strength={strength:g} leaves the couplings of the problem no room in the "
                f"ranges of {ranges.solver}; choose less"
            )
        # A bias may lie on the edge of its range, but rounding must not push it over.
        safe = largest * (1 - 1e-12)
        on_edge = safe < scale.wanted <= largest and room(scale.wanted) >= 1
        largest = largest if on_edge else safe
        if scale.exact:
            if scale.wanted > largest:
                raise ValueError(
                    f"scale={scale.wanted:g} takes the problem out of the ranges of "
                    f"{ranges.solver}; with these, {largest:g} is the most"
                )
            return dataclasses.replace(plan, scale=scale.wanted)
        if chain_strength is None and pull:
            largest = min(largest, strength / pull)
        wanted = 1.0 if math.isinf(largest) and math.isinf(scale.wanted) else scale.wanted
        return dataclasses.replace(plan, scale=min(wanted, largest))

    @property
    def max_chain_length(self) -> int:
        """Qubits of the longest chain."""
        return max(layout.max_chain_length for layout in self.layouts)

    def embeddings(self) -> list[list[dict[Hashable, tuple[int, ...]]]]:
        """For each block the tiles of its problems, as dicts from labels to qubits."""
        return [
            [
                {label: tile[slot] for label, slot in zip(block.labels, place.slots, strict=True)}
                for tile in self.layouts[place.group].tiles
            ]
            for block, place in zip(self.blocks, self.places, strict=True)
        ]

    def chunks(self) -> list[Chunk]:
        """The submissions, in order: as many problems in each as there are tiles."""
        return [
            Chunk.of(number, group, slice(at, min(at + step, len(group))), layout)
            for number, (group, layout) in enumerate(zip(self.groups, self.layouts, strict=True))
            for step in [layout.num_tiles]
            for at in range(0, len(group), step)
        ]

    def bqm(self, chunk: Chunk) -> Any:
        """What is submitted: a dimod BQM over qubits."""
        layout, active = chunk.layout, chunk.active
        used = active[layout.couplers].all(axis=0)
        ends = np.hstack([layout.couplers[:, used], layout.links[:, chunk.whole]])
        couplings = self.scale * chunk.couplings[used]
        chains = np.full(int(chunk.whole.sum()), self.chain_strength)
        row, column = (np.cumsum(active) - 1)[ends]  # positions among the active qubits
        quadratic = (row, column, flip_sign(np.append(couplings, chains)))
        fields = flip_sign(self.scale * chunk.fields[active])
        return import_dimod("the sampler 'dwave'").BQM.from_numpy_vectors(
            fields, quadratic, 0.0, "SPIN", variable_order=chunk.qubits
        )

    def name(self, chunk: Chunk) -> str:
        """What to call the problems of a submission in messages."""
        positions = self.groups[chunk.group].position[chunk.rows]
        if len(positions) == 1:
            return name_of(positions[0])
        return f"{len(positions)} problems of the batch, {positions[0]} to {positions[-1]},"


def name_of(position: int) -> str:
    """What to call a problem in messages."""
    return f"problem {position} of the batch"


def _largest_problem(group: Group) -> str:
    return name_of(group.position[group.present.sum(axis=1).argmax()])
