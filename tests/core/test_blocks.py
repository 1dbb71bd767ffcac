"""Blocks: every problem of a batch once, without its absent spins, and back again."""

import numpy as np
import pytest
from hypothesis import given

from isingsample import IsingProblem
from isingsample._core.arrays import is_torch, to_numpy
from isingsample._core.blocks import Blocks, split
from support.fixtures import ASYM3
from support.strategies import problems, symmetric


def whole(problem: IsingProblem, name: str, core: int) -> np.ndarray:
    """One array of a problem, broadcast to its batch."""
    array = to_numpy(getattr(problem, name))
    return np.broadcast_to(array, (*problem.batch_shape, *array.shape[array.ndim - core :]))


@given(problems(max_spins=5))
def test_each_problem_is_in_one_block_with_its_own_arrays(problem: IsingProblem) -> None:
    n, batch = problem.num_spins, problem.batch_shape
    size = int(np.prod(batch, dtype=int))
    h, J = whole(problem, "h", 1).reshape(size, n), whole(problem, "J", 2).reshape(size, n, n)
    present = np.ones(n, bool) if problem.present is None else problem.present
    present = np.broadcast_to(present, (*batch, n)).reshape(size, n)
    seen = []
    for block in split(problem):
        assert is_torch(block.h) == is_torch(problem.h)
        assert block.num_spins == len(block.labels) == len(block.spins)
        for group, query in np.ndindex(*block.index.shape):
            at = int(block.index[group, query])
            seen.append(at)
            np.testing.assert_array_equal(block.spins, np.flatnonzero(present[at]))
            np.testing.assert_array_equal(block.h[group, query], h[at][block.spins])
            expected = J[at][np.ix_(block.spins, block.spins)]
            np.testing.assert_array_equal(block.J[group], expected)
            if problem.K is not None:
                K = whole(problem, "K", 3).reshape(size, n, n, n)
                expected = K[at][np.ix_(*[block.spins] * 3)]
                np.testing.assert_array_equal(block.K[group], expected)
    assert sorted(seen) == list(range(size))


@given(problems(max_spins=5))
def test_join_undoes_split(problem: IsingProblem) -> None:
    blocks, present = split(problem), problem.present
    present = np.ones(problem.num_spins, bool) if present is None else present
    fields = blocks.join([block.h for block in blocks], 1)
    np.testing.assert_array_equal(fields, np.where(present, whole(problem, "h", 1), 0))
    pairs = blocks.join([b.J[:, None] + 0 * b.h[..., None] for b in blocks], 2)
    both = present[..., None] & present[..., None, :]
    np.testing.assert_array_equal(pairs, np.where(both, whole(problem, "J", 2), 0))
    index = blocks.join([block.index for block in blocks], 0)
    np.testing.assert_array_equal(index.ravel(), np.arange(index.size))
    assert index.shape == problem.batch_shape


@pytest.mark.parametrize(
    ("h", "J", "groups", "queries"),
    [
        ((3,), (3, 3), 1, 1),
        ((10, 3), (3, 3), 1, 10),
        ((10, 3), (1, 3, 3), 1, 10),
        ((10, 3), (10, 3, 3), 10, 1),
        ((2, 4, 5, 3), (4, 1, 3, 3), 4, 10),
        ((2, 4, 5, 3), (2, 1, 1, 3, 3), 2, 20),
        ((3,), (6, 3, 3), 6, 1),
        ((5, 1, 3), (6, 3, 3), 6, 5),
    ],
)
def test_couplings_that_a_batch_shares_appear_once(
    rng: np.random.Generator, h: tuple[int, ...], J: tuple[int, ...], groups: int, queries: int
) -> None:
    problem = IsingProblem(rng.normal(size=h), symmetric(rng, J[:-2], 3, 2))
    (block,) = split(problem)
    assert block.h.shape == (groups, queries, 3)
    assert block.J.shape == (groups, 3, 3)
    assert block.index.shape == (groups, queries)


def test_three_body_couplings_of_each_problem_split_the_groups_too(
    rng: np.random.Generator,
) -> None:
    (block,) = split(IsingProblem(np.zeros((4, 3)), K=symmetric(rng, (4,), 3, 3)))
    assert block.h.shape == (4, 1, 3)
    assert block.J.shape == (4, 3, 3)


def test_causal_prefixes_make_one_block_each(rng: np.random.Generator) -> None:
    problem = IsingProblem(rng.normal(size=(2, 8, 5, 5)), present=np.tri(5, dtype=bool))
    blocks = split(problem)
    assert sorted(block.num_spins for block in blocks) == [1, 2, 3, 4, 5]
    assert all(block.index.shape == (1, 16) for block in blocks)


def test_groups_with_different_numbers_of_a_mask(rng: np.random.Generator) -> None:
    present = np.array([[[1, 1, 0], [1, 0, 1]], [[1, 1, 0], [1, 1, 0]]], bool)
    problem = IsingProblem(np.zeros((2, 2, 3)), symmetric(rng, (2, 1), 3, 2), present=present)
    blocks = split(problem)
    shapes = sorted((tuple(map(int, b.spins)), b.index.shape) for b in blocks)
    assert shapes == [((0, 1), (1, 1)), ((0, 1), (1, 2)), ((0, 2), (1, 1))]


def test_labels_follow_their_spins() -> None:
    present = np.array([[True, False, True], [False, True, False]])
    blocks = split(ASYM3.problem(present=present, labels=("a", "b", "c")))
    assert {block.labels for block in blocks} == {("a", "c"), ("b",)}


def test_empty_batch_and_absent_spins_leave_an_empty_block(rng: np.random.Generator) -> None:
    for problem in (
        IsingProblem(np.zeros((0, 3))),
        IsingProblem(np.zeros((2, 0))),
        IsingProblem(np.zeros((2, 0, 3)), symmetric(rng, (2, 1), 3, 2)),
        IsingProblem(np.zeros((2, 3)), present=np.zeros((2, 3), bool)),
    ):
        (block,) = split(problem)
        assert block.is_empty
        joined = Blocks([block], problem).join([block.h], 1)
        assert joined.shape == problem.h.shape


def test_to_numpy_is_float64() -> None:
    (block,) = split(IsingProblem(np.ones((2, 3), "float32"), K=np.zeros((3, 3, 3), "float32")))
    host = block.to_numpy()
    assert {array.dtype.name for array in (host.h, host.J, host.K)} == {"float64"}
    np.testing.assert_array_equal(host.index, block.index)
