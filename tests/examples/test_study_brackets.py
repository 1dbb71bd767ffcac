"""Dyck words are balanced, uniform, and paired as a stack would pair them."""

from collections import Counter
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from boltzmann_study.brackets import (
    CLOSE,
    FILLERS,
    OPEN,
    BracketMatching,
    ballot_table,
    bracket_words,
    dyck_words,
    partners,
)


def catalan(n: int) -> int:
    return comb(2 * n, n) // (n + 1)


def paired_by_stack(word: np.ndarray) -> tuple[list[int], list[int]]:
    """Opening partner of each closing bracket (-1 elsewhere), and the depth of its pair."""
    stack, partner, depth = [], [-1] * len(word), [0] * len(word)
    for at, token in enumerate(word):
        if token == OPEN:
            stack.append(at)
        elif token == CLOSE:
            depth[at] = len(stack)
            partner[at] = stack.pop()
    assert not stack
    return partner, depth


def test_ballot_numbers_count_paths():
    table = ballot_table(12)
    assert [table[2 * n, 0] for n in range(7)] == [catalan(n) for n in range(7)]
    assert table[3, 1] == 2  # down up down, up down down
    assert table[3, 3] == 1
    assert table[3, 2] == 0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_each_dyck_word_is_as_likely_as_any_other(n, rng):
    draws = 20_000
    words = dyck_words(np.full(draws, n), 2 * n + 2, rng)
    counts = Counter(map(tuple, words.tolist()))
    share = 1 / catalan(n)
    assert len(counts) == catalan(n)
    for count in counts.values():
        assert abs(count - draws * share) <= 5 * sqrt(draws * share * (1 - share))


@given(length=st.integers(2, 20), seed=st.integers(0, 2**32))
def test_words_are_balanced_and_paired(length, seed):
    tokens = bracket_words(30, length, np.random.default_rng(seed))
    assert tokens.min() >= 0
    assert tokens.max() < 2 + FILLERS
    partner, depth = partners(tokens)
    for word, found, deep in zip(tokens, partner, depth, strict=True):
        expected, depths = paired_by_stack(word)
        assert 1 <= np.count_nonzero(word == OPEN) <= length // 2
        assert found.tolist() == expected
        assert deep[word == CLOSE].tolist() == np.array(depths)[word == CLOSE].tolist()


def test_places_numbers_and_fillers_are_uniform(rng):
    draws, length = 20_000, 5
    tokens = bracket_words(draws, length, rng)
    brackets = tokens < 2
    pairs = brackets.sum(axis=1) // 2
    for n in (1, 2):
        assert abs((pairs == n).sum() - draws / 2) <= 5 * sqrt(draws / 4)
    single = brackets[pairs == 1]
    places = Counter(map(tuple, single.tolist()))
    share = 1 / comb(length, 2)
    assert len(places) == comb(length, 2)
    for count in places.values():
        assert abs(count - len(single) * share) <= 5 * sqrt(len(single) * share * (1 - share))
    fillers = tokens[~brackets]
    for kind in range(2, 2 + FILLERS):
        expected = len(fillers) / FILLERS
        assert abs((fillers == kind).sum() - expected) <= 5 * sqrt(expected)


def test_questions_are_closing_brackets_and_answers_their_partners():
    task = BracketMatching(9, judged=200)
    for questions in (task.batch(seed=3, step=7, size=50), task.held_out()["words"]):
        for tokens, asked, answer in zip(
            questions.tokens.numpy(), questions.asked, questions.answer, strict=True
        ):
            assert paired_by_stack(tokens)[0][asked] == answer >= 0
    held_out = task.held_out()["words"]
    assert len(held_out) == sum(held_out.labels["distance"] == held_out.asked - held_out.answer)
    assert held_out.labels["depth"].min() == 1


def test_batches_are_a_function_of_seed_and_step():
    task = BracketMatching(8)
    first, again = task.batch(1, 2, 40), task.batch(1, 2, 40)
    assert first.tokens.equal(again.tokens)
    assert first.asked.equal(again.asked)
    assert not first.tokens.equal(task.batch(1, 3, 40).tokens)
    assert not first.tokens.equal(task.batch(2, 2, 40).tokens)


def test_a_word_has_at_least_two_letters():
    with pytest.raises(ValueError, match="at least 2 letters, not 1"):
        BracketMatching(1)
