"""What IsingProblem refuses: each message names the array, the entry and the remedy."""

import re
from typing import Any

import numpy as np
import pytest

from isingsample import IsingProblem
from support.fixtures import ASYM3, three_body

H, J = ASYM3.h, ASYM3.J


def changed(array: np.ndarray, where: tuple[int, ...], value: float) -> np.ndarray:
    array = array.copy()
    array[where] = value
    return array


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"h": None}, "h is None"),
        ({"h": H, "offset": None}, "offset is None"),
        ({"h": "0.1"}, "h must hold real numbers; it is of dtype <U3"),
        ({"h": ["0.1", "0.2"]}, "h must hold real numbers"),
        ({"h": [0.1, None]}, "h must hold real numbers; it is of dtype object"),
        ({"h": {0: 0.1}}, "h must hold real numbers"),
        ({"h": np.array(["2020-01-01"], "M8[D]")}, "h must hold real numbers"),
        ({"h": H + 0j}, "h must hold real numbers; it is complex"),
        ({"h": H, "J": J.astype(complex)}, "J must hold real numbers; it is complex"),
        ({"h": H, "K": "K"}, "K must hold real numbers"),
        ({"h": [[0.1, 0.2], [0.3]]}, "h is not a rectangular array of numbers"),
        ({"h": H, "J": [[0, 1], [1]]}, "J is not a rectangular array of numbers"),
        ({"h": H, "present": [1, 0, 1]}, "present must be boolean .* it is int64"),
        ({"h": H, "present": [[True], [True, False]]}, "present is not a rectangular array"),
        ({"h": H, "labels": 3}, "labels must be a sequence of hashable names"),
        ({"h": H, "labels": [[0], [1], [2]]}, "labels must be a sequence of hashable names"),
    ],
    ids=str,
)
def test_wrong_types(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        IsingProblem(**fields)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("name", "shape", "where"),
    [
        ("h", (3,), (1,)),
        ("h", (2, 4, 3), (1, 2, 0)),
        ("J", (3, 3), (0, 2)),
        ("J", (3, 3), (1, 1)),
        ("J", (2, 3, 3), (1, 2, 0)),
        ("K", (3, 3, 3), (0, 1, 2)),
        ("offset", (4,), (3,)),
        ("offset", (), ()),
    ],
)
def test_nan_and_infinity(
    name: str, shape: tuple[int, ...], where: tuple[int, ...], bad: float
) -> None:
    fields = {"h": H, name: changed(np.zeros(shape), where, bad)}
    entry = name + (f"[{', '.join(map(str, where))}]" if where else "")
    with pytest.raises(ValueError, match=re.escape(f"{name} must be finite, but {entry} is {bad}")):
        IsingProblem(**fields)


