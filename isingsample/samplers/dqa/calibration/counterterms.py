r"""What fields and couplings do to each other in an anneal, and how to take it back beforehand.

To second order in weak problems the logarithm of an anneal's outcome probabilities has, beside
beta_h h_j s_j and beta_J J_jk s_j s_k, two terms that Boltzmann's does not have: fields that
reach a neighbour and pairs of couplings that reach its neighbour,

.. math::

    c_{hJ} \beta_h \beta_J \sum_{j \ne k} J_{jk} h_k \, s_j, \qquad
    c_{JJ} \beta_J^2 \sum_{j < k} (J^2)_{jk} \, s_j s_k .

So the anneal of h - c_hJ J h and J - c_JJ J^2 (its diagonal left out) is Boltzmann to second order.
Numbers that are not those of weak problems can serve stronger ones better.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import like, namespace
from isingsample._core.blocks import Block
from isingsample.samplers.dqa.anneal import Anneal


class Counterterms(NamedTuple):
    """What is taken from fields and couplings at beta = 1; plain numbers.

    Attributes:
        h: how much of J h from h.
        J: how much of J^2 from J.
    """

    h: float
    J: float


CountertermsLike: TypeAlias = str | Sequence[float] | None


def counterterms_of(given: CountertermsLike, anneal: Anneal) -> Counterterms | None:
    """Those of an anneal by name, from a pair of numbers, or none.

    Raises:
        TypeError: given is none of these.
        ValueError: no counterterms have this name, a number is not finite, or the anneal has no
            temperature to divide by.
    """
    if given is None:
        return None
    if isinstance(given, str):
        check.check_choice("counterterms", given, ["analytic"])
        anneal.check_calibration("circuit", "hJ")
        return second_order(anneal)
    if isinstance(given, Sequence) and len(given) == 2:
        return Counterterms(
            *(check.check_number(f"counterterms[{i}]", x) for i, x in enumerate(given))
        )
    raise TypeError(f"counterterms must be 'analytic', a pair of numbers or None, not {given!r}")


def second_order(anneal: Anneal) -> Counterterms:
    r"""c_hJ and c_JJ of a circuit, exactly.

    Seen from the end, the driver turns Z by the angle 2 Phi about X. On the uniform superposition,
    the first of two products of spins finds each of its k spins at the phase exp(-2i Phi); the
    second one finds those they share turned back, exp(+2i Phi), and the others as the first did:

    .. math::

        c_{ab} \beta_a \beta_b = 2 \operatorname{Re} \Big[ g_a g_b - \int B \int^t B' \big(
            e^{-2i(b \Phi' + (a - 2) \Phi)} + e^{-2i(a \Phi' + (b - 2) \Phi)} \big) \Big], \qquad
        g_k = \int B e^{-2ik \Phi},

    for products of a and b spins that share one. Integrals are sums over the circuit's steps.
    """
    strength, turned = -0.5 * anneal.problem_angles, -0.5 * anneal.driver_angles
    remaining = np.cumsum(turned[::-1])[::-1]

    def phased(order: int) -> np.ndarray:
        found: np.ndarray = strength * np.exp(-2j * order * remaining)
        return found

    def one_after_other(first: int, second: int) -> complex:
        earlier = phased(first)
        before = np.cumsum(earlier) - 0.5 * earlier
        return complex((phased(second - 2) * before).sum())

    def coefficient(a: int, b: int) -> float:
        g_a, g_b = complex(phased(a).sum()), complex(phased(b).sum())
        both = g_a * g_b - one_after_other(a, b) - one_after_other(b, a)
        return 2 * both.real / (4 * g_a.imag * g_b.imag)

    return Counterterms(coefficient(1, 2), coefficient(2, 2))


def with_counterterms(block: Block, beta: Any, terms: Counterterms | None) -> Block:
    """A block whose anneal comes nearer to the given block's Boltzmann distribution at beta."""
    if terms is None:
        return block
    xp = namespace(block.h)
    others = like(1.0 - np.eye(block.num_spins), block.J)
    with np.errstate(over="ignore", invalid="ignore"):  # refused once they are scaled
        h = block.h - terms.h * beta * xp.matmul(block.h, block.J)
        J = block.J - terms.J * beta * others * xp.matmul(block.J, block.J)
    return replace(block, h=h, J=J)
