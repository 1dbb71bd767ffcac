"""Problems with sparse couplings: read from every format, refused like dense ones, never dense."""

import copy
import pickle
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from isingsample import Exact, IsingProblem, SparseCouplings, TooLargeError
from isingsample._core.blocks import split
from isingsample._core.states import spin_table
from isingsample.samplers.wrappers.gauge_spin import with_gauge_spin
from support.sparse_problems import twins

FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
J3 = np.array([[0, 0.5, 0.25], [0.5, 0, -0.8], [0.25, -0.8, 0]])


@given(twins(), st.sampled_from(FORMATS), st.booleans())
def test_every_format_gives_the_dense_problem(both: Any, kind: str, old_matrix: bool) -> None:
    dense, _ = both
    make = scipy.sparse.coo_matrix if old_matrix else scipy.sparse.coo_array
    problem = IsingProblem(dense.h, make(dense.J).asformat(kind), present=dense.present)
    assert problem.is_sparse
    assert problem.J.dtype == problem.h.dtype == dense.h.dtype
    np.testing.assert_array_equal(problem.J.toarray(), dense.J)
    np.testing.assert_array_equal(problem.to_dense().J, dense.J)
    np.testing.assert_array_equal(problem.edges, dense.edges)


@given(twins(max_spins=6))
def test_energies_are_those_of_the_dense_problem(both: Any) -> None:
    dense, sparse = both
    states = spin_table(dense.num_spins)
    if dense.present is not None:
        states = (
            states
            * np.broadcast_to(dense.present, (*dense.batch_shape, dense.num_spins))[..., None, :]
        )
    else:
        states = np.broadcast_to(states, (*dense.batch_shape, *states.shape))
    scale = np.abs(dense.h).sum(-1).max(initial=0) + np.abs(dense.J).sum()
    tolerance = 8 * np.finfo(dense.h.dtype).eps * (1 + scale)
    np.testing.assert_allclose(sparse.energy(states), dense.energy(states), rtol=0, atol=tolerance)


def test_entries_given_twice_add_up_and_zeros_are_left_out() -> None:
    row, column = [0, 1, 0, 1, 2, 0], [1, 0, 1, 0, 0, 2]
    listed = scipy.sparse.coo_array(([1.0, 1.0, 0.5, 0.5, 0.0, 0.0], (row, column)), shape=(3, 3))
    problem = IsingProblem(np.zeros(3), listed)
    assert problem.edges.tolist() == [[0, 1]]
    assert problem.J.values.tolist() == [1.5]
    assert listed.nnz == 6  # the caller's matrix is as it was


@pytest.mark.parametrize("first", [1.0, 2.0])
def test_rounding_asymmetry_is_averaged(first: float) -> None:
    J = J3 * first
    J[0, 1] *= 1 + 1e-13
    found = IsingProblem(np.zeros(3), scipy.sparse.csr_array(J)).J.toarray()
    np.testing.assert_array_equal(found, IsingProblem(np.zeros(3), J).J)


