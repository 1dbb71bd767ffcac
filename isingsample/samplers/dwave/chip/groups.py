"""The problems of a call in groups, each with one layout.

Masks leave problems of many sizes. Those within a factor of two of one another go together, into
tiles for the largest, so that causal prefixes and padding fill submissions instead of each making
its own; a spin that a problem lacks leaves its chain out.
"""

from dataclasses import dataclass

import numpy as np

from isingsample._core.blocks import Block
from isingsample.samplers.dwave.chip.structure import Structure


@dataclass(frozen=True, eq=False)
class Group:
    """Problems that share a layout, in the order of the batch.

    Attributes:
        structure: what each of its tiles embeds.
        position: (Q,) the problems' places in the flattened batch.
        h: (Q, n).
        J: (couplings, n, n).
        which: (Q,) the couplings of each problem.
        present: (Q, n) bool, the spins that each problem has.
    """

    structure: Structure
    position: np.ndarray
    h: np.ndarray
    J: np.ndarray
    which: np.ndarray
    present: np.ndarray

    def __len__(self) -> int:
        return len(self.position)


@dataclass(frozen=True, eq=False)
class Place:
    """Where the problems of a block went.

    Attributes:
        group: number of the group.
        rows: (groups, queries) the block's problems there.
        slots: (n,) the block's spins there.
    """

    group: int
    rows: np.ndarray
    slots: np.ndarray


def group_blocks(blocks: list[Block]) -> tuple[list[Group], list[Place]]:
    """Groups for blocks (in NumPy, none of them empty), and for each block its place in them."""
    members: dict[tuple[bool, int], list[int]] = {}
    dense = [Structure.of(block.J).is_dense for block in blocks]
    for number, block in enumerate(blocks):
        key = (dense[number], (block.num_spins - 1).bit_length())
        members.setdefault(key, []).append(number)
    groups: list[Group] = []
    places: dict[int, Place] = {}
    for at, ((is_dense, _), numbers) in enumerate(members.items()):
        group, found = _grouped([blocks[number] for number in numbers], at, is_dense)
        groups.append(group)
        places |= dict(zip(numbers, found, strict=True))
    return groups, [places[number] for number in range(len(blocks))]


def _grouped(blocks: list[Block], number: int, is_dense: bool) -> tuple[Group, list[Place]]:
    # A clique is the same for any spins; a sparse structure holds for the spins it was made for.
    if is_dense:
        slots = [np.arange(block.num_spins) for block in blocks]
    else:
        union = np.unique(np.concatenate([block.spins for block in blocks]))
        slots = [np.searchsorted(union, block.spins) for block in blocks]
    n = 1 + max(int(taken.max()) for taken in slots)
    position = np.concatenate([block.index.ravel() for block in blocks])
    order = np.argsort(position)
    offsets = np.cumsum([0] + [len(block.J) for block in blocks])
    h, J = np.zeros((len(position), n)), np.zeros((offsets[-1], n, n))
    present, which = np.zeros((len(position), n), bool), np.zeros(len(position), int)
    begin = 0
    for block, taken, offset in zip(blocks, slots, offsets, strict=False):
        rows = slice(begin, begin + block.index.size)
        h[rows, taken] = block.h.reshape(-1, block.num_spins)
        present[rows, taken] = True
        couplings = offset + np.arange(len(block.J))
        which[rows] = np.repeat(couplings, block.index.shape[1])
        J[np.ix_(couplings, taken, taken)] = block.J
        begin = rows.stop
    structure = Structure.of(J).completed()
    group = Group(structure, position[order], h[order], J, which[order], present[order])
    return group, [
        Place(number, np.searchsorted(group.position, block.index), taken)
        for block, taken in zip(blocks, slots, strict=True)
    ]
