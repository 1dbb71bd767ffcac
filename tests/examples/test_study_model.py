"""An ensemble is the same function as its decoders one by one, written out plainly."""

import math

import pytest

pytest.importorskip("torch")

import torch
from torch.nn.functional import gelu, layer_norm

from attention_bridge import symmetrised
from attention_bridge.gradients import GRADIENTS
from boltzmann_study.brackets import BracketMatching
from boltzmann_study.contrast import CONTRASTS
from boltzmann_study.model import WIDTH, Ensemble
from boltzmann_study.modes import MODES, arms
from boltzmann_study.samplers import SETTINGS, setting
from boltzmann_study.task import Questions, stacked
from boltzmann_study.text import NextCharacter
from boltzmann_study.training import Protocol, Run, Trainer, sampling_stream
from isingsample._core.states import spin_table

TEXT = "to be or not to be, that is the question. " * 40
SEEDS, QUESTIONS = 2, 6


def up_by_enumeration(h, J, K):
    """P(s = +1) of one problem from all its states."""
    states = torch.from_numpy(spin_table(len(h))).to(h)
    energy = -states @ h - torch.einsum("sj,sk,jk->s", states, states, J.triu(1))
    triples = torch.einsum("sj,sk,sl,jkl->s", states, states, states, K) / 6
    return torch.softmax(triples - energy, 0) @ ((states + 1) / 2)


def decoder(weights, couplings, mode, tokens, asked, *, causal, ffn, normalize):
    """Logits of one member for one question."""

    def norm(name, x):
        return weights[f"{name}_gain"] * layer_norm(x, (WIDTH,)) + weights[f"{name}_shift"]

    x = weights["token"][tokens] + weights["position"]
    normed = norm("before_attention", x)
    keys = slice(0, asked + 1 if causal else len(tokens))
    h = (normed[asked] @ weights["query"]) @ (normed[keys] @ weights["key"]).T / math.sqrt(WIDTH)
    h = h if mode.scores else torch.zeros_like(h)
    h = h + couplings["bias"][keys] if mode.bias else h
    if mode.closed == "softmax":
        attention = torch.softmax(h, 0)
    else:
        if mode.self_up:
            h = h.clone()
            h[asked] += 30
        J, K = couplings["J"], couplings["K"]
        J = symmetrised(J)[keys, keys] * (mode.couplings != "none")
        K = symmetrised(K, 3)[keys, keys, keys] * mode.three_body
        up = up_by_enumeration(h, J, K)
        attention = up / up.sum() if normalize else up
    y = x[asked] + attention @ (normed[keys] @ weights["value"]) @ weights["output"]
    if ffn:
        hidden = gelu(norm("before_ffn", y) @ weights["up"] + weights["up_bias"])
        y = y + hidden @ weights["down"] + weights["down_bias"]
    return norm("before_logits", y) @ weights["logits"] + weights["logits_bias"]


TASKS = {
    "text": NextCharacter(TEXT, 4),
    "text, all positions": NextCharacter(TEXT, 4, last_only=False),
    "brackets": BracketMatching(5),
    "brackets, causal": BracketMatching(5, causal=True),
}


@pytest.mark.parametrize(("ffn", "normalize"), [(True, True), (False, True), (True, False)])
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_each_member_is_a_plain_decoder(task, ffn, normalize):
    ensemble = Ensemble(task, arms(["all"], ["exact"], 1), SEEDS, ffn=ffn, normalize=normalize)
    ensemble = ensemble.double()
    torch.manual_seed(0)
    with torch.no_grad():
        for number, parameter in enumerate(ensemble.parameters()):
            parameter += 0.3 * torch.randn(parameter.shape, dtype=torch.float64) + 0.01 * number
        for name in ("J", "K"):  # an arm without couplings must not notice them
            ensemble.couplings[name] += 0.2
    questions = stacked([task.batch(seed, 0, QUESTIONS) for seed in range(SEEDS)])
    logits = ensemble(questions, sampling_stream(0))
    for member, (arm, seed) in enumerate(
        (arm, seed) for arm in ensemble.arms for seed in range(SEEDS)
    ):
        weights = {name: tensor[member] for name, tensor in ensemble.weights.items()}
        couplings = {name: tensor[member] for name, tensor in ensemble.couplings.items()}
        for question in range(QUESTIONS):
            expected = decoder(
                weights,
                couplings,
                arm.mode,
                questions.tokens[seed, question],
                int(questions.asked[seed, question]),
                causal=task.causal,
                ffn=ffn,
                normalize=normalize,
            )
            torch.testing.assert_close(logits[member, question], expected, rtol=1e-9, atol=1e-9)


