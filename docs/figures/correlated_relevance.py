"""Draws docs/_static/correlated_relevance.png and prints the table of its page.

    python docs/figures/correlated_relevance.py

from docs/figures/correlated_relevance.csv, which `python examples/correlated_relevance.py` made (as
results.csv; a quarter of an hour for each prior on one busy core).
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "examples"))

from relevance_study.report import load, save_figure, table  # noqa: E402


def main() -> None:
    """Draw and print."""
    results = load(HERE / "correlated_relevance.csv")
    save_figure(results, HERE.parent / "_static" / "correlated_relevance.png")
    print(table(results))


if __name__ == "__main__":
    main()
