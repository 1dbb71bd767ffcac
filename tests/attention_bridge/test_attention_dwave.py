"""Attention whose spins are sampled by an annealer, on its mock."""

import numpy as np
import pytest

from isingsample import DWave
from isingsample.samplers.dwave.mock import mock_dwave

torch = pytest.importorskip("torch")
from attention_bridge import BoltzmannAttention  # noqa: E402


def test_a_few_steps_of_training_bring_the_loss_down() -> None:
    """Queries and keys are learned too, through four spins without chains."""
    torch.manual_seed(0)
    child = mock_dwave(topology_shape=[3, 4], num_sweeps=40, seed=1)
    sampler = DWave(child=child, num_reads=200)
    layer = BoltzmannAttention(8, 2, 4, sampler=sampler)
    x, wanted = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.03)
    losses = []
    for _ in range(8):
        loss = (layer(x)[0] - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        gradients = [p.grad for p in layer.parameters() if p.grad is not None]
        assert gradients
        assert all(torch.isfinite(g).all() for g in gradients)
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-2:]) < 0.9 * losses[0]
