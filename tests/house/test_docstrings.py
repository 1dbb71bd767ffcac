"""The examples in docstrings run, and print what the docstrings say."""

import doctest
import importlib
from pathlib import Path

import pytest

from isingsample import MissingExtraError

ROOT = Path(__file__).parents[2]


def modules_with_examples() -> list[str]:
    """Names of the modules of both packages with a line that starts an example."""
    files = [
        p
        for package in ("isingsample", "attention_bridge")
        for p in ROOT.glob(f"{package}/**/*.py")
    ]
    return sorted(
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in files
        if ">>> " in file.read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
        tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
        for test in tests:
            doctest.DebugRunner().run(test)
    except MissingExtraError as error:
        pytest.skip(str(error))
    except doctest.UnexpectedException as unexpected:
        error = unexpected.exc_info[1]
        if isinstance(error, MissingExtraError):
            pytest.skip(str(error))
        raise error from None
    except doctest.DocTestFailure as failure:
        pytest.fail(f"{failure.test.name}: {failure.example.source}printed\n{failure.got}")
    assert tests
