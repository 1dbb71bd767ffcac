"""The split of a text: no window crosses it, and all lengths are judged on the same characters."""

import numpy as np
import pytest

pytest.importorskip("torch")

from boltzmann_study.text import LONGEST, NextCharacter

CODES = "".join(chr(0x4E00 + i % 500) for i in range(40_000))


def text8_like(rng: np.random.Generator) -> str:
    """Lower-case letters and spaces on one line."""
    return "".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz "), size=5000))


def penn_like(rng: np.random.Generator) -> str:
    """Sentences one a line, with <unk> and N for numbers."""
    words = ["the", "<unk>", "N", "company", "'s", "of", "said"]
    return "\n".join(" " + " ".join(rng.choice(words, size=12)) + " " for _ in range(120))


def covered(task: NextCharacter, starts: np.ndarray) -> set[int]:
    """Every character in windows that begin here, answers included."""
    return set((starts[:, None] + np.arange(task.length + 1)).ravel().tolist())


@pytest.mark.parametrize("length", [1, 8, LONGEST])
@pytest.mark.parametrize("last_only", [True, False])
def test_windows_stay_on_their_side_of_the_split(length, last_only):
    task = NextCharacter(CODES, length, last_only=last_only, judged=10**6)
    trained = covered(task, task._train)
    judged = {name: covered(task, targets - length) for name, targets in task._targets.items()}
    assert not trained & judged["blocks"]
    assert not trained & judged["tail"]
    assert not judged["blocks"] & judged["tail"]
    assert 0.75 * len(CODES) < len(trained) <= 0.8 * len(CODES)
    assert min(judged["tail"]) >= 0.9 * len(CODES)


def test_all_lengths_answer_the_same_characters():
    asked = [NextCharacter(CODES, length, judged=300).held_out() for length in (4, 8, 20)]
    for name in ("blocks", "tail"):
        first, *others = (questions[name] for questions in asked)
        for other in others:
            assert first.answer.equal(other.answer)
            assert first.tokens.equal(other.tokens[:, -4:])


@pytest.mark.parametrize("make", [text8_like, penn_like])
@pytest.mark.parametrize("last_only", [True, False])
def test_answers_follow_what_was_seen(make, last_only, rng):
    text = make(rng)
    alphabet = sorted(set(text))
    task = NextCharacter(text, 6, last_only=last_only)
    assert task.num_tokens == len(alphabet)
    for questions in (task.batch(0, 0, 30), *task.held_out().values()):
        for tokens, asked, answer in zip(
            questions.tokens, questions.asked, questions.answer, strict=True
        ):
            seen = "".join(alphabet[code] for code in tokens[: asked + 1])
            assert seen + alphabet[answer] in text
            assert asked == 5 or not last_only


def test_batches_are_a_function_of_seed_and_step():
    task = NextCharacter(CODES, 8)
    first = task.batch(1, 2, 40)
    assert first.tokens.equal(task.batch(1, 2, 40).tokens)
    assert not first.tokens.equal(task.batch(1, 3, 40).tokens)
    assert not first.tokens.equal(task.batch(2, 2, 40).tokens)


@pytest.mark.parametrize(
    ("text", "length", "message"),
    [
        (CODES, 21, "length must be 1 ... 20, not 21"),
        ("to be or not to be", 8, "18 characters; give at least 800"),
        ("".join(chr(200 + i) for i in range(1000)), 8, "1000 different characters"),
    ],
)
def test_what_cannot_be_learned_is_refused(text, length, message):
    with pytest.raises(ValueError, match=message):
        NextCharacter(text, length)
