"""Reads of simulated anneals: rightly distributed, each problem with a stream of its own."""

import subprocess
import sys

import numpy as np
import pytest

from isingsample import DQA, IsingProblem
from isingsample.samplers.dqa.engines import aer
from support.dqa_cases import ASYM3, assert_within_shot_noise
from support.fixtures import PAIR
from support.strategies import symmetric

pytest.importorskip("qiskit_aer")


def test_reads_follow_the_circuit():
    reads = 4000
    exact = DQA(num_steps=30).sample(ASYM3)
    drawn = DQA(num_steps=30, num_reads=reads).sample(ASYM3, seed=11)
    assert exact.samples is None
    assert drawn.samples.shape == (reads, 3)
    assert drawn.samples.dtype == np.int8
    assert_within_shot_noise(drawn.magnetization, exact.magnetization, reads)
    assert_within_shot_noise(drawn.correlation, exact.correlation, reads)
    np.testing.assert_allclose(drawn.magnetization, drawn.samples.mean(axis=0))
    np.testing.assert_array_equal(
        DQA(num_steps=5, num_reads=1).sample(PAIR.problem()).samples.shape, (1, 2)
    )


def test_one_stream_for_each_problem():
    rng = np.random.default_rng(0)
    h, J = np.tile(rng.normal(0, 0.5, 4), (3, 1)), 0.5 * symmetric(rng, (), 4, 2)
    anneal = DQA(num_steps=10, num_reads=64)

    def draw(fields, pairs=J):
        return anneal.sample(IsingProblem(fields, pairs), seed=2**70).samples

    batch = draw(h)
    np.testing.assert_array_equal(batch, draw(h))
    assert len(np.unique(batch.reshape(3, -1), axis=0)) == 3
    assert len(np.unique(batch[0], axis=0)) > 1
    np.testing.assert_array_equal(draw(h[:1])[0], batch[0])
    np.testing.assert_array_equal(draw(h[:2]), batch[:2])
    changed = h.copy()
    changed[1] = -1
    np.testing.assert_array_equal(draw(changed)[[0, 2]], batch[[0, 2]])
    per_query = np.stack([J, 0.5 * symmetric(rng, (), 4, 2), J])
    np.testing.assert_array_equal(draw(h, per_query)[[0, 2]], batch[[0, 2]])


def test_chunks_do_not_show(monkeypatch):
    rng = np.random.default_rng(1)
    problem = IsingProblem(rng.normal(0, 1, (3, 2, 4)), 0.5 * symmetric(rng, (3, 1), 4, 2))
    drawn, exact = DQA(num_steps=10, num_reads=32), DQA(num_steps=10)
    whole, moments = drawn.sample(problem, seed=1), exact.sample(problem)
    monkeypatch.setattr(aer, "_CHUNK_BYTES", 15_000)
    np.testing.assert_array_equal(drawn.sample(problem, seed=1).samples, whole.samples)
    again = exact.sample(problem)
    np.testing.assert_array_equal(again.magnetization, moments.magnetization)
    np.testing.assert_allclose(again.correlation, moments.correlation, rtol=0, atol=1e-14)


IN_ANOTHER_PROCESS = """
import os, signal, sys
import numpy as np
import isingsample, isingsample.samplers.dqa
assert not {"qiskit", "qiskit_aer", "scipy"} & set(sys.modules), "loaded too early"
from isingsample import IsingProblem, get_sampler

def draw():
    problem = IsingProblem(np.full((2, 3), 0.2))
    return get_sampler("dqa", num_steps=10, num_reads=40).sample(problem, seed=3).samples

parent = draw()
child = os.fork()
if child == 0:
    os._exit(0 if (draw() == parent).all() else 1)
signal.alarm(30)  # a child that hangs ends the test
assert os.waitpid(child, 0)[1] == 0, "the forked child drew other samples"
sys.stdout.buffer.write(parent.tobytes())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_the_same_in_other_processes_and_loaded_late():
    other = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS], check=True, capture_output=True, timeout=120
    )
    problem = IsingProblem(np.full((2, 3), 0.2))
    here = DQA(num_steps=10, num_reads=40).sample(problem, seed=3).samples
    assert other.stdout == here.tobytes()
