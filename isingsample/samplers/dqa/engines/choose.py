"""What runs the circuit: "aer", "statevector", or one of Qiskit's sampler primitives."""

import numbers
from typing import Any, TypeAlias

from isingsample._core import checks as check
from isingsample.errors import MissingExtraError
from isingsample.samplers.dqa.engines.aer import AerEngine
from isingsample.samplers.dqa.engines.primitive import PrimitiveEngine
from isingsample.samplers.dqa.engines.statevector import StatevectorEngine

ENGINES = ("aer", "statevector")
# The first two give exact outcome probabilities, a primitive gives reads.
Engine: TypeAlias = AerEngine | StatevectorEngine | PrimitiveEngine


def engine_for(engine: Any, *, noise_model: Any, pass_manager: Any) -> Engine:
    """The engine of these options.

    Raises:
        TypeError: engine is neither a name nor a primitive, or an option that it does not have or
            that is of the wrong kind.
        ValueError: no engine has this name, the noise model does not suit Aer, or a primitive's
            seed does not suit a batch.
        MissingExtraError: engine is an object and qiskit is not installed.
    """
    if noise_model is not None and engine != "aer":
        raise TypeError("noise_model is for engine='aer'; a primitive brings its own noise")
    if pass_manager is not None and isinstance(engine, str):
        raise TypeError("pass_manager is for engines that are primitives; Aer takes any gate here")
    if pass_manager is not None and not callable(getattr(pass_manager, "run", None)):
        raise TypeError(
            f"pass_manager must have a run(), as those of qiskit.transpiler, not {pass_manager!r}"
        )
    if engine == "statevector":
        return StatevectorEngine()
    if isinstance(engine, str):
        check.check_choice("engine", engine, ENGINES)
        return AerEngine(noise_model)
    try:
        from qiskit.primitives import BaseSamplerV2, StatevectorSampler
    except ImportError:
        raise MissingExtraError("an engine of qiskit", "qiskit") from None
    if not isinstance(engine, BaseSamplerV2):
        raise TypeError(
            f"engine must be one of {', '.join(ENGINES)} or a qiskit sampler primitive "
            f"(BaseSamplerV2), not {engine!r}"
        )
    if isinstance(engine, StatevectorSampler) and isinstance(engine.seed, numbers.Integral):
        # It starts from that seed again for each set of parameters.
        raise ValueError(
            f"StatevectorSampler(seed={engine.seed}) gives every query the same random numbers; "
            f"use StatevectorSampler(seed=numpy.random.default_rng({engine.seed}))"
        )
    return PrimitiveEngine(engine, pass_manager)
