"""The border to other conventions: dicts, edge lists, QUBOs, dimod, NetworkX.

dimod, D-Wave and QUBOs minimise E = c + sum h s + sum J s s; this package has a minus before
each sum. `flip_sign` is the only place where one becomes the other.
"""

import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import Array, to_numpy
from isingsample._core.extras import import_dimod
from isingsample._core.problem import IsingProblem
from isingsample._core.single import single
from isingsample._core.sparse import SPARSE_FROM, SparseCouplings, is_sparse

if TYPE_CHECKING:
    import dimod
    import networkx


_NO_BQM = (
    "from_bqm takes a dimod binary quadratic model of SPIN or BINARY variables, not {kind}. Make "
    "one: a polynomial by dimod.make_quadratic(poly, strength, vartype), a constrained model by "
    "dimod.cqm_to_bqm(cqm); integer variables have to be encoded in binary ones first"
)


def flip_sign(biases: Array) -> Array:
    """Biases of E = -sum h s - sum J s s as those of E = +sum h s + sum J s s, and back."""
    return 0.0 - biases  # unlike -biases, this leaves no negative zeros


def from_dicts(
    h: Mapping[Hashable, float],
    J: Mapping[tuple[Hashable, Hashable], float] | None = None,
    *,
    labels: Sequence[Hashable] | None = None,
    offset: float = 0.0,
    sparse: bool | None = None,
) -> IsingProblem:
    """A problem from fields and couplings by label, in this package's sign.

    Args:
        h: fields; labels that occur only in J have field 0.
        J: couplings by pair. (a, b) and (b, a) are the same pair: their values add up.
        labels: the order of the spins; by default as they first occur in h, then J.
        offset: the constant of the energy.
        sparse: whether to keep J as its edges (`SparseCouplings`) or as an (n, n) array; None for
            edges where there are more than 1000 spins and less than a tenth of the pairs is
            coupled.

    Raises:
        ValueError: a spin coupled to itself, or a label that is not among labels.
    """
    for pair in J or {}:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                f"J couples pairs of spins, but has the key {pair!r}; three-body couplings go into "
                f"an array K of IsingProblem"
            )
    edges = [(a, b, weight) for (a, b), weight in (J or {}).items()]
    return from_edges(edges, h=h, labels=labels, offset=offset, sparse=sparse)


def from_edges(
    edges: Iterable[tuple[Hashable, Hashable, float]],
    h: Mapping[Hashable, float] | None = None,
    *,
    labels: Sequence[Hashable] | None = None,
    offset: float = 0.0,
    sparse: bool | None = None,
) -> IsingProblem:
    """A problem from a list of (spin, spin, coupling), in this package's sign.

    Repeated pairs add up, whichever way round. Arguments and errors as for `from_dicts`.
    """
    listed = list(edges)
    fields = dict(h or {})
    names: Sequence[Hashable]
    if labels is None:
        names = list(dict.fromkeys([*fields, *(v for a, b, _ in listed for v in (a, b))]))
    else:
        names = labels
    place = {name: position for position, name in enumerate(names)}
    linear = np.zeros(len(names))
    for name, field in fields.items():
        linear[_position(place, name)] += _real(f"the field of {name!r}", field)
    weights = []
    for a, b, weight in listed:
        if a == b:
            raise ValueError(
                f"spin {a!r} is coupled to itself with {weight!r}; s*s = 1 is a constant: leave "
                f"the edge out, or add it to offset if energies matter"
            )
        weights.append(_real(f"the coupling of {a!r} and {b!r}", weight))
    graph = SparseCouplings.from_pairs(
        len(names),
        [_position(place, a) for a, _, _ in listed],
        [_position(place, b) for _, b, _ in listed],
        weights,
    )
    return IsingProblem(linear, _couplings(graph, sparse), labels=names, offset=offset)


