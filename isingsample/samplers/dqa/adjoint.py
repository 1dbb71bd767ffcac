"""The gradient of outcome probabilities in PyTorch, by running the circuit backwards.

Loaded when a tensor that requires a gradient has been met, so PyTorch is there already. The
anneal is unitary, so its states on the way are found again from the last one, and nothing of the
forward pass is kept but that.
"""

from typing import Any

import torch
from torch import Tensor

from isingsample.samplers.dqa import statevector
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.qubits import on_every_qubit


def differentiable_probabilities(energies: Tensor, anneal: Anneal) -> Tensor:
    """Outcome probabilities, (2**n, queries) both, differentiable once in the energies."""
    found: Tensor = _Probabilities.apply(energies, anneal)  # type: ignore[no-untyped-call]
    return found


class _Probabilities(torch.autograd.Function):
    """p(E)."""

    @staticmethod
    def forward(ctx: Any, energies: Tensor, anneal: Anneal) -> Tensor:
        state = statevector.evolved(energies, anneal)
        ctx.anneal = anneal
        ctx.save_for_backward(energies, state)
        probabilities: Tensor = statevector.squares(state)
        return probabilities

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        energies, state = ctx.saved_tensors
        with torch.no_grad():
            total = _pulled_back(ctx.anneal, energies, state, grad)
        found: Tensor = _Once.apply(total, energies, grad)  # type: ignore[no-untyped-call]
        return found, None


class _Once(torch.autograd.Function):
    """A first derivative, as it is; the second is refused."""

    @staticmethod
    def forward(ctx: Any, total: Tensor, *depends_on: Tensor) -> Tensor:
        return total.view_as(total)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        raise RuntimeError(
            "a simulated anneal can be differentiated once, not twice: its backward pass runs the "
            "circuit backwards and is not recorded. Take second derivatives by differences of "
            "first ones, or use the sampler 'exact'"
        )


def _pulled_back(anneal: Anneal, energies: Tensor, state: Tensor, grad: Tensor) -> Tensor:
    """The derivative by the energies, from that by the probabilities."""
    # Beside the state, its adjoint: the derivative of the loss by real and imaginary parts.
    adjoint = 2 * grad.repeat_interleave(2, dim=1) * state
    both = torch.cat([state, adjoint], dim=1)
    spare = torch.empty_like(both)
    total = torch.zeros_like(energies)
    angles = anneal.problem_angles[::-1]
    undone = statevector.phases(energies, -angles)
    rotations = statevector.driver_rotations(-anneal.driver_angles[::-1], both)
    with torch.autocast(grad.device.type, enabled=False):
        for angle, phase, rotation in zip(angles, undone, rotations, strict=True):
            both, spare = on_every_qubit(rotation, both, spare)
            psi, adjoint = statevector.as_complex(both).chunk(2, dim=1)
            # The step multiplied psi by exp(i angle/2 E).
            total -= float(angle / 2) * (adjoint.conj() * psi).imag
            psi *= phase
            adjoint *= phase
    return total
