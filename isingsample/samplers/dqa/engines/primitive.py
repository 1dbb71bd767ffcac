"""Reads of a circuit by any of Qiskit's sampler primitives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample._core.blocks import Block
from isingsample._core.progress import track
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.circuit import BlockCircuit
from isingsample.samplers.dqa.engines.primitive_checks import check_gates, fixed_seed

# Angles bound in one job, so that it fits into a message.
_ANGLES_PER_JOB = 2**22


@dataclass(frozen=True)
class PrimitiveEngine:
    """A qiskit BaseSamplerV2: a simulator with noise and shots, or hardware.

    Attributes:
        primitive: the sampler primitive. Its seed is its own affair, and with it whether equal
            calls give equal reads and whether the queries of a batch have streams apart.
        pass_manager: turns the circuit into one that the backend takes, by run(); None where
            h, rz, rzz, cx and rx are understood.
    """

    primitive: Any
    pass_manager: Any = None

    def reads(self, blocks: Sequence[Block], anneal: Anneal, num_reads: int) -> list[np.ndarray]:
        """num_reads of each query of each block: (groups * queries, num_reads, n) int8.

        All of them go in one job where they fit: a queue is waited for once, and a simulator with a
        fixed seed draws other numbers for each query, which it would not for those of another job.

        Raises:
            ValueError: they do not fit into one job, and the primitive has a fixed seed.
        """
        pubs, owners = [], []
        for owner, block in enumerate(blocks):
            for pub in self._pubs(block, anneal):
                pubs.append(pub)
                owners.append(owner)
        jobs = _packed(pubs)
        seed = fixed_seed(self.primitive) if len(jobs) > 1 else None
        if seed is not None:
            raise ValueError(
                f"this batch takes {len(jobs)} jobs, and a primitive with a fixed seed "
                f"({seed[0]} = {seed[1]}) would draw the same random numbers in each: leave the "
                f"seed out, or sample fewer problems at a time"
            )
        found: list[list[np.ndarray]] = [[] for _ in blocks]
        remaining = iter(owners)
        for job in track(jobs, "dqa"):
            for result, owner in zip(
                self.primitive.run(job, shots=num_reads).result(), remaining, strict=False
            ):
                found[owner].append(_spins(result.data))
        return [np.concatenate(parts) for parts in found]

    def _pubs(self, block: Block, anneal: Anneal) -> Iterator[tuple[Any, ...]]:
        """Circuits with values: each query once, and in order."""
        program = BlockCircuit.of(block.h, block.J, block.K, anneal)
        circuit = program.circuit.measure_all(inplace=False)
        if self.pass_manager is not None:
            circuit = self.pass_manager.run(circuit)
        check_gates(circuit, self.primitive)
        if not program.free:  # all queries are alike
            yield from [(circuit,)] * block.index.size
            return
        step = max(1, _ANGLES_PER_JOB // (anneal.num_steps * len(program.free)))
        for first in range(0, block.index.size, step):
            values = program.values(slice(first, first + step))
            # By name: positions would follow the parameters' order in the circuit.
            yield circuit, {tuple(values): np.array(list(values.values())).T}


def _packed(pubs: Sequence[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
    """The same in jobs of a bounded number of angles, in order."""
    jobs: list[list[tuple[Any, ...]]] = []
    free = 0
    for pub in pubs:
        size = sum(values.size for bound in pub[1:] for values in bound.values())
        if not jobs or size > free:
            jobs.append([])
            free = _ANGLES_PER_JOB
        jobs[-1].append(pub)
        free -= size
    return jobs


def _spins(data: Any) -> np.ndarray:
    """Reads (queries, shots, n) of one result: qubit i is column i, and |0> is +1."""
    (bits,) = data.values()
    bools: np.ndarray = bits.to_bool_array(order="little")
    samples = (1 - 2 * bools.astype(np.int8)).astype(np.int8)
    return samples.reshape(-1, *samples.shape[-2:])
