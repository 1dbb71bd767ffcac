"""Intervals of paired differences, and the fit of perplexity by length."""

import math

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("torch")

from boltzmann_study.judging import Record
from boltzmann_study.report import comparison, decays, final, markdown
from boltzmann_study.statistics import (
    ACCURACY,
    PERPLEXITY,
    Estimate,
    by_seed,
    estimate,
    fit_decay,
    paired_gain,
)


def record(arm, seed, *, loss=1.0, accuracy=0.5, length=8, step=10, by="", at=0):
    return Record(f"T{length:02}", length, step, "blocks", arm, seed, by, at, loss, accuracy, 100)


def test_the_interval_is_that_of_a_paired_t_test(rng):
    ours, theirs = rng.normal(5.4, 0.1, size=(2, 8))
    gain = paired_gain(dict(enumerate(ours)), dict(enumerate(theirs)), ACCURACY)
    expected = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (gain.low, gain.high) == pytest.approx((expected.low, expected.high))
    assert gain.mean == pytest.approx(np.mean(ours - theirs))


def test_the_interval_holds_the_truth_as_often_as_it_says(rng):
    trials, truth = 4000, 0.3
    held = 0
    for values in rng.normal(truth, 1.0, size=(trials, 4)):
        interval = estimate(list(values))
        held += interval.low <= truth <= interval.high
    assert abs(held - 0.95 * trials) <= 5 * math.sqrt(trials * 0.95 * 0.05)


def test_one_seed_decides_nothing():
    alone = estimate([1.5])
    assert alone.mean == 1.5
    assert math.isnan(alone.low)
    assert not alone.decided
    assert Estimate(1.0, 0.5, 1.5, 4).decided
    assert not Estimate(1.0, -0.5, 2.5, 4).decided


def test_gains_are_positive_for_better():
    better, worse = record("h+J", 0, loss=1.6, accuracy=0.9), record("softmax", 0, loss=1.7)
    for metric in (PERPLEXITY, ACCURACY):
        assert metric.gain(metric.of(better), metric.of(worse)) > 0
    assert PERPLEXITY.of(worse) == pytest.approx(math.exp(1.7))
    assert PERPLEXITY.gain(5.4, 5.5) == pytest.approx(100 * 0.1 / 5.5)


def test_the_fit_finds_its_own_curve(rng):
    lengths = (4, 6, 8, 10, 12, 16)
    truth = {t: 8.0 * math.exp(-0.29 * t) + 5.44 for t in lengths}
    exact = fit_decay({t: [value, value] for t, value in truth.items()})
    assert (exact.a, exact.b, exact.c) == pytest.approx((8.0, 0.29, 5.44), rel=1e-4)
    noisy = fit_decay({t: list(rng.normal(value, 0.02, 400)) for t, value in truth.items()})
    for value, error, expected in zip(
        (noisy.a, noisy.b, noisy.c), noisy.errors, (8.0, 0.29, 5.44), strict=True
    ):
        assert 0 < error < 0.1 * expected
        assert abs(value - expected) <= 5 * error


def test_three_lengths_are_not_fitted():
    assert fit_decay({4: [8.0], 8: [6.0], 12: [5.5]}) is None


@pytest.mark.parametrize("fall", [0.0, 0.02])
def test_a_curve_that_errors_hide_is_not_fitted(fall, rng):
    lengths = (4, 8, 12, 16)
    values = {t: list(rng.normal(5.5 + fall * math.exp(-0.3 * t), 0.05, 8)) for t in lengths}
    assert fit_decay(values) is None
    records = [
        record("h+J", seed, loss=math.log(value), length=t)
        for t, numbers in values.items()
        for seed, value in enumerate(numbers)
    ]
    assert decays(final(records, "blocks"), PERPLEXITY).endswith("| h+J | not determined |  |  |")


def test_tables():
    records = [
        record(arm, seed, loss=loss + 0.01 * seed, step=step)
        for step in (5, 10)
        for arm, loss in (("h+J [dqa]", 1.7), ("h+J", 1.6), ("h+bias", 1.61), ("softmax", 1.65))
        for seed in range(3)
    ]
    last = final(records, "blocks")
    assert {r.step for r in last} == {10}
    assert list(by_seed(last, PERPLEXITY)) == ["softmax", "h+bias", "h+J", "h+J [dqa]"]
    header, _, softmax, control, ours, annealed = comparison(last, PERPLEXITY).splitlines()
    assert header.count("|") == 7
    assert "softmax, %" in header
    assert "exact sampler" in header
    assert softmax.endswith("|  |  |  |")
    gain = 100 * (1 - math.exp(-0.05))
    assert f"{gain:+.2f} ({gain:+.2f} ... {gain:+.2f}) *" in ours
    assert control.count("*") == 1
    assert annealed.count("*") == 3
    assert decays(last, PERPLEXITY) == ""


def test_fits_of_several_lengths_are_a_table():
    records = [
        record("softmax", seed, loss=math.log(8 * math.exp(-0.3 * t) + 5.5 + 0.01 * seed), length=t)
        for t in (4, 8, 12, 16)
        for seed in range(4)
    ]
    row = decays(final(records, "blocks"), PERPLEXITY).splitlines()[-1]
    b, c = (float(cell.split("±")[0]) for cell in row.split("|")[3:5])
    assert (b, c) == pytest.approx((0.3, 5.515), abs=0.01)


def test_markdown():
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