def from_qubo(
    Q: Any,
    *,
    labels: Sequence[Hashable] | None = None,
    offset: float = 0.0,
    sparse: bool | None = None,
) -> IsingProblem:
    """The Ising problem with E(s) = sum_ij Q_ij x_i x_j + offset at x = (1 + s) / 2.

    Args:
        Q: a square matrix (both triangles count, as in x'Qx), of scipy.sparse too, or a dict
            {(a, b): value}, (a, a) being the linear terms.
        labels: the variables' order; by default as they first occur in a dict.
        offset: a constant that stays in the energy.
        sparse: as for `from_dicts`.
    """
    if isinstance(Q, Mapping):
        names: Sequence[Hashable] = _default(labels, dict.fromkeys(v for pair in Q for v in pair))
        place = {name: position for position, name in enumerate(names)}
        rows = np.array([_position(place, a) for a, _ in Q], int)
        columns = np.array([_position(place, b) for _, b in Q], int)
        values = to_numpy(check.real_array("Q", list(Q.values())))
    else:
        matrix = Q if is_sparse(Q) else to_numpy(check.real_array("Q", Q))
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"Q must be a square matrix; it has shape {matrix.shape}")
        names = _default(labels, range(matrix.shape[0]))
        if is_sparse(Q):
            listed = Q.tocoo()
            rows, columns, values = listed.row, listed.col, check.real_array("Q", listed.data)
        else:
            check.check_finite("Q", matrix)
            rows, columns = np.nonzero(matrix)
            values = matrix[rows, columns]
    check.check_finite("Q", values)
    apart, num_spins = rows != columns, len(names)
    diagonal = np.bincount(rows[~apart], values[~apart], minlength=num_spins)
    ends, weights = (rows[apart], columns[apart]), values[apart].astype(float)
    shares = sum(np.bincount(at, weights, minlength=num_spins) for at in ends)
    return IsingProblem(
        flip_sign(diagonal / 2 + shares / 4),
        _couplings(SparseCouplings.from_pairs(num_spins, *ends, flip_sign(weights / 4)), sparse),
        labels=names,
        offset=offset + diagonal.sum() / 2 + weights.sum() / 4,
    )


def from_bqm(bqm: "dimod.BinaryQuadraticModel", *, sparse: bool | None = None) -> IsingProblem:
    """A dimod binary quadratic model, SPIN or BINARY; energies agree, offset included.

    For a BINARY model x = (1 + s) / 2, so `SampleResult.probability` is <x>. sparse is as for
    `from_dicts`.
    """
    if not (hasattr(bqm, "spin") and hasattr(bqm, "vartype")):
        raise TypeError(_NO_BQM.format(kind=type(bqm).__name__))
    labels = list(bqm.variables)
    vectors = bqm.spin.to_numpy_vectors(variable_order=labels)
    rows, columns, values = vectors.quadratic
    graph = SparseCouplings.from_pairs(len(labels), rows, columns, flip_sign(values))
    return IsingProblem(
        flip_sign(np.asarray(vectors.linear_biases, float)),
        _couplings(graph, sparse),
        labels=labels,
        offset=float(vectors.offset),
    )


def from_networkx(
    graph: "networkx.Graph", *, field: str = "h", coupling: str = "J", sparse: bool | None = None
) -> IsingProblem:
    """A problem from a graph: node attribute `field` (default 0), edge attribute `coupling`.

    The sign is this package's; sparse is as for `from_dicts`. Raises ValueError naming the first
    edge without the attribute.
    """
    if graph.is_directed():
        raise ValueError(
            "graph is directed: each pair would count once for either direction. Pass "
            "graph.to_undirected(), after adding up what the two directions hold"
        )
    for a, b, data in graph.edges(data=True):
        if coupling not in data:
            raise ValueError(f"edge ({a!r}, {b!r}) has no attribute {coupling!r}")
    edges = [(a, b, data[coupling]) for a, b, data in graph.edges(data=True)]
    fields = {node: data.get(field, 0.0) for node, data in graph.nodes(data=True)}
    return from_edges(edges, h=fields, sparse=sparse)


