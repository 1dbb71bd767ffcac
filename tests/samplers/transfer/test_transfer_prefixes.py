"""Transfer of queries that have their first few spins alone, as causal masks leave them."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from isingsample import Exact, IsingProblem, Sampler, Transfer
from isingsample._core.prefix_blocks import PrefixBlock, prefixes
from isingsample.samplers.transfer import sampler as transfer
from isingsample.testing import enumerate_moments
from support.banded import band
from support.checks import assert_moments
from support.strategies import LIBRARIES, in_library


def batch(lengths: Any, num_spins: int, width: int, *, groups: int = 1, seed: int = 0) -> Any:
    """h, J and present of a batch (groups, queries), each group with couplings of its own."""
    rng = np.random.default_rng(seed)
    return {
        "h": rng.normal(size=(groups, len(lengths), num_spins)),
        "J": 0.5 * band(rng, num_spins, width, size=(groups, 1)),
        "present": np.arange(num_spins) < np.asarray(lengths)[:, None],
    }


@given(
    num_spins=st.integers(1, 7),
    width=st.integers(0, 4),
    groups=st.integers(1, 3),
    three_body=st.booleans(),
    library=st.sampled_from(LIBRARIES),
    data=st.data(),
)
def test_moments_are_those_of_enumeration(
    num_spins: int, width: int, groups: int, three_body: bool, library: str, data: Any
) -> None:
    lengths = data.draw(st.lists(st.integers(1, num_spins), min_size=1, max_size=8))
    fields = batch(lengths, num_spins, width, groups=groups)
    if three_body:
        fields["K"] = 0.3 * band(np.random.default_rng(1), num_spins, width, rank=3)
    present = fields.pop("present")
    problem = IsingProblem(**in_library(library, fields), present=present)
    (block,) = Transfer()._split(problem)
    assert isinstance(block, PrefixBlock) == (set(lengths) != {num_spins})
    assert_moments(Transfer(), problem, enumerate_moments(problem, 0.7), 0.7)
    together, alone = Transfer().sample(problem).entropy, Exact().sample(problem).entropy
    np.testing.assert_allclose(together, alone, atol=1e-12)


@given(
    runs=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=9),
    groups=st.integers(1, 2),
    library=st.sampled_from(LIBRARIES),
    sampler=st.sampled_from([Transfer(), Exact()]),
)
def test_padding_on_either_side(runs: Any, groups: int, library: str, sampler: Sampler) -> None:
    start, stop = np.transpose(runs)
    place = np.arange(6)
    present = (start[:, None] <= place) & (place < stop[:, None])
    fields = batch([6] * len(runs), 6, 3, groups=groups)
    del fields["present"]
    problem = IsingProblem(**in_library(library, fields), present=present)
    if not present.all():
        starts = np.unique(start[stop > start])
        assert len(sampler._split(problem)) == len(starts) + (stop <= start).any()
    assert_moments(sampler, problem, enumerate_moments(problem))


def test_small_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = IsingProblem(**batch([6, 2, 5, 1, 1, 3, 4, 6, 2], 6, 2, groups=2))
    truth = enumerate_moments(problem)
    for entries in (2**3, 2**5):
        monkeypatch.setattr(transfer, "_STEP_ENTRIES", entries)
        assert_moments(Transfer(), problem, truth)


def test_correlations_of_edges() -> None:
    fields = batch([3, 6, 5], 7, 2)
    J, h, present = fields["J"][0, 0], fields["h"][0], fields["present"]
    sparse = IsingProblem(h, scipy.sparse.csr_array(J), present=present)
    found = Transfer().sample(sparse).edge_correlation
    expected = enumerate_moments(IsingProblem(h, J, present=present)).correlation
    np.testing.assert_allclose(found, expected[:, *sparse.edges.T], atol=1e-12)


def test_a_huge_field_of_an_absent_spin_is_of_no_consequence() -> None:
    fields = batch([3, 4, 5], 5, 2)
    truth = enumerate_moments(IsingProblem(**fields))
    fields["h"] = np.where(fields["present"], fields["h"], 1e300)
    assert_moments(Transfer(), IsingProblem(**fields), truth)


def test_couplings_of_spins_that_nobody_has_are_not_refused() -> None:
    fields = batch([3, 4], 40, 2)
    fields["J"][..., 0, 39] = fields["J"][..., 39, 0] = 1.0
    problem = IsingProblem(**fields)
    expected = Exact().sample(problem)
    assert_moments(Transfer(reach=2), problem, expected)


def test_reads_do_not_depend_on_the_lengths_of_others() -> None:
    sampler = Transfer(num_reads=20)
    fields = batch([3, 4, 6], 6, 2)
    whole = sampler.sample(IsingProblem(**fields), seed=1).samples
    fields["present"][2, 4:] = False
    other = sampler.sample(IsingProblem(**fields), seed=1).samples
    np.testing.assert_array_equal(whole[:, :2], other[:, :2])


@pytest.mark.parametrize(
    "output", ["magnetization", "probability", "correlation", "log_partition", "entropy"]
)
def test_gradcheck(output: str) -> None:
    torch = pytest.importorskip("torch")
    fields = batch([1, 2, 4, 5], 5, 2, groups=2)
    h, J = (torch.tensor(fields[name], requires_grad=True) for name in ("h", "J"))

    def moments(h: Any, J: Any) -> Any:
        J = torch.triu(J, 1)
        problem = IsingProblem(h, J + J.mT, present=fields["present"])
        return getattr(Transfer(reach=2).sample(problem, beta=0.7), output)

    inside = torch.triu(torch.ones(5, 5, dtype=h.dtype)).tril(2)
    assert torch.autograd.gradcheck(lambda h, J: moments(h, J * inside), (h, J), fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda h, J: moments(h, J * inside), (h, J), fast_mode=True)


def test_prefixes_keep_no_spins_that_nobody_has() -> None:
    (block,) = prefixes(IsingProblem(**batch([2, 4, 1], 6, 2))) or ()
    assert isinstance(block, PrefixBlock)
    assert block.h.shape == (1, 3, 4)
    assert block.J.shape == (1, 4, 4)
    np.testing.assert_array_equal(block.lengths, [1, 2, 4])
