"""A run that is killed and started again is the run that was not."""

import itertools
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from boltzmann_study.modes import arms
from boltzmann_study.samplers import Setting
from boltzmann_study.text import NextCharacter
from boltzmann_study.training import Outcome, Protocol, Run, train
from isingsample import Exact

TEXT = "to be or not to be, that is the question. " * 40
EXAMPLES = Path(__file__).parents[2] / "examples"


def small_run(*, steps: int = 24, rate: float = 1e-2) -> Run:
    """With samples, whose seeds matter."""
    drawn = Setting("drawn", Exact(num_reads=4), "correlation")
    built = arms(["softmax", "h+J", "h+J+K"], ["exact"], 1)
    built += tuple(replace(arm, sampler=drawn) for arm in built if not arm.mode.closed)
    task = NextCharacter(TEXT, 3, judged=40)
    return Run("T03", task, built, 2, True, Protocol(steps, 4, rate))


@pytest.fixture(scope="module")
def uninterrupted() -> Outcome:
    return train(small_run(), None)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def assert_same(outcome: Outcome, other: Outcome) -> None:
    assert outcome.records == other.records
    theirs = other.ensemble.state_dict()
    for name, tensor in outcome.ensemble.state_dict().items():
        assert tensor.equal(theirs[name]), name


class KilledError(Exception):
    pass


@pytest.mark.parametrize("save_seconds", [0.0, 0.05, 1e9], ids=["each step", "some", "none"])
def test_a_stopped_run_goes_on(uninterrupted, tmp_path, save_seconds):
    path = tmp_path / "T03.pt"

    def stop(done, losses):
        if done in stops:
            stops.remove(done)
            raise KilledError

    stops = {5, 11, 19}
    while stops:
        with pytest.raises(KilledError):
            train(small_run(), path, stop, save_seconds=save_seconds)
    assert_same(train(small_run(), path, save_seconds=save_seconds), uninterrupted)
    # A run that has ended is read, not repeated.
    assert_same(train(small_run(), path, lambda *_: pytest.fail("trained again")), uninterrupted)


def test_a_killed_process_goes_on(uninterrupted, tmp_path):
    path = tmp_path / "T03.pt"
    code = (
        "import sys; from test_study_training import *; torch.set_num_threads(1)\n"
        "train(small_run(), Path(sys.argv[1]), save_seconds=0.0, "
        "watch=lambda done, losses: time.sleep(0.1 * (done > 8)))"
    )
    here = os.pathsep.join([str(Path(__file__).parent), str(EXAMPLES)])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, *filter(None, sys.path)])}
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], env=environment)
    try:
        while not path.is_file() or torch.load(path, weights_only=True)["done"] < 6:
            assert process.poll() is None, "ended before it could be killed"
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert torch.load(path, weights_only=True)["done"] < 24
    assert_same(train(small_run(), path), uninterrupted)


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "T03.pt"
    train(small_run(steps=2), path)
    with pytest.raises(ValueError, match="another rate; choose another folder"):
        train(small_run(steps=2, rate=2e-2), path)


@pytest.mark.parametrize("share", [0.0, 0.5], ids=["empty", "half"])
def test_a_damaged_checkpoint_is_told(tmp_path, share):
    path = tmp_path / "T03.pt"
    train(small_run(steps=1), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"T03\.pt is damaged; delete it, or pass --restart"):
        train(small_run(steps=1), path)


def test_an_interrupted_write_leaves_the_last_checkpoint(uninterrupted, tmp_path, monkeypatch):
    path = tmp_path / "T03.pt"

    def stop(done, losses):
        if done == 7:
            monkeypatch.setattr(torch, "save", half_a_file)

    def half_a_file(state, file):
        file.write(b"half")
        raise KilledError

    with pytest.raises(KilledError):
        train(small_run(), path, stop, save_seconds=0.0)
    monkeypatch.undo()
    assert torch.load(path, weights_only=True)["done"] == 7
    assert_same(train(small_run(), path), uninterrupted)


def test_rates_rise_and_fall():
    protocol = Protocol(steps=100, batch=1, rate=2.0)
    rates = [protocol.rate_at(step) for step in range(100)]
    assert rates[:10] == pytest.approx([0.2 * (step + 1) for step in range(10)])
    assert rates[10] == 2.0
    assert all(a > b for a, b in itertools.pairwise(rates[10:]))
    assert 0 < rates[-1] < 1e-3


def test_members_learn():
    run = small_run(steps=60)
    losses = []
    train(run, None, lambda done, each: losses.append(each))
    assert (losses[-1] < 0.8 * losses[0]).all()
