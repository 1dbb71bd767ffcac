"""A training step with Boltzmann attention beside one with softmax.

The model is one decoder block of width 64 with a feed-forward layer of 128, one head and 64
sequences, every position of which predicts the next. Read the ratios, never the times: `make bench`
(also with MALLOC_MMAP_THRESHOLD_=4000000000 and MALLOC_TRIM_THRESHOLD_=8000000000, which let the C
library keep memory that was freed).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor, nn

from attention_bridge import BoltzmannAttention, parameter_groups
from isingsample import Transfer, get_sampler
from support import peers

pytestmark = pytest.mark.benchmark

Note = Callable[[str, str, str], None]
WIDTH, HIDDEN, ALPHABET, BATCH = 64, 128, 65, 64
# What we want to be held to: a causal step of 16 keys, beside softmax, at most.
BAR_SPINS, BAR = 16, 2.0

# Sampler and couplings of the layers that are timed at several lengths.
SAMPLED = {
    "transfer, w = 4": {
        "coupling": "banded",
        "reach": 4,
        "sampler": Transfer(reach=4),
    },
    "mean_field, relative": {"coupling": "relative", "sampler": "mean_field"},
    "gibbs, 16 chains of 40 sweeps, relative": {
        "coupling": "relative",
        "sampler": get_sampler("gibbs", num_reads=16, num_sweeps=32, burn_in=8),
    },
}


class Decoder(nn.Module):
    """One pre-norm block."""

    def __init__(self, length: int, **attention: Any) -> None:
        super().__init__()
        self.embedding = nn.Embedding(ALPHABET, WIDTH)
        self.position = nn.Parameter(0.1 * torch.randn(length, WIDTH))
        self.norm = nn.LayerNorm(WIDTH)
        self.attention = BoltzmannAttention(WIDTH, 1, length, **attention)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH)
        )
        self.logits = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, ALPHABET))

    def forward(self, codes: Tensor, is_causal: bool) -> Tensor:
        x = self.embedding(codes) + self.position
        x = x + self.attention(self.norm(x), need_weights=False, is_causal=is_causal)[0]
        return self.logits(x + self.feed_forward(x))


def training_step(
    length: int, *, is_causal: bool = True, batch: int = BATCH, **attention: Any
) -> Callable[[], float]:
    """A step of AdamW on one random batch, giving its loss."""
    torch.manual_seed(0)
    # Weak couplings and a low rate: each step is as hard as the first.
    model = Decoder(length, coupling_init=1 / length, **attention)
    optimizer = torch.optim.AdamW(parameter_groups(model, lr=1e-6))
    codes = torch.randint(ALPHABET, (batch, length + 1))

    def step() -> float:
        optimizer.zero_grad()
        logits = model(codes[:, :-1], is_causal)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), codes[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def kept_bytes(step: Callable[[], float]) -> int:
    """Memory of the tensors that a step keeps for its backward pass, each counted once."""
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        step()
    return sum(kept.values())


@pytest.mark.parametrize("length", [8, 12, 16, 20])
def test_exact_beside_softmax(benchmark: BenchmarkFixture, note: Note, length: int) -> None:
    steps = {
        "softmax": training_step(length, mode="softmax"),
        "h": training_step(length, mode="h"),
        "h+J": training_step(length),
        "h+J, not causal": training_step(length, is_causal=False),
    }
    assert all(np.isfinite(step()) for step in steps.values())
    benchmark.group = f"causal step, {length} keys, {BATCH} sequences"
    benchmark.pedantic(steps["h+J"], rounds=10, warmup_rounds=2)
    times = peers.race(steps, rounds=8 if length > 16 else 20)
    bar = f" (bar {BAR:g})" if length == BAR_SPINS else ""
    for which, statistic in (("fastest", np.min), ("median", np.median)):
        second = {name: float(statistic(seconds)) for name, seconds in times.items()}
        for name in ("h", "h+J", "h+J, not causal"):
            ratio = second[name] / second["softmax"]
            benchmark.extra_info[f"{name} / softmax, {which}"] = ratio
            held = bar if name == "h+J" else ""
            note(benchmark.group, f"{name} / softmax, {which}{held}", f"{ratio:.2f}")
    kept = {name: kept_bytes(steps[name]) for name in ("softmax", "h+J")}
    benchmark.extra_info |= kept
    shown = " / ".join(f"{size / 2**20:.1f}" for size in kept.values())
    note(benchmark.group, "MiB kept for backward, softmax / h+J", shown)


@pytest.mark.parametrize("length", [16, 64, 256])
def test_samplers_beside_softmax(benchmark: BenchmarkFixture, note: Note, length: int) -> None:
    batch = 256 // length  # 256 positions in each step
    options = {"is_causal": False, "batch": batch}
    steps = {"softmax": training_step(length, mode="softmax", **options)}
    steps |= {name: training_step(length, **options, **layer) for name, layer in SAMPLED.items()}
    assert all(np.isfinite(step()) for step in steps.values())
    benchmark.group = f"step, {length} keys, {batch} sequences"
    benchmark.pedantic(steps["transfer, w = 4"], rounds=3, warmup_rounds=1)
    times = peers.race(steps, rounds=2)
    for name in SAMPLED:
        ratio = float(times[name][0] / times["softmax"][0])
        benchmark.extra_info[name] = ratio
        note(benchmark.group, f"{name} / softmax", f"{ratio:.1f}")
