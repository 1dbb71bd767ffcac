"""Hard problems whose ground state is known, to measure optimisers and samplers by.

Each is a sum of small frustrated pieces that all spins up solve at once, so that no state can be
lower; a random gauge then turns that state into any other. There are no fields. `Planted.problem`
goes to any sampler, or to dimod by `isingsample.to_bqm`::

    planted = tile_planting((8, 8, 8), seed=1)
    state, energy = SimulatedAnnealing(num_reads=256, num_sweeps=1000).minimize(planted.problem)
    solved = energy <= planted.energy

All couplings are whole numbers, hence so are energies, and two levels differ by 2 at least.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from isingsample._core import checks as check
from isingsample._core.problem import IsingProblem
from isingsample._core.streams import Seed, Streams
from isingsample.interop.convert import from_edges

Edge = tuple[Hashable, Hashable]
Corner = tuple[int, ...]

# Walks in a row that close no loop which can be used; then there is hardly any.
_WALKS = 10_000
# The antiferromagnetic edges of the unit cubes of Hamze et al., by the corners they join: the
# number of frustrated faces comes first in the name.
_CUBES: dict[str, tuple[tuple[Corner, Corner], ...]] = {
    "F21": (((0, 0, 0), (1, 0, 0)),),
    "F22": (((0, 0, 0), (1, 0, 0)), ((0, 1, 0), (1, 1, 0))),
    "F41": (((0, 0, 0), (1, 0, 0)), ((0, 1, 0), (0, 1, 1))),
    "F42": (((0, 0, 0), (1, 0, 0)), ((0, 1, 1), (1, 1, 1))),
    "F6": (((0, 0, 0), (1, 0, 0)), ((0, 1, 0), (0, 1, 1)), ((1, 0, 1), (1, 1, 1))),
}
# Squares by their number of weak edges, one of them antiferromagnetic.
_SQUARES = {"C1": 1, "C2": 2, "C3": 3, "C4": 4}


@dataclass(frozen=True, eq=False)
class Planted:
    """A problem with a known ground state.

    Attributes:
        problem: without fields; couplings are whole numbers.
        state: (n,) int8 of -1 and +1, a ground state; its opposite is another one.
        energy: of these states.
    """

    problem: IsingProblem
    state: np.ndarray
    energy: float


def frustrated_loops(
    edges: Iterable[Edge],
    loop_density: float = 0.2,
    *,
    min_length: int = 6,
    max_coupling: int | None = None,
    seed: Seed = None,
) -> Planted:
    """Loops of random walks along the edges of a graph, each with one bond against the others.

    A loop costs at least 2 - length, which the planted state reaches in every loop. Hardness
    peaks at some loop density: few loops share no edges, many add up to a plain ferromagnet.

    Args:
        edges: pairs of spins, such as `networkx.Graph.edges` or `periodic_lattice`.
        loop_density: loops per spin.
        min_length: of a loop in edges; shorter ones are drawn again.
        max_coupling: loops that would take a coupling beyond it, up or down, are drawn again;
            None sets no bound.
        seed: as for `Sampler.sample`.

    Raises:
        ValueError: an option out of range, an edge from a spin to itself, or a graph in which
            10000 walks in a row found no further loop.

    Source: Hen et al., Phys. Rev. A 92, 042325 (2015); the bound on couplings is King et al.,
        arXiv:1502.02098.
    """
    density = check.check_number("loop_density", loop_density, minimum=0.0)
    check.check_count("min_length", min_length, minimum=3)
    if max_coupling is not None:
        check.check_count("max_coupling", max_coupling)
    rng = _generator(seed)
    names, neighbours = _graph(edges)
    couplings: dict[tuple[int, int], float] = {}
    for _ in range(round(density * len(names))):
        for _ in range(_WALKS):
            loop = _loop(neighbours, rng)
            if len(loop) < min_length:
                continue
            signs = np.ones(len(loop))
            signs[rng.integers(len(loop))] = -1.0
            bonds = {(min(e), max(e)): sign for e, sign in zip(loop, signs, strict=True)}
            changed = {e: couplings.get(e, 0.0) + sign for e, sign in bonds.items()}
            if max_coupling is None or max(map(abs, changed.values())) <= max_coupling:
                couplings.update(changed)
                break
        else:
            raise ValueError(
                f"{_WALKS} walks found no loop of {min_length} edges or more in this graph of "
                f"{len(names)} spins: lower min_length or loop_density, or raise max_coupling"
            )
    return _hidden(couplings, names, rng)


def tile_planting(
    shape: tuple[int, ...], mix: Mapping[str, float] | None = None, *, seed: Seed = None
) -> Planted:
    """A square or cubic lattice with periodic boundaries, tiled by frustrated unit cells.

    Every other cell, in checkerboard order, is a tile of a class drawn from the mix, turned at
    random; tiles share spins but no edges. The classes:

    - squares "C1" ... "C4": couplings 1 and 2, one of the weak ones being -1; the number is that
      of the weak ones and of the tile's ground states (a state and its opposite counted once).
    - cubes "F21", "F22", "F41", "F42", "F6": couplings 1 and -1; the first number is that of the
      frustrated faces. They have 1, 4, 2, 2 and 8 ground states; "F6" alone is hardest.

    Args:
        shape: two or three even lengths. Along a length of 2 neighbours share two edges, whose
            couplings add up.
        mix: the weight of each class; by default all of them "C2", or "F6" in three dimensions.
        seed: as for `Sampler.sample`.

    Returns:
        Spins are numbered along the last axis first: samples reshape to ``(..., *shape)``.

    Raises:
        ValueError: a shape other than that, an unknown class, or weights that are negative or
            all 0.

    Source: Hamze et al., Phys. Rev. E 97, 043303 (2018).
    """
    lengths = tuple(check.check_count("shape", length, minimum=2) for length in shape)
    if len(lengths) not in (2, 3) or any(length % 2 for length in lengths):
        raise ValueError(f"shape must be two or three even lengths, not {tuple(shape)}")
    flat = len(lengths) == 2
    classes = list(_SQUARES if flat else _CUBES)
    names, shares = _shares({"C2" if flat else "F6": 1.0} if mix is None else mix, classes)
    rng = _generator(seed)
    couplings: dict[tuple[int, int], float] = {}
    for origin in product(*(range(length) for length in lengths)):
        if not _is_tile(origin):
            continue
        name = names[rng.choice(len(names), p=shares)]
        tile = _square(_SQUARES[name], rng) if flat else _cube(name, rng)
        for corners, weight in tile.items():
            a, b = (
                int(np.ravel_multi_index(np.add(origin, corner), lengths, mode="wrap"))
                for corner in corners
            )
            pair = min(a, b), max(a, b)
            couplings[pair] = couplings.get(pair, 0.0) + weight
    return _hidden(couplings, range(int(np.prod(lengths))), rng)


def periodic_lattice(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """The edges between nearest neighbours on a lattice with periodic boundaries.

    Args:
        shape: its lengths, 3 or more each, in any number of dimensions.

    Returns:
        Pairs of spins, numbered along the last axis first.
    """
    lengths = tuple(check.check_count("shape", length, minimum=3) for length in shape)
    site = np.arange(int(np.prod(lengths))).reshape(lengths)
    ends = [(site.ravel(), np.roll(site, -1, axis).ravel()) for axis in range(site.ndim)]
    return [(int(a), int(b)) for near, far in ends for a, b in zip(near, far, strict=True)]


def _generator(seed: Seed) -> np.random.Generator:
    return np.random.default_rng(Streams.from_seed(seed).key)


def _graph(edges: Iterable[Edge]) -> tuple[list[Hashable], list[list[int]]]:
    """The spins as they first occur, and the neighbours of each by number."""
    place: dict[Hashable, int] = {}
    neighbours: list[dict[int, None]] = []
    for a, b in edges:
        if a == b:
            raise ValueError(f"edges must join two spins, but one joins {a!r} to itself")
        for end in (a, b):
            if place.setdefault(end, len(place)) == len(neighbours):
                neighbours.append({})
        neighbours[place[a]][place[b]] = neighbours[place[b]][place[a]] = None
    return list(place), [list(others) for others in neighbours]


def _loop(neighbours: list[list[int]], rng: np.random.Generator) -> list[tuple[int, int]]:
    """The edges of the loop that a walk closes, which never turns back; none at a dead end."""
    walk = [int(rng.integers(len(neighbours)))]
    seen = {walk[0]: 0}
    while True:
        onward = [other for other in neighbours[walk[-1]] if other not in walk[-2:-1]]
        if not onward:
            return []
        walk.append(onward[int(rng.integers(len(onward)))])
        first = seen.setdefault(walk[-1], len(walk) - 1)
        if first < len(walk) - 1:
            return list(zip(walk[first:], walk[first + 1 :], strict=False))


def _shares(mix: Mapping[str, float], classes: list[str]) -> tuple[list[str], np.ndarray]:
    """The classes of a mix and the probability of each."""
    names = [check.check_choice("mix", name, classes) for name in mix]
    weights = np.array([check.check_number("mix", weight, minimum=0.0) for weight in mix.values()])
    if not weights.sum() > 0:
        raise ValueError(f"mix must give a weight to one of {', '.join(classes)}, not {dict(mix)}")
    return names, weights / weights.sum()


def _is_tile(origin: Corner) -> bool:
    """Whether a unit cell is a tile: squares of even sum, cubes with all lengths of one parity."""
    return sum(origin) % 2 == 0 if len(origin) == 2 else len({at % 2 for at in origin}) == 1


def _cell_edges(dimensions: int) -> list[tuple[Corner, Corner]]:
    """The edges of a unit cell, by the corners they join."""
    corners = list(product((0, 1), repeat=dimensions))
    return [(a, b) for a, b in combinations(corners, 2) if np.abs(np.subtract(a, b)).sum() == 1]


def _square(weak: int, rng: np.random.Generator) -> dict[tuple[Corner, Corner], float]:
    """Couplings of a square with so many weak edges, the first of which is negative."""
    edges = _cell_edges(2)
    weights = dict.fromkeys(edges, 2.0)
    chosen = [edges[at] for at in rng.permutation(4)[:weak]]
    return {**weights, **dict.fromkeys(chosen, 1.0), chosen[0]: -1.0}


def _cube(name: str, rng: np.random.Generator) -> dict[tuple[Corner, Corner], float]:
    """Couplings of a cube of some class, in one of its 48 orientations."""
    axes, mirrored = rng.permutation(3), rng.integers(2, size=3)

    def turned(corner: Corner) -> Corner:
        return tuple(int(at) for at in np.array(corner)[axes] ^ mirrored)

    negative = [{turned(a), turned(b)} for a, b in _CUBES[name]]
    return {edge: -1.0 if set(edge) in negative else 1.0 for edge in _cell_edges(3)}


def _hidden(
    couplings: Mapping[tuple[int, int], float],
    names: Iterable[Hashable],
    rng: np.random.Generator,
) -> Planted:
    """The problem whose ground state is a random one instead of all spins up."""
    labels = list(names)
    state = rng.choice(np.array([-1, 1], np.int8), size=len(labels))
    edges = [
        (labels[a], labels[b], weight * int(state[a]) * int(state[b]))
        for (a, b), weight in couplings.items()
    ]
    return Planted(from_edges(edges, labels=labels), state, -sum(couplings.values()))
