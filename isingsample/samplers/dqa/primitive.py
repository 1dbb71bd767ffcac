"""Reads of a circuit by any of Qiskit's sampler primitives."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from isingsample._progress import track
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.circuit import BlockCircuit

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

    def bytes_needed(self, num_spins: int) -> float:
        """Unknown, and elsewhere."""
        return 0.0

    def reads(
        self,
        h: np.ndarray,
        J: np.ndarray,
        K: np.ndarray | None,
        anneal: Anneal,
        num_reads: int,
    ) -> np.ndarray:
        """num_reads of each query: (groups * queries, num_reads, n) int8.

        Args:
            h: (groups, queries, n) float64.
            J: (groups, n, n).
            K: (groups, n, n, n) or None.
            anneal: the steps.
            num_reads: reads of each query.
        """
        program = BlockCircuit.of(h, J, K, anneal)
        queries, num_spins = h.shape[0] * h.shape[1], h.shape[-1]
        circuit = program.circuit.measure_all(inplace=False)
        if self.pass_manager is not None:
            circuit = self.pass_manager.run(circuit)
        if not program.free:  # all queries are alike
            drawn = self._run((circuit,), num_reads * queries)
            return drawn.reshape(queries, num_reads, num_spins)
        step = max(1, _ANGLES_PER_JOB // (anneal.num_steps * len(program.free)))
        parts = []
        for first in track(range(0, queries, step), "dqa"):
            values = program.values(slice(first, first + step))
            # By name: positions would follow the parameters' order in the circuit.
            bound = {tuple(values): np.array(list(values.values())).T}
            parts.append(self._run((circuit, bound), num_reads))
        return np.concatenate(parts)

    def _run(self, pub: tuple[Any, ...], shots: int) -> np.ndarray:
        """Reads (..., shots, n) of one program: qubit i is column i, and |0> is +1."""
        data = self.primitive.run([pub], shots=shots).result()[0].data
        (bits,) = data.values()
        bools: np.ndarray = bits.to_bool_array(order="little")
        return (1 - 2 * bools.astype(np.int8)).astype(np.int8)
