"""The next character of a text, from the T characters before it."""

import hashlib
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from boltzmann_study.task import BATCH, HELD_OUT, SPLIT, Questions, generator, pointing

LONGEST = 20  # lengths up to this are judged on the same characters
_BLOCK, _FEWEST_BLOCKS = 1000, 20
_MOST_CHARACTERS = 512


class NextCharacter:
    """Next-character prediction, on one split of a text that all lengths and seeds share.

    The last tenth of the text is held out ("tail"), and of the rest a random ninth of its blocks
    of 1000 characters ("blocks"), so that four fifths are left to train on. No window reaches
    across a border. The characters asked for in held-out text are the same at each length.

    Args:
        text: at least some thousand characters.
        length: T, up to 20.
        last_only: ask at the last position alone, which attends to all T; else at any position,
            which attends to itself and those before.
        judged: about how many characters of each held-out part are asked for.

    Raises:
        ValueError: a text that is too short or has too many different characters, or a length
            out of range.
    """

    def __init__(
        self, text: str, length: int, *, last_only: bool = True, judged: int = 20_000
    ) -> None:
        alphabet = sorted(set(text))
        if not 1 <= length <= LONGEST:
            raise ValueError(f"length must be 1 ... {LONGEST}, not {length}")
        if len(text) < 2 * _FEWEST_BLOCKS * LONGEST:
            raise ValueError(
                f"the text has {len(text)} characters; give at least {2 * _FEWEST_BLOCKS * LONGEST}"
            )
        if len(alphabet) > _MOST_CHARACTERS:
            raise ValueError(
                f"the text has {len(alphabet)} different characters, more than "
                f"{_MOST_CHARACTERS}: the model reads characters, not words"
            )
        self.length, self.num_tokens, self.num_outputs = length, len(alphabet), len(alphabet)
        self.causal = not last_only
        first = (length - 1) * self.num_tokens if last_only else 0
        self.asking = torch.arange(first, length * self.num_tokens)
        self._identity = {
            "text": hashlib.sha256(text.encode()).hexdigest()[:16],
            "last_only": last_only,
            "judged": judged,
        }
        code = {character: number for number, character in enumerate(alphabet)}
        self._codes = torch.tensor([code[character] for character in text])
        self._judged = judged
        starts, blocks, tail = _split(len(text))
        self._train = np.concatenate([np.arange(a, b - length) for a, b in starts])
        self._targets = {
            name: np.concatenate([np.arange(a + LONGEST, b) for a, b in parts])
            for name, parts in (("blocks", blocks), ("tail", tail))
        }

    def batch(self, seed: int, step: int, size: int) -> Questions:
        """Random windows of the training part."""
        draw = generator(BATCH, seed, step)
        starts = self._train[draw.integers(len(self._train), size=size)]
        if self.causal:
            return self._questions(starts, draw.integers(self.length, size=size))
        return self._questions(starts, np.full(size, self.length - 1))

    def patterns(self, questions: Questions) -> Tensor:
        """+1 where the character is the one to come."""
        return pointing(questions.asked, questions.tokens == questions.answer[..., None])

    def held_out(self) -> Mapping[str, Questions]:
        """Parts "blocks" and "tail": evenly spaced characters of each, at the last position.

        Where all positions learn, also "blocks, all positions" and "tail, all positions", by
        position.
        """
        asked: dict[str, Questions] = {}
        for name, targets in self._targets.items():
            chosen = targets[:: max(1, len(targets) // self._judged)]
            last = np.full(len(chosen), self.length - 1)
            asked[name] = self._questions(chosen - self.length, last)
            if self.causal:
                position = generator(HELD_OUT, self.length).integers(self.length, size=len(chosen))
                asked[f"{name}, all positions"] = self._questions(chosen - position - 1, position)
        return asked

    def identity(self) -> Mapping[str, object]:
        """The text's checksum and the options."""
        return self._identity

    def _questions(self, starts: np.ndarray, asked: np.ndarray) -> Questions:
        at = torch.from_numpy(starts)
        position = torch.from_numpy(asked)
        # What comes after the asking position is of no consequence, and must not be the answer.
        offsets = torch.minimum(torch.arange(self.length), position[:, None])
        tokens = self._codes[at[:, None] + offsets]
        labels = {"position": position} if self.causal else {}
        return Questions(tokens, position, self._codes[at + position + 1], labels)


Spans = list[tuple[int, int]]


def _split(size: int) -> tuple[Spans, Spans, Spans]:
    """Spans to train on, held-out blocks and the held-out tail of a text."""
    head = size - size // 10
    block = min(_BLOCK, head // _FEWEST_BLOCKS)
    spans = [(start, min(start + block, head)) for start in range(0, head, block)]
    chosen = generator(SPLIT).choice(len(spans), size=round(len(spans) / 9), replace=False)
    held_out = sorted(int(number) for number in chosen)
    train: Spans = []
    start = 0
    for number in held_out:
        train.append((start, spans[number][0]))
        start = spans[number][1]
    train.append((start, head))
    usable = [(a, b) for a, b in train if b - a > LONGEST]
    return usable, [spans[number] for number in held_out], [(head, size)]
