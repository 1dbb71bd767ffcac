"""The comparison measures what it says it measures."""

import io
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from rich.console import Console

from isingsample import (
    BlockSampler,
    Exact,
    IsingProblem,
    Sampler,
    Solution,
    StrongFieldWarning,
    compare,
)
from isingsample._core.states import spin_table
from isingsample.comparison.attention_problems import attention_problem, coupling_by_distance
from isingsample.comparison.compare import shot_noise, state_histogram
from isingsample.comparison.contenders import contenders
from isingsample.comparison.figure import save_comparison
from isingsample.comparison.table import comparison_records, comparison_tables, duration, failures
from isingsample.comparison.text import find_corpus

READS = 2000


@pytest.fixture(scope="module")
def problem() -> IsingProblem:
    return attention_problem(find_corpus().text, length=5, windows=3, seed=1)


@dataclass(frozen=True)
class AtBeta(Exact):
    """Exact samples at another temperature than the one asked for."""

    factor: float = 1.0

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Any = None) -> Any:
        return super().sample(problem, beta=self.factor * beta, seed=seed)


@dataclass(frozen=True)
class Failing(BlockSampler):
    """Raises in the middle of its work."""

    name: ClassVar[str] = "failing"

    def _solve(self, block: Any, beta: Any, streams: Any) -> Solution:
        raise RuntimeError("the cryostat is warm\nand more")


def test_exact_reads_lie_on_the_shot_noise(problem: IsingProblem) -> None:
    exact, reads = compare(problem, {"exact": Exact, "reads": lambda: Exact(num_reads=READS)})
    assert exact.error.largest < 1e-12
    assert exact.reads is None
    assert reads.queries == 15
    assert reads.error.largest < 1e-12  # moments stay exact; the histogram is that of the reads
    assert reads.error.total_variation == pytest.approx(reads.shot_noise.total_variation, rel=0.15)
    assert abs(reads.beta.beta - 1) < 5 * reads.beta.std_error
    assert reads.thermal


def test_a_wrong_temperature_shows(problem: IsingProblem) -> None:
    (row,) = compare(problem, {"hot": lambda: AtBeta(num_reads=READS, factor=0.5)})
    assert abs(row.beta.beta - 0.5) < 5 * row.beta.std_error
    assert row.error.mean > 3 * row.shot_noise.mean
    assert row.error.total_variation > 1.5 * row.shot_noise.total_variation


def test_failures_are_rows_and_stop_nothing(problem: IsingProblem) -> None:
    def unavailable() -> Sampler:
        raise ImportError("needs 'isingsample[none]'")

    makers = {"failing": Failing, "unavailable": unavailable, "exact": Exact}
    rows = list(compare(problem, makers))
    assert failures(rows) == [
        "failing: the cryostat is warm",
        "unavailable: needs 'isingsample[none]'",
    ]
    assert rows[2].failure is None


@dataclass(frozen=True)
class Slow(Exact):
    """Takes a fifth of a second, and warns of strong fields as an anneal does."""

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Any = None) -> Any:
        time.sleep(0.2)
        warnings.warn("strong fields", StrongFieldWarning, stacklevel=2)
        return super().sample(problem, beta=beta, seed=seed)


def test_seconds_are_per_query_and_strong_fields_no_failure() -> None:
    (row,) = compare(IsingProblem(np.zeros((100, 2))), {"slow": Slow})
    assert row.failure is None
    assert 0.002 <= row.seconds_per_query < 0.02


def test_the_sets_of_shot_noise_differ() -> None:
    """|m| of 1001 reads of one fair spin is an odd number / 1001; the mean of four is often not."""
    coin = np.full((1, 2), 0.5)
    means = np.array([shot_noise(coin, 1001, seed).mean * 1001 for seed in range(8)])
    assert (np.abs(means - np.round(means)) > 0.1).any()
    np.testing.assert_allclose(4 * means, np.round(4 * means), atol=1e-6)


def test_histogram_counts_every_state_in_the_order_of_the_table() -> None:
    table = spin_table(3).astype(np.int8)
    samples = np.stack([np.repeat(table, np.arange(8), axis=0), np.repeat(table[:1], 28, axis=0)])
    assert (state_histogram(samples)[0] * 28).tolist() == list(range(8))
    assert state_histogram(samples)[1].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]


def test_shot_noise_of_a_fair_coin() -> None:
    """E|m| of R fair spins is sqrt(2 / (pi R)); over 4 x 500 of them its error is 0.76 sigma."""
    noise = shot_noise(np.full((500, 2), 0.5), READS, seed=3)
    expected = np.sqrt(2 / (np.pi * READS))
    standard_error = expected * np.sqrt(np.pi / 2 - 1) / np.sqrt(4 * 500)
    assert abs(noise.mean - expected) < 5 * standard_error
    assert noise.total_variation == pytest.approx(noise.mean / 2)


def test_attention_problem_has_the_documented_shape_and_seed() -> None:
    text = "to be or not to be, that is the question"
    problem = attention_problem(text, length=10, windows=4, dim=64, seed=0)
    again = attention_problem(text, length=10, windows=4, dim=64, seed=0)
    assert problem.batch_shape == (4, 10)
    assert problem.num_spins == 10
    np.testing.assert_array_equal(problem.h, again.h)
    assert 0.5 < problem.h.std() < 2  # scores of a layer with unit inputs
    assert not np.array_equal(problem.h, attention_problem(text, windows=4, seed=1).h)
    with pytest.raises(ValueError, match="needs 10 characters; the text has 2"):
        attention_problem("ab")


def test_couplings_decay_and_change_sign() -> None:
    by_distance = coupling_by_distance(11)[0]
    assert by_distance[0] == 0
    assert (by_distance[1:5] > 0).all()
    assert (by_distance[6:] < 0).all()
    assert abs(by_distance[10]) < by_distance[1]


def test_contenders_know_their_names() -> None:
    assert list(contenders(10, ["sa", "exact"])) == ["sa", "exact"]
    with pytest.raises(ValueError, match="did you mean 'exact'"):
        contenders(10, ["exct"])


def test_report_and_figure_take_failures_and_exact_rows(
    problem: IsingProblem, tmp_path: Path
) -> None:
    makers = {"exact": Exact, "reads": lambda: Exact(num_reads=50), "failing": Failing}
    rows = list(compare(problem, makers))
    (table,) = comparison_tables(rows, "title", 150)
    assert table.row_count == 3
    assert comparison_records(rows)[0]["error"]["total_variation"] is None
    save_comparison(rows, tmp_path / "a.png", "title")
    assert (tmp_path / "a.png").stat().st_size > 5000


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_tables_fit_their_width_and_break_no_cell(problem: IsingProblem, width: int) -> None:
    makers = {"dqa-statevector": Exact, "reads": lambda: Exact(num_reads=50), "failing": Failing}
    rows = list(compare(problem, makers))
    printed = io.StringIO()
    tables = comparison_tables(rows, "title", width)
    console = Console(file=printed, width=width)
    for table in tables:
        console.print(table)
    text = printed.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert text.count("dqa-statevector") == text.count("failing") == len(tables)
    assert (len(tables) == 1) == (width > 140)
    (whole,) = comparison_tables(rows, "title", 1000)
    for column in whole.columns[1:]:
        words = [*str(column.header).split("\n"), *(str(cell) for cell in column.cells)]
        assert all(word in text for word in words)


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4e-6, "4 µs"), (2e-9, "2 ns")]
)
def test_durations_have_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        list(compare(IsingProblem(np.zeros((0, 3))), {"exact": Exact}))
