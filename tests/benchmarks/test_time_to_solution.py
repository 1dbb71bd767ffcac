"""Time to solution of planted problems, beside dwave-samplers' annealer and tabu search.

TTS = t ln(0.01) / ln(1 - p): the seconds of one core until a ground state was seen with
probability 0.99, with t the time of a read and p the share of reads that found one. Both
annealers have the best of the same numbers of sweeps, tabu search the best of as many times per
read. Where every read succeeds the time of one read counts. Contenders take turns at each
setting, and their time is that of the processor; read the ratios, not the times. Nothing was tuned
on these instances: the schedules were chosen on others of the same families.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dimod
import numba
import numpy as np
import pytest
from dwave.samplers import SimulatedAnnealingSampler, TabuSampler
from pytest_benchmark.fixture import BenchmarkFixture

from isingsample import SimulatedAnnealing, to_bqm
from isingsample._core.blocks import split
from isingsample._core.streams import Streams
from isingsample.planted import Planted, frustrated_loops, periodic_lattice, tile_planting

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

SWEEPS = (100, 400, 1600, 6400)
# Of tabu search: milliseconds per read and 128 spins.
TIMEOUTS = (1, 4, 16, 64)
READS = 128
# Seconds that a peer may take for the reads of one setting; at least a few are made.
PATIENCE, FEWEST = 0.5, 4
INSTANCES = (7001, 7002, 7003)  # seeds
SHAPES = {
    128: ((8, 16), (4, 4, 8)),
    512: ((16, 32), (8, 8, 8)),
    2000: ((40, 50), (10, 10, 20)),
}
FAMILIES: dict[str, Callable[[tuple[Any, Any], int], Planted]] = {
    "loops 2-d": lambda s, seed: frustrated_loops(periodic_lattice(s[0]), 0.15, seed=seed),
    "loops 3-d": lambda s, seed: frustrated_loops(periodic_lattice(s[1]), 0.15, seed=seed),
    "tiles 2-d": lambda s, seed: tile_planting(s[0], {"C2": 0.2, "C3": 0.8}, seed=seed),
    "tiles 3-d": lambda s, seed: tile_planting(s[1], {"F22": 0.8, "F6": 0.2}, seed=seed),
}


@dataclass(frozen=True)
class Runs:
    """Reads of one contender at one setting."""

    seconds: float
    solved: int
    reads: int

    def __add__(self, other: "Runs") -> "Runs":
        return Runs(
            self.seconds + other.seconds, self.solved + other.solved, self.reads + other.reads
        )

    @property
    def tts(self) -> float:
        """Seconds to a solution with probability 0.99; infinite where none was found."""
        if self.solved == 0:
            return math.inf
        each = self.seconds / self.reads
        if self.solved == self.reads:
            return each
        return each * max(1.0, math.log(0.01) / math.log(1 - self.solved / self.reads))


def run(planted: Planted, energies: Callable[[], np.ndarray]) -> Runs:
    started = time.process_time()
    found = energies()
    spent = time.process_time() - started
    assert found.min() > planted.energy - 0.5
    return Runs(spent, int((found < planted.energy + 0.5).sum()), len(found))


def ours(planted: Planted, sweeps: int, reads: int) -> np.ndarray:
    """Energies of all reads of the anneals that `minimize` keeps the best of."""
    sampler = SimulatedAnnealing(num_reads=reads, num_sweeps=sweeps)
    block = split(planted.problem)[0]
    states = sampler._annealed(block, sweeps, Streams.from_seed(7100))[0]
    energies: np.ndarray = planted.problem.energy(states)
    return energies


def annealed(bqm: dimod.BQM, sweeps: int, reads: int, seed: int) -> np.ndarray:
    sampler = SimulatedAnnealingSampler()
    found = sampler.sample(bqm, num_reads=reads, num_sweeps=sweeps, seed=seed)
    return np.asarray(found.record.energy)


def searched(bqm: dimod.BQM, timeout: int, reads: int) -> np.ndarray:
    found = TabuSampler().sample(bqm, num_reads=reads, timeout=timeout, seed=7300)
    return np.asarray(found.record.energy)


def patient(seconds: float) -> int:
    """Reads of so many seconds that a peer makes."""
    return int(np.clip(PATIENCE / seconds, FEWEST, READS))


def contest(planted: Planted) -> dict[str, float]:
    """The best time to solution of each contender over its settings."""
    bqm = to_bqm(planted.problem)
    best = {"isingsample": math.inf, "annealer": math.inf, "tabu": math.inf}
    for sweeps, timeout in zip(SWEEPS, TIMEOUTS, strict=True):
        mine = run(planted, lambda n=sweeps: ours(planted, n, READS))
        peer = run(planted, lambda n=sweeps: annealed(bqm, n, 2, 7200))
        more = patient(peer.seconds / 2) - 2
        peer += run(planted, lambda n=sweeps, more=more: annealed(bqm, n, more, 7201))
        each = round(timeout * max(1, len(planted.state) / 128))
        tabu = run(planted, lambda t=each: searched(bqm, t, patient(t / 1000)))
        for name, runs in (("isingsample", mine), ("annealer", peer), ("tabu", tabu)):
            best[name] = min(best[name], runs.tts)
    return best


@pytest.mark.parametrize("spins", SHAPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_time_to_solution(
    benchmark: BenchmarkFixture,
    note: Callable[[str, str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    family: str,
    spins: int,
) -> None:
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 1)  # the peers have one thread
    ours(FAMILIES[family](SHAPES[128], 0), 2, 1)  # compiled
    found = [contest(FAMILIES[family](SHAPES[spins], seed)) for seed in INSTANCES]
    seconds = {name: [best[name] for best in found] for name in found[0]}
    group = f"time to solution, {family}, {spins} spins"
    note(group, "isingsample, ms", _columns([f"{1e3 * t:.3g}" for t in seconds["isingsample"]]))
    for peer in ("annealer", "tabu"):
        pairs = zip(seconds[peer], seconds["isingsample"], strict=True)
        note(group, f"{peer} / isingsample", _columns([_ratio(*pair) for pair in pairs]))
    benchmark.extra_info.update(seconds=seconds)
    benchmark.pedantic(lambda: None, rounds=1)


def _columns(instances: list[str]) -> str:
    return "".join(f"{value:>9}" for value in instances)


def _ratio(theirs: float, own: float) -> str:
    if math.isinf(own):
        return "neither" if math.isinf(theirs) else "0"
    return "never" if math.isinf(theirs) else f"{theirs / own:.3g}"
