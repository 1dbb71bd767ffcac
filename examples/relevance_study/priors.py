r"""Problems in which the relevance of keys is correlated, and their Bayes error.

Each of T keys is relevant (r_j = +1) or not (-1), by an Ising prior with couplings J* (and K*), of
which draws without any relevant key are thrown away. Key j shows evidence
e_j = r_j + noise * normal and a value v_j ~ normal. The answer to be found is the mean value of
the relevant keys.

The posterior of r is the Ising model with fields :math:`h_j = e_j / noise^2` and couplings J* at
:math:`\beta = 1`, again without the state of no relevant key: the fields depend on each key alone,
and the couplings are the prior's. The missing state multiplies all P(r_j = +1) by the same factor,
which normalising takes out. So the weights of Boltzmann attention can be the posterior
probabilities that the keys are relevant, but for a factor; those of an attention that weighs each
key by itself cannot.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

_LARGEST = 14  # keys of a table of all states
_CHUNK = 2**22  # entries of a table of posteriors at a time


@dataclass(frozen=True, eq=False)
class Prior:
    """Which keys are relevant together.

    Attributes:
        name: on the command line.
        summary: one line.
        J: (T, T) couplings of the prior.
        K: (T, T, T) three-body couplings; 0 for most priors.
    """

    name: str
    summary: str
    J: np.ndarray
    K: np.ndarray

    @property
    def length(self) -> int:
        """T."""
        return len(self.J)

    @cached_property
    def states(self) -> Tensor:
        """All states of relevance: (2**T, T) of -1 and +1."""
        bits = torch.arange(2**self.length)[:, None] >> torch.arange(self.length) & 1
        return bits.float() * 2 - 1

    @cached_property
    def log_weights(self) -> Tensor:
        """The logarithm of the prior of every state, up to a constant: (2**T,).

        It is minus infinity for the first one, in which no key is relevant.
        """
        states = self.states.double()
        J, K = torch.from_numpy(self.J), torch.from_numpy(self.K)
        pairs = 0.5 * ((states @ J) * states).sum(-1)
        triples = torch.einsum("xi,xj,xk,ijk->x", states, states, states, K) / 6
        logs: Tensor = pairs + triples
        logs[0] = -math.inf
        return logs


@dataclass(frozen=True, eq=False)
class Draws:
    """Questions with their answers.

    Attributes:
        evidence: (..., T).
        value: (..., T).
        answer: (...).
    """

    evidence: Tensor
    value: Tensor
    answer: Tensor


def draw(prior: Prior, noise: float, size: int, generator: torch.Generator) -> Draws:
    """Questions from a prior, (size, T)."""
    states, weights = prior.states, torch.softmax(prior.log_weights, 0)
    chosen = torch.multinomial(weights, size, replacement=True, generator=generator)
    relevant = states[chosen]
    evidence = relevant + noise * torch.randn(relevant.shape, generator=generator)
    value = torch.randn(relevant.shape, generator=generator)
    share = 0.5 * (relevant + 1)
    answer = (share * value).sum(-1) / share.sum(-1)
    return Draws(evidence, value, answer)


def bayes_error(prior: Prior, noise: float, questions: Draws) -> float:
    """The mean squared error of the posterior mean of the answer, by enumeration."""
    states = prior.states.double()
    share = 0.5 * (states + 1)
    # (2**T, T): the answer's weights; the first state has none, and no probability either.
    share = share / share.sum(-1, keepdim=True).clamp(min=1)
    known, total = prior.log_weights, 0.0
    step = max(1, _CHUNK // len(states))
    for first in range(0, len(questions.answer), step):
        rows = slice(first, first + step)
        logs = known + questions.evidence[rows].double() @ states.T / noise**2
        weights = torch.softmax(logs, -1) @ share  # (rows, T)
        best = (weights * questions.value[rows]).sum(-1)
        total += float((best - questions.answer[rows]).square().sum())
    return total / len(questions.answer)


def priors(length: int) -> Mapping[str, Prior]:
    """The priors of the study for T keys, by name.

    Raises:
        ValueError: length is not from 4 to 14.
    """
    if not 4 <= length <= _LARGEST:
        raise ValueError(f"length must be from 4 to {_LARGEST} keys, not {length}")
    neighbours = [(j, j + 1) for j in range(length - 1)]
    mirrors = [(j, length - 1 - j) for j in range(length // 2)]
    half = length // 2
    blocks = [
        (j, k)
        for start, stop in ((0, half), (half, length))
        for j in range(start, stop)
        for k in range(j + 1, stop)
    ]
    everybody = [(j, k) for j in range(length) for k in range(j + 1, length)]
    flat = np.zeros((length,) * 3)
    built = (
        Prior("none", "independent relevance: the control", _pairs(length, [], 0.0), flat),
        Prior("chain", "neighbours are relevant together", _pairs(length, neighbours, 0.8), flat),
        Prior("pairs", "each key with its mirror image", _pairs(length, mirrors, 1.5), flat),
        Prior("exclusion", "neighbours exclude each other", _pairs(length, neighbours, -0.8), flat),
        Prior("blocks", "two halves, each all or nothing", _pairs(length, blocks, 0.4), flat),
        Prior("half", "nearly half of the keys", _pairs(length, everybody, -0.5), flat),
        Prior(
            "triples",
            "parity of three neighbours",
            _pairs(length, [], 0.0),
            _triples(length, [(j, j + 1, j + 2) for j in range(0, length - 2, 2)], 1.0),
        ),
    )
    return {prior.name: prior for prior in built}


def _pairs(length: int, pairs: list[tuple[int, int]], strength: float) -> np.ndarray:
    J = np.zeros((length, length))
    for j, k in pairs:
        J[j, k] = J[k, j] = strength
    return J


def _triples(length: int, triples: list[tuple[int, int, int]], strength: float) -> np.ndarray:
    K = np.zeros((length,) * 3)
    for i, j, k in triples:
        for order in ((i, j, k), (i, k, j), (j, i, k), (j, k, i), (k, i, j), (k, j, i)):
            K[order] = strength
    return K
