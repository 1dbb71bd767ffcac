"""Attention from Ising samplers: a thin PyTorch layer over isingsample.

Each query is an Ising problem over the keys; the attention weight of a key is the probability
that its spin is up. The arrows point one way: this package knows isingsample, never the reverse.

functional         boltzmann_attention, with _masks (what is removed) and _shapes (what fits)
module             BoltzmannAttention, with _torch_layer (what torch's layer looks like inside)
couplings          what couplings are; coupling_tables (dense, banded, relative), _distances
symmetry           any array as Ising couplings
gradients          the estimators by name, with _estimators and _linear_response (how they work)
optim              learning rates of their own for couplings
_solver            the exact solver that suits some couplings
"""

try:
    import torch  # noqa: F401
except ImportError:
    from isingsample import MissingExtraError

    raise MissingExtraError("attention_bridge", "torch") from None

from attention_bridge.coupling_tables import BandedCouplings, DenseCouplings, RelativeCouplings
from attention_bridge.couplings import Couplings
from attention_bridge.functional import boltzmann_attention
from attention_bridge.module import BoltzmannAttention
from attention_bridge.optim import parameter_groups
from attention_bridge.symmetry import symmetrised

__all__ = [
    "BandedCouplings",
    "BoltzmannAttention",
    "Couplings",
    "DenseCouplings",
    "RelativeCouplings",
    "boltzmann_attention",
    "parameter_groups",
    "symmetrised",
]
