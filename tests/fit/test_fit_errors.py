"""What fit_couplings refuses, and how it says so."""

import numpy as np
import pytest

from isingsample import Exact, IsingProblem, MeanField, TooLargeError, fit_couplings

GOOD = [[1, -1], [1, 1]]


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        ([[1, 0], [1, 1]], {}, ValueError, r"data\[0, 1\] is 0.*2 \* x - 1"),
        ([[1, 2], [1, 1]], {}, ValueError, r"data\[0, 1\] is 2"),
        ([[1, np.nan]], {}, ValueError, "data"),
        ([1, -1], {}, ValueError, r"data must have shape \(patterns, n\)"),
        (np.zeros((0, 3)), {}, ValueError, r"data must have shape \(patterns, n\)"),
        (np.zeros((3, 0)), {}, ValueError, r"data must have shape \(patterns, n\)"),
        (None, {}, TypeError, "data is None"),
        (["up"], {}, TypeError, "data must hold real numbers"),
        (GOOD, {"sampler": "exakt"}, ValueError, "did you mean 'exact'"),
        (GOOD, {"sampler": Exact}, TypeError, "sampler must be a Sampler"),
        (GOOD, {"num_steps": 0}, ValueError, "num_steps must be at least 1"),
        (GOOD, {"learning_rate": -1}, ValueError, "learning_rate must be at least 0"),
        (GOOD, {"tolerance": "small"}, TypeError, "tolerance must be a number"),
        (GOOD, {"beta": 0}, ValueError, "beta must be above 0"),
        (GOOD, {"seed": 1.5}, TypeError, "seed must be"),
    ],
)
def test_data_and_options_that_are_refused(data, options, error, message):
    with pytest.raises(error, match=message):
        fit_couplings(data, **({"sampler": Exact()} | options))


WIDE = [[1, -1, 1], [1, 1, -1]]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"momentum": 1.0}, ValueError, "momentum must be at least 0 and below 1"),
        ({"weight_decay": -1}, ValueError, "weight_decay must be at least 0"),
        ({"weights": [1.0]}, ValueError, r"weights must have shape \(2,\)"),
        ({"weights": [1.0, -2.0]}, ValueError, r"weights\[1\] is -2"),
        ({"weights": [0, 0]}, ValueError, "weights are all 0"),
        ({"weights": [1, np.nan]}, ValueError, "weights must be finite"),
        ({"edges": "none"}, ValueError, "edges must be one of all"),
        ({"edges": [(0, 3)]}, ValueError, r"edges\[0\] must be 2 different spins from 0 to 2"),
        ({"edges": [(0, 1), (1, 1)]}, ValueError, r"edges\[1\] must be 2 different spins"),
        ({"edges": [(0, 1, 2)]}, ValueError, r"shape \(edges, 2\)"),
        ({"edges": [(0.5, 1)]}, ValueError, "whole numbers"),
        ({"triples": [(0, 1)]}, ValueError, r"shape \(triples, 3\)"),
        ({"persistent": True}, ValueError, "initial_states, not 'exact'"),
        ({"start": IsingProblem([0.0])}, ValueError, "single problem of 3 spins"),
        (
            {"start": IsingProblem(np.zeros(3), np.ones((3, 3)) - np.eye(3)), "edges": [(0, 1)]},
            ValueError,
            r"spins \[0, 2\], which are not among the edges",
        ),
        (
            {"triples": "all", "sampler": MeanField()},
            ValueError,
            "triples come from samples, which 'mean_field' does not give",
        ),
    ],
)
def test_options_that_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        fit_couplings(WIDE, **({"sampler": Exact()} | options))


def test_too_many_products_are_refused_before_they_are_listed():
    data = np.ones((100, 2000))
    with pytest.raises(TooLargeError, match=r"13\d{8} products of spins in 100 pat.*fewer edges"):
        fit_couplings(data, Exact(), triples="all")
