"""Importing the package is cheap: optional dependencies wait until a sampler needs them."""

from support.fresh_interpreter import loaded_by


def test_import_loads_no_optional_dependency() -> None:
    assert loaded_by("import isingsample") == set()


def test_listing_samplers_loads_no_optional_dependency() -> None:
    assert loaded_by("import isingsample; isingsample.list_samplers()") == set()
    available = "[entry.available for entry in isingsample.list_samplers().values()]"
    # find_spec of dwave.samplers runs the dwave namespace's __init__, where it has one.
    assert loaded_by(f"import isingsample; {available}") <= {"dwave"}


def test_solving_in_numpy_loads_no_optional_dependency() -> None:
    code = (
        "import isingsample as i; p = i.IsingProblem([0.1, 0.2], [[0, 1], [1, 0]]); "
        "r = i.Exact(num_reads=3).sample(p); r.correlation, r.energy; i.Exact().minimize(p)"
    )
    assert loaded_by(code) == set()
