"""Attention by couplings alone, learned from patterns without backpropagation."""

import numpy as np
import pytest

from attention_bridge import boltzmann_attention
from isingsample import Exact, Gibbs, IsingProblem, fit_couplings
from support.attention_cases import torch


@pytest.mark.parametrize("sampler", [Exact(), Gibbs(num_reads=400, num_sweeps=100, burn_in=50)])
def test_weights_are_those_of_the_patterns(rng, sampler):
    n, number = 6, 3000
    J = np.triu(rng.normal(0, 0.6, (n, n)), 1)
    patterns = Exact(num_reads=number).sample(IsingProblem(np.zeros(n), J + J.T), seed=1).samples
    fit = fit_couplings(patterns, sampler, fit_fields=False, tolerance=2e-3, seed=2)
    assert fit.converged

    # Without fields a spin is up half of the time; a query whose own key is pinned up attends to
    # the others as often as they agree with it: (1 + <s_j s_k>) / 2.
    query = torch.zeros(n, 1, dtype=torch.float64)
    own = 30 * torch.eye(n, dtype=torch.float64)
    coupling = torch.tensor(fit.problem.J)
    _, weights = boltzmann_attention(
        query, query, query, coupling=coupling, mode="J", attn_mask=own,
        normalize=False, return_weights=True,
    )  # fmt: skip
    spins = patterns.astype(float)
    agree = 0.5 * (1 + spins.T @ spins / number)
    # The tolerance is on correlations, of which weights have half, beyond the sampler's noise.
    assert np.abs(weights.numpy() - agree).max() <= 0.5 * (2e-3 + 5 * fit.noise[-1])
    assert np.abs(agree - 0.5)[np.triu_indices(n, 1)].max() > 0.1
