"""The compiled kernels give what the array code gives, to rounding: moments and gradients."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isingsample import Exact, IsingProblem
from isingsample._core.arrays import is_torch
from isingsample.samplers.exact import prefix_moments
from isingsample.samplers.exact.compiled import dispatch
from support.strategies import symmetric

torch = pytest.importorskip("torch")
pytest.importorskip("numba")

# Relative to sums of up to 2**10 terms of at most a few units.
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}
sizes = st.tuples(
    st.integers(1, 3), st.integers(1, 9), st.integers(1, 10), st.sampled_from(list(TOLERANCE))
)


def case(groups: int, queries: int, n: int, dtype: str, seed: int) -> tuple[Any, ...]:
    """Fields and couplings, and rising lengths with repeats."""
    rng = np.random.default_rng(seed)
    h = rng.normal(0, 1, (groups, queries, n)).astype(dtype)
    J = (0.5 * symmetric(rng, (groups,), n, 2)).astype(dtype)
    lengths = np.sort(rng.integers(1, n + 1, queries))
    lengths[-1] = n
    return h, J, lengths


@given(sizes, st.integers(0, 1000))
@settings(max_examples=60)
def test_moments_are_those_of_the_array_code(size: Any, seed: int) -> None:
    h, J, lengths = case(*size, seed)
    found = dispatch.solve(h, J, lengths, keep=False)
    expected = prefix_moments.solve(h, J, lengths, keep=False)
    assert found is not None
    assert expected is not None
    for name in ("magnetization", "probability", "log_partition"):
        array = getattr(found, name)
        assert array.dtype == h.dtype
        np.testing.assert_allclose(array, getattr(expected, name), atol=TOLERANCE[size[3]] * 10)


@given(sizes, st.integers(0, 1000), st.sets(st.integers(0, 2), min_size=1))
@settings(max_examples=60)
def test_gradients_are_those_of_the_array_code(size: Any, seed: int, given_: set[int]) -> None:
    h, J, lengths = case(*size, seed)
    rng = np.random.default_rng(seed + 1)
    arriving = tuple(
        rng.normal(size=shape).astype(h.dtype) if which in given_ else None
        for which, shape in enumerate((h.shape, h.shape, h.shape[:2]))
    )
    kept = dispatch.solve(h, J, lengths, keep=True)
    solved = prefix_moments.solve(h, J, lengths, keep=True)
    assert kept is not None
    assert solved is not None
    by_h, by_J = dispatch.pull(arriving, kept, wants_J=True)
    expected = prefix_moments.pull(
        arriving, lengths, solved.probability, solved.weights, solved.parts
    )
    apart = ~np.eye(h.shape[-1], dtype=bool)  # values on the diagonal are of no consequence
    slack = {"atol": 100 * TOLERANCE[size[3]], "rtol": 100 * TOLERANCE[size[3]]}
    np.testing.assert_allclose(by_h, expected[0], **slack)
    assert by_J is not None
    np.testing.assert_allclose(by_J[:, apart], expected[1][:, apart], **slack)
    assert dispatch.pull(arriving, kept, wants_J=False)[1] is None


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_sampler_uses_them_for_all_but_small_calls(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []
    solve = dispatch.solve

    def counted(*arguments: Any, **options: Any) -> Any:
        called.append(is_torch(arguments[0]))
        return solve(*arguments, **options)

    monkeypatch.setattr(dispatch, "solve", counted)
    make = torch.zeros if library == "torch" else np.zeros
    Exact().sample(IsingProblem(make((64, 8)), make((8, 8))))
    assert not called
    Exact().sample(IsingProblem(make((1024, 8)), make((8, 8))))
    Exact().sample(IsingProblem(make((1024, 8)), make((1024, 8, 8))))  # couplings of their own
    assert called == [library == "torch"] * 2


def test_sums_near_the_end_of_a_range_go_to_the_log_domain() -> None:
    """Where fields fight strong couplings, sums underflow: results are exact all the same."""
    n, J = 8, 40.0 * (np.ones((8, 8)) - np.eye(8))
    h = np.where(np.arange(n) < 4, -200.0, 200.0) * np.linspace(0.9, 1.1, 1024)[:, None]
    found = Exact().sample(IsingProblem(h.astype("f4"), J.astype("f4")))
    exact = Exact().sample(IsingProblem(h, J))
    np.testing.assert_allclose(found.magnetization, exact.magnetization, atol=1e-4)
    np.testing.assert_allclose(found.log_partition, exact.log_partition, rtol=1e-5)


def test_results_may_be_changed_before_the_backward_pass() -> None:
    h = torch.randn(1024, 8, requires_grad=True)
    J = torch.zeros(8, 8)
    expected = torch.autograd.grad(
        Exact().sample(IsingProblem(h, J)).magnetization.square().sum(), h
    )[0]
    result = Exact().sample(IsingProblem(h, J))
    loss = result.magnetization.square().sum()
    with torch.no_grad():
        result.probability.zero_()
    torch.testing.assert_close(torch.autograd.grad(loss, h)[0], expected)