def test_sum_that_overflows_is_still_finite() -> None:
    assert IsingProblem(np.full(3, 3e38, "float32")).num_spins == 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"h": 0.5}, "h must have at least one axis"),
        ({"h": H, "J": np.zeros((2, 2))}, r"J must have shape \(\.\.\., 3, 3\) .* \(2, 2\)"),
        ({"h": H, "J": np.zeros(3)}, r"J must have shape .* it has shape \(3,\)"),
        ({"h": H, "J": np.zeros((3, 2))}, r"J must have shape .* it has shape \(3, 2\)"),
        ({"h": H, "K": J}, r"K must have shape \(\.\.\., 3, 3, 3\) .* \(3, 3\)"),
        ({"h": H, "present": [True]}, r"present must have shape \(\.\.\., 3\) .* \(1,\)"),
        ({"h": H, "present": True}, r"present must have shape \(\.\.\., 3\) .* \(\)"),
        ({"h": H, "labels": "ab"}, "labels has 2 entries for 3 spins"),
        ({"h": H, "labels": "aba"}, "labels must be distinct, but 'a' occurs 2 times"),
        (
            {"h": np.zeros((2, 3)), "J": np.zeros((4, 3, 3)), "offset": [1.0, 2.0]},
            r"batch axes do not broadcast .* h \(2,\), J \(4,\), offset \(2,\)",
        ),
        ({"h": np.zeros(3, "float32"), "offset": 1e300}, "offset must be finite"),
    ],
    ids=str,
)
def test_shapes_that_do_not_fit(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IsingProblem(**fields)


def test_triangular_coupling_says_how_to_convert() -> None:
    message = re.escape("J[0, 1] = 0.5 and J[1, 0] = 0. Each pair counts once: for an upper-trian")
    with pytest.raises(ValueError, match=message):
        IsingProblem(H, np.triu(changed(J, (1, 2), 0)))


def test_asymmetry_names_the_item_of_the_batch() -> None:
    batch = np.stack([J, changed(J, (2, 0), 9.0)])
    with pytest.raises(ValueError, match=re.escape("J[1, 0, 2] = 0.25 and J[1, 2, 0] = 9")):
        IsingProblem(H, batch)


def test_opposite_huge_couplings_are_asymmetric_too() -> None:
    huge = np.array([[0, 3e38], [-3e38, 0]], "float32")
    with pytest.raises(ValueError, match=re.escape("J[0, 1] = 3e+38 and J[1, 0] = -3e+38")):
        IsingProblem(np.zeros(2, "float32"), huge)


@pytest.mark.parametrize("where", [(1, 1), (1, 2, 2)])
def test_self_coupling_names_the_spin(where: tuple[int, ...]) -> None:
    diagonal = changed(np.zeros((2, 3, 3) if len(where) == 3 else (3, 3)), where, 0.5)
    entry = f"J[{', '.join(map(str, where))}] = 0.5"
    with pytest.raises(ValueError, match=re.escape(entry) + ".*constant.*offset"):
        IsingProblem(H, diagonal)


def test_triple_in_one_place_only() -> None:
    K = changed(np.zeros((3, 3, 3)), (0, 1, 2), 0.5)
    with pytest.raises(ValueError, match=r"K\[0, 1, 2\] = 0.5 and K\[0, 2, 1\] = 0.*six entries"):
        IsingProblem(H, K=K)


def test_triple_symmetric_in_its_last_two_spins_only() -> None:
    K = np.zeros((3, 3, 3))
    K[0, 1, 2] = K[0, 2, 1] = 0.5
    with pytest.raises(ValueError, match=r"K must be symmetric, but .*six entries of K"):
        IsingProblem(H, K=K)


@pytest.mark.parametrize("where", [(0, 0, 1), (0, 1, 0), (1, 0, 0), (2, 2, 2)])
def test_triple_with_a_spin_taken_twice(where: tuple[int, ...]) -> None:
    K = three_body(3, {(0, 1, 2): 0.5})
    K[where] = 0.25
    message = re.escape(f"K[{', '.join(map(str, where))}] = 0.25") + ".*belongs in h"
    with pytest.raises(ValueError, match=message):
        IsingProblem(H, K=K)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([1, 0, 1], r"states\[1\] is 0; for bits x use 2 \* x - 1"),
        ([[1, -1, 1], [1, 1, 10]], r"states\[1, 2\] is 10"),
        ([1, -1, 0.5], r"states\[2\] is 0.5"),
        ([1, np.nan, 1], r"states\[1\] is nan"),
        ([1, -1], r"states must have shape .* n = 3; they have shape \(2,\)"),
        (1, r"states must have shape .* they have shape \(\)"),
        (np.ones((2, 2, 3)), r"batch \(\) and n = 3; they have shape \(2, 2, 3\)"),
    ],
    ids=str,
)
def test_energy_refuses(states: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IsingProblem(H).energy(states)


def test_energy_refuses_another_batch() -> None:
    with pytest.raises(ValueError, match=r"batch \(5,\) and n = 3; they have shape \(4, 3\)"):
        IsingProblem(np.zeros((5, 3))).energy(np.ones((4, 3)))


@pytest.mark.parametrize("states", [[1, 1, 1], [0, 0, 1]])
def test_energy_refuses_states_that_do_not_match_the_mask(states: list[int]) -> None:
    problem = IsingProblem(H, present=[True, False, True])
    with pytest.raises(ValueError, match="0 where a spin is absent, and only there"):
        problem.energy([states, [1, 0, 1]])


@pytest.mark.parametrize(
    ("dtype", "large", "small"), [("float32", 1e3, 9e-3), ("float64", 1e12, 50)]
)
def test_symmetry_is_judged_problem_by_problem(dtype: str, large: float, small: float) -> None:
    J = np.array([[[0, large], [large, 0]], [[0, small], [0, 0]]], dtype)
    with pytest.raises(ValueError, match=r"J must be symmetric, but J\[1, 0, 1\]"):
        IsingProblem(np.zeros(2), J)


def test_masked_arrays_are_refused() -> None:
    with pytest.raises(TypeError, match=r"h is a masked array; .*present="):
        IsingProblem(np.ma.masked_array([5.0, 0.1], mask=[True, False]))
