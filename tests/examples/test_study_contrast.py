"""Two phases of sampling give the gradients that autograd gives through the exact sampler."""

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_bridge import symmetrised
from boltzmann_study.brackets import BracketMatching
from boltzmann_study.contrast import contrast_weights
from boltzmann_study.modes import arms
from boltzmann_study.text import NextCharacter
from isingsample import Exact, IsingProblem, MeanField

MEMBERS, QUESTIONS = 2, 3


@st.composite
def problems(draw):
    """h, J and perhaps a mask, of some members and questions."""
    length = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    h = torch.from_numpy(rng.normal(size=(MEMBERS, QUESTIONS, length)))
    J = symmetrised(torch.from_numpy(rng.normal(size=(MEMBERS, length, length))))
    present = None
    if draw(st.booleans()):
        present = torch.from_numpy(rng.random((MEMBERS, QUESTIONS, length)) < 0.7)
    patterns = torch.from_numpy(rng.choice([-1, 1], size=h.shape))
    target = torch.from_numpy(rng.normal(size=h.shape))
    return h.requires_grad_(), J.requires_grad_(), present, patterns, target


@given(case=problems())
def test_a_small_nudge_gives_the_gradient_of_the_loss(case):
    h, J, present, patterns, target = case

    def gradients(up):
        loss = (up * target).sin().sum()
        return torch.autograd.grad(loss, (h, J))

    problem = IsingProblem(h, J[:, None], None, present)
    expected = gradients(Exact().sample(problem).probability)
    options = {"sampler": Exact(), "kind": "nudged", "seed": 0, "strength": 1e-4}
    found = gradients(contrast_weights(h, J, present, patterns, **options))
    torch.testing.assert_close(found[0], expected[0], rtol=1e-6, atol=1e-7)
    # Autograd hands each entry of J what its place in the sums calls for; together they are the
    # derivative by a symmetric J.
    torch.testing.assert_close(found[1], symmetrised(expected[1]), rtol=1e-6, atol=1e-7)


@given(case=problems())
def test_matching_climbs_the_likelihood_of_the_patterns(case):
    h, J, present, patterns, target = case
    problem = IsingProblem(h, J[:, None], None, present)
    spins = (patterns if present is None else patterns * present).double()
    energy = -(h * spins).sum(-1) - torch.einsum("mqj,mjk,mqk->mq", spins, J, spins) / 2
    unlikelihood = energy + Exact().sample(problem).log_partition
    expected = torch.autograd.grad(unlikelihood.mean(1).sum(), (h, J))
    options = {"sampler": Exact(), "kind": "matched", "seed": 0}
    up = contrast_weights(h, J, present, patterns, **options)
    found = torch.autograd.grad((up * target).sum(), (h, J))
    torch.testing.assert_close(found[0], expected[0])
    torch.testing.assert_close(found[1], symmetrised(expected[1]))


@given(case=problems())
def test_a_borrowed_gradient_is_that_of_the_exact_solver(case):
    h, J, present, patterns, target = case
    problem = IsingProblem(h, J[:, None], None, present)
    expected = Exact().sample(problem).probability
    options = {"sampler": MeanField(), "kind": "borrowed", "seed": 0}
    up = contrast_weights(h, J, present, patterns, **options)
    torch.testing.assert_close(up, MeanField().sample(problem).probability)
    found = torch.autograd.grad((up * target).sum(), (h, J))
    torch.testing.assert_close(found, torch.autograd.grad((expected * target).sum(), (h, J)))


def test_no_loss_no_nudge():
    h = torch.zeros(1, 2, 3, dtype=torch.float64, requires_grad=True)
    J = torch.zeros(1, 3, 3, dtype=torch.float64, requires_grad=True)
    up = contrast_weights(h, J, None, torch.ones(1, 2, 3), sampler=Exact(), kind="nudged", seed=0)
    for gradient in torch.autograd.grad((0 * up).sum(), (h, J)):
        assert gradient.eq(0).all()


def test_patterns_point_at_the_answer():
    brackets = BracketMatching(7)
    questions = brackets.batch(0, 0, 20)
    patterns = brackets.patterns(questions)
    rows = torch.arange(20)
    assert patterns.eq(1).sum(-1).eq(2).all()
    assert patterns[rows, questions.asked].eq(1).all()
    assert patterns[rows, questions.answer].eq(1).all()
    text = NextCharacter("to be or not to be, that is the question. " * 40, 5)
    questions = text.batch(0, 0, 20)
    same = questions.tokens == questions.answer[:, None]
    assert text.patterns(questions)[:, :-1].eq(1).equal(same[:, :-1])
    assert text.patterns(questions)[:, -1].eq(1).all()


def test_three_body_couplings_are_not_for_it():
    with pytest.raises(
        ValueError, match="'nudged' does not learn the three-body couplings of 'h\\+K'"
    ):
        arms(["h+K"], ["nudged"], 10)
