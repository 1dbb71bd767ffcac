"""Samplers by name."""

import sys
from importlib.metadata import EntryPoint

import pytest

from isingsample import (
    Exact,
    IsingProblem,
    MissingExtraError,
    Sampler,
    get_sampler,
    list_samplers,
)
from isingsample.samplers import registry
from isingsample.samplers.registry import Entry
from support.tiny_samplers import Foreign


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> str:
    """The names that another package registers; one of them is taken."""
    points = [
        EntryPoint(name, "support.tiny_samplers:Foreign", registry.ENTRY_POINT_GROUP)
        for name in ("foreign", "exact")
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    return "foreign"


def test_by_name_with_options() -> None:
    assert get_sampler("exact") == Exact()
    assert get_sampler("exact", num_reads=5, max_spins=12) == Exact(num_reads=5, max_spins=12)


def test_listing_loads_nothing_and_says_what_each_needs() -> None:
    entries = list_samplers()
    assert next(iter(entries)) == "exact"
    for name, entry in entries.items():
        assert entry.name == name
        assert entry.summary
        assert entry.available == (not entry.missing)
    assert entries["exact"].available
    assert entries["exact"].install == ""
    assert entries["dwave"].install == "pip install 'isingsample[dwave]'"


@pytest.mark.parametrize("name", list_samplers())
def test_entries_lead_to_samplers_of_that_name(name: str) -> None:
    entry = list_samplers()[name]
    if not entry.available:
        pytest.skip(f"not installed: {', '.join(entry.missing)}")
    sampler_class = entry.load()
    assert issubclass(sampler_class, Sampler)
    assert sampler_class.name == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("exakt", r"no sampler is called 'exakt' \(did you mean 'exact'\?\); there are exact, "),
        ("zzz", "no sampler is called 'zzz'; there are exact"),
        (3, "no sampler is called 3; there are exact"),
        (None, "no sampler is called None"),
    ],
)
def test_unknown_names(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        get_sampler(name)


def test_unknown_options() -> None:
    with pytest.raises(TypeError, match=r"Exact has no option 'max_spin' \(did you mean 'max_spi"):
        get_sampler("exact", max_spin=3)


@pytest.mark.parametrize("module", ["no_such_module", "no_such_package.module"])
def test_a_missing_extra_says_how_to_install_it(module: str) -> None:
    entry = Entry("far", "nowhere:Nothing", "never there", extra="qiskit", modules=("re", module))
    assert entry.missing == (module,)
    assert not entry.available
    with pytest.raises(MissingExtraError, match=r"'far' needs .* pip install 'isingsample\[qiskit"):
        entry.load()
    assert issubclass(MissingExtraError, ImportError)


def test_other_packages_add_samplers(foreign: str) -> None:
    entry = list_samplers()[foreign]
    assert entry.available
    assert entry.load() is Foreign
    assert get_sampler(foreign, strength=2.0) == Foreign(strength=2.0)
    with pytest.raises(TypeError, match="did you mean 'strength'"):
        get_sampler(foreign, strenght=2.0)


def test_other_packages_cannot_replace_ours(foreign: str) -> None:
    assert list(list_samplers()).count("exact") == 1
    assert get_sampler("exact") == Exact()


def test_an_anneal_by_our_own_engine_needs_no_qiskit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("qiskit", "qiskit.circuit", "qiskit_aer"):
        monkeypatch.setitem(sys.modules, module, None)
    problem = IsingProblem([0.3, -0.2], [[0, 0.1], [0.1, 0]])
    sampler = get_sampler("dqa", engine="statevector", num_steps=20)
    assert sampler.sample(problem).magnetization[0] > 0
    with pytest.raises(MissingExtraError, match=r"isingsample\[qiskit\]"):
        get_sampler("dqa").sample(problem)
