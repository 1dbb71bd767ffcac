import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
typer = pytest.importorskip("typer")

from typer.testing import CliRunner  # noqa: E402  (needs typer)

from isingsample import Schedule  # noqa: E402

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_anneal.py"


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("train_anneal", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(example: Any, *arguments: str) -> Any:
    app = typer.Typer()
    app.command()(example.main)
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_a_quick_training_beats_the_linear_schedule(example: Any, tmp_path: Path) -> None:
    out = tmp_path / "quick.csv"
    result = run(example, str(out), "--quick")
    assert result.exit_code == 0
    ratios = [float(line.split("│")[-2]) for line in result.output.splitlines() if "0.3" in line]
    assert len(ratios) == 3
    assert min(ratios) > 3
    assert len(out.read_text().splitlines()) == 1 + example.KNOTS
    schedule = Schedule.from_csv(out)
    assert schedule.A(1.0) < 0.1 < schedule.A(0.0) <= 1.0


def test_a_training_goes_on_where_it_stopped(
    example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example, "SAVE_EVERY", 2)
    options = {"spins": 3, "bound": 6.0, "seed": 1}

    def trained(path: Path, steps: int) -> Any:
        curves = example.Curves(monotone=True, counterterms=True)
        example.train(curves, path, steps=steps, **options)
        return curves

    whole = trained(tmp_path / "whole.pt", 6)

    class StoppedError(Exception):
        pass

    def stopping(steps: range, _: str) -> Any:
        yield from steps[:4]
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(example, "track", stopping)
        with pytest.raises(StoppedError):
            trained(tmp_path / "parts.pt", 6)
    parts = trained(tmp_path / "parts.pt", 6)
    for a, b in zip(whole.knots(), parts.knots(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    start = example.Curves(monotone=True, counterterms=True)
    assert all((p != q).any() for p, q in zip(whole.parameters(), start.parameters(), strict=True))
    with pytest.raises(ValueError, match="'steps': 6"):
        trained(tmp_path / "parts.pt", 7)


@pytest.mark.parametrize("monotone", [True, False])
def test_curves_are_what_they_should_be(example: Any, monotone: bool) -> None:
    curves = example.Curves(monotone=monotone, counterterms=False)
    with torch.no_grad():
        for parameter in (curves.A, curves.B):
            parameter += 0.5 * torch.randn(
                len(parameter), generator=torch.Generator().manual_seed(2)
            )
    A, B = (knots.detach().numpy() for knots in curves.knots())
    assert A.max() <= 1
    assert A.min() >= 0
    if monotone:
        assert (np.diff(A) < 0).all()
        assert (np.diff(B) > 0).all()
