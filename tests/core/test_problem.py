"""IsingProblem: what it takes, how it counts, what it refuses."""

import copy
import dataclasses
import pickle
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given

from isingsample import IsingProblem
from isingsample._core import states as energies
from isingsample._core.arrays import is_torch, to_numpy
from isingsample._core.states import spin_states, spin_table
from support.checks import rounding
from support.fixtures import ASYM3, couplings, three_body
from support.strategies import problems, symmetric


def plain_energy(problem: IsingProblem, at: tuple[int, ...], state: tuple[int, ...]) -> float:
    """The energy as its definition reads, spin by spin."""
    n, batch = problem.num_spins, problem.batch_shape
    h = np.broadcast_to(to_numpy(problem.h), (*batch, n))[at].astype(float)
    J = np.broadcast_to(to_numpy(problem.J), (*batch, n, n))[at].astype(float)
    energy = float(np.broadcast_to(to_numpy(problem.offset), batch)[at])
    energy -= sum(h[j] * state[j] for j in range(n))
    energy -= sum(J[j, k] * state[j] * state[k] for j, k in combinations(range(n), 2))
    if problem.K is not None:
        K = np.broadcast_to(to_numpy(problem.K), (*batch, n, n, n))[at].astype(float)
        energy -= sum(
            K[triple] * np.prod([state[j] for j in triple]) for triple in combinations(range(n), 3)
        )
    return energy


@given(problems(max_spins=4, masks=False))
def test_energy_counts_each_pair_and_triple_once(problem: IsingProblem) -> None:
    n, batch = problem.num_spins, problem.batch_shape
    states = list(product((-1, 1), repeat=n))
    everywhere = np.broadcast_to(np.array(states), (*batch, len(states), n))
    energy, tolerance = to_numpy(problem.energy(everywhere)), rounding(problem, with_offset=True)
    for at in np.ndindex(*batch):
        expected = [plain_energy(problem, at, state) for state in states]
        np.testing.assert_allclose(energy[at], expected, rtol=0, atol=tolerance)
    one_each = to_numpy(problem.energy(everywhere[..., 1, :]))
    np.testing.assert_allclose(one_each, energy[..., 1], rtol=0, atol=tolerance)


def test_energy_takes_the_same_states_for_a_whole_batch() -> None:
    problem = IsingProblem(np.array([[0.5, 0.1], [-1.0, 0.3]]))
    energy = problem.energy(spin_table(2)[None])
    np.testing.assert_allclose(energy, [[0.6, 0.4, -0.4, -0.6], [-0.7, -1.3, 1.3, 0.7]])


def test_energy_of_absent_spins_is_nothing() -> None:
    problem = ASYM3.problem(present=[True, False, True])
    np.testing.assert_allclose(problem.energy([1, 0, -1]), -0.9 + 0.1 + 0.25, rtol=1e-14)


def test_spin_table_has_the_first_spin_slowest() -> None:
    np.testing.assert_array_equal(spin_table(2), [[-1, -1], [-1, 1], [1, -1], [1, 1]])
    assert spin_table(0).shape == (1, 0)
    rows = np.array([[5, 0], [7, 2]])
    np.testing.assert_array_equal(spin_states(rows, 3), spin_table(3)[rows])


NUMBERS = np.array([0.5, -0.25, 2.0])  # exact in half precision too
SPREAD = np.zeros((3, 2))
SPREAD[:, 0] = NUMBERS