def to_dicts(
    problem: IsingProblem, index: tuple[int, ...] | int = ()
) -> tuple[dict[Hashable, float], dict[tuple[Hashable, Hashable], float], float]:
    """(h, J, offset) of one problem by label, in this package's sign; zero couplings left out."""
    one = _without_three_body(single(problem, index))
    rows, columns, values = _pairs(one.J)
    fields = dict(zip(one.labels, one.h.tolist(), strict=True))
    couplings = {
        (one.labels[i], one.labels[j]): float(value)
        for i, j, value in zip(rows, columns, values, strict=True)
    }
    return fields, couplings, float(one.offset)


def to_edges(
    problem: IsingProblem, index: tuple[int, ...] | int = ()
) -> list[tuple[Hashable, Hashable, float]]:
    """The non-zero couplings of one problem as (spin, spin, coupling), in this package's sign."""
    return [(a, b, weight) for (a, b), weight in to_dicts(problem, index)[1].items()]


def to_qubo(
    problem: IsingProblem, index: tuple[int, ...] | int = ()
) -> tuple[dict[tuple[Hashable, Hashable], float], float]:
    """(Q, offset) with E = sum Q_ab x_a x_b + offset at s = 2 x - 1, for one problem."""
    one = _without_three_body(single(problem, index))
    rows, columns, couplings = _pairs(one.J)
    linear, quadratic = flip_sign(one.h), flip_sign(couplings)
    shares = sum(np.bincount(at, quadratic, minlength=one.num_spins) for at in (rows, columns))
    diagonal = 2 * linear - 2 * shares
    Q = {(name, name): float(value) for name, value in zip(one.labels, diagonal, strict=True)}
    for i, j, value in zip(rows, columns, quadratic, strict=True):
        Q[one.labels[i], one.labels[j]] = float(4 * value)
    return Q, float(one.offset - linear.sum() + quadratic.sum())


def to_bqm(problem: IsingProblem, index: tuple[int, ...] | int = ()) -> "dimod.BQM":
    """One problem as a dimod BQM of SPIN variables; zero couplings are left out."""
    one = _without_three_body(single(problem, index))
    return bqm_of(one.h, one.J, one.labels, float(one.offset))


def bqm_of(h: np.ndarray, J: Array, labels: Sequence[Hashable], offset: float = 0.0) -> "dimod.BQM":
    """A dimod BQM from fields (n,) and couplings, (n, n) or sparse, in this package's sign."""
    dimod = import_dimod("a binary quadratic model")
    rows, columns, values = _pairs(J)
    quadratic = (rows, columns, flip_sign(values))
    bqm = dimod.BQM.from_numpy_vectors(flip_sign(h), quadratic, offset, "SPIN")
    bqm.relabel_variables(dict(enumerate(labels)))
    return bqm


def _couplings(graph: SparseCouplings, sparse: bool | None) -> Any:
    """J of a problem: the graph, or its dense array."""
    if sparse is None:
        pairs = graph.num_spins * (graph.num_spins - 1) / 2
        sparse = graph.num_spins > SPARSE_FROM and graph.num_edges < pairs / 10
    return graph if sparse else graph.toarray()


def _pairs(J: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(j, k, J_jk) of the couplings j < k other than zero, of a NumPy or a sparse J."""
    if isinstance(J, SparseCouplings):
        return J.first, J.second, J.values
    rows, columns = np.nonzero(np.triu(J, 1))
    return rows, columns, J[rows, columns]


def _default(labels: Sequence[Hashable] | None, names: Iterable[Hashable]) -> list[Hashable]:
    return list(names) if labels is None else list(labels)


def _real(what: str, value: Any) -> float:
    """value as a float: a real number of Python, NumPy or the fractions module.

    Raises:
        TypeError: anything else; the message names what it is the value of.
    """
    if getattr(value, "ndim", None) == 0:  # an array or tensor of one number
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{what} must be a real number, not {value!r}")
    return float(value)


def _position(place: Mapping[Hashable, int], name: Hashable) -> int:
    try:
        return place[name]
    except KeyError:
        raise ValueError(f"{name!r} is not among labels") from None


def _without_three_body(problem: IsingProblem) -> IsingProblem:
    if problem.K is not None and problem.K.any():
        raise ValueError("K has three-body terms, which this format cannot hold")
    return problem
