"""The Ising problems of an untrained Boltzmann attention layer, made from text."""

import numpy as np

from isingsample._core import checks as check
from isingsample._core.problem import IsingProblem
from isingsample._core.streams import Streams

_COUPLING = 0.5
_DECAY = 5.0
_HALF_PERIOD = 10.0


def attention_problem(
    text: str, *, length: int = 10, windows: int = 16, dim: int = 64, seed: int = 0
) -> IsingProblem:
    """One problem per position of each of some windows of a text.

    Characters and positions get random embeddings x, queries and keys are random projections of
    them, and h_ij = q_i.k_j / sqrt(dim) as in Kim & Park (2026, arXiv 2606.12478). J, shared by
    all queries, decays with the distance of two keys and changes sign at 5, as a trained one does.

    Args:
        text: at least `length` characters.
        length: keys of each query, the number of spins.
        windows: how many windows, drawn at random places.
        dim: width of embeddings, queries and keys.
        seed: of the windows, embeddings and projections.

    Returns:
        A problem of batch (windows, length) with `length` spins.

    Raises:
        ValueError: the text is shorter than one window, or a number is not positive.
    """
    for name, value in (("length", length), ("windows", windows), ("dim", dim)):
        check.check_count(name, value)
    if len(text) < length:
        raise ValueError(f"a window needs {length} characters; the text has {len(text)}")
    rng = np.random.default_rng(Streams.from_seed(seed).key)
    alphabet, codes = np.unique(list(text), return_inverse=True)
    starts = rng.integers(0, len(text) - length + 1, size=windows)
    tokens = codes[starts[:, None] + np.arange(length)]  # (windows, length)
    embedding = rng.normal(size=(len(alphabet), dim))
    position = rng.normal(size=(length, dim))
    to_query, to_key = rng.normal(size=(2, dim, dim)) / np.sqrt(dim)
    x = (embedding[tokens] + position) / np.sqrt(2)  # (windows, length, dim)
    h = (x @ to_query) @ np.swapaxes(x @ to_key, -1, -2) / np.sqrt(dim)
    return IsingProblem(h, coupling_by_distance(length))


def coupling_by_distance(length: int) -> np.ndarray:
    """J_jk = 0.5 cos(pi d / 10) exp(-d / 5) at distance d = |j - k|: (length, length)."""
    distance = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    coupling: np.ndarray = (
        _COUPLING * np.cos(np.pi * distance / _HALF_PERIOD) * np.exp(-distance / _DECAY)
    )
    np.fill_diagonal(coupling, 0.0)
    return coupling