def trainer(modes, seeds, steps=3):
    built = arms(modes, ["exact"], 1)
    return Trainer(Run("T04", TASKS["text"], built, seeds, True, Protocol(10, 8, 1e-2)))


def test_members_do_not_touch_each_other():
    together, alone = trainer(["all"], SEEDS), trainer(["h+J"], SEEDS)
    for _ in range(3):
        together.step()
        alone.step()
    number = [arm.name for arm in together.run.arms].index("h+J")
    rows = slice(number * SEEDS, (number + 1) * SEEDS)
    for group in ("weights", "couplings"):
        theirs, own = getattr(together.ensemble, group), getattr(alone.ensemble, group)
        for name in own:
            torch.testing.assert_close(theirs[name][rows], own[name], rtol=1e-3, atol=1e-4)


def test_arms_share_initial_weights_and_seeds_do_not():
    ensemble = trainer(["all"], SEEDS).ensemble
    for name, weights in ensemble.weights.items():
        by_arm = weights.detach().unflatten(0, (-1, SEEDS))
        assert by_arm.equal(by_arm[:1].expand_as(by_arm)), name
        if "gain" not in name and "shift" not in name:
            assert not by_arm[0, 0].equal(by_arm[0, 1]), name


def test_only_what_a_mode_learns_changes():
    training = trainer(["all"], SEEDS)
    before = {k: v.clone() for k, v in training.ensemble.couplings.items()}
    for _ in range(2):
        training.step()
    for number, arm in enumerate(training.run.arms):
        if arm.name == "J":
            continue  # its gradient is rounding errors, see below
        rows = slice(number * SEEDS, (number + 1) * SEEDS)
        learns = {
            "J": arm.mode.couplings == "learned",
            "K": arm.mode.three_body,
            "bias": arm.mode.bias,
        }
        for name, expected in learns.items():
            after = training.ensemble.couplings[name][rows]
            moved = (after - before[name][rows]).abs().max() > 1e-5
            assert moved == expected, (arm.name, name)


def test_couplings_alone_give_equal_weights():
    # Flipping all spins leaves E as it is, so every <s> is 0, and so is its derivative by J.
    training = trainer(["J"], 1)
    with torch.no_grad():
        training.ensemble.couplings["J"].normal_()
    questions = stacked([TASKS["text"].batch(0, 0, 4)])
    with_J = training.ensemble(questions, sampling_stream(0))
    with torch.no_grad():
        training.ensemble.couplings["J"].zero_()
    torch.testing.assert_close(with_J, training.ensemble(questions, sampling_stream(0)))


def test_judging_takes_one_set_of_questions_for_all_members():
    ensemble = trainer(["softmax", "h+J"], SEEDS).ensemble
    questions = TASKS["text"].held_out()["blocks"].part(slice(0, 5))
    shared = Questions(questions.tokens[None], questions.asked[None], questions.answer[None])
    losses, right = ensemble.losses(shared, sampling_stream(0))
    assert losses.shape == right.shape == (2 * SEEDS, 5)
    each = ensemble.losses(stacked([questions] * SEEDS), sampling_stream(0))[0]
    torch.testing.assert_close(losses, each)


@pytest.mark.parametrize(
    ("modes", "samplers", "message"),
    [
        (["softmx"], ["exact"], "softmax"),
        (["h+J"], ["exakt"], "exact"),
        ([], ["exact"], "at least one mode"),
    ],
)
def test_unknown_names_are_refused(modes, samplers, message):
    with pytest.raises(ValueError, match=message):
        arms(modes, samplers, 10)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_can_be_trained(name):
    pytest.importorskip("qiskit_aer")
    made = setting(name, 7)
    assert made.gradient in (*GRADIENTS, *CONTRASTS)
    assert made.gradient != "exact" or made.sampler.differentiable
    assert getattr(made.sampler, "num_reads", None) in (None, 7)
    if "shots" in name:
        assert made.sampler.num_reads == 7


def test_arms_of_closed_form_need_one_sampler():
    built = arms(["softmax", "h+J"], ["exact", "mean_field"], 10)
    assert {arm.name for arm in built} == {"softmax", "h+J", "h+J [mean_field]"}
    assert set(MODES) == {arm.name for arm in arms(["all"], ["exact"], 10)}
