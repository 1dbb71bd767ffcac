"""Progress bars are for people who watch."""

import pytest

from isingsample._core import progress as bars


def test_nothing_is_drawn_where_nobody_watches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe or a file, as standard error is here, gets no bar however long a loop takes."""
    monkeypatch.setattr(bars, "_PATIENCE_SECONDS", -1.0)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    assert list(bars.track(range(5), "counting")) == [0, 1, 2, 3, 4]
    assert capsys.readouterr() == ("", "")
