"""One real 2 x 2 matrix on every qubit at once, for a table of all 2**n states.

Bit i of a row's number is qubit i, and bit 0 is spin +1. Each column stands for itself.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from isingsample._arrays import Array, like, namespace

# Qubits that one matrix product takes on: 16 x 16 matrices keep the arithmetic units busy, and
# larger ones would only make more work for them.
_QUBITS_AT_ONCE = 4
_HADAMARD = np.array([[1.0, 1.0], [1.0, -1.0]])


def on_every_qubit(powers: Mapping[int, Array], table: Array, spare: Array) -> tuple[Array, Array]:
    """A matrix applied to each qubit of every column, in the memory of table and spare.

    Args:
        powers: Kronecker powers of the matrix, as from `kron_powers`. Its rows and columns stand
            for bit 0 and bit 1.
        table: (2**n, columns) real, contiguous; overwritten.
        spare: an array like table; overwritten.

    Returns:
        The result, in one of the two arrays, and the other one.
    """
    xp = namespace(table)
    for qubits, shape in _groups(table):
        xp.matmul(powers[qubits], table.reshape(shape), out=spare.reshape(shape))
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
    for qubits, shape in _groups(table):
        result = xp.matmul(powers[qubits], xp.reshape(result, shape))
    return xp.reshape(result, table.shape)


def kron_powers(matrices: np.ndarray, table: Array) -> dict[int, Array]:
    """Kronecker powers of matrices (..., 2, 2) by their exponents, those that table asks for.

    Args:
        matrices: (..., 2, 2).
        table: (2**n, columns), whose library and dtype they get.

    Returns:
        For exponent k, (..., 2**k, 2**k).
    """
    power = np.ones((*matrices.shape[:-2], 1, 1))
    wanted, powers = {qubits for qubits, _ in _groups(table)}, {}
    for exponent in range(1, _QUBITS_AT_ONCE + 1):
        size = 2**exponent
        product = power[..., :, None, :, None] * matrices[..., None, :, None, :]
        power = product.reshape(*matrices.shape[:-2], size, size)
        if exponent in wanted:
            powers[exponent] = like(power, table)
    return powers


def _groups(table: Array) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Groups of neighbouring qubits, from the highest: how many each has, and the shape of table
    in which they are the middle axis."""
    num_qubits = int(table.shape[0]).bit_length() - 1
    parts = -(-num_qubits // _QUBITS_AT_ONCE)
    above = 1
    for part in range(parts):
        qubits = num_qubits // parts + (part < num_qubits % parts)
        below = (table.shape[0] >> qubits) // above * table.shape[1]
        yield qubits, (above, 2**qubits, below)
        above <<= qubits