@pytest.mark.parametrize(
    ("J", "error", "message"),
    [
        (np.triu(J3), ValueError, r"J\[0, 1\] = 0.5 and J\[1, 0\] = 0\. .* pass J \+ J\.T"),
        (np.tril(J3), ValueError, r"J\[1, 0\] = 0.5 and J\[0, 1\] = 0\. .* pass J \+ J\.T"),
        (J3 + np.diag([0, 0, 2.0]), ValueError, r"zero diagonal, but J\[2, 2\] = 2"),
        (np.where(J3 == 0.25, np.nan, J3), ValueError, r"J must be finite, but J\[0, 2\] is nan"),
        (np.where(J3 < 0, -np.inf, J3), ValueError, r"J must be finite, but J\[1, 2\] is -inf"),
        (J3 + 0j, TypeError, "J must hold real numbers; it is complex"),
        (J3[:2, :2], ValueError, r"to fit h with 3 spins; it has shape \(2, 2\)"),
        (J3[:2], ValueError, r"a sparse J must have shape \(n, n\).* it has shape \(2, 3\)"),
    ],
    ids=["upper", "lower", "diagonal", "nan", "inf", "complex", "too small", "not square"],
)
def test_bad_couplings_are_refused(J: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        IsingProblem(np.zeros(3), scipy.sparse.csr_array(J))


def test_sums_that_overflow_are_refused() -> None:
    pairs = ([0, 1, 0, 1], [1, 0, 1, 0])
    J = scipy.sparse.coo_array((np.full(4, 1e308), pairs), shape=(2, 2))
    with pytest.raises(ValueError, match=r"J must be finite, but J\[0, 1\] is inf"):
        IsingProblem(np.zeros(2), J)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (([0], [3], [1.0]), r"numbered from 0 to 2; pair 0 is \(0, 3\)"),
        (([0], [-1], [1.0]), r"numbered from 0 to 2; pair 0 is \(0, -1\)"),
        (([1], [1], [2.0]), r"zero diagonal, but J\[1, 1\] = 2"),
        (([0], [1], [np.nan]), r"J\[0, 1\] is nan"),
    ],
)
def test_bad_pairs_are_refused(pairs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparseCouplings.from_pairs(3, *pairs)


def test_only_couplings_of_pairs_can_be_sparse() -> None:
    J = scipy.sparse.csr_array(J3)
    with pytest.raises(TypeError, match=r"h is a scipy.sparse matrix, as only J can be"):
        IsingProblem(scipy.sparse.csr_array(J3[:1]))
    with pytest.raises(ValueError, match=r"without three-body couplings K.*pass J\.toarray\(\)"):
        IsingProblem(np.zeros(3), J, np.zeros((3, 3, 3)))


def test_nothing_makes_couplings_dense_by_itself() -> None:
    problem = IsingProblem(np.zeros(3), scipy.sparse.csr_array(J3))
    with pytest.raises(TypeError, match=r"not made a dense array by itself; use J\.toarray\(\)"):
        np.asarray(problem.J)
    large = IsingProblem(np.zeros(10_000), scipy.sparse.csr_array((10_000, 10_000)))
    with pytest.raises(TooLargeError, match=r"10000 x 10000 numbers, 763 MiB.* up to 8192 spins"):
        large.to_dense()
    with pytest.raises(TooLargeError, match=r"'exact' takes dense couplings only; 'gibbs'"):
        Exact().sample(large)


def test_couplings_cannot_be_changed() -> None:
    J = IsingProblem(np.zeros(3), scipy.sparse.csr_array(J3)).J
    with pytest.raises(ValueError, match="read-only"):
        J.values[0] = 1.0
    with pytest.raises(AttributeError):
        J.values = np.ones(3)


@given(twins())
def test_masks_leave_the_couplings_of_the_spins_that_are_there(both: Any) -> None:
    dense, sparse = both
    for one, other in zip(split(dense), split(sparse), strict=True):
        np.testing.assert_array_equal(one.h, other.h)
        np.testing.assert_array_equal(one.index, other.index)
        for group in range(len(one.J)):
            np.testing.assert_array_equal(one.couplings(group), other.couplings(0).toarray())


def test_copies_are_the_same_problem() -> None:
    problem = IsingProblem(np.zeros(3), scipy.sparse.csr_array(J3))
    for twin in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        np.testing.assert_array_equal(twin.J.toarray(), J3)
    assert IsingProblem(np.ones(3), problem.J).J is not None
    assert repr(problem) == (
        "IsingProblem(num_spins=3, batch_shape=(), num_edges=3, dtype=float64)"
    )


def test_the_gauge_encoding_takes_sparse_couplings() -> None:
    encoded = with_gauge_spin(IsingProblem([1.0, 2.0, 3.0], scipy.sparse.csr_array(J3)))
    np.testing.assert_array_equal(encoded.J[:3, :3], J3)


def test_a_hundred_thousand_spins_take_memory_for_their_edges_alone() -> None:
    n = 100_000
    here = np.arange(n)
    pairs = (np.concatenate([here, here]), np.concatenate([(here + 1) % n, (here + 300) % n]))
    tracemalloc.start()
    upper = scipy.sparse.coo_array((np.ones(2 * n), pairs), shape=(n, n))
    problem = IsingProblem(np.zeros((3, n)), upper + upper.T)
    energies = problem.energy(np.ones((3, 5, n)))
    uncoupled = IsingProblem(np.zeros(n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(energies, np.full((3, 5), -2.0 * n))
    assert uncoupled.is_sparse
    assert peak < 500e6  # a dense J has 80 GB


def test_reading_a_sparse_matrix_does_not_import_scipy() -> None:
    code = (
        "import sys, numpy as np\n"
        "from isingsample import IsingProblem\n"
        "from isingsample.interop.convert import from_edges\n"
        "from_edges([(0, 1, 2.0)], sparse=True)\n"
        "assert 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
