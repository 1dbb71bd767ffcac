"""The temperature of an annealer: measured on its reads, and set by the scale of what is sent.

An annealer has a temperature of its own, which depends on the time of the anneal, on the solver
and on how strong the problem is. Near to a Boltzmann distribution its inverse temperature goes
with the scale of the fields and couplings; so a few submissions find the scale that gives the
wanted one.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from isingsample._core.arrays import to_numpy
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample.samplers.dwave.chip.tile_store import json_digest, read_json, write_json
from isingsample.samplers.effective_beta import EffectiveBeta, effective_beta

# Reads that a temperature is measured on, and states that the exact likelihood may sum over.
_MOST_READS, _MOST_STATES = 2**15, 2**24
_NUM_BOOTSTRAP = 100
# Where every read is a ground state, or there is no order at all, the scale goes by this factor.
_LEAP = 4.0
# Bounds on how fast beta may seem to change with the scale, as powers.
_SLOWEST, _FASTEST = 0.25, 4.0


class Trial(NamedTuple):
    """One measurement: the inverse temperature, with its standard error, at a scale."""

    scale: float
    beta_effective: float
    std_error: float

    def agrees_with(self, beta: float) -> bool:
        """Whether it is beta within its error; one without a finite error agrees with nothing."""
        return abs(self.beta_effective - beta) <= self.std_error < math.inf


@dataclass(frozen=True)
class DWaveCalibration:
    """What `DWave.calibrate` found.

    Attributes:
        scale: for `DWave(scale=...)`.
        beta: the inverse temperature asked for.
        beta_effective: what was measured at this scale.
        std_error: of beta_effective, from the reads alone.
        converged: whether the two agree within the error.
        trials: all measurements, in order.
        path: the file that keeps the scale for `DWave(scale="calibrated")`; None if none does.
    """

    scale: float
    beta: float
    beta_effective: float
    std_error: float
    converged: bool
    trials: tuple[Trial, ...]
    path: Path | None = None


def measured_beta(result: SampleResult) -> EffectiveBeta:
    """The effective beta of the reads of a result, over as many problems as take a moment.

    These are spread evenly over the batch. Reads that are 0 throughout do not count.
    """
    whole = result.problem.to_numpy()
    problems, n = math.prod(whole.batch_shape), whole.num_spins
    if result.samples is None or problems == 0 or n == 0:
        return EffectiveBeta(math.nan, math.nan)
    samples = to_numpy(result.samples).reshape(problems, -1, n)
    most = min(_MOST_READS // samples.shape[1], _MOST_STATES >> n if n <= 24 else problems)
    picked = np.unique(np.linspace(0, problems - 1, max(1, min(most, problems))).astype(int))

    def pick(array: np.ndarray, core: int) -> np.ndarray:
        tail = array.shape[array.ndim - core :]
        every = np.broadcast_to(array, (*whole.batch_shape, *tail)).reshape(-1, *tail)
        return np.asarray(every[picked])

    h, J = pick(whole.h, 1), whole.J if whole.J.ndim == 2 else pick(whole.J, 2)
    peak = max(np.abs(h).max(), np.abs(J).max()) or 1.0  # huge energies would overflow
    some = IsingProblem(
        h / peak,
        J / peak,
        present=None if whole.present is None else pick(whole.present, 1),
    )
    reads = samples[picked]
    kept = (reads != 0).any(axis=-1)
    if not kept.any():  # every spin is absent
        return EffectiveBeta(math.nan, math.nan)
    exists = np.ones((len(picked), n), bool) if some.present is None else some.present
    reads = np.where(kept[..., None], reads, exists[:, None])
    found = effective_beta(
        some, reads, weights=kept.astype(int), num_bootstrap=_NUM_BOOTSTRAP, seed=0
    )
    return EffectiveBeta(float(found.beta / peak), float(found.std_error / peak))


def calibrated(
    measure: Callable[[float], EffectiveBeta],
    beta: float,
    *,
    start: float,
    most: float,
    num_trials: int,
) -> DWaveCalibration:
    """The scale that `search` ends at, with the same arguments, and how near that is."""
    trials = search(measure, beta, start=start, most=most, num_trials=num_trials)
    scale, found, error = trials[-1]
    return DWaveCalibration(scale, beta, found, error, trials[-1].agrees_with(beta), tuple(trials))


def search(
    measure: Callable[[float], EffectiveBeta],
    beta: float,
    *,
    start: float,
    most: float,
    num_trials: int,
) -> list[Trial]:
    """Scales tried until the measured beta agrees with the wanted one; the last is the best.

    A secant on logarithms, kept between the scales known to be too small and too large.

    Args:
        measure: the effective beta at a scale.
        beta: the one wanted, above 0.
        start: the first scale.
        most: the largest that the solver takes.
        num_trials: to give up after.

    Raises:
        ValueError: the solver takes no scale that is large enough, or reads have no temperature.
    """
    trials: list[Trial] = []
    scale = min(start, most)
    for _ in range(num_trials):
        trial = Trial(scale, *measure(scale))
        trials.append(trial)
        if math.isnan(trial.beta_effective):
            raise ValueError("all states of the problem have one energy: no beta can be measured")
        if trial.agrees_with(beta):
            return trials
        if scale == most and trial.beta_effective < beta:
            raise ValueError(
                f"at the largest scale within the solver's ranges, {most:.4g}, beta_effective is "
                f"{trial.beta_effective:.4g} +- {trial.std_error:.2g}, below beta={beta:g}; ask "
                f"for less, or anneal for longer"
            )
        scale = min(_next(trials, beta), most)
    closest = min(trials, key=lambda trial: abs(trial.beta_effective - beta))
    return [*(trial for trial in trials if trial is not closest), closest]


def _next(trials: list[Trial], beta: float) -> float:
    low = max((t.scale for t in trials if t.beta_effective < beta), default=0.0)
    high = min((t.scale for t in trials if t.beta_effective > beta), default=math.inf)
    usable = [t for t in trials if 0 < t.beta_effective < math.inf]
    if trials[-1] not in usable:
        guess = trials[-1].scale * (_LEAP if trials[-1].beta_effective < beta else 1 / _LEAP)
    else:
        power = 1.0
        if len(usable) > 1 and usable[-1].scale != usable[-2].scale:
            rise = math.log(usable[-1].beta_effective / usable[-2].beta_effective)
            power = rise / math.log(usable[-1].scale / usable[-2].scale)
        power = min(max(power, _SLOWEST), _FASTEST)
        guess = trials[-1].scale * (beta / trials[-1].beta_effective) ** (1 / power)
    # Noise may put a scale on the wrong side of another: then the bracket is empty, and the
    # guess stands.
    return math.sqrt(low * high) if 0 < low < high < math.inf and not low < guess < high else guess


def stored_scale(folder: Path, setting: Mapping[str, Any]) -> float | None:
    """The scale that `store_scale` kept for a setting, or None."""
    kept = read_json(_path(folder, setting))
    if not isinstance(kept, dict) or kept.get("setting") != setting:
        return None
    scale = kept.get("scale")
    return scale if isinstance(scale, float) and 0 < scale < math.inf else None


def store_scale(folder: Path, setting: Mapping[str, Any], found: DWaveCalibration) -> Path | None:
    """Keep a scale in a file of its setting's own, in place of an earlier one; None if nothing
    can be written there."""
    facts = {
        "scale": found.scale,
        "beta": found.beta,
        "beta_effective": found.beta_effective,
        "std_error": found.std_error,
    }
    path = _path(folder, setting)
    return path if write_json(path, {"setting": dict(setting), **facts}) else None


def _path(folder: Path, setting: Mapping[str, Any]) -> Path:
    return folder / "scales" / f"{json_digest(setting)[:32]}.json"
