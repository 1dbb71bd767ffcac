"""One model on one prior: all seeds trained together, and judged on the same questions."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from relevance_study.models import MODELS, Scored, parameters_each
from relevance_study.priors import Draws, Prior, bayes_error, draw

_HELD_OUT_SEED = 2**31  # no training seed is as large
_JUDGED_AT_ONCE = 2000
_FIELDS = ("evidence", "value", "answer")


@dataclass(frozen=True)
class Protocol:
    """How all models are trained: Adam, with a rate that rises and falls (one cycle).

    Attributes:
        steps: optimiser steps.
        batch: questions of each member in each step.
        judged: held-out questions.
        seeds: members of each model, 0 ... seeds - 1; models of one seed see the same questions.
    """

    steps: int
    batch: int = 256
    judged: int = 20000
    seeds: int = 8


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out.

    Attributes:
        errors: mean squared error of each seed on the held-out questions.
        bayes: that of the posterior mean on the same questions.
        parameters: learned numbers of each member.
        J: (seeds, T, T) learned couplings, or None.
    """

    errors: list[float]
    bayes: float
    parameters: int
    J: Tensor | None


def train(
    prior: Prior,
    noise: float,
    mode: str,
    protocol: Protocol,
    watch: Callable[[int], None] = lambda step: None,
) -> Outcome:
    """Train all seeds of a model, and judge them.

    Args:
        prior: which keys are relevant together.
        noise: standard deviation of the evidence.
        mode: one of MODELS.
        protocol: how.
        watch: called after each step with the number of steps done.
    """
    make, rate = MODELS[mode]
    model = make(protocol.seeds, prior.length)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, protocol.steps)
    streams = [torch.Generator().manual_seed(seed) for seed in range(protocol.seeds)]
    for step in range(protocol.steps):
        drawn = [draw(prior, noise, protocol.batch, stream) for stream in streams]
        questions = Draws(*(torch.stack([getattr(d, name) for d in drawn]) for name in _FIELDS))
        # The sum over seeds: no member's gradient depends on another's.
        loss = _squares(model, questions).mean(-1).sum()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
        optimizer.step()
        schedule.step()
        watch(step + 1)
    held_out = draw(prior, noise, protocol.judged, torch.Generator().manual_seed(_HELD_OUT_SEED))
    return Outcome(
        judge(model, held_out, protocol.seeds),
        bayes_error(prior, noise, held_out),
        parameters_each(model, protocol.seeds),
        model.couplings().detach() if isinstance(model, Scored) and model.J is not None else None,
    )


@torch.no_grad()
def judge(model: torch.nn.Module, questions: Draws, seeds: int) -> list[float]:
    """The mean squared error of each member."""
    total = torch.zeros(seeds, dtype=torch.float64)
    for first in range(0, len(questions.answer), _JUDGED_AT_ONCE):
        rows = slice(first, first + _JUDGED_AT_ONCE)
        some = Draws(*(_shared(getattr(questions, name)[rows], seeds) for name in _FIELDS))
        total += _squares(model, some).double().sum(-1)
    return [float(error) for error in total / len(questions.answer)]


def _squares(model: torch.nn.Module, questions: Draws) -> Tensor:
    """Squared errors: (seeds, batch)."""
    found: Tensor = (model(questions.evidence) * questions.value).sum(-1)
    return (found - questions.answer).square()


def _shared(values: Tensor, seeds: int) -> Tensor:
    """The same values for all members: (...) to (seeds, ...)."""
    return values.expand(seeds, *values.shape)
