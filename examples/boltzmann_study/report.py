"""Results as files: tidy csv, and tables in Markdown."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from boltzmann_study.judging import Record
from boltzmann_study.modes import CONTROL, MODES, REFERENCE, mode_name
from boltzmann_study.statistics import (
    FEWEST_LENGTHS,
    Estimate,
    Metric,
    by_length,
    by_seed,
    estimate,
    fit_decay,
    paired_gain,
)
from boltzmann_study.training import Outcome


def final(records: Sequence[Record], part: str, by: str = "") -> list[Record]:
    """The records of each run's last step, of one part and breakdown."""
    last: dict[str, int] = {}
    for record in records:
        last[record.run] = max(last.get(record.run, 0), record.step)
    return [r for r in records if r.step == last[r.run] and r.part == part and r.by == by]


def runs(records: Sequence[Record]) -> list[str]:
    """Names of the runs, in order."""
    return list(dict.fromkeys(record.run for record in records))


def parts(records: Sequence[Record]) -> list[str]:
    """Names of the held-out parts, in order."""
    return list(dict.fromkeys(record.part for record in records))


def write_records(records: Sequence[Record], path: Path) -> None:
    """One line for each record."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Record)])
        writer.writeheader()
        writer.writerows(asdict(record) for record in records)


def write_couplings(outcomes: Sequence[tuple[str, Outcome]], path: Path) -> None:
    """J of each arm that has one: one line for each pair j < k of each member."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["run", "arm", "seed", "j", "k", "J"])
        for name, outcome in outcomes:
            J = outcome.ensemble.coupling_matrices()
            for number, arm in enumerate(outcome.ensemble.arms):
                if arm.mode.couplings == "none":
                    continue
                for seed in range(outcome.ensemble.seeds):
                    for j, row in enumerate(J[number, seed].tolist()):
                        for k in range(j + 1, len(row)):
                            writer.writerow([name, arm.name, seed, j, k, f"{row[k]:.6g}"])


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines)


# What an arm is compared with: a title, and the other arm.
_REFERENCES: tuple[tuple[str, Callable[[str], str]], ...] = (
    (REFERENCE, lambda arm: REFERENCE),
    (CONTROL, lambda arm: arm if MODES[mode_name(arm)].closed else CONTROL),
    ("the exact sampler", mode_name),
)


def comparison(records: Sequence[Record], metric: Metric) -> str:
    """Arms of one run, step and part: mean, range over seeds, and paired gains over references."""
    values = by_seed(records, metric)
    references = [
        (title, other)
        for title, other in _REFERENCES
        if any(arm != other(arm) in values for arm in values)
    ]
    rows = []
    for arm, seeds in values.items():
        numbers = list(seeds.values())
        row = [arm, f"{estimate(numbers).mean:.3f}", f"{min(numbers):.3f} ... {max(numbers):.3f}"]
        for _, other in references:
            gain = paired_gain(seeds, values[other(arm)], metric)
            row.append("" if arm == other(arm) else _interval(gain))
        rows.append(row)
    titles = [f"gain over {title}, {metric.unit}" for title, _ in references]
    return markdown(["attention", metric.name, "range over seeds", *titles], rows)


def _interval(gain: Estimate) -> str:
    star = " *" if gain.decided else ""
    return f"{gain.mean:+.2f} ({gain.low:+.2f} ... {gain.high:+.2f}){star}"


def decays(records: Sequence[Record], metric: Metric) -> str:
    """Fits of a exp(-bT) + c to final records of several lengths; "" for fewer than four."""
    rows = []
    for arm, values in by_length(records, metric).items():
        fit = fit_decay(values)
        if fit is None and len(values) >= FEWEST_LENGTHS:
            rows.append([arm, "not determined", "", ""])
        elif fit is not None:
            numbers = zip((fit.a, fit.b, fit.c), fit.errors, strict=True)
            rows.append([arm, *(f"{value:.3f} ± {error:.3f}" for value, error in numbers)])
    return markdown(["attention", "a", "b", "c"], rows) if rows else ""


def report(records: Sequence[Record], metric: Metric, command: str) -> str:
    """The whole study in Markdown."""
    pieces = [
        f"`{command}`",
        "Gains: means over paired seeds with 95 % intervals; a star marks those without 0.",
    ]
    for part in parts(records):
        chosen = final(records, part)
        for run in runs(chosen):
            those = [record for record in chosen if record.run == run]
            seeds = len({record.seed for record in those})
            pieces += [
                f"## {run}, {part}",
                f"{seeds} seeds, {those[0].step} steps, {those[0].count} questions",
                comparison(those, metric),
            ]
        fits = decays(chosen, metric) if metric.name == "perplexity" else ""
        if fits:
            pieces += [f"## a exp(-bT) + c, {part}", fits]
    return "\n\n".join(pieces) + "\n"
