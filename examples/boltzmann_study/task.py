"""What a model is asked, whatever it learns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

# Uses of random numbers, so that no two share a stream.
INITIAL, BATCH, SAMPLER, SPLIT, HELD_OUT = range(5)


@dataclass(frozen=True, eq=False)
class Questions:
    """Windows of tokens, with one question about each.

    Attributes:
        tokens: (..., T) codes.
        asked: (...) the position that asks; its keys are all positions, or, in a causal task,
            those up to itself.
        answer: (...) the right output.
        labels: further integers (...) by which results are broken down.
    """

    tokens: Tensor
    asked: Tensor
    answer: Tensor
    labels: Mapping[str, Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.answer)

    def part(self, rows: slice) -> "Questions":
        """Some of them, without labels."""
        return Questions(self.tokens[rows], self.asked[rows], self.answer[rows])


class Task(Protocol):
    """What is learned.

    Attributes:
        length: T.
        num_tokens: how many different tokens there are.
        num_outputs: how many answers.
        asking: (token, position) pairs that may ask a question: position * num_tokens + token.
        causal: whether keys after the asking position are removed.
    """

    length: int
    num_tokens: int
    num_outputs: int
    asking: Tensor
    causal: bool

    def batch(self, seed: int, step: int, size: int) -> Questions:
        """Questions to train on; a function of seed and step alone."""
        ...

    def patterns(self, questions: Questions) -> Tensor:
        """Spins (..., T) that the answers suggest: +1 where attention would help, the asking
        position included. A data phase for couplings that learn by matching correlations."""
        ...

    def held_out(self) -> Mapping[str, Questions]:
        """Questions to judge by, the same for all models."""
        ...

    def identity(self) -> Mapping[str, object]:
        """What must be equal for two runs to be about the same task."""
        ...


def generator(*key: int) -> np.random.Generator:
    """A stream of its own for each key, whatever was drawn from others before."""
    return np.random.default_rng(np.random.SeedSequence(key))


def pointing(asked: Tensor, helpful: Tensor) -> Tensor:
    """Spins +1 at the asking position (...) and where helpful (..., T), -1 elsewhere."""
    own = torch.arange(helpful.shape[-1]) == asked[..., None]
    return (own | helpful).to(torch.int8) * 2 - 1


def stacked(questions: list[Questions]) -> Questions:
    """Questions of several seeds with a leading axis for the seeds."""
    return Questions(
        torch.stack([q.tokens for q in questions]),
        torch.stack([q.asked for q in questions]),
        torch.stack([q.answer for q in questions]),
    )
