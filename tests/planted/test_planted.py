"""Planted problems: the claimed state has the claimed energy, and enumeration finds none lower."""

from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isingsample import Exact, SimulatedAnnealing
from isingsample._core.states import spin_table
from isingsample.planted import Planted, frustrated_loops, periodic_lattice, tile_planting

SQUARES = {"C1": 1, "C2": 2, "C3": 3, "C4": 4}
CUBES = {"F21": 1, "F22": 4, "F41": 2, "F42": 2, "F6": 8}
FRUSTRATED = {"F21": 2, "F22": 2, "F41": 4, "F42": 4, "F6": 6}


def check_planted(planted: Planted) -> None:
    problem = planted.problem
    assert not problem.h.any()
    assert problem.energy(planted.state) == planted.energy
    assert problem.energy(-planted.state) == planted.energy
    assert Exact().minimize(problem)[1] == planted.energy


@given(
    edges=st.sampled_from(
        [periodic_lattice((4, 4)), nx.hypercube_graph(4).edges, nx.complete_graph(9).edges]
    ),
    density=st.sampled_from([0.1, 0.3, 1.0]),
    seed=st.integers(0, 2**70),
)
def test_loops_have_the_planted_ground_state(edges: Any, density: float, seed: int) -> None:
    planted = frustrated_loops(edges, density, seed=seed)
    check_planted(planted)
    assert len(planted.state) == planted.problem.num_spins
    assert set(planted.problem.labels) == {spin for edge in edges for spin in edge}


@given(
    shape=st.sampled_from([(2, 2), (4, 4), (2, 8), (6, 2), (2, 2, 2), (2, 2, 4), (2, 4, 2)]),
    weights=st.lists(st.floats(0.1, 1.0), min_size=4, max_size=4),
    seed=st.integers(0, 2**70),
)
def test_tiles_have_the_planted_ground_state(
    shape: tuple[int, ...], weights: list[float], seed: int
) -> None:
    classes = SQUARES if len(shape) == 2 else CUBES
    mix = dict(zip(classes, weights, strict=False))
    planted = tile_planting(shape, mix, seed=seed)
    check_planted(planted)
    assert planted.problem.num_spins == np.prod(shape)


@pytest.mark.parametrize(("name", "ground_states"), {**SQUARES, **CUBES}.items())
@pytest.mark.parametrize("seed", range(3))
def test_one_tile_of_each_class(name: str, ground_states: int, seed: int) -> None:
    """Cut out of a lattice, it has as many ground states and frustrated faces as it should."""
    dimensions = 2 if name in SQUARES else 3
    shape = (6,) * dimensions
    planted = tile_planting(shape, {name: 1.0}, seed=seed)
    corners = [np.ravel_multi_index(c, shape) for c in product((0, 1), repeat=dimensions)]
    J = np.asarray(planted.problem.J)[np.ix_(corners, corners)]
    states = spin_table(len(corners))
    energies = -0.5 * np.einsum("si,ij,sj->s", states, J, states)
    assert (energies == energies.min()).sum() == 2 * ground_states
    own = planted.state[corners].astype(float)
    assert -0.5 * own @ J @ own == energies.min()
    if dimensions == 3:
        loops = [cycle for cycle in nx.simple_cycles(nx.Graph(J), 4) if len(cycle) == 4]
        signs = [np.prod([J[a, b] for a, b in zip(c, np.roll(c, 1), strict=True)]) for c in loops]
        assert len(signs) == 6
        assert signs.count(-1) == FRUSTRATED[name]


def test_a_lattice_is_covered_once() -> None:
    for shape in [(6, 4), (4, 6, 4)]:
        J = np.asarray(tile_planting(shape, seed=0).problem.J)
        found = {frozenset(map(int, edge)) for edge in zip(*np.nonzero(J), strict=True)}
        assert found == {frozenset(edge) for edge in periodic_lattice(shape)}
        grid = nx.convert_node_labels_to_integers(nx.grid_graph(shape[::-1], periodic=True))
        assert len(found) == grid.number_of_edges()


def test_loops_are_frustrated_and_long_enough() -> None:
    """A single loop: all its couplings are 1 but for one, and it closes."""
    planted = frustrated_loops(periodic_lattice((8, 8)), 1 / 64, min_length=8, seed=3)
    J = np.asarray(planted.problem.J)
    degrees = np.count_nonzero(J, axis=0)
    assert set(degrees) == {0, 2}
    assert degrees.sum() / 2 >= 8
    edges = np.argwhere(np.triu(J))
    assert np.prod([J[a, b] for a, b in edges]) == -1
    assert planted.energy == 2 - len(edges)


def test_couplings_can_be_bounded() -> None:
    edges = periodic_lattice((6, 6, 6))
    free = frustrated_loops(edges, 0.5, seed=1).problem.J
    bounded = frustrated_loops(edges, 0.5, max_coupling=2, seed=1).problem.J
    assert np.abs(bounded).max() == 2 < np.abs(free).max()


@pytest.mark.parametrize("make", [tile_planting, lambda s, seed: frustrated_loops(
    periodic_lattice(s), seed=seed)])  # fmt: skip
def test_seeds(make: Any) -> None:
    one, same, other = (make((6, 6), seed=seed) for seed in (1, 1, -1))
    np.testing.assert_array_equal(one.problem.J, same.problem.J)
    np.testing.assert_array_equal(one.state, same.state)
    assert (one.problem.J != other.problem.J).any()
    assert 0 < (one.state > 0).sum() < 36  # hidden: not all spins up


@pytest.mark.parametrize(
    "planted",
    [
        tile_planting((8, 8, 8), {"F22": 1.0}, seed=2),
        tile_planting((16, 16), {"C2": 0.5, "C3": 0.5}, seed=2),
        frustrated_loops(periodic_lattice((8, 8, 8)), 0.2, seed=2),
    ],
    ids=["cubes", "squares", "loops"],
)
def test_an_optimiser_finds_it_and_nothing_lower(planted: Planted) -> None:
    sampler = SimulatedAnnealing(num_reads=256, num_sweeps=400)
    assert sampler.minimize(planted.problem, seed=0)[1] == planted.energy


BAD = [
    (lambda: tile_planting((4,)), "two or three even lengths"),
    (lambda: tile_planting((4, 5)), "two or three even lengths"),
    (lambda: tile_planting((4, 0)), "shape must be at least 2"),
    (lambda: tile_planting((4, 4), {"F6": 1.0}), "mix must be one of .*C1"),
    (lambda: tile_planting((4, 4), {"C1": 0.0}), "must give a weight to one of"),
    (lambda: tile_planting((4, 4), {"C1": -1.0}), "mix must be at least 0"),
    (lambda: periodic_lattice((2, 4)), "shape must be at least 3"),
    (lambda: frustrated_loops([(0, 0)]), "joins 0 to itself"),
    (lambda: frustrated_loops([(0, 1), (1, 2)], 1.0, seed=0), "found no loop of 6 edges"),
    (lambda: frustrated_loops([(0, 1)], -1.0), "loop_density must be at least 0"),
    (lambda: frustrated_loops([(0, 1)], min_length=2), "min_length must be at least 3"),
    (lambda: frustrated_loops([(0, 1)], max_coupling=0), "max_coupling must be at least 1"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_options_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
