"""Calls to a D-Wave solver that did not finish, to be finished later or elsewhere.

When `DWave` gives up a call, its error has a `job`::

    try:
        result = sampler.sample(problem)
    except BackendError as error:  # BackendInterrupt, where it was Ctrl-C
        error.job.save("job.json")

and any other process, a day later, can have the result::

    result = DWave().resume(DWaveJob.load("job.json"), problem)
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from isingsample._core.arrays import to_numpy
from isingsample._core.problem import IsingProblem
from isingsample.samplers.dwave.chip.tile_store import json_digest

_FORMAT = "isingsample.qpu_job.1"


@dataclass(frozen=True)
class DWaveJob:
    """What it takes, beside the problem, to finish a call: no answers, and no token.

    Attributes:
        solver: name of the solver that has the submissions.
        options: the sampler's, as they were.
        beta: of the call; None for one of `minimize`.
        problem: fingerprint of the problem, to tell it from others.
        problem_ids: the solver's names of the submissions, in order; None for those that failed
            or may not have arrived, which `resume` submits again.
        facts: what else the submissions depend on, such as embeddings and the seed.
    """

    solver: str
    options: Mapping[str, Any]
    beta: float | None
    problem: str
    problem_ids: tuple[str | None, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """Write a JSON file, for `load`."""
        content = {"format": _FORMAT, **asdict(self)}
        text = json.dumps(content | {"digest": json_digest(content)}, indent=1, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A job from the file that `save` wrote.

        Raises:
            OSError: the file cannot be read.
            ValueError: it holds no job, or not all of it as it was written.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:  # neither UTF-8 nor JSON
            raise ValueError(f"{path} holds no job: {error}") from None
        if not isinstance(content, dict) or "format" not in content:
            raise ValueError(f"{path} holds no job: it names no format")
        if content["format"] != _FORMAT:
            raise ValueError(f"{path} is not of the format {_FORMAT}: made by another version?")
        wanted = {"format", "digest", *(f.name for f in fields(cls))}
        if content.keys() != wanted:
            raise ValueError(f"{path} holds no job: it has not the entries {sorted(wanted)}")
        # An id in another place, or other tiles, would give answers to the wrong problems.
        if content.pop("digest") != json_digest(content):
            raise ValueError(f"{path} is damaged: it has changed since the job was saved")
        del content["format"]
        return cls(**content | {"problem_ids": tuple(content["problem_ids"])})

    def check_is_of(self, problem: IsingProblem) -> None:
        """ValueError unless this is the problem that the job was made for."""
        if fingerprint(problem) != self.problem:
            raise ValueError(
                "the job was made for another problem: resume takes the same h, J and present, "
                "bit by bit"
            )


def fingerprint(problem: IsingProblem) -> str:
    """A digest of fields, couplings and mask; labels, offset and library do not count."""
    digest = hashlib.sha256()
    present = np.ones(1) if problem.present is None else to_numpy(problem.present)
    for array in (to_numpy(problem.h), to_numpy(problem.to_dense().J), present):
        values = np.ascontiguousarray(array, dtype="<f8")
        digest.update(repr(values.shape).encode() + values.tobytes())
    return digest.hexdigest()
