"""Compiled kernels where nothing can be kept on disk."""

import warnings

import numba.core.caching
import pytest

from isingsample.samplers._shared import compiling as _compiling


def test_without_a_folder_to_write_kernels_are_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a container whose packages and home are read-only."""
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    _compiling._warn.cache_clear()
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR"):
        double = _compiling.compiled(lambda x: 2 * x)
    with warnings.catch_warnings():  # said once
        warnings.simplefilter("error")
        triple = _compiling.compiled(lambda x: 3 * x)
    assert (double(4), triple(4)) == (8, 12)
