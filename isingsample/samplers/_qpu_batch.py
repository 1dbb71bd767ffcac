"""The problems of one call: planned as a whole, sent together, answered in order."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from isingsample._progress import track
from isingsample.blocks import Block
from isingsample.errors import BackendError
from isingsample.interop import flip_sign, import_dimod
from isingsample.samplers._children import raw_reads
from isingsample.samplers._embedding import Embedding, Structure
from isingsample.samplers._qpu_checks import torque
from isingsample.samplers._qpu_client import Connection
from isingsample.samplers._qpu_journal import Journal
from isingsample.samplers._qpu_submissions import Submission, submit_all
from isingsample.streams import Streams


class Job(NamedTuple):
    """One problem of a call.

    Attributes:
        position: of the problem in the flattened batch.
        block: number of its block.
        at: (group, query) in the block.
    """

    position: int
    block: int
    at: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Plan:
    """How the problems of a call are put on the chip.

    Attributes:
        blocks: in NumPy, their fields and couplings multiplied by beta.
        embeddings: one for each block.
        scale: the factor on all fields and couplings.
        chain_strength: the ferromagnetic coupling within chains, not scaled.
    """

    blocks: list[Block]
    embeddings: list[Embedding]
    scale: float
    chain_strength: float

    @classmethod
    def of(
        cls,
        connection: Connection,
        blocks: list[Block],
        beta: float,
        chain_strength: float | None,
        max_scale: float,
        journal: Journal,
    ) -> "Plan":
        """A plan that the solver accepts.

        Args:
            connection: to the solver.
            blocks: at least one, none of them empty.
            beta: inverse temperature.
            chain_strength: the caller's own, or None to suit the problem.
            max_scale: the scale where the ranges allow it; infinite to fill them.
            journal: of the call.

        Raises:
            ValueError: a block that cannot be embedded, or chains too strong for the solver.
        """
        blocks = [_times(beta, block.to_numpy()) for block in blocks]
        embeddings = [
            connection.embed(Structure.of(block.J), _name(block.index.min()), journal)
            for block in blocks
        ]
        chained = [b for b, e in zip(blocks, embeddings, strict=True) if e.max_chain_length > 1]
        pull = max((torque(block.J) for block in chained), default=0.0)
        strength = connection.ranges.chain_strength(chain_strength, pull)
        largest = min(
            connection.ranges.largest_scale(embedding, block.h, block.J, strength)
            for block, embedding in zip(blocks, embeddings, strict=True)
        )
        if chain_strength is None and pull:
            largest = min(largest, strength / pull)
        if largest == 0:
            raise ValueError(
                f"chain_strength={strength:g} leaves the couplings of the problem no room in the "
                f"ranges of {connection.ranges.solver}; choose less"
            )
        if math.isinf(largest):
            return cls(blocks, embeddings, min(max_scale, 1.0), strength)
        # Rounding must not push the largest bias over the edge of its range.
        return cls(blocks, embeddings, min(max_scale, largest * (1 - 1e-12)), strength)

    def jobs(self) -> list[Job]:
        """All problems, in the order of the batch."""
        return sorted(
            Job(int(position), number, (group, query))
            for number, block in enumerate(self.blocks)
            for (group, query), position in np.ndenumerate(block.index)
        )

    def bqm(self, job: Job) -> Any:
        """What is submitted for a problem: a dimod BQM over qubits."""
        block, embedding = self.blocks[job.block], self.embeddings[job.block]
        fields = self.scale * embedding.fields(block.h[job.at])
        couplings = self.scale * embedding.couplings(block.J[job.at[0]])
        chains = np.full(embedding.links.shape[1], self.chain_strength)
        first, second = np.hstack([embedding.couplers, embedding.links])
        quadratic = (first, second, flip_sign(np.append(couplings, chains)))
        return import_dimod("the sampler 'dwave'").BQM.from_numpy_vectors(
            flip_sign(fields), quadratic, 0.0, "SPIN", variable_order=embedding.qubits
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came back.

    Attributes:
        reads: for each block (groups, queries, num_reads, n) int8.
        broken: for each block (groups, queries), the fraction of broken chains.
        problem_ids: by position in the flattened batch.
        timings: of each problem, in microseconds.
    """

    reads: list[np.ndarray]
    broken: list[np.ndarray]
    problem_ids: dict[int, str | None] = field(default_factory=dict)
    timings: list[Mapping[str, float]] = field(default_factory=list)

    def total_timing(self) -> dict[str, float]:
        """Times summed over the problems, in microseconds; times per sample are averaged."""
        names = dict.fromkeys(name for timing in self.timings for name in timing)
        lists = {name: [t[name] for t in self.timings if name in t] for name in names}
        return {
            name: math.fsum(times) / (len(times) if name.endswith("_per_sample") else 1)
            for name, times in lists.items()
        }


def run(
    connection: Connection,
    plan: Plan,
    arguments: Mapping[str, Any],
    timeout: float,
    streams: Streams,
    journal: Journal,
) -> Outcome:
    """Submit every problem of a plan, then collect the answers.

    Args:
        connection: to the solver.
        plan: for it.
        arguments: of the child's sample(), num_reads among them.
        timeout: seconds to wait for an answer.
        streams: decide the even votes of broken chains.
        journal: of the call.

    Raises:
        BackendError: the solver failed, or returned another number of reads.
        BackendTimeoutError: an answer is not there in time.
    """
    num_reads = arguments["num_reads"]
    outcome = Outcome(
        [np.empty((*b.index.shape, num_reads, b.num_spins), np.int8) for b in plan.blocks],
        [np.empty(b.index.shape) for b in plan.blocks],
    )
    jobs = plan.jobs()
    submissions = (Submission(_name(job.position), plan.bqm(job), arguments) for job in jobs)
    answers = submit_all(connection, submissions, journal, timeout)
    for job, answer in zip(track(jobs, connection.ranges.solver), answers, strict=True):
        embedding = plan.embeddings[job.block]
        states = raw_reads(answer, embedding.qubits)
        if len(states) != num_reads:
            raise BackendError(
                f"{connection.ranges.solver} returned {len(states)} reads where "
                f"num_reads={num_reads} were asked for"
            )
        votes = embedding.votes(states)  # (num_reads, n)
        outcome.reads[job.block][job.at] = _decided(votes, streams, job.position)
        outcome.broken[job.block][job.at] = np.mean(abs(votes) != embedding.length)
        outcome.problem_ids[job.position] = answer.info.get("problem_id")
        outcome.timings.append(answer.info.get("timing", {}))
    return outcome


def _name(position: int) -> str:
    return f"problem {position} of the batch"


def _times(beta: float, block: Block) -> Block:
    with np.errstate(over="ignore"):
        h, J = beta * block.h, beta * block.J
    if not (np.isfinite(h).all() and np.isfinite(J).all()):
        raise ValueError("beta * h or beta * J overflows")
    return dataclasses.replace(block, h=h, J=J)


def _decided(votes: np.ndarray, streams: Streams, position: int) -> np.ndarray:
    """Spins by the sign of their votes (reads, n), an even vote by a fair coin."""
    spins: np.ndarray = np.sign(votes).astype(np.int8)
    even = spins == 0
    coins = streams.uniforms(np.array(position), int(even.sum()))
    spins[even] = np.where(coins < 0.5, -1, 1)
    return spins
