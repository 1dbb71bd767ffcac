"""The submissions of a plan: sent together, answered in order."""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample._core.progress import track
from isingsample._core.streams import Streams
from isingsample.samplers.dwave.call.journal import Journal
from isingsample.samplers.dwave.call.submissions import Submission, submit_all
from isingsample.samplers.dwave.chip.plan import Plan
from isingsample.samplers.dwave.errors import BackendError
from isingsample.samplers.dwave.readout import read_out
from isingsample.samplers.dwave.service.connection import Connection


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came back, by block.

    Attributes:
        reads: for each block (groups, queries, num_reads, n) int8.
        broken: for each block (groups, queries), the fraction of broken chains.
        tiles: for each block (groups, queries), the tile that each problem had.
        problem_ids: by position in the flattened batch.
        timings: of each submission, in microseconds.
    """

    reads: list[np.ndarray]
    broken: list[np.ndarray]
    tiles: list[np.ndarray]
    problem_ids: dict[int, str | None]
    timings: list[Mapping[str, float]]

    def total_timing(self) -> dict[str, float]:
        """Times summed over the submissions, in microseconds; times per sample are averaged."""
        names = dict.fromkeys(name for timing in self.timings for name in timing)
        lists = {name: [t[name] for t in self.timings if name in t] for name in names}
        return {
            name: math.fsum(times) / (len(times) if name.endswith("_per_sample") else 1)
            for name, times in lists.items()
        }


def _times(timing: Any) -> dict[str, float]:
    """The numbers among what an answer says of its times: good reads are good without them."""
    if not isinstance(timing, Mapping):
        return {}
    return {
        str(name): float(value)
        for name, value in timing.items()
        if isinstance(value, numbers.Real) and math.isfinite(value)
    }


def run(
    connection: Connection,
    plan: Plan,
    arguments: Mapping[str, Any],
    chain_break_method: str,
    timeout: float,
    streams: Streams,
    journal: Journal,
) -> Outcome:
    """Submit every problem of a plan, then collect the answers.

    Args:
        connection: to the solver.
        plan: for it.
        arguments: of the child's sample(), num_reads among them.
        chain_break_method: what to do with a read in which chains broke.
        timeout: seconds to wait for an answer.
        streams: decide the even votes of broken chains.
        journal: of the call.

    Raises:
        BackendError: the solver failed or returned another number of reads, or no read of a
            problem is left after those with broken chains.
        BackendTimeoutError: an answer is not there in time.
    """
    num_reads, solver = arguments["num_reads"], connection.ranges.solver
    reads = [np.empty((*g.h.shape[:1], num_reads, g.h.shape[1]), np.int8) for g in plan.groups]
    broken = [np.empty(len(group)) for group in plan.groups]
    problem_ids: dict[int, str | None] = {}
    timings: list[Mapping[str, float]] = []
    chunks = plan.chunks()
    submissions = (Submission(plan.name(c), plan.bqm(c), arguments) for c in chunks)
    answers = submit_all(connection, submissions, journal, timeout)
    for chunk, answer in zip(track(chunks, solver), answers, strict=True):
        received = int(answer.record.num_occurrences.sum())
        if received != num_reads:
            raise BackendError(
                f"{solver} returned {received} reads where num_reads={num_reads} were asked for"
            )
        at = chunk.group
        reads[at][chunk.rows], broken[at][chunk.rows] = read_out(
            plan, chunk, answer, chain_break_method, streams
        )
        positions = plan.groups[at].position[chunk.rows].tolist()
        problem_ids |= dict.fromkeys(positions, answer.info.get("problem_id"))
        timings.append(_times(answer.info.get("timing")))
    return Outcome(
        [reads[place.group][place.rows][..., place.slots] for place in plan.places],
        [broken[place.group][place.rows] for place in plan.places],
        [place.rows % plan.layouts[place.group].num_tiles for place in plan.places],
        problem_ids,
        timings,
    )
