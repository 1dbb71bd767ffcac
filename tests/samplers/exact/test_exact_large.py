"""Exact where the table of couplings comes in blocks: the same results, in bounded memory."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isingsample
from isingsample import Exact, IsingProblem, TooLargeError, Transfer
from isingsample._core import progress as _progress
from isingsample._core.arrays import to_numpy
from isingsample._core.blocks import split
from isingsample.samplers.exact import halves, marginals
from isingsample.samplers.exact.halves import Halves
from support.banded import band
from support.checks import assert_exact, rounding
from support.strategies import LIBRARIES, in_library, problems, symmetric

MIB = 2**20


@contextmanager
def cut_finely() -> Iterator[None]:
    """Tables in several blocks of rows, and fields as outer products, where spins are few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halves, "CHUNK_ENTRIES", 2**4)
        patch.setattr(halves, "_INNER_SPINS", 1)
        yield


@contextmanager
def in_the_log_domain() -> Iterator[None]:
    """No query counts as safe for products."""
    with pytest.MonkeyPatch.context() as patch:
        for dtype in ("float32", "float64"):
            patch.setitem(marginals._SAFE_SUM, dtype, np.inf)
        yield


def blocks_of_rows(problem: IsingProblem) -> int:
    J, K = problem.J, problem.K
    return len(Halves.of(J[None], None if K is None else K[None]).row_blocks)


@pytest.mark.parametrize("three", [False, True])
def test_fine_cuts_make_blocks_of_rows(rng: np.random.Generator, three: bool) -> None:
    K = symmetric(rng, (), 6, 3) if three else None
    problem = IsingProblem(rng.normal(size=6), symmetric(rng, (), 6, 2), K)
    assert blocks_of_rows(problem) == 1
    with cut_finely():
        assert blocks_of_rows(problem) > 1


@given(problems(max_spins=7), st.sampled_from((0.0, 0.6, 1.0)))
def test_blocks_change_no_moment(problem: IsingProblem, beta: float) -> None:
    entropy = Exact().sample(problem, beta=beta).entropy
    with cut_finely():
        assert_exact(problem, beta)
        pieces = Exact().sample(problem, beta=beta).entropy
    tolerance = rounding(problem, beta)
    np.testing.assert_allclose(to_numpy(pieces), to_numpy(entropy), rtol=0, atol=tolerance)


@given(problems(max_spins=6, scales=(0.3, 1.0, 30.0)))
def test_blocks_change_no_moment_in_the_log_domain(problem: IsingProblem) -> None:
    with in_the_log_domain():
        assert_exact(problem)
        with cut_finely():
            assert_exact(problem)


@given(problems(max_spins=6, masks=False))
def test_blocks_change_no_distribution_and_no_ground_state(problem: IsingProblem) -> None:
    whole, (_, lowest) = Exact().distribution(problem), Exact().minimize(problem)
    with cut_finely():
        pieces, (_, found) = Exact().distribution(problem), Exact().minimize(problem)
    tolerance = rounding(problem, with_offset=True)
    np.testing.assert_allclose(to_numpy(pieces), to_numpy(whole), rtol=0, atol=tolerance)
    np.testing.assert_allclose(to_numpy(found), to_numpy(lowest), rtol=0, atol=tolerance)


@given(problems(max_spins=6, batches=((3,), (2, 2))))
def test_blocks_change_no_sample(problem: IsingProblem) -> None:
    whole = Exact(num_reads=5).sample(problem, seed=3).samples
    with cut_finely():
        pieces = Exact(num_reads=5).sample(problem, seed=3).samples
    np.testing.assert_array_equal(to_numpy(pieces), to_numpy(whole))


