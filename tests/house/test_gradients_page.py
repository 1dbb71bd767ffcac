"""The table in docs/gradients.md has the numbers of the study beside it."""

import csv
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
COLUMNS = [(name, by) for name in ("bias", "noise", "cosine") for by in "hJ"]


def test_table_is_that_of_the_study():
    lines = (DOCS / "figures" / "gradients_study.csv").read_text(encoding="utf-8").splitlines()
    rows = [row for row in csv.DictReader(lines[1:]) if row["truth"] == "Boltzmann"]
    measured = {(r["sampler"], r["gradient"], r["reads"], r["by"]): r for r in rows}
    page = (DOCS / "gradients.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| (\w[\w, ]*) \| `(\w+)` \| ([\d.|– ]+) \|$", page, re.MULTILINE)
    assert len(shown) == 14
    for sampler, gradient, cells in shown:
        reads = "0" if gradient == "exact" else "1000"
        for (name, by), cell in zip(COLUMNS, cells.split(" | "), strict=True):
            row = measured[sampler, gradient, reads, by]
            if cell == "–":
                assert float(row[name]) <= float(row["floor"])
            else:
                assert abs(float(row[name]) - float(cell)) <= 0.00051
