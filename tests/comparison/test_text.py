"""Where texts come from."""

import builtins
from pathlib import Path
from typing import Any

import pytest

from isingsample.comparison.text import find_corpus, load_text


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data folder, no cache, no network."""
    pooch = pytest.importorskip("pooch")

    def refuse(*_: Any, **__: Any) -> str:
        raise OSError("no network")

    monkeypatch.delenv("ISINGSAMPLE_DATA", raising=False)
    monkeypatch.setattr(pooch, "retrieve", refuse)


def test_a_named_file_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("some words", encoding="utf-8")
    assert find_corpus(path) == ("some words", str(path))


def test_the_data_folder_comes_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tinyshakespeare.txt").write_text("First Citizen:")
    monkeypatch.setenv("ISINGSAMPLE_DATA", str(tmp_path))
    assert find_corpus() == ("First Citizen:", "Tiny Shakespeare")


def test_a_download_is_checked_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: None
) -> None:
    import pooch

    fetched = tmp_path / "fetched.txt"
    fetched.write_text("Before we proceed")
    asked: dict[str, Any] = {}

    def retrieve(url: str, **options: Any) -> str:
        asked.update(options, url=url)
        return str(fetched)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert find_corpus() == ("Before we proceed", "Tiny Shakespeare")
    assert asked["known_hash"].startswith("sha256:86c4e6aa")


@pytest.mark.usefixtures("offline")
def test_without_anything_there_is_our_own_prose() -> None:
    corpus = find_corpus()
    assert "prose" in corpus.source
    assert len(corpus.text) > 1000
    assert load_text() == corpus.text


def test_without_pooch_too(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def no_pooch(name: str, *rest: Any) -> Any:
        if name == "pooch":
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.delenv("ISINGSAMPLE_DATA", raising=False)
    monkeypatch.setattr(builtins, "__import__", no_pooch)
    assert "prose" in find_corpus().source


def test_bad_files_are_refused(tmp_path: Path) -> None:
    empty, binary = tmp_path / "empty.txt", tmp_path / "binary.txt"
    empty.write_text(" \n")
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"empty\.txt is empty"):
        find_corpus(empty)
    with pytest.raises(ValueError, match=r"binary\.txt is not a text file"):
        find_corpus(binary)
    with pytest.raises(FileNotFoundError):
        find_corpus(tmp_path / "missing.txt")