@pytest.mark.parametrize("log_domain", [False, True])
@pytest.mark.parametrize("three", [False, True])
def test_blocks_change_no_gradient(rng: np.random.Generator, three: bool, log_domain: bool) -> None:
    torch = pytest.importorskip("torch")
    arrays = [rng.normal(size=(3, 6)), 0.5 * symmetric(rng, (), 6, 2)]
    arrays += [0.3 * symmetric(rng, (), 6, 3)] if three else []
    weights = torch.tensor(rng.normal(size=(3, 6)))

    def gradients() -> list[Any]:
        inputs = [torch.tensor(array, requires_grad=True) for array in arrays]
        result = Exact().sample(IsingProblem(*inputs))
        loss = (weights * result.magnetization).sum() + result.log_partition.square().sum()
        loss = loss + result.correlation.square().sum() + result.entropy.square().sum()
        first = torch.autograd.grad(loss, inputs, create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), inputs)
        return [tensor.detach() for tensor in (*first, *second)]

    whole = gradients()
    with cut_finely():
        if log_domain:
            with in_the_log_domain():
                pieces = gradients()
        else:
            pieces = gradients()
    for ours, expected in zip(pieces, whole, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("num_spins", [15, 26, 28])
def test_many_spins_agree_with_the_transfer(
    rng: np.random.Generator, num_spins: int, library: str
) -> None:
    queries = 1 if num_spins == 28 else 2
    fields = {
        "h": rng.normal(size=(queries, num_spins)).astype("float32"),
        "J": (0.4 * band(rng, num_spins, 4)).astype("float32"),
    }
    found = Exact().sample(IsingProblem(**in_library(library, fields)))
    truth = Transfer().sample(IsingProblem(*(array.astype(float) for array in fields.values())))
    np.testing.assert_allclose(found.magnetization, truth.magnetization, atol=1e-5)
    np.testing.assert_allclose(found.probability, truth.probability, atol=1e-5)
    np.testing.assert_allclose(found.log_partition, truth.log_partition, rtol=1e-6)


def test_everything_at_twenty_four_spins(rng: np.random.Generator) -> None:
    problem = IsingProblem(rng.normal(size=24), 0.4 * band(rng, 24, 3))
    assert blocks_of_rows(problem) > 1
    found = Exact(num_reads=2000).sample(problem, seed=0)
    truth = Transfer().sample(problem)
    np.testing.assert_allclose(found.magnetization, truth.magnetization, atol=1e-11)
    np.testing.assert_allclose(found.correlation, truth.correlation, atol=1e-11)
    np.testing.assert_allclose(found.entropy, truth.entropy, atol=1e-10)
    error = np.abs(found.samples.mean(axis=0) - truth.magnetization)
    assert (error <= 5 * np.sqrt((1 - truth.magnetization**2) / 2000)).all()
    assert Exact().minimize(problem)[1] == pytest.approx(Transfer().minimize(problem)[1])


SOLVE_AND_MEASURE = """
import sys
import numpy as np
from isingsample import Exact, IsingProblem

def kibibytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

queries, max_memory, what = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(0)
def solve(queries, num_spins):
    J = np.triu(rng.normal(size=(num_spins, num_spins)), 1).astype("float32")
    h = rng.normal(size=(queries, num_spins)).astype("float32")
    result = Exact(max_memory=max_memory).sample(IsingProblem(h, J + J.T))
    assert np.isfinite(getattr(result, what)).all()

solve(256, 16)                                    # the linear algebra library takes its buffers
before = kibibytes("VmRSS")
solve(queries, 26)
print((kibibytes("VmHWM") - before) * 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's accounts")
@pytest.mark.parametrize(("what", "queries"), [("magnetization", 500), ("entropy", 2)])
def test_memory_stays_within_max_memory(what: str, queries: int) -> None:
    limit = 256 * MIB
    command = [sys.executable, "-c", SOLVE_AND_MEASURE, str(queries), str(limit), what]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    growth = int(run.stdout)
    assert 8 * MIB < growth < limit  # of 256 MiB for all 2**26 weights, and as much for temporaries


def test_a_batch_too_large_for_memory_comes_in_slices() -> None:
    problem = IsingProblem(np.zeros((2000, 26), "float32"))
    (block,) = split(problem)
    (groups,), few = Exact(max_memory=256 * MIB)._chunks(block)
    assert groups == slice(0, 1)
    assert len(few) > len(Exact()._chunks(block)[1]) > 1
    assert sum(part.stop - part.start for part in few) == 2000


def test_one_more_spin_can_be_asked_for() -> None:
    problem = IsingProblem(np.zeros(29))
    with pytest.raises(TooLargeError, match=r"29 spins .* limit is max_spins=28; raise it"):
        Exact().sample(problem)
    Exact(max_spins=29)._check(problem)
    Exact(max_spins=32)._check(IsingProblem(np.zeros(32)))
    with pytest.raises(TooLargeError, match=r"32 spins .* memory, where max_memory=268435456"):
        Exact(max_spins=32, max_memory=256 * MIB).sample(IsingProblem(np.zeros(32)))


def test_a_gradient_needs_the_whole_table() -> None:
    torch = pytest.importorskip("torch")

    def problem(num_spins: int, **fields: bool) -> IsingProblem:
        return IsingProblem(
            *(
                torch.zeros([num_spins] * rank, requires_grad=fields.get(name, False))
                for rank, name in enumerate("hJK", start=1)
            )
        )

    for learned in ({"h": True}, {"J": True}, {"K": True}):
        Exact()._check(problem(24, **learned))
        message = (
            r"28 spins .* about 2\.\d+ GiB of memory, where max_memory=1073741824.*raise max_memory"
        )
        with pytest.raises(TooLargeError, match=message):
            Exact().sample(problem(28, **learned))
        with pytest.raises(TooLargeError, match="max_memory=268435456"):
            Exact(max_memory=256 * MIB).sample(problem(26, **learned))
        with torch.no_grad():
            Exact()._check(problem(28, **learned))
    Exact()._check(problem(28))


def test_a_causal_window_costs_two_queries() -> None:
    n = 12
    problem = IsingProblem(np.zeros((n, n)), np.zeros((n, n)), present=np.tri(n, dtype=bool))
    states = sum(block.index.size * 2**block.num_spins for block in split(problem))
    assert states == 2 * 2**n - 2
    heads = IsingProblem(np.zeros((5, 3, n, n)), np.zeros((3, 1, n, n)), present=np.tri(n) > 0)
    assert sum(b.index.size * 2**b.num_spins for b in split(heads)) == 15 * states
    assert len(split(heads)) == n


def test_a_bar_is_shown_where_there_are_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = IsingProblem(np.zeros(6), np.zeros((6, 6)))
    shown: list[tuple[int, str]] = []

    def tracked(items: Sequence[Any], description: str) -> Iterator[Any]:
        shown.append((len(items), description))
        yield from items

    monkeypatch.setattr(_progress, "_tracked", tracked)
    Exact().sample(problem)
    assert not shown  # one block
    with cut_finely():
        Exact().sample(problem)
        blocks = blocks_of_rows(problem)
        with isingsample.progress(False):
            Exact().sample(problem)
    assert shown == [(blocks, "exact")]
