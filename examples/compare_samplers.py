"""Compare samplers on the problems of an attention layer, in Python.

Does what `isingsample compare` does, with the samplers spelled out so that yours can join them:

    python examples/compare_samplers.py --windows 4 --out compare.png
"""

import argparse
from pathlib import Path

from rich.console import Console

from isingsample import Row, compare, get_sampler
from isingsample.comparison.attention_problems import attention_problem
from isingsample.comparison.figure import figure_file, save_comparison
from isingsample.comparison.table import comparison_tables
from isingsample.comparison.text import find_corpus
from isingsample.samplers.dwave.mock import mock_dwave


def main(arguments: list[str] | None = None) -> list[Row]:
    """Run the comparison, print its table, write its figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, help="a text file (default: Tiny Shakespeare)")
    parser.add_argument("--windows", type=int, default=4, help="windows of text")
    parser.add_argument("--length", type=int, default=10, help="spins of each problem")
    parser.add_argument("--reads", type=int, default=1000, help="reads of each problem")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("compare.png"))
    options = parser.parse_args(arguments)
    if min(options.windows, options.length, options.reads) < 1:
        parser.error("--windows, --length and --reads must be at least 1")

    figure = figure_file("--out", options.out)
    corpus = find_corpus(options.text)
    problem = attention_problem(
        corpus.text, length=options.length, windows=options.windows, seed=options.seed
    )
    reads = options.reads
    samplers = {
        "exact": lambda: get_sampler("exact", num_reads=reads),
        "annealing": lambda: get_sampler("sa", num_reads=reads, num_sweeps=200),
        "tree decomposition": lambda: get_sampler(
            "dimod", child="TreeDecompositionSampler", num_reads=reads
        ),
        "quantum anneal (Aer)": lambda: get_sampler("dqa", num_reads=reads),
        "D-Wave (mock)": lambda: get_sampler(
            "dwave", child=mock_dwave(seed=options.seed), num_reads=reads
        ),
    }
    title = f"{options.windows * options.length} queries from {corpus.source}, {reads} reads"
    rows = list(compare(problem, samplers, seed=options.seed))
    console = Console()
    for table in comparison_tables(rows, title, console.width):
        console.print(table)
    save_comparison(rows, figure, title)
    return rows


if __name__ == "__main__":
    main()
