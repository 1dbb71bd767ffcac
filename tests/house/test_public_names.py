"""The front door: what `isingsample` offers is documented, listed and has a docstring."""

import inspect
import re
from pathlib import Path

import pytest

import isingsample

API = Path(__file__).parents[2] / "docs" / "api.md"


@pytest.mark.parametrize("name", isingsample.__all__)
def test_each_name_has_a_docstring_and_is_listed(name: str) -> None:
    assert inspect.getdoc(getattr(isingsample, name))
    assert name in dir(isingsample)
    assert re.search(rf"\b{name}\b", str(isingsample.__doc__)), f"the package does not list {name}"


@pytest.mark.parametrize("name", [n for n in isingsample.__all__ if n != "errors"])
def test_each_name_is_on_the_api_page(name: str) -> None:
    assert re.search(rf"^\.\. auto\w+:: (isingsample\.)?{name}$", API.read_text("utf-8"), re.M)


def test_nothing_internal_is_on_the_api_page() -> None:
    named = re.findall(r"^\.\. auto\w+:: (\S+)$", API.read_text("utf-8"), re.M)
    assert [name for name in named if re.search(r"(^|\.)_", name)] == []
