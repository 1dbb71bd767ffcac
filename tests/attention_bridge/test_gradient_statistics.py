"""Bias and variance of the estimators over many seeds, against exact gradients."""

import numpy as np
import pytest

from attention_bridge.gradients import up_probability
from isingsample import DQA, Exact, IsingProblem, SimulatedAnnealing
from support.attention_cases import Drawn, asym3, torch
from support.dqa_cases import TROT3_OPTIONS
from support.monte_carlo import ignore_unconverged, monte_carlo

G = torch.tensor([1.0, -0.7, 0.4], dtype=torch.float64)  # no two spins alike
weak_fields = pytest.mark.filterwarnings("ignore::isingsample.errors.StrongFieldWarning")


def gradients(sampler, gradient, copies, g=G, coupled=1.0, beta=0.8):
    """Estimates by h, and by each pair of J, from independent copies of ASYM3: (copies, 6)."""
    h, J = (t.detach() for t in asym3())
    h = h.expand(copies, -1).clone().requires_grad_()
    J = (coupled * J).expand(copies, -1, -1).clone().requires_grad_()
    up = up_probability(IsingProblem(h, J), sampler, beta=beta, seed=5, gradient=gradient)
    to_h, to_J = torch.autograd.grad((2 * up * g).sum(), (h, J))
    j, k = np.triu_indices(3, 1)
    return torch.cat([to_h, 2 * to_J[:, j, k]], dim=1)  # half of a pair in each entry


def z_scores(estimates, truth):
    return (estimates.mean(0) - truth) / (estimates.std(0) / len(estimates) ** 0.5)


@monte_carlo
@ignore_unconverged
def test_correlation_is_unbiased_on_thermal_samples(make):
    exact = gradients(Exact(), "exact", 1)[0]
    estimates = gradients(make(num_reads=50, num_sweeps=30), "correlation", 1000)
    assert (z_scores(estimates, exact).abs() <= 5).all()


@pytest.mark.parametrize("gradient", ["straight_through", "mean_field"])
def test_as_many_estimates_tell_a_bias(gradient):
    exact = gradients(Exact(), "exact", 1)[0]
    estimates = gradients(Drawn(num_reads=50), gradient, 1000)
    assert z_scores(estimates, exact).abs().max() > 10


def test_variance_of_correlation_falls_as_one_over_reads():
    copies = 2000
    few, many = (
        gradients(SimulatedAnnealing(num_reads=reads), "correlation", copies).var(0)
        for reads in (100, 1000)
    )
    # A variance from S estimates is known to sqrt(2/S), and to within 1/reads is that power law.
    assert (few / many / 10 - 1).abs().max() <= 5 * (4 / copies) ** 0.5 + 1 / 100


def test_straight_through_without_couplings_has_no_bias_of_its_own():
    exact = gradients(Exact(), "exact", 1, coupled=0.0)[0]
    ours = gradients(Exact(), "straight_through", 1, coupled=0.0)[0]
    torch.testing.assert_close(ours, exact)
    # Reads leave 1 - 1/R of 1 - m^2.
    reads, copies = 4, 20000
    estimates = gradients(Drawn(num_reads=reads), "straight_through", copies, coupled=0.0)
    assert (z_scores(estimates, exact * (1 - 1 / reads))[:3].abs() <= 5).all()
    assert z_scores(estimates, exact)[:3].abs().max() > 10


@weak_fields
def test_correlation_on_an_anneal_is_its_covariance_and_not_its_gradient():
    reads, copies = 1000, 400
    only_first = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    options = {**TROT3_OPTIONS, "engine": "statevector"}

    def by_h1(gradient, copies, **more):
        sampler = DQA(**options, **more)
        return gradients(sampler, gradient, copies, g=only_first, beta=1.0)[:, 1]

    estimates = by_h1("correlation", copies, num_reads=reads)
    # cov(s0, s1), of which each estimate is uncertain by at most 2/sqrt(reads).
    assert estimates.mean().item() == pytest.approx(0.2119, abs=10 / (reads * copies) ** 0.5)
    assert by_h1("exact", 1).item() == pytest.approx(0.0322, abs=1e-4)


@weak_fields
def test_calibration_brings_correlation_nearer_to_boltzmann():
    exact = gradients(Exact(), "exact", 1)[0]

    def bias(calibration):
        sampler = DQA(engine="statevector", calibration=calibration, num_reads=1000)
        return (gradients(sampler, "correlation", 200).mean(0) - exact).norm()

    noise = 2 / (1000 * 200) ** 0.5 * 6**0.5  # of a mean, in all six
    assert bias("none") > bias("analytic") + 5 * noise
