"""Facts put off until somebody reads them, and moments of what is not there."""

import copy
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

from isingsample import Exact, IsingProblem, SampleResult, as_dimod
from isingsample._core.info import Info, Later
from support.fixtures import PAIR

COMPUTED: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_computed() -> None:
    COMPUTED.clear()


def dear(name: str) -> str:
    COMPUTED.append(name)
    return name.upper()


def sent(value: Any) -> Any:
    """value as another process gets it."""
    return pickle.loads(pickle.dumps(value))


def with_dear_fact(num_reads: int = 3) -> SampleResult:
    result = Exact(num_reads=num_reads).sample(PAIR.problem(), seed=1)
    facts = Info(result.info).also(dear=Later(partial(dear, "fact")))
    return SampleResult(**{**vars(result), "info": facts})


def test_a_fact_is_computed_once_when_it_is_read() -> None:
    info = Info({"plain": 1, "dear": Later(partial(dear, "fact"))})
    assert len(info) == 2
    assert "dear" in info
    assert COMPUTED == []
    assert info["dear"] == info["dear"] == "FACT"
    assert COMPUTED == ["fact"]
    assert "'dear': 'FACT'" in repr(info)


def test_printing_and_handing_on_compute_nothing() -> None:
    result = with_dear_fact()
    assert "'dear': <computed when read>" in repr(result.info)
    assert "dear" not in result.to_sampleset().info
    assert result.to_sampleset().info["sampler"] == "exact"
    assert COMPUTED == []
    assert result.info["dear"] == "FACT"
    assert result.to_sampleset().info["dear"] == "FACT"


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, sent])
def test_copies_keep_what_is_put_off(twin_of: Any) -> None:
    twin = twin_of(with_dear_fact())
    assert COMPUTED == []
    assert twin.info["dear"] == "FACT"


def test_what_cannot_be_sent_is_computed_for_the_way() -> None:
    info = Info({"dear": Later(lambda: dear("local"))})
    assert copy.deepcopy(info)["dear"] == "LOCAL"
    COMPUTED.clear()
    twin = pickle.loads(pickle.dumps(Info({"dear": Later(lambda: dear("local"))})))
    assert COMPUTED == ["local"]
    assert twin["dear"] == "LOCAL"


def test_as_dimod_computes_nothing_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    result = with_dear_fact()
    monkeypatch.setattr(Exact, "sample", lambda *_, **__: result)
    as_dimod(Exact()).sample_ising({0: -0.3, 1: 0.2}, {(0, 1): -0.7}, num_reads=3)
    assert COMPUTED == []


def test_edges_are_the_pairs_coupled_in_any_problem() -> None:
    J = np.zeros((2, 3, 3))
    J[0, 0, 1] = J[0, 1, 0] = J[1, 1, 2] = J[1, 2, 1] = 0.5
    assert IsingProblem(np.zeros((2, 3)), J).edges.tolist() == [[0, 1], [1, 2]]


def test_the_energy_of_no_spins_is_the_offset() -> None:
    """A read of a problem whose spins are all absent is no discarded read."""
    problem = IsingProblem([[1.0, 2.0]], present=[[False, False]], offset=0.5)
    result = Exact(num_reads=2).sample(problem, seed=0)
    kept = SampleResult(**{**vars(result), "info": Info(result.info).also(kept_reads=2)})
    np.testing.assert_array_equal(kept.energy, [[0.5, 0.5]])
