"""The worked examples of CONTRIBUTING run, and do what they say."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attention_bridge import _estimators
from isingsample import IsingProblem, formats

ROOT = Path(__file__).parents[2]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to write in, and registries that forget what an example adds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(formats, "READERS", dict(formats.READERS))
    monkeypatch.setattr(_estimators, "RESPONSES", dict(_estimators.RESPONSES))
    return tmp_path


def run(title: str) -> dict[str, Any]:
    """The names that the block after a mark leaves behind."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (code,) = re.findall(rf"<!-- tested: {title} -->\n```python\n(.*?)```", text, re.DOTALL)
    scope: dict[str, Any] = {"__name__": "example"}
    exec(code, scope)
    return scope


def test_a_sampler() -> None:
    sampler = run("a sampler")["Independent"](num_reads=4000)
    problem = IsingProblem([[0.5, -1.0, 0.0]], present=[[True, True, False]])
    result = sampler.sample(problem, beta=0.7, seed=1)
    expected = np.tanh(0.7 * problem.h) * [1, 1, 0]
    assert (np.abs(result.magnetization - expected) <= 5 * result.std_error).all()


def test_a_gradient(here: Path) -> None:
    # P = (1 + m) / 2: a gradient of 1 at P is one of 1/2 at m, which the example hands on.
    gradient = run("a gradient")["h"].grad
    torch.testing.assert_close(gradient, torch.full((4,), 0.5))


def test_a_file_format(here: Path) -> None:
    (here / "fields.txt").write_text("0.5\n-1\n")
    np.testing.assert_array_equal(run("a file format")["problem"].h, [0.5, -1.0])


def test_a_study(here: Path) -> None:
    records = run("a study")["records"]
    assert {record.arm for record in records} == {"softmax", "h+J"}
    assert (here / "study" / "results.csv").exists()


def test_places_that_it_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:isingsample|attention_bridge|examples|tests|docs)/[\w/.]*)`", text)
    assert named
    assert [place for place in named if not (ROOT / place).exists()] == []