class ArrayLike:
    """What a pandas Series looks like to NumPy."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return NUMBERS.astype(dtype or float)


@pytest.mark.parametrize(
    ("h", "dtype"),
    [
        ([0.5, -0.25, 2.0], "float64"),
        ((0.5, -0.25, 2), "float64"),
        (NUMBERS.astype("float16"), "float32"),
        (NUMBERS.astype("float32"), "float32"),
        (NUMBERS.astype("longdouble"), "float64"),
        (NUMBERS.astype(">f4"), "float32"),
        (NUMBERS.astype(">f8"), "float64"),
        (NUMBERS[::-1].copy()[::-1], "float64"),
        (SPREAD[:, 0], "float64"),
        (np.broadcast_to(NUMBERS, (2, 3))[1], "float64"),
        (ArrayLike(), "float64"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_any_layout_of_numbers_is_the_same_problem(h: Any, dtype: str) -> None:
    problem = IsingProblem(h)
    np.testing.assert_array_equal(problem.h, NUMBERS)
    assert problem.h.dtype == np.dtype(dtype)
    assert problem.h.dtype.isnative


@pytest.mark.parametrize("h", [[1, 0, 1], [True, False, True], np.array([1, 0, 1], np.uint8)])
def test_integers_and_bools_become_float64(h: Any) -> None:
    problem = IsingProblem(h)
    np.testing.assert_array_equal(problem.h, [1.0, 0.0, 1.0])
    assert problem.h.dtype == np.float64


def test_empty_lists_and_object_arrays_are_no_spins() -> None:
    for h in ([], (), np.array([], dtype=object)):
        assert IsingProblem(h).h.dtype == np.float64


def test_the_callers_arrays_and_the_problem_do_not_touch_each_other() -> None:
    h, J = ASYM3.h.copy(), ASYM3.J.copy()
    problem = IsingProblem(h, J)
    np.testing.assert_array_equal(h, ASYM3.h)
    np.testing.assert_array_equal(J, ASYM3.J)
    h[0], J[0, 1] = np.nan, 7.0
    np.testing.assert_array_equal(problem.h, ASYM3.h)
    np.testing.assert_array_equal(problem.J, ASYM3.J)
    with pytest.raises(ValueError, match="read-only"):
        problem.h[0] = 1.0


def test_the_wider_of_two_dtypes_holds_the_problem() -> None:
    problem = IsingProblem(ASYM3.h.astype("float32"), ASYM3.J)
    assert problem.h.dtype == problem.J.dtype == problem.offset.dtype == np.float64


def test_rounding_asymmetry_is_averaged_away() -> None:
    J = ASYM3.J.astype("float32")
    J[0, 1] = np.nextafter(J[1, 0], np.float32(1))
    kept = IsingProblem(ASYM3.h.astype("float32"), J).J
    np.testing.assert_array_equal(kept, kept.T)
    K = three_body(3, {(0, 1, 2): 0.3})
    K[0, 1, 2] += 1e-16
    assert len(np.unique(IsingProblem(np.zeros(3), K=K).K)) == 2


@pytest.mark.parametrize(
    ("shapes", "batch"),
    [
        ({"h": (3,)}, ()),
        ({"h": (5, 3)}, (5,)),
        ({"h": (3,), "J": (4, 3, 3)}, (4,)),
        ({"h": (2, 1, 3), "J": (6, 3, 3)}, (2, 6)),
        ({"h": (3,), "K": (2, 3, 3, 3)}, (2,)),
        ({"h": (3,), "present": (7, 3)}, (7,)),
        ({"h": (3,), "offset": (2, 3)}, (2, 3)),
        ({"h": (0, 3)}, (0,)),
        ({"h": (0,)}, ()),
    ],
    ids=str,
)
def test_batch_axes_broadcast(shapes: dict[str, Any], batch: tuple[int, ...]) -> None:
    kinds = {"present": bool}
    problem = IsingProblem(**{k: np.zeros(s, kinds.get(k, float)) for k, s in shapes.items()})
    assert problem.batch_shape == batch
    assert problem.num_spins == shapes["h"][-1]


def test_labels_keep_their_order_and_default_to_indices() -> None:
    assert IsingProblem(ASYM3.h).labels == (0, 1, 2)
    assert IsingProblem(ASYM3.h, labels=("c", ("a", 1), 7)).labels == ("c", ("a", 1), 7)
    assert IsingProblem(ASYM3.h, labels=np.array([5, 3, 9])).labels == (5, 3, 9)


def test_problem_is_frozen_and_says_what_it_is() -> None:
    problem = IsingProblem(np.zeros((4, 3), "float32"), K=np.zeros((3, 3, 3)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.h = np.zeros(3)  # type: ignore[misc]
    text = "IsingProblem(num_spins=3, batch_shape=(4,), three_body=True, dtype=float64)"
    assert repr(problem) == text


@given(problems())
def test_problems_can_be_pickled_and_copied(problem: IsingProblem) -> None:
    for twin in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem)):
        assert repr(twin) == repr(problem)
        for name in ("h", "J", "K", "present", "offset"):
            ours, theirs = getattr(problem, name), getattr(twin, name)
            assert is_torch(ours) == is_torch(theirs)
            np.testing.assert_array_equal(ours, theirs)
        assert twin.labels == problem.labels


@given(problems())
def test_unvalidated_is_what_validation_leaves(problem: IsingProblem) -> None:
    host = problem.to_numpy()
    assert not is_torch(host.h)
    assert host.batch_shape == problem.batch_shape
    assert host.h.dtype.name == str(problem.h.dtype).removeprefix("torch.")
    np.testing.assert_array_equal(host.J, np.swapaxes(host.J, -1, -2))


def test_triples_of_a_list_of_lists() -> None:
    K = three_body(3, {(0, 1, 2): 0.5}).tolist()
    problem = IsingProblem([0, 0, 0], couplings(3, {}).tolist(), K)
    np.testing.assert_allclose(problem.energy([1, -1, 1]), 0.5)


@pytest.mark.parametrize("kind", ["dense", "J of each", "three-body", "sparse"])
def test_energies_of_many_reads_are_computed_a_few_at_a_time(
    kind: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    J = symmetric(rng, (3,) if kind == "J of each" else (), 5, 2)
    K = symmetric(rng, (), 5, 3) if kind == "three-body" else None
    h, states = rng.normal(size=(3, 5)), rng.choice(np.int8([-1, 1]), size=(3, 7, 5))
    problem = IsingProblem(h, scipy.sparse.csr_array(J) if kind == "sparse" else J, K, offset=0.5)
    whole = problem.energy(states)
    monkeypatch.setattr(energies, "_ENTRIES", 40)  # of 15 in a read
    np.testing.assert_allclose(problem.energy(states), whole, rtol=1e-12)
    np.testing.assert_allclose(problem.energy(states.astype(float)), whole, rtol=1e-12)
    assert problem.energy(states[:, :0]).shape == (3, 0)
    one = problem.energy(states[0][None])  # the same states in all problems
    np.testing.assert_allclose(one[0], whole[0], rtol=1e-12)
    assert one.shape == (3, 7)
