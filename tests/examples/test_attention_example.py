import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLE = Path(__file__).parents[2] / "examples" / "attention_layer.py"
TEXT = "to be or not to be, that is the question. " * 20


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("attention_layer", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("mode", ["h+J", "h", "J", "softmax"])
def test_the_loss_falls(example, mode):
    lines = []
    losses = example.train(TEXT, mode=mode, steps=60, report=lines.append)
    assert len(losses) == 60
    assert len(lines) == 3
    assert sum(losses[-10:]) < 0.7 * sum(losses[:10])


@pytest.mark.parametrize(
    "options",
    [
        {"sampler": "exact", "reads": 100, "gradient": "correlation"},
        {"sampler": "sa", "reads": 20},
        {"sampler": "dimod", "reads": 20},
        {"sampler": "dqa", "reads": 50, "gradient": "straight_through"},
    ],
    ids=lambda options: options["sampler"],
)
def test_any_sampler_trains(example, options):
    from isingsample import list_samplers

    if not list_samplers()[options["sampler"]].available:
        pytest.skip(f"{options['sampler']} is not installed")
    losses = example.train(TEXT, length=4, steps=12, batch=4, report=lambda line: None, **options)
    assert sum(losses[-4:]) < sum(losses[:4])


def test_one_seed_one_training(example):
    options = {"sampler": "exact", "reads": 10, "gradient": "correlation", "steps": 5}
    assert example.train(TEXT, **options) == example.train(TEXT, **options)
    assert example.train(TEXT, **options) != example.train(TEXT, seed=1, **options)


def test_command_line(example, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    example.main(["--text", str(path), "--length", "6", "--steps", "40"])
    *_, step, final = capsys.readouterr().out.splitlines()
    assert step.startswith("step   40  loss ")
    first, last = (float(number) for number in final.split()[2::2])
    assert final.startswith("loss: first")
    assert last < first


def test_a_text_that_is_too_short_is_refused(example):
    with pytest.raises(ValueError, match="8 characters; a window needs 8 and one"):
        example.train("to be or", length=8)
