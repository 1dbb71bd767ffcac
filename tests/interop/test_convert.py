"""The border to dimod's sign: dicts, edge lists, QUBOs, dimod models, NetworkX graphs."""

from fractions import Fraction
from itertools import product
from typing import Any

import dimod
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isingsample import (
    Exact,
    IsingProblem,
    from_bqm,
    from_dicts,
    from_edges,
    from_networkx,
    from_qubo,
    to_bqm,
    to_dicts,
    to_edges,
    to_qubo,
)
from isingsample._core.single import single
from support.fixtures import ASYM3, KNOWN, PAIR, Known, three_body

LABELS = ["z", ("a",), 3]


def spins(n: int) -> np.ndarray:
    return np.array(list(product((-1, 1), repeat=n)))


@st.composite
def single_problems(draw: st.DrawFn) -> IsingProblem:
    n = draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    J = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.7), 1)
    labels = draw(st.permutations([(i, "x") for i in range(n)]))
    return IsingProblem(rng.normal(size=n), J + J.T, labels=labels, offset=rng.normal())


@given(single_problems())
def test_round_trips_keep_every_energy(problem: IsingProblem) -> None:
    h, J, offset = to_dicts(problem)
    Q, constant = to_qubo(problem)
    expected = problem.energy(spins(problem.num_spins))
    for again in (
        from_dicts(h, J, labels=problem.labels, offset=offset),
        from_edges(to_edges(problem), h=h, labels=problem.labels, offset=offset),
        from_qubo(Q, labels=problem.labels, offset=constant),
        single(from_bqm(to_bqm(problem))),
    ):
        order = [again.labels.index(label) for label in problem.labels]
        states = np.empty((2**problem.num_spins, problem.num_spins))
        states[:, order] = spins(problem.num_spins)
        np.testing.assert_allclose(again.energy(states), expected, atol=1e-12)


