"""Keys whose relevance is correlated: the prior, the Bayes error, and models that reach it."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import correlated_relevance
from boltzmann_study import options
from isingsample import Exact, IsingProblem
from isingsample._core.states import spin_table
from relevance_study.models import MODELS, Scored, parameters_each, symmetric_triples
from relevance_study.priors import Draws, bayes_error, draw, priors
from relevance_study.report import Result, append, load
from relevance_study.training import Protocol, train


def questions(name: str, size: int = 20000, noise: float = 1.0) -> Draws:
    return draw(priors(5)[name], noise, size, torch.Generator().manual_seed(1))


def some_relevant(problem: IsingProblem) -> np.ndarray:
    """P(s) of every state, (..., 2**n), if the state of all -1 is thrown away."""
    table = np.array(Exact().distribution(problem))
    table[..., (spin_table(problem.num_spins) < 0).all(axis=-1)] = 0
    return table / table.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("name", list(priors(5)))
def test_relevance_has_the_correlations_of_the_prior(name: str) -> None:
    # With evidence of hardly any noise, its signs are the relevance.
    prior, size = priors(5)[name], 20000
    relevant = np.sign(questions(name, size, noise=1e-3).evidence.numpy())
    states = spin_table(5)
    weights = some_relevant(IsingProblem(np.zeros(5), prior.J, prior.K))
    expected = states.T @ (weights[:, None] * states)
    error = np.sqrt(np.maximum(1 - expected**2, 0) / size)
    assert (np.abs(relevant.T @ relevant / size - expected) <= 5 * error + 1e-12).all()
    assert (relevant > 0).any(axis=-1).all()


@pytest.mark.parametrize("name", ["pairs", "triples"])
def test_boltzmann_weights_are_the_posterior_but_for_a_factor(name: str) -> None:
    prior, noise = priors(5)[name], 0.8
    some = draw(prior, noise, 20, torch.Generator().manual_seed(2))
    states = prior.states.double()
    logs = prior.log_weights + -0.5 * (
        (some.evidence[:, None].double() - states).square().sum(-1) / noise**2
    )
    posterior = (torch.softmax(logs, -1) @ (0.5 * (states + 1))).numpy()
    problem = IsingProblem(some.evidence.double().numpy() / noise**2, prior.J, prior.K)
    found = Exact().sample(problem).probability
    factor = found / posterior
    np.testing.assert_allclose(factor, np.broadcast_to(factor[:, :1], factor.shape), rtol=1e-10)
    np.testing.assert_allclose(some_relevant(problem) @ (spin_table(5) > 0), posterior, rtol=1e-10)


def test_bayes_error_is_that_of_the_best_answer() -> None:
    # Evidence without noise leaves nothing open; without evidence the prior's mean remains.
    clear, dark = questions("pairs", noise=0.05), questions("pairs", noise=1e3)
    assert bayes_error(priors(5)["pairs"], 0.05, clear) < 1e-6
    spread = float(dark.answer.double().square().mean())
    assert bayes_error(priors(5)["pairs"], 1e3, dark) < spread
    some = questions("pairs")
    wrong = bayes_error(priors(5)["exclusion"], 1.0, some)
    assert bayes_error(priors(5)["pairs"], 1.0, some) < wrong


def test_couplings_close_the_gap_that_independent_weights_leave() -> None:
    protocol = Protocol(steps=300, batch=128, judged=4000, seeds=2)
    found = {mode: train(priors(6)["pairs"], 1.0, mode, protocol) for mode in ("h+bias", "h+J")}
    gaps = {mode: np.array(f.errors) / f.bayes - 1 for mode, f in found.items()}
    assert (gaps["h+J"] < 0.5 * gaps["h+bias"]).all()
    learned = found["h+J"].J
    assert learned is not None
    assert (learned[:, 0, 5] > 2 * learned[:, 0, 1].abs()).all()  # the mirror image, no neighbour


def test_seeds_of_all_models_see_the_same_questions_and_are_repeatable() -> None:
    protocol = Protocol(steps=2, batch=8, judged=50, seeds=2)
    one, other = (train(priors(4)["chain"], 1.0, "h+J", protocol).errors for _ in range(2))
    assert one == other
    alone = train(priors(4)["chain"], 1.0, "h+J", Protocol(2, 8, 50, 1)).errors
    assert alone[0] == pytest.approx(one[0], rel=1e-5)


def test_learned_numbers_are_counted_once() -> None:
    scores = 3 * 16 + 1
    assert parameters_each(Scored("softmax", 3, 6), 3) == scores
    assert parameters_each(Scored("h+J", 3, 6), 3) == scores + math.comb(6, 2)
    assert parameters_each(Scored("h+J+K", 3, 6), 3) == scores + math.comb(6, 2) + math.comb(6, 3)


def test_triples_are_symmetric_and_have_no_repeats() -> None:
    K = symmetric_triples(torch.randn(2, 4, 4, 4))
    torch.testing.assert_close(K, K.permute(0, 2, 1, 3))
    torch.testing.assert_close(K, K.permute(0, 3, 2, 1))
    assert not K[:, 1, 1].any()


@pytest.mark.parametrize("mode", list(MODELS))
def test_weights_are_normalised(mode: str) -> None:
    weights = MODELS[mode][0](2, 5)(torch.randn(2, 3, 5))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))


def test_rows_survive_the_file(tmp_path: Path) -> None:
    rows = [Result("chain", 1.0, 4, "h+J", seed, 10, 8, 55, 0.1 + seed, 0.05) for seed in (0, 1)]
    for row in rows:
        append([row], tmp_path / "results.csv")
    assert load(tmp_path / "results.csv") == rows
    assert rows[0].gap == pytest.approx(100)


def test_command_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(modes: str) -> None:
        arguments = ["--quick", "--length", "4", "--prior", "pairs", "--modes", modes]
        arguments += ["--steps", "3", "--out", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", ["correlated_relevance.py", *arguments])
        with pytest.raises(SystemExit) as ended:
            options.run(correlated_relevance.main)
        assert ended.value.code == 0

    command("softmax")
    first = (tmp_path / "results.csv").read_text()
    command("softmax,h+J")
    both = (tmp_path / "results.csv").read_text()
    assert both.startswith(first)
    assert {row.mode for row in load(tmp_path / "results.csv")} == {"softmax", "h+J"}
    assert (tmp_path / "gaps.png").stat().st_size > 1000
    assert "| Bayes |" in capsys.readouterr().out
