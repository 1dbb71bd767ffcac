"""Hypothesis settings and the folder of reference data."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

pytest.register_assert_rewrite("checks")

# Derandomized: a run repeats exactly. HYPOTHESIS_PROFILE=thorough looks further.
settings.register_profile("quick", deadline=None, derandomize=True, database=None, max_examples=40)
settings.register_profile("thorough", deadline=None, database=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers in each test, whichever tests ran before it."""
    return np.random.default_rng(20260)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Reference instances and texts: the folder in ISINGSAMPLE_DATA, by default ../shared/data."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ISINGSAMPLE_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no test data at {folder}; set ISINGSAMPLE_DATA to its folder")
    return folder


@pytest.fixture
def seeded() -> None:
    """Torch's generator, from a seed."""
    pytest.importorskip("torch").manual_seed(0)