@given(single_problems())
def test_bqm_has_the_same_energy_in_dimods_own_words(problem: IsingProblem) -> None:
    bqm = to_bqm(problem)
    states = spins(problem.num_spins)
    np.testing.assert_allclose(
        bqm.energies((states, list(problem.labels))) if problem.num_spins else [bqm.offset],
        problem.energy(states),
        atol=1e-12,
    )


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
@given(data=st.data())
def test_any_bqm_comes_in_with_its_energies(vartype: str, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    names = ["b", "a", 7, ("t", 1)]
    linear = {name: rng.normal() for name in names}
    quadratic = {("a", "b"): rng.normal(), (7, ("t", 1)): rng.normal(), ("b", 7): rng.normal()}
    bqm = dimod.BQM(linear, quadratic, rng.normal(), vartype)
    problem = from_bqm(bqm)
    assert list(problem.labels) == list(bqm.variables)
    low = -1 if vartype == "SPIN" else 0
    for state in product((low, 1), repeat=4):
        spin = np.array(state) if vartype == "SPIN" else 2 * np.array(state) - 1
        expected = bqm.energy(dict(zip(bqm.variables, state, strict=True)))
        assert problem.energy(spin) == pytest.approx(expected, abs=1e-12)


def test_signs_are_flipped_on_both_or_on_neither() -> None:
    """Each wrong sign has its own fingerprint in the magnetizations of PAIR."""
    bqm = to_bqm(PAIR.problem())
    assert bqm.linear == {0: -0.3, 1: 0.2}
    assert bqm.quadratic == {(1, 0): -0.7}
    flipped = IsingProblem(PAIR.h, -PAIR.J)
    np.testing.assert_allclose(
        Exact().sample(flipped).magnetization, [0.396811, -0.360894], atol=1e-6
    )


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_known_moments_through_every_way_in(known: Known) -> None:
    problem = known.problem()
    h, J, _ = to_dicts(problem)
    Q, constant = to_qubo(problem)
    graph = nx.Graph()
    graph.add_nodes_from((node, {"h": field}) for node, field in h.items())
    graph.add_weighted_edges_from(to_edges(problem), weight="J")
    ways = {
        "dicts": from_dicts(h, J),
        "qubo": from_qubo(Q, offset=constant),
        "bqm": from_bqm(to_bqm(problem)),
        "networkx": from_networkx(graph),
    }
    for way in ways.values():
        result = Exact().sample(way)
        order = [way.labels.index(j) for j in range(problem.num_spins)]
        np.testing.assert_allclose(result.magnetization[order], known.magnetization, atol=1e-11)
        assert result.log_partition == pytest.approx(known.log_partition, abs=1e-11)


def test_both_directions_of_a_pair_add_up() -> None:
    assert from_dicts({}, {("a", "b"): 0.5, ("b", "a"): 0.25}).J[0, 1] == 0.75
    assert from_edges([(0, 1, 0.5), (1, 0, 0.25), (0, 1, 1.0)]).J[1, 0] == 1.75
    assert from_qubo({(0, 1): 1.0, (1, 0): 2.0}).J[0, 1] == -0.75
    np.testing.assert_array_equal(from_qubo([[0, 1.0], [2.0, 0]]).J, from_qubo({(0, 1): 3.0}).J)


def test_labels_give_the_order_and_variables_only_in_couplings_count() -> None:
    problem = from_dicts({"b": 1.0}, {("b", "c"): 2.0}, labels=["c", "a", "b"])
    assert problem.labels == ("c", "a", "b")
    assert problem.h.tolist() == [0.0, 0.0, 1.0]
    assert from_dicts({"b": 1.0}, {("b", "c"): 2.0}).labels == ("b", "c")


def test_one_problem_of_a_batch_without_its_absent_spins() -> None:
    batch = IsingProblem(
        np.stack([PAIR.h, PAIR.h + 1]), PAIR.J, present=[[True, True], [False, True]], labels="ab"
    )
    assert to_dicts(batch, 1) == ({"b": 0.8}, {}, 0.0)
    assert to_dicts(batch, (0,))[1] == {("a", "b"): 0.7}
    assert list(to_bqm(batch, -1).variables) == ["b"]
    with pytest.raises(ValueError, match="must have 1 entries to pick one problem"):
        to_bqm(batch)
    with pytest.raises(ValueError, match=r"index \(2,\) is outside batch \(2,\)"):
        to_bqm(batch, 2)


def test_sampleset_has_labels_energies_and_every_read() -> None:
    result = Exact(num_reads=50).sample(ASYM3.problem(labels=LABELS), seed=1)
    found = result.to_sampleset()
    assert list(found.variables) == LABELS
    plain = Exact(num_reads=2).sample(PAIR.problem(labels=["b", "a"]), seed=1).to_sampleset()
    assert list(plain.variables) == ["b", "a"]  # as the caller has them, not sorted
    assert len(found) == 50
    np.testing.assert_allclose(found.record.energy, result.energy)
    dimod.testing.assert_sampleset_energies(found, to_bqm(result.problem))


def test_sampleset_of_a_batch_leaves_absent_spins_out() -> None:
    present = [[True, True, True], [True, False, True]]
    batch = ASYM3.problem(labels=LABELS, present=present)
    found = Exact(num_reads=5).sample(batch, seed=1).to_sampleset(1)
    assert list(found.variables) == ["z", 3]
    assert set(np.unique(found.record.sample)) <= {-1, 1}


BAD = [
    (lambda: from_dicts({}, {("a", "a"): 1.0}), "spin 'a' is coupled to itself"),
    (lambda: from_dicts({"a": 1.0}, labels=["b"]), "'a' is not among labels"),
    (lambda: from_edges([(0, 1, np.nan)]), r"J must be finite, but J\[0, 1\] is nan"),
    (lambda: from_qubo(np.zeros((2, 3))), r"Q must be a square matrix.*\(2, 3\)"),
    (lambda: from_qubo([[np.inf]]), r"Q must be finite, but Q\[0, 0\] is inf"),
    (lambda: from_networkx(nx.path_graph(2)), r"edge \(0, 1\) has no attribute 'J'"),
    (lambda: Exact().sample(PAIR.problem()).to_sampleset(), "set its option num_reads"),
    (
        lambda: to_bqm(ASYM3.problem(K=three_body(3, {(0, 1, 2): 1.0}))),
        "K has three-body terms, which this format cannot hold",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("value", [0.5 + 2j, "0.5", None, [1.0]])
def test_fields_and_couplings_are_real_numbers(value: Any) -> None:
    with pytest.raises(TypeError, match="the field of 'a' must be a real number, not"):
        from_dicts({"a": value}, {("a", "b"): 1.0})
    with pytest.raises(TypeError, match="the coupling of 'a' and 'b' must be a real number, not"):
        from_edges([("a", "b", value)])


def test_fractions_are_real_numbers() -> None:
    problem = from_dicts({"a": Fraction(1, 2)}, {("a", "b"): Fraction(-3, 4)})
    assert problem.h.tolist() == [0.5, 0.0]
    assert problem.J[0, 1] == -0.75


def test_directed_graphs_would_count_pairs_twice() -> None:
    graph = nx.Graph()
    graph.add_edge(0, 1, J=0.5)
    with pytest.raises(ValueError, match=r"graph is directed: .*to_undirected"):
        from_networkx(graph.to_directed())


@pytest.mark.parametrize(
    "model",
    [
        dimod.BinaryPolynomial({"ab": 1.0, "abc": 1.0}, "SPIN"),
        dimod.ConstrainedQuadraticModel(),
        dimod.QuadraticModel(),
    ],
)
def test_models_that_are_no_bqm_are_refused_with_the_way(model: Any) -> None:
    with pytest.raises(TypeError, match=f"not {type(model).__name__}. Make one: .*cqm_to_bqm"):
        from_bqm(model)


def test_triples_do_not_go_into_pairs() -> None:
    with pytest.raises(ValueError, match=r"has the key \('a', 'b', 'c'\); three-body couplings"):
        from_dicts({}, {("a", "b", "c"): 1.0})
