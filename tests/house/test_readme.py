"""README's Python runs, and prints what README says."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_ten_lines_print_what_readme_says() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(blocks("python")[0], {})
    assert printed.getvalue() == blocks("text")[0]


def test_attention_block_runs() -> None:
    scope: dict[str, object] = {}
    exec(blocks("python")[1], scope)
    assert scope["coupling"].grad.shape == (4, 8, 8)  # type: ignore[attr-defined]
    assert scope["out"].shape == (1, 4, 8, 16)  # type: ignore[attr-defined]


def test_every_sampler_is_in_the_table() -> None:
    from isingsample import list_samplers

    text = README.read_text(encoding="utf-8")
    for name, entry in list_samplers().items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        assert entry.extra in row
