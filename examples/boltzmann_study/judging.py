"""What held-out questions say about the members of an ensemble."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from boltzmann_study.model import Ensemble
from boltzmann_study.task import Questions

AT_ONCE = 256  # questions that are judged together


@dataclass(frozen=True)
class Record:
    """One line of the results.

    Attributes:
        run: name of the run.
        length: T.
        step: optimiser steps done.
        part: of the held-out questions.
        arm: name of the arm.
        seed: of the member.
        by: what the questions are broken down by, "" for all together.
        at: the value of it, 0 for all together.
        loss: mean cross-entropy in nats.
        accuracy: share of right answers.
        count: number of questions.
    """

    run: str
    length: int
    step: int
    part: str
    arm: str
    seed: int
    by: str
    at: int
    loss: float
    accuracy: float
    count: int


@torch.no_grad()
def judge(
    ensemble: Ensemble,
    questions: Questions,
    *,
    every: int,
    stream: Callable[[int], torch.Generator],
    place: Mapping[str, Any],
) -> list[Record]:
    """Records of all members: over all questions, and for each value of each label.

    Args:
        ensemble: the models.
        questions: the same for all of them.
        every: use each every-th question.
        stream: draws the samplers' seeds of the batch that begins at this question.
        place: the first fields of each Record.
    """
    chosen = Questions(
        questions.tokens[::every], questions.asked[::every], questions.answer[::every]
    )
    losses, right = [], []
    for start in range(0, len(chosen), AT_ONCE):
        part = chosen.part(slice(start, start + AT_ONCE))
        for_all = Questions(part.tokens[None], part.asked[None], part.answer[None])
        some, correct = ensemble.losses(for_all, stream(start))
        losses.append(some)
        right.append(correct)
    loss, correct = torch.cat(losses, -1).double(), torch.cat(right, -1).double()
    records = _records(ensemble, loss, correct, {**place, "by": "", "at": 0})
    for name, values in questions.labels.items():
        labels = values[::every]
        for value in torch.unique(labels).tolist():
            where = labels == value
            records += _records(
                ensemble, loss[:, where], correct[:, where], {**place, "by": name, "at": value}
            )
    return records


def _records(
    ensemble: Ensemble, loss: Tensor, correct: Tensor, place: Mapping[str, Any]
) -> list[Record]:
    """One for each member, of losses and right answers (members, questions)."""
    means = torch.stack([loss.mean(-1), correct.mean(-1)], -1).tolist()
    members = [(arm.name, seed) for arm in ensemble.arms for seed in range(ensemble.seeds)]
    return [
        Record(arm=arm, seed=seed, loss=nats, accuracy=share, count=loss.shape[1], **place)
        for (arm, seed), (nats, share) in zip(members, means, strict=True)
    ]
