"""The protocol, and a training loop that may be killed at any moment.

All randomness is a function of seeds and step numbers, and checkpoints replace each other
atomically, so a run that was killed and started again ends exactly as if it had not been.
"""

import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from boltzmann_study.judging import Record, judge
from boltzmann_study.model import Ensemble
from boltzmann_study.modes import Arm
from boltzmann_study.task import SAMPLER, Questions, Task, generator, stacked

_FORMAT = 1
_JUDGEMENTS = 10  # along the way, on a part of the questions
_CURVE_QUESTIONS = 2000
_SAVE_SECONDS = 30.0


@dataclass(frozen=True)
class Protocol:
    """How all members are trained: Adam, a linear warm-up, then a cosine down to 0.

    Attributes:
        steps: optimiser steps.
        batch: questions of each member in each step.
        rate: the largest learning rate, the same for all parameters.
        warmup: share of the steps in which the rate rises.
        normalize: divide attention weights by their sum.
    """

    steps: int
    batch: int
    rate: float
    warmup: float = 0.1
    normalize: bool = True

    def rate_at(self, step: int) -> float:
        """The learning rate of step 0, 1, ..."""
        rising = max(1, round(self.warmup * self.steps))
        if step < rising:
            return self.rate * (step + 1) / rising
        return self.rate * 0.5 * (1 + math.cos(math.pi * (step - rising) / (self.steps - rising)))


@dataclass(frozen=True)
class Run:
    """All arms and seeds on one task, as one ensemble.

    Attributes:
        name: of its results; also a file name.
        task: what is learned.
        arms: what is compared.
        seeds: 0 ... seeds - 1 in each arm.
        ffn: whether the decoder has a feed-forward network.
        protocol: how it is trained.
    """

    name: str
    task: Task
    arms: tuple[Arm, ...]
    seeds: int
    ffn: bool
    protocol: Protocol

    def ensemble(self) -> Ensemble:
        """Its models, untrained."""
        return Ensemble(
            self.task, self.arms, self.seeds, ffn=self.ffn, normalize=self.protocol.normalize
        )

    def batch(self, step: int) -> Questions:
        """What step 0, 1, ... trains on, with a leading axis of seeds."""
        size = self.protocol.batch
        return stacked([self.task.batch(seed, step, size) for seed in range(self.seeds)])

    def identity(self) -> dict[str, Any]:
        """What decides the outcome; a checkpoint of another run differs in some of it."""
        return {
            "format": _FORMAT,
            "task": type(self.task).__name__,
            "length": self.task.length,
            **self.task.identity(),
            "arms": {arm.name: repr(arm.sampler) for arm in self.arms},
            "seeds": self.seeds,
            "ffn": self.ffn,
            **asdict(self.protocol),
        }


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run left.

    Attributes:
        records: judgements along the way and at the end.
        ensemble: the trained models.
    """

    records: list[Record]
    ensemble: Ensemble


class Trainer:
    """A run on its way: models, optimiser, judgements, and the number of steps done."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ensemble = run.ensemble()
        self.optimizer = torch.optim.Adam(self.ensemble.parameters(), lr=run.protocol.rate)
        self.records: list[Record] = []
        self.done = 0

    def step(self) -> Tensor:
        """One optimiser step; the mean loss of each member, (members,)."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.run.protocol.rate_at(self.done)
        losses, _ = self.ensemble.losses(self.run.batch(self.done), sampling_stream(self.done))
        each = losses.mean(-1)
        self.optimizer.zero_grad()
        torch.autograd.backward(each.sum())
        self.optimizer.step()
        self.done += 1
        return each.detach()

    def judge(self) -> None:
        """Add what the held-out questions say now: all at the end, before that a part of them."""
        last = self.done == self.run.protocol.steps
        for name, questions in self.run.task.held_out().items():
            every = 1 if last else max(1, len(questions) // _CURVE_QUESTIONS)
            self.records += judge(
                self.ensemble,
                questions,
                every=every,
                stream=lambda at: sampling_stream(self.done, at + 1),
                place={
                    "run": self.run.name,
                    "length": self.run.task.length,
                    "step": self.done,
                    "part": name,
                },
            )

    def save(self, path: Path) -> None:
        """Write all of it, in place of the last checkpoint."""
        state = {
            "identity": json.dumps(self.run.identity()),
            "done": self.done,
            "ensemble": self.ensemble.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "records": [asdict(record) for record in self.records],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint, if there is one.

        Raises:
            ValueError: it belongs to another run, or is damaged.
        """
        if not path.is_file():
            return
        try:
            state = torch.load(path, weights_only=True)
        except (RuntimeError, UnpicklingError, EOFError) as error:
            raise ValueError(
                f"{path} is damaged; delete it, or pass --restart to forget all of the folder"
            ) from error
        theirs, ours = json.loads(state["identity"]), json.loads(json.dumps(self.run.identity()))
        if theirs != ours:
            differing = [k for k in {**theirs, **ours} if theirs.get(k) != ours.get(k)]
            raise ValueError(
                f"{path} is from a run with another {', '.join(differing)}; "
                f"choose another folder with --out, or pass --restart"
            )
        self.ensemble.load_state_dict(state["ensemble"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.records = [Record(**record) for record in state["records"]]
        self.done = state["done"]


def train(
    run: Run,
    path: Path | None,
    watch: Callable[[int, Tensor], None] = lambda done, losses: None,
    *,
    save_seconds: float = _SAVE_SECONDS,
) -> Outcome:
    """Train a run, or what is left of it.

    Args:
        run: what to train.
        path: its checkpoint; None keeps none.
        watch: called after each step with the number of steps done and the members' losses.
        save_seconds: least time between two checkpoints.

    Raises:
        ValueError: the checkpoint belongs to another run.
    """
    trainer = Trainer(run)
    if path is not None:
        trainer.load(path)
    steps = run.protocol.steps
    judged = {round(steps * (k + 1) / _JUDGEMENTS) for k in range(_JUDGEMENTS)}
    saved = time.monotonic()
    while trainer.done < steps:
        losses = trainer.step()
        if trainer.done in judged:
            trainer.judge()
        due = time.monotonic() - saved > save_seconds or trainer.done == steps
        if path is not None and due:
            trainer.save(path)
            saved = time.monotonic()
        watch(trainer.done, losses)
    return Outcome(trainer.records, trainer.ensemble)


def sampling_stream(*key: int) -> torch.Generator:
    """What samplers draw their seeds from, of its own for each key."""
    seed = int(generator(SAMPLER, *key).integers(2**63 - 1))
    return torch.Generator().manual_seed(seed)
