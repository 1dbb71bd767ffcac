"""Fixtures, samplers and helpers that the attention tests share."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from isingsample import BlockSampler, Exact, Solution

torch = pytest.importorskip("torch")

from attention_bridge import boltzmann_attention  # noqa: E402  (needs torch)

ASYM3_H = (0.9, -0.4, 0.1)
ASYM3_J = ((0.0, 0.5, 0.25), (0.5, 0.0, -0.8), (0.25, -0.8, 0.0))
ASYM3_M = (0.648359810069, -0.221101166811, 0.289587657448)
ASYM3_DM_DH = (
    (0.579629556687, 0.155913275447, -0.0218296118048),
    (0.155913275447, 0.951114274035, -0.572927929798),
    (-0.0218296118048, -0.572927929798, 0.916138988654),
)
ASYM3_DM_DJ01 = (-0.229244672958, 0.651136877190, -0.429654337122)


def asym3(dtype=torch.float64):
    """h (3,) and J (3, 3) of ASYM3, as leaves."""
    return (
        torch.tensor(ASYM3_H, dtype=dtype, requires_grad=True),
        torch.tensor(ASYM3_J, dtype=dtype, requires_grad=True),
    )


def up(h, coupling, **options):
    """P(s = +1) as attention computes it, for fields h (..., queries, n): not normalised."""
    eye = torch.eye(h.shape[-1], dtype=h.dtype)
    options = {"scale": 1.0, "normalize": False} | options
    return boltzmann_attention(h, eye, eye, coupling=coupling, **options)


def magnetization(h, coupling, **options):
    """<s> as attention computes it, for a single problem h (n,)."""
    return 2 * up(h[None], coupling, **options)[0] - 1


@dataclass(frozen=True)
class Drawn(BlockSampler):
    """Exact samples, and moments from them alone: what Monte Carlo would be without its bias."""

    num_reads: int = 100
    calls: list = field(default_factory=list, repr=False)

    name: ClassVar[str] = "drawn"

    def _solve(self, block, beta, streams):
        self.calls.append(streams.key)
        solved = Exact(num_reads=self.num_reads)._solve(block.to_numpy(), beta, streams)
        return Solution.from_samples(solved.samples, thermal=True)


@dataclass(frozen=True)
class Biased(Drawn):
    """The same samples from a sampler that does not vouch for them."""

    name: ClassVar[str] = "biased"
    thermal: ClassVar[bool] = False


@dataclass(frozen=True)
class Approximate(BlockSampler):
    """Exact moments in disguise: no samples, not thermal, not differentiable."""

    name: ClassVar[str] = "approximate"
    thermal: ClassVar[bool] = False

    def _solve(self, block, beta, streams):
        solved = Exact()._solve(block.to_numpy(), beta, streams)
        return Solution(
            solved.magnetization, solved.probability, np.full_like(solved.magnetization, np.nan)
        )


GRADIENTS = [
    ("exact", Exact()),
    ("correlation", Exact(num_reads=50)),
    ("correlation", Drawn(num_reads=50)),
    ("straight_through", Approximate()),
    ("straight_through_hard", Exact(num_reads=1)),
    ("mean_field", Approximate()),
]


def qkv(*lead, queries=5, keys=6, dim=4, dtype=torch.float32, seed=0):
    """Random query, key and value."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(*lead, length, dim, generator=generator, dtype=dtype)
        for length in (queries, keys, keys)
    )


def learned_qkv(*lead, queries=4, keys=4, dim=3, dtype=torch.float64, seed=0):
    """Random query, key and value as leaves."""
    tensors = qkv(*lead, queries=queries, keys=keys, dim=dim, dtype=dtype, seed=seed)
    return tuple(tensor.requires_grad_() for tensor in tensors)


def random_couplings(*shape, scale=0.5, dtype=torch.float64, seed=1):
    """Couplings as a leaf, neither symmetric nor free of a diagonal."""
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(*shape, generator=generator, dtype=dtype)).requires_grad_()


def grads_of(output, *inputs, seed=2):
    """Gradients of a fixed random projection of output."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(output.shape, generator=generator, dtype=output.dtype)
    return torch.autograd.grad((output * weights).sum(), inputs)
