"""Sparse couplings through dicts, edge lists, QUBOs, dimod models and NetworkX graphs."""

from pathlib import Path
from typing import Any

import dimod
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from isingsample import (
    Gibbs,
    IsingProblem,
    as_dimod,
    from_bqm,
    from_dicts,
    from_edges,
    from_networkx,
    from_qubo,
    load_problem,
    to_bqm,
    to_dicts,
    to_edges,
    to_qubo,
)
from isingsample._core.single import single
from support.monte_carlo import ignore_unconverged
from support.sparse_problems import ring, twins


@given(twins(max_spins=6, batches=((),), dtypes=("float64",)))
def test_every_way_out_says_what_the_dense_problem_says(both: Any) -> None:
    dense, sparse = both
    assert to_dicts(sparse) == to_dicts(dense)
    assert to_edges(sparse) == to_edges(dense)
    assert to_bqm(sparse) == to_bqm(dense)
    assert to_qubo(sparse) == to_qubo(dense)
    np.testing.assert_array_equal(single(sparse).J.toarray(), single(dense).J)


@given(twins(max_spins=6, batches=((),), dtypes=("float64",)), st.booleans())
def test_every_way_in_gives_both_kinds(both: Any, sparse: bool) -> None:
    problem = single(both[1])
    h, J, _ = to_dicts(problem)
    Q, offset = to_qubo(problem)
    graph = nx.Graph()
    graph.add_nodes_from((name, {"h": value}) for name, value in h.items())
    graph.add_edges_from((a, b, {"J": value}) for (a, b), value in J.items())
    places = {name: place for place, name in enumerate(problem.labels)}
    ends = [[places[name] for name in names] for names in zip(*Q, strict=True)] or [[], []]
    matrix = scipy.sparse.coo_array((list(Q.values()), ends), shape=problem.J.shape)
    found = {
        "dicts": from_dicts(h, J, sparse=sparse),
        "edges": from_edges(to_edges(problem), h=h, sparse=sparse),
        "networkx": from_networkx(graph, sparse=sparse),
        "bqm": from_bqm(to_bqm(problem), sparse=sparse),
        "qubo": from_qubo(Q, labels=problem.labels, offset=offset, sparse=sparse),
        "matrix": from_qubo(matrix, labels=problem.labels, offset=offset, sparse=sparse),
    }
    for name, twin in found.items():
        assert twin.is_sparse == sparse, name
        assert twin.labels == problem.labels
        np.testing.assert_allclose(twin.to_dense().J, problem.J.toarray(), rtol=1e-12, atol=0)
        np.testing.assert_allclose(twin.h, problem.h, rtol=0, atol=1e-11)


def test_large_sparse_graphs_stay_sparse_by_themselves() -> None:
    edges = [(j, j + 1, 0.1) for j in range(1000)]
    assert from_edges(edges).is_sparse
    assert not from_edges(edges[:-1]).is_sparse  # 1000 spins
    assert not from_edges(edges, sparse=False).is_sparse
    complete = nx.complete_graph(1001)
    nx.set_edge_attributes(complete, 0.1, "J")
    assert not from_networkx(complete).is_sparse


def test_repeated_pairs_add_up_and_labels_are_kept() -> None:
    problem = from_edges([("b", "a", 1.0), ("a", "b", 0.5), ("c", "a", 0.0)], sparse=True)
    assert problem.labels == ("b", "a", "c")
    assert to_edges(problem) == [("b", "a", 1.5)]


@ignore_unconverged
def test_a_model_of_many_variables_goes_through_dimods_door() -> None:
    n = 20_000
    problem = IsingProblem(np.full(n, 0.1), ring(n, 0.2))
    bqm = to_bqm(problem)
    assert (bqm.num_variables, bqm.num_interactions) == (n, n)
    found = as_dimod(Gibbs(num_reads=2, num_sweeps=4, burn_in=2)).sample(bqm, seed=0)
    np.testing.assert_allclose(found.record.energy, problem.energy(found.record.sample), rtol=1e-9)


def test_files_of_many_variables(tmp_path: Path) -> None:
    n = 20_000
    qubo, edges = tmp_path / "a.qubo", tmp_path / "a.txt"
    qubo.write_text(f"p qubo 0 {n} 0 {n - 1}\n" + "".join(f"{j} {j + 1} 4\n" for j in range(n - 1)))
    edges.write_text("".join(f"{j} {j + 1} 1\n" for j in range(n - 1)))
    for path in (qubo, edges):
        problem = load_problem(path)
        assert problem.is_sparse
        assert problem.J.num_edges == n - 1
        assert set(problem.J.values) == {-1.0}


@ignore_unconverged
def test_a_sampleset_of_many_spins_is_quick_and_labelled() -> None:
    problem = from_edges([((j, "x"), (j + 1, "x"), 0.1) for j in range(5000)])
    found = Gibbs(num_reads=2, num_sweeps=4, burn_in=2).sample(problem, seed=0).to_sampleset()
    assert isinstance(found, dimod.SampleSet)
    assert list(found.variables) == list(problem.labels)


def test_a_sparse_qubo_with_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="Q must be finite"):
        from_qubo(scipy.sparse.csr_array(np.array([[0.0, np.nan], [0.0, 0.0]])))
