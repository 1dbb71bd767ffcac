"""One real 2 x 2 matrix on every qubit at once, for a table of all 2**n states.

Bit i of a row's number is qubit i, and bit 0 is spin +1. Each column stands for itself.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from isingsample._core.arrays import Array, like, namespace

# Qubits that one matrix product takes on: 16 x 16 matrices keep the arithmetic units busy, and
# larger ones would only make more work for them.
_QUBITS_AT_ONCE = 4
# Tables no wider than this, a single query's, make many tiny products: one larger one is faster.
_NARROW = 2
_HADAMARD = np.array([[1.0, 1.0], [1.0, -1.0]])


class Group(NamedTuple):
    """Neighbouring qubits that one matrix product takes on.

    Attributes:
        qubits: how many.
        columns: 0, where the matrix is multiplied from the left by each of the tables (2**qubits,
            below); else how few columns the last qubits have below them, which then belong to
            the matrix: it is multiplied from the right.
    """

    qubits: int
    columns: int


def on_every_qubit(
    powers: Mapping[Group, Array], table: Array, spare: Array
) -> tuple[Array, Array]:
    """A matrix applied to each qubit of every column, in the memory of table and spare.

    Args:
        powers: of the matrix, as from `kron_powers`. Its rows and columns stand for bit 0 and
            bit 1.
        table: (2**n, columns) real, contiguous; overwritten.
        spare: an array like table; overwritten.

    Returns:
        The result, in one of the two arrays, and the other one.
    """
    xp = namespace(table)
    for group, shape in _groups(table):
        factors = (powers[group], table.reshape(shape))
        xp.matmul(*(factors[::-1] if group.columns else factors), out=spare.reshape(shape))
        table, spare = spare, table
    return table, spare


def walsh(table: Array) -> Array:
    """sum_x f(x) (product of the spins in m, in state x) for every set of spins m, as bits.

    This leads from the coefficients of products of spins to their sum in each state, and from
    the probabilities of states to the expectations of products.

    Args:
        table: f, (2**n, columns).

    Returns:
        (2**n, columns).
    """
    xp, result, powers = namespace(table), table, kron_powers(_HADAMARD, table)
    for group, shape in _groups(table):
        factors = (powers[group], xp.reshape(result, shape))
        result = xp.matmul(*(factors[::-1] if group.columns else factors))
    return xp.reshape(result, table.shape)


def overlap_of_turn(left: Array, right: Array) -> Array:
    """The derivative by angle, at 0, of the overlap of left with right turned by R on every qubit.

    R turns by angle/2 in the plane of bit 0 and bit 1.

    Args:
        left: (2**n, columns) real.
        right: the same shape.

    Returns:
        A single number.
    """
    xp, total = namespace(left), 0.0
    for (group, _), (above, *_) in _groups(right):
        view = (above, 2**group, -1)
        overlaps = xp.reshape(left, view) @ xp.matrix_transpose(xp.reshape(right, view))
        total = total + (like(_sum_of_turns(group), left) * xp.sum(overlaps, axis=0)).sum()
    return total


def kron_powers(matrices: np.ndarray, table: Array) -> dict[Group, Array]:
    """What matrices (..., 2, 2) do to the groups of qubits of a table.

    Args:
        matrices: (..., 2, 2).
        table: (2**n, columns), whose library and dtype they get.

    Returns:
        For each kind of group, (..., size, size).
    """
    return {group: like(_on_group(matrices, group), table) for group, _ in _groups(table)}


def _sum_of_turns(qubits: int) -> np.ndarray:
    """The derivative of R on every qubit: (2**qubits, 2**qubits)."""
    total, one = np.zeros((1, 1)), np.array([[0.0, -0.5], [0.5, 0.0]])
    for _ in range(qubits):
        total = _kron(total, np.eye(2)) + _kron(np.eye(len(total)), one)
    return total


def _on_group(matrices: np.ndarray, group: Group) -> np.ndarray:
    power = np.ones((*matrices.shape[:-2], 1, 1))
    for _ in range(group.qubits):
        power = _kron(power, matrices)
    if not group.columns:
        return power
    return np.swapaxes(_kron(power, np.eye(group.columns)), -1, -2)


def _kron(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Kronecker products of the last two axes."""
    product = left[..., :, None, :, None] * right[..., None, :, None, :]
    size = left.shape[-1] * right.shape[-1]
    square: np.ndarray = product.reshape(*product.shape[:-4], size, size)
    return square


def _groups(table: Array) -> list[tuple[Group, tuple[int, ...]]]:
    """The groups of qubits, from the highest, and the shape of table that each wants."""
    rows, columns = table.shape
    num_qubits = int(rows).bit_length() - 1
    parts = -(-num_qubits // _QUBITS_AT_ONCE)
    above = 1
    found: list[tuple[Group, tuple[int, ...]]] = []
    for part in range(parts):
        qubits = num_qubits // parts + (part < num_qubits % parts)
        below = (rows >> qubits) // above * columns
        if below <= _NARROW:
            found.append((Group(qubits, below), (above, 2**qubits * below)))
        else:
            found.append((Group(qubits, 0), (above, 2**qubits, below)))
        above <<= qubits
    return found


def first_amplitudes(states: int) -> np.ndarray:
    """D^+ on equal amplitudes: (states,) complex."""
    ones = np.bitwise_count(np.arange(states, dtype=np.uint64))
    start: np.ndarray = states**-0.5 * 1j**ones
    return start
