"""The table of docs/couplings.md is that of the study beside it."""

from pathlib import Path

from relevance_study.report import load, table

DOCS = Path(__file__).parents[2] / "docs"


def test_table_is_that_of_the_study() -> None:
    rows = table(load(DOCS / "figures" / "correlated_relevance.csv")).strip().splitlines()
    page = (DOCS / "couplings.md").read_text(encoding="utf-8")
    assert len(rows) == 10
    for row in rows:
        assert row in page
