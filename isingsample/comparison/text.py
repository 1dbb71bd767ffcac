"""Text for demonstrations: a file, Tiny Shakespeare where it can be had, else our own prose."""

import logging
import os
from pathlib import Path
from typing import NamedTuple

# Karpathy's 1.1 MB excerpt of Shakespeare, at the last commit of char-rnn that touched it.
_URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
_SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
_FILE = "tinyshakespeare.txt"
_DOWNLOAD_SECONDS = 10
PROSE = "the built-in page of prose"  # source of the text that is always there

_PROSE = """\
A magnet is a crowd that listens to itself. Each small arrow inside it can point up or down, and
each would rather agree with its neighbours than stand alone. Warm the metal and the arrows
quarrel, for heat is noise, and noise is freedom. Cool it, and a whisper in one corner becomes
the opinion of the whole. Nobody decides, and yet a decision is made.

Attention, as machines practise it, has so far been more lonely. Every word is asked how much it
matters, and every word answers without hearing the others. Let them listen. If two words tell
the same story, one may speak for both; if they only make sense together, let them rise together.
Write down how strongly each pair agrees, shake the whole at a fair temperature, and count how
often each word ends up standing. That count is the attention.

Counting is the trouble. Ten words have a thousand ways to stand, twenty have a million, and
forty have more than anyone will ever visit. So we sample: by patient rules on a plain computer,
by slow cooling, or by letting a quantum register lean from a question towards its answer. Each
of these has its own honest error, and the first duty of a sampler is to say how large it is.
"""


class Corpus(NamedTuple):
    """A text and where it came from."""

    text: str
    source: str


def load_text(path: str | Path | None = None) -> str:
    """The text of `find_corpus`."""
    return find_corpus(path).text


def find_corpus(path: str | Path | None = None) -> Corpus:
    """A text: of a file if one is named, else Tiny Shakespeare, else a page of our own prose.

    Tiny Shakespeare is taken from the folder in the environment variable ISINGSAMPLE_DATA, or
    from a download that pooch keeps and checks (needs the `cli` extra and a network).

    Args:
        path: a text file in UTF-8.

    Raises:
        OSError: the named file cannot be read.
        ValueError: the named file is not text or is empty.
    """
    if path is not None:
        return Corpus(_read(Path(path)), str(path))
    folder = os.environ.get("ISINGSAMPLE_DATA")
    if folder and (Path(folder) / _FILE).is_file():
        return Corpus(_read(Path(folder) / _FILE), "Tiny Shakespeare")
    downloaded = _download()
    if downloaded is not None:
        return Corpus(_read(downloaded), "Tiny Shakespeare")
    return Corpus(_PROSE, PROSE)


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text file in UTF-8: {error}") from None
    if not text.strip():
        raise ValueError(f"{path} is empty")
    return text


def _download() -> Path | None:
    """Tiny Shakespeare in pooch's cache, or None without pooch or network."""
    try:
        import pooch
    except ImportError:
        return None
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        fetched = pooch.retrieve(
            _URL,
            known_hash=f"sha256:{_SHA256}",
            fname=_FILE,
            path=pooch.os_cache("isingsample"),
            downloader=pooch.HTTPDownloader(timeout=_DOWNLOAD_SECONDS),
        )
    except (OSError, ValueError):  # no network, no place to write, or not the file we know
        return None
    finally:
        logger.setLevel(level)
    return Path(fetched)
