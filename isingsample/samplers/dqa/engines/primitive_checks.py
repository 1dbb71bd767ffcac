"""What a Qiskit primitive is asked before it gets a job: its seed, and the gates of its backend."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

# Where primitives and their backends keep options, and how deep to look.
_BACKENDS = ("backend", "_backend", "simulator")
_OPTIONS = ("options", "_options", "backend_options", "run_options")
_DEPTH = 4
_SEEDS = ("seed", "_seed", "seed_simulator")
# Instructions of a circuit that no backend lists as a gate.
_NO_GATES = ("barrier", "measure", "delay")
# Noisy instructions that an anneal need not have: it waits for nothing, starts once, and is read.
WITHOUT_EFFECT = ("id", "delay", "reset", "measure")


def fixed_seed(primitive: Any) -> tuple[str, int] | None:
    """Where a primitive, its options or its backend fix a seed, and which; None where none does."""
    return next(_seeds(primitive, type(primitive).__name__, _DEPTH), None)


def check_gates(circuit: Any, primitive: Any) -> None:
    """Refuse a circuit whose gates are not those that the backend behind a primitive has noise for.

    Some primitives run such circuits all the same, and leave the noise out without a word. A
    simulator names the noisy gates in its noise model; a device lists all that it has.

    Raises:
        ValueError: with the gates, and the pass manager that translates the circuit.
    """
    backend = getattr(primitive, "backend", None) or getattr(primitive, "_backend", None)
    if callable(backend):
        backend = backend()
    gates = set(circuit.count_ops()) - set(_NO_GATES)
    noise = getattr(getattr(backend, "options", None), "noise_model", None)
    known = getattr(getattr(backend, "target", None), "operation_names", None)
    if not known or gates <= set(known):
        return  # nothing is known of the backend, or the circuit is made for it
    if noise is not None and getattr(noise, "noise_instructions", None):
        wrong = set(noise.noise_instructions) - gates - set(WITHOUT_EFFECT)
        what = f"has noise for {', '.join(sorted(wrong))}, which the anneal does not use"
    else:
        wrong = gates - set(known)
        what = f"does not know {', '.join(sorted(wrong))}, of which the anneal is made"
    if wrong:
        name = getattr(backend, "name", type(backend).__name__)
        raise ValueError(
            f"{name} {what}: the noise of its gates would not be felt. Translate the circuit by "
            f"pass_manager=qiskit.transpiler.generate_preset_pass_manager("
            f"optimization_level=1, backend=...)"
        )


def _seeds(owner: Any, path: str, depth: int) -> Iterator[tuple[str, int]]:
    entries = owner if isinstance(owner, dict) else None
    for name in _SEEDS:
        value = entries.get(name) if entries is not None else getattr(owner, name, None)
        if isinstance(value, Integral):
            yield f"{path}.{name.lstrip('_')}", int(value)
    if depth == 0:
        return
    for name in (*_OPTIONS, *_BACKENDS):
        inside = entries.get(name) if entries is not None else getattr(owner, name, None)
        if inside is not None and not callable(inside) and inside is not owner:
            yield from _seeds(inside, f"{path}.{name.lstrip('_')}", depth - 1)
