"""Samplers of this package behind dimod's interface, under dimod's own conformance tests."""

import json
import unittest
from collections.abc import Callable
from typing import Any

import dimod
import dimod.testing
import numpy as np
import pytest

from isingsample import Exact, GaugeSpin, Refine, as_dimod, get_sampler, to_bqm
from support.fixtures import ASYM3


@dimod.testing.load_sampler_bqm_tests(lambda: as_dimod(Exact()))
class TestExact(unittest.TestCase):
    def test_api(self) -> None:
        dimod.testing.assert_sampler_api(as_dimod(Exact()))


@dimod.testing.load_sampler_bqm_tests(lambda: as_dimod(get_sampler("sa", num_reads=5)))
@pytest.mark.filterwarnings("ignore:sa. .*did not converge")  # couplings of 100, five reads
class TestAnnealing(unittest.TestCase):
    def test_api(self) -> None:
        dimod.testing.assert_sampler_api(as_dimod(get_sampler("sa")))


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_moments_come_back_in_the_callers_vartype(vartype: str) -> None:
    bqm = to_bqm(ASYM3.problem(labels=["z", "a", 3])).change_vartype(vartype, inplace=False)
    reads = 20000
    found = as_dimod(Exact()).sample(bqm, num_reads=reads, seed=3)
    assert found.vartype is bqm.vartype
    dimod.testing.assert_sampleset_energies(found, bqm)
    columns = [list(found.variables).index(label) for label in ("z", "a", 3)]
    means = found.record.sample[:, columns].mean(axis=0)
    if vartype == "BINARY":
        means = 2 * means - 1
    tolerance = 5 * np.sqrt((1 - ASYM3.magnetization**2) / reads)
    assert (abs(means - ASYM3.magnetization) < tolerance).all()


def test_beta_seed_and_number_of_reads_are_passed_on() -> None:
    bqm = to_bqm(ASYM3.problem())
    sampler = as_dimod(Exact(num_reads=7))
    assert len(sampler.sample(bqm)) == 7
    first, again = (sampler.sample(bqm, num_reads=100, beta=50.0, seed=1) for _ in range(2))
    np.testing.assert_array_equal(first.record.sample, again.record.sample)
    assert np.allclose(first.record.energy, Exact().minimize(ASYM3.problem())[1])


def test_unknown_arguments_warn_as_dimods_do() -> None:
    with pytest.warns(dimod.exceptions.SamplerUnknownArgWarning):
        as_dimod(Exact()).sample(to_bqm(ASYM3.problem()), num_sweep=3)


def test_zero_reads_are_refused() -> None:
    with pytest.raises(ValueError, match="num_reads must be at least 1"):
        as_dimod(Exact()).sample(to_bqm(ASYM3.problem()), num_reads=0)


@pytest.mark.parametrize("name", ["exact", "sa", "dimod", "dqa"])
def test_samplesets_can_be_stored_as_json(name: str) -> None:
    result = get_sampler(name, num_reads=2).sample(ASYM3.problem(), seed=0)
    text = json.dumps(result.to_sampleset().to_serializable())
    assert dimod.SampleSet.from_serializable(json.loads(text)) == result.to_sampleset()


@pytest.mark.parametrize("wrap", [Refine, GaugeSpin, lambda inside: Refine(GaugeSpin(inside))])
def test_wrappers_draw_what_the_sampler_inside_draws(wrap: Callable[[Any], Any]) -> None:
    sampler = as_dimod(wrap(get_sampler("sa", num_reads=12)))
    bqm = to_bqm(ASYM3.problem())
    assert len(sampler.sample(bqm, seed=1)) == 12
    assert len(sampler.sample(bqm, num_reads=5, seed=1)) == 5
    with pytest.raises(TypeError, match="draws no samples"):
        as_dimod(GaugeSpin(get_sampler("mean_field")))


@pytest.mark.parametrize("name", ["exact", "sa", "tempering", "dimod", "dqa", "dwave"])
def test_samplers_can_be_keys(name: str) -> None:
    one, other = get_sampler(name), get_sampler(name)
    assert hash(one) is not None
    assert {one: 1}[one] == 1
    if name != "dimod":  # whose children are equal to themselves alone
        assert hash(one) == hash(other)
