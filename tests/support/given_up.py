"""A call to the service of our own that breaks off."""

from typing import Any

import pytest

from isingsample import BackendTimeoutError, DWave, DWaveJob, IsingProblem
from support.fake_sapi import TOKEN, FakeSapi


def given_up(sapi: FakeSapi, problem: IsingProblem, **options: Any) -> DWaveJob:
    """The job of a call that was answered in part: the solver keeps two problems."""
    sapi.held = {0, 3}
    with (
        DWave(token=TOKEN, max_tiles=1, num_reads=20, timeout=0.3, **options) as hasty,
        pytest.raises(BackendTimeoutError) as caught,
    ):
        hasty.sample(problem, beta=0.7, seed=5)
    sapi.held = set()
    return caught.value.job
