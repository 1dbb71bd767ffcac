"""What a batch costs on the client, beside Ocean's ParallelEmbeddingComposite on the same mock.

265 problems of 8 spins, 1000 reads each, on the tiles of a Zephyr chip; the mock answers at once,
with noise, so that embedding, unembedding and moments are timed. Ours has the effective temperature
as well.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import dimod
import networkx as nx
import numpy as np
import pytest
from dwave.system import ParallelEmbeddingComposite

from isingsample import DWave, IsingProblem
from isingsample.interop.convert import bqm_of
from isingsample.samplers.dwave.calibration import measured_beta
from isingsample.samplers.dwave.mock import mock_dwave

pytestmark = pytest.mark.benchmark

QUERIES, SPINS, READS, ROUNDS = 265, 8, 1000, 3


class Noise(dimod.Sampler):
    """Every qubit at random, so that half of the chains of two are tied; drawn once."""

    parameters: Any = None
    properties: Any = None

    def __init__(self) -> None:
        self.states: np.ndarray | None = None

    def sample(self, bqm: dimod.BQM, num_reads: int, **ignored: Any) -> dimod.SampleSet:
        rng = np.random.default_rng(0)
        if self.states is None or self.states.shape != (num_reads, len(bqm)):
            self.states = rng.choice(np.array([-1, 1], np.int8), (num_reads, len(bqm)))
        return dimod.SampleSet.from_samples(
            (self.states, list(bqm.variables)), vartype="SPIN", energy=np.zeros(num_reads)
        )


def test_a_full_chip(note: Callable[[str, str, str], None]) -> None:
    rng = np.random.default_rng(1)
    J = np.triu(rng.normal(0, 0.3, (SPINS, SPINS)), 1)
    problem = IsingProblem(rng.normal(0, 0.5, (QUERIES, SPINS)), J + J.T)
    chip = mock_dwave()
    chip.substitute_sampler = Noise()
    ours = DWave(child=chip, num_reads=READS)
    layout = ours.sample(problem).info["embeddings"][0]
    theirs = ParallelEmbeddingComposite(chip, embeddings=layout, source=nx.complete_graph(SPINS))
    models = [bqm_of(h, problem.J, range(SPINS)) for h in problem.h]

    def run_theirs() -> None:
        sets, _ = theirs.sample_multiple(
            models,
            chain_strengths=[2.0] * QUERIES,
            num_reads=READS,
            answer_mode="raw",
            auto_scale=False,
        )
        for sampleset in sets:
            sampleset.record.sample.mean(axis=0)

    def seconds(call: Callable[[], Any]) -> float:
        started = perf_counter()
        call()
        return perf_counter() - started

    own, peer = [], []
    for _ in range(ROUNDS):
        own.append(seconds(lambda: ours.sample(problem).info["beta_effective"]))
        peer.append(seconds(run_theirs))
    qubits = [qubit for tile in layout for chain in tile.values() for qubit in chain]
    model = dimod.BQM.from_ising(dict.fromkeys(qubits, 0.0), {})
    mock = min(seconds(lambda: chip.sample(model, num_reads=READS)) for _ in range(ROUNDS))
    result = ours.sample(problem)
    temperature = min(seconds(lambda: measured_beta(result)) for _ in range(ROUNDS))
    group = f"client: {QUERIES} problems of {SPINS} spins, {READS} reads"
    note(group, "ours, all in", f"{min(own):.2f} s")
    note(group, "of that, the mock itself", f"{mock:.2f} s")
    note(group, "of that, the temperature", f"{temperature:.2f} s")
    note(group, "ParallelEmbeddingComposite", f"{min(peer):.2f} s")
    note(group, "ratio", f"{min(peer) / min(own):.1f}")
    assert min(own) < min(peer)
