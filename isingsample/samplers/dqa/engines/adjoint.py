"""The gradient of outcome probabilities in PyTorch, by running the circuit backwards.

Larger batches on the host do it compiled, unless the gradient is by angles too.

Loaded when a tensor that requires a gradient has been met, so PyTorch is there already. The
anneal is unitary, so its states on the way are found again from the last one, and nothing of the
forward pass is kept but that.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from isingsample._core.arrays import Array, records_gradient, to_numpy
from isingsample._core.autograd import once_only
from isingsample.samplers.dqa.engines import amplitudes
from isingsample.samplers.dqa.engines.qubits import on_every_qubit, overlap_of_turn

_TWICE = (
    "a simulated anneal can be differentiated once, not twice: its backward pass runs the "
    "circuit backwards and is not recorded. Take second derivatives by differences of "
    "first ones, or use the sampler 'exact'"
)


def differentiable_probabilities(energies: Tensor, problem: Array, driver: Array) -> Tensor:
    """Outcome probabilities, (2**n, queries), differentiable once in all that they depend on.

    Args:
        energies: (2**n, queries).
        problem: (num_steps,) angles of each step's problem part, in radians, float64.
        driver: (num_steps,) those of its driver part. Both in NumPy or PyTorch.
    """
    found: Tensor
    if amplitudes.kernels_for(energies.numel() * len(problem), energies) and not any(
        map(records_gradient, (problem, driver))
    ):
        fixed = to_numpy(problem), to_numpy(driver)
        found = _Compiled.apply(energies, *fixed)  # type: ignore[no-untyped-call]
    else:
        angles = map(torch.as_tensor, (problem, driver))
        found = _Probabilities.apply(energies, *angles)  # type: ignore[no-untyped-call]
    return found


class _Compiled(torch.autograd.Function):
    """p(E), but for a factor, on the host."""

    @staticmethod
    def forward(ctx: Any, energies: Tensor, problem: np.ndarray, driver: np.ndarray) -> Tensor:
        from isingsample.samplers.dqa.engines.kernels import outcome_weights

        ctx.angles = problem, driver
        ctx.save_for_backward(energies)
        return torch.from_numpy(outcome_weights(energies.numpy(force=True), problem, driver))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from isingsample.samplers.dqa.engines.kernels_adjoint import by_energies

        (energies,) = ctx.saved_tensors
        arrays = (x.numpy(force=True) for x in (energies, grad))
        found = torch.from_numpy(by_energies(*arrays, *ctx.angles))
        return once_only(found, (energies, grad), _TWICE), None, None


class _Probabilities(torch.autograd.Function):
    """p(E, angles)."""

    @staticmethod
    def forward(ctx: Any, energies: Tensor, problem: Tensor, driver: Tensor) -> Tensor:
        angles = problem.numpy(force=True), driver.numpy(force=True)
        state = amplitudes.evolved(energies, *angles)
        ctx.angles = angles
        ctx.save_for_backward(energies, state, problem, driver)
        probabilities: Tensor = amplitudes.squares(state)
        return probabilities

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        energies, state, *angles = ctx.saved_tensors
        with torch.no_grad():
            found = _pulled_back(ctx.angles, energies, state, grad, any(ctx.needs_input_grad[1:]))
        return tuple(
            once_only(by.to(given), (energies, *angles, grad), _TWICE)
            for by, given in zip(found, (energies, *angles), strict=True)
        )


def _pulled_back(
    angles: tuple[np.ndarray, np.ndarray],
    energies: Tensor,
    state: Tensor,
    grad: Tensor,
    by_angles: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Derivatives by energies and angles, those by angles if wanted, from that by probabilities."""
    problem, driver = (given[::-1] for given in angles)
    # Beside the state, its adjoint: the derivative of the loss by real and imaginary parts.
    adjoint = 2 * grad.repeat_interleave(2, dim=1) * state
    both = torch.cat([state, adjoint], dim=1)
    spare = torch.empty_like(both)
    total = torch.zeros_like(energies)
    by_problem, by_driver = energies.new_zeros(2, len(problem))
    undone = amplitudes.phases(energies, -problem)
    rotations = amplitudes.driver_rotations(-driver, both)
    steps = enumerate(zip(problem, undone, rotations, strict=True), start=1)
    with torch.autocast(grad.device.type, enabled=False):
        for step, (angle, phase, rotation) in steps:
            if by_angles:
                by_driver[-step] = overlap_of_turn(*reversed(both.chunk(2, dim=1)))
            both, spare = on_every_qubit(rotation, both, spare)
            psi, adjoint = amplitudes.as_complex(both).chunk(2, dim=1)
            # The step multiplied psi by exp(i angle/2 E).
            slope = (adjoint.conj() * psi).imag
            total -= float(angle / 2) * slope
            if by_angles:
                by_problem[-step] = -(energies * slope).sum() / 2
            psi *= phase
            adjoint *= phase
    return total, by_problem, by_driver
