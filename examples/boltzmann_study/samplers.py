"""Samplers by name, each with the options and the gradient that a study trains it with."""

from collections.abc import Callable
from dataclasses import dataclass

from isingsample import Sampler, get_sampler
from isingsample import _validation as check


@dataclass(frozen=True)
class Setting:
    """A sampler to train with.

    Attributes:
        name: on the command line and in results.
        sampler: what is called for each batch of problems.
        gradient: an estimator of `attention_bridge.gradients` or `boltzmann_study.contrast`.
    """

    name: str
    sampler: Sampler
    gradient: str


def _dqa(**options: object) -> Sampler:
    """200 Trotter steps to time 5, the published setting; calibrated unless options differ."""
    return get_sampler("dqa", total_time=5.0, num_steps=200, **options)


EXACT = "exact"

# name: what it is made of, from a number of reads; and its gradient
_SETTINGS: dict[str, tuple[Callable[[int], Sampler], str]] = {
    EXACT: (lambda reads: get_sampler("exact"), "auto"),
    "nudged": (lambda reads: get_sampler("exact"), "nudged"),
    "matched": (lambda reads: get_sampler("exact"), "matched"),
    "gibbs-nudged": (lambda reads: get_sampler("gibbs", num_reads=reads), "nudged"),
    "gibbs-matched": (lambda reads: get_sampler("gibbs", num_reads=reads), "matched"),
    "mean_field": (lambda reads: get_sampler("mean_field"), "auto"),
    "gibbs": (lambda reads: get_sampler("gibbs", num_reads=reads), "auto"),
    "sa": (lambda reads: get_sampler("sa", num_reads=reads), "auto"),
    "tempering": (lambda reads: get_sampler("tempering", num_reads=reads), "auto"),
    "dimod": (lambda reads: get_sampler("dimod", num_reads=reads), "auto"),
    "dqa": (lambda reads: _dqa(engine="statevector"), "straight_through"),
    "dqa-raw": (lambda reads: _dqa(engine="statevector", calibration="none"), "straight_through"),
    "dqa-through": (lambda reads: _dqa(engine="statevector"), "exact"),
    "dqa-borrowed": (lambda reads: _dqa(engine="statevector"), "borrowed"),
    "dqa-raw-borrowed": (lambda reads: _dqa(engine="statevector", calibration="none"), "borrowed"),
    "dqa-shots": (lambda reads: _dqa(num_reads=reads), "straight_through"),
    "dqa-raw-shots": (lambda reads: _dqa(num_reads=reads, calibration="none"), "straight_through"),
}
SETTINGS = tuple(_SETTINGS)


def setting(name: str, reads: int) -> Setting:
    """The named setting.

    "dqa" anneals to calibrated temperatures, "dqa-raw" at beta = 1 as published, both with exact
    outcome probabilities and the straight-through gradient; "dqa-through" differentiates the
    anneal itself, and "-borrowed" the exact solver in its place; "-shots" draws `reads` shots on
    Qiskit Aer. "nudged" and "matched" learn as `boltzmann_study.contrast` describes, from exact
    moments or, with "gibbs-", from samples.

    Raises:
        ValueError: no setting has this name.
        MissingExtraError: its dependencies are not installed.
    """
    build, gradient = _SETTINGS[check.check_choice("sampler", name, SETTINGS)]
    return Setting(name, build(check.check_count("reads", reads)), gradient)
