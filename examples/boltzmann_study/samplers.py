"""Samplers by name, each with the options and the gradient that a study trains it with."""

from collections.abc import Callable
from dataclasses import dataclass

from isingsample import DQA, Sampler, get_sampler
from isingsample._core import checks as check


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


def _anneal(name: str, shots: int | None) -> Sampler:
    """A preset of DQA; with exact outcome probabilities, or with shots on Qiskit Aer."""
    how = {"engine": "statevector"} if shots is None else {"num_reads": shots}
    return DQA.preset(name, **how)


EXACT = "exact"

_Builder = Callable[[int], Sampler]

_OTHERS: dict[str, tuple[_Builder, str]] = {
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
}
# Anneals of 200 steps to time 5.
_ANNEALS: dict[str, _Builder] = {
    "dqa": lambda reads: _anneal("default", None),
    "dqa-raw": lambda reads: _anneal("paper", None),
    "dqa-monotone": lambda reads: _anneal("monotone", None),
    "dqa-boltzmann": lambda reads: _anneal("boltzmann", None),
    "dqa-shots": lambda reads: _anneal("default", reads),
    "dqa-raw-shots": lambda reads: _anneal("paper", reads),
}
_ANNEAL_GRADIENTS = {
    "": "straight_through",
    "-response": "mean_field",
    "-borrowed": "borrowed",
    "-through": "exact",
}


# What each setting is made of, from a number of reads; and its gradient.
_SETTINGS = _OTHERS | {
    name + suffix: (build, gradient)
    for name, build in _ANNEALS.items()
    for suffix, gradient in _ANNEAL_GRADIENTS.items()
    if not (gradient == "exact" and "shots" in name)
}
SETTINGS = tuple(_SETTINGS)


def setting(name: str, reads: int) -> Setting:
    """The named setting.

    "dqa" anneals to calibrated temperatures, "dqa-raw" at beta = 1 as published, both with exact
    outcome probabilities; "dqa-monotone" and "dqa-boltzmann" are other presets, and "-shots" draws
    `reads` shots on Qiskit Aer. An anneal's gradient is the straight-through one; with "-response"
    mean field's, with "-through" its own, with "-borrowed" the exact solver's. "nudged" and
    "matched" learn as `boltzmann_study.contrast` describes, from exact moments or, with "gibbs-",
    from samples.

    Raises:
        ValueError: no setting has this name.
        MissingExtraError: its dependencies are not installed.
    """
    build, gradient = _SETTINGS[check.check_choice("sampler", name, SETTINGS)]
    return Setting(name, build(check.check_count("reads", reads)), gradient)
