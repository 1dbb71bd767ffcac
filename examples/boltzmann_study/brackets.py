"""Bracket matching: which bracket does this one close?"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from boltzmann_study.task import BATCH, HELD_OUT, Questions, generator, pointing

OPEN, CLOSE = 0, 1
FILLERS = 4  # kinds of filler: tokens 2 ... 5


def ballot_table(steps: int) -> np.ndarray:
    """How many paths of r steps of +-1 lead from height k to 0 without going below: [r, k].

    Row r, column 0 is the Catalan number of r/2 for even r (Feller, vol. 1, ch. III).
    """
    table = np.zeros((steps + 1, steps + 2))
    table[0, 0] = 1
    for r in range(1, steps + 1):
        table[r, :-1] = table[r - 1, 1:]
        table[r, 1:] += table[r - 1, :-1]
    return table


def dyck_words(pairs: np.ndarray, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Balanced words, each uniform among the Catalan(n) words with its number n of pairs.

    Letter by letter: with r letters to come and k brackets open, the next one opens with the
    share of the completions that begin so.

    Args:
        pairs: (words,) n of each, with 2 n <= steps.
        steps: width of the result.
        rng: supplies steps numbers for each word.

    Returns:
        (words, steps) of +1 (opens), -1 (closes) and 0 after the word's end.
    """
    table = ballot_table(steps)
    uniforms = rng.random((len(pairs), steps))
    words = np.zeros((len(pairs), steps), dtype=np.int64)
    height = np.zeros(len(pairs), dtype=np.int64)
    for at in range(steps):
        left = 2 * pairs - at  # letters to come, this one included
        on = left > 0
        after = np.where(on, left - 1, 0)
        ways = table[np.where(on, left, 0), height]
        opens = uniforms[:, at] * ways < table[after, height + 1]
        words[:, at] = np.where(on, np.where(opens, 1, -1), 0)
        height += words[:, at]
    return words


def bracket_words(size: int, length: int, rng: np.random.Generator) -> np.ndarray:
    """Dyck-1 words with random fillers: (size, length) tokens.

    The number of pairs is uniform on 1 ... length // 2; the word is uniform among the Dyck words
    with as many, its places uniform among the positions, and each filler uniform on FILLERS kinds.
    """
    pairs = rng.integers(1, length // 2 + 1, size=size)
    steps = length - length % 2
    letters = dyck_words(pairs, steps, rng)
    # The first 2 n of a random order of the positions, sorted, are the places of the letters.
    order = rng.random((size, length)).argsort(axis=1)
    is_place = np.zeros((size, length), dtype=bool)
    np.put_along_axis(is_place, order, np.arange(length) < 2 * pairs[:, None], axis=1)
    tokens = rng.integers(2, 2 + FILLERS, size=(size, length))
    tokens[is_place] = np.where(letters[letters != 0] == 1, OPEN, CLOSE)
    return tokens


def partners(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each closing bracket the position of its opening one, -1 elsewhere; and its depth.

    Returns:
        (words, length) positions, and how many brackets are open around each position's bracket,
        itself included (outermost pairs have depth 1).
    """
    words, length = tokens.shape
    letter = (tokens == OPEN).astype(np.int64) - (tokens == CLOSE)
    height = letter.cumsum(axis=1)
    depth = np.where(tokens == CLOSE, height + 1, height)
    opened = np.full((words, length // 2 + 2), -1)  # by depth, where the latest bracket opened
    partner = np.full((words, length), -1)
    rows = np.arange(words)
    for at in range(length):
        opens, closes = rows[tokens[:, at] == OPEN], rows[tokens[:, at] == CLOSE]
        opened[opens, depth[opens, at]] = at
        partner[closes, at] = opened[closes, depth[closes, at]]
    return partner, depth


class BracketMatching:
    """Each closing bracket of a word points to the opening one.

    Training asks for one random closing bracket of each fresh word; judging, for all of those of
    fixed words from a stream of their own. At small lengths there are few words, and these have
    been seen in training.

    Args:
        length: T, the letters of a word, at least 2.
        causal: a bracket sees itself and what is before; else the whole word, so that every
            problem has T spins.
        judged: words to judge by.

    Raises:
        ValueError: a length below 2.
    """

    def __init__(self, length: int, *, causal: bool = False, judged: int = 4000) -> None:
        if length < 2:
            raise ValueError(f"a bracket word has at least 2 letters, not {length}")
        self.length, self.num_tokens, self.num_outputs = length, 2 + FILLERS, length
        self.causal = causal
        self.asking = torch.arange(length) * self.num_tokens + CLOSE
        self._judged = judged

    def batch(self, seed: int, step: int, size: int) -> Questions:
        """Fresh words, with a random closing bracket of each."""
        rng = generator(BATCH, seed, step)
        tokens = bracket_words(size, self.length, rng)
        partner, _ = partners(tokens)
        asked = np.where(partner >= 0, rng.random(partner.shape), -1.0).argmax(axis=1)
        answer = np.take_along_axis(partner, asked[:, None], axis=1)[:, 0]
        return _questions(tokens, asked, answer)

    def patterns(self, questions: Questions) -> Tensor:
        """+1 at the bracket and its partner."""
        places = torch.arange(self.length)
        return pointing(questions.asked, places == questions.answer[..., None])

    def held_out(self) -> Mapping[str, Questions]:
        """Part "words": all closing brackets, by depth and by distance."""
        tokens = bracket_words(self._judged, self.length, generator(HELD_OUT, self.length))
        partner, depth = partners(tokens)
        word, asked = np.nonzero(partner >= 0)
        answer = partner[word, asked]
        labels = {"depth": depth[word, asked], "distance": asked - answer}
        return {"words": _questions(tokens[word], asked, answer, labels)}

    def identity(self) -> Mapping[str, object]:
        """The options."""
        return {"causal": self.causal, "judged": self._judged}


def _questions(
    tokens: np.ndarray,
    asked: np.ndarray,
    answer: np.ndarray,
    labels: Mapping[str, np.ndarray] | None = None,
) -> Questions:
    as_tensors = {name: torch.from_numpy(values) for name, values in (labels or {}).items()}
    return Questions(
        torch.from_numpy(tokens), torch.from_numpy(asked), torch.from_numpy(answer), as_tensors
    )
