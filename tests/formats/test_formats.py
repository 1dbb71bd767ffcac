"""Files: published instances, round trips, and one clear line for each malformed file."""

import json
from itertools import product
from pathlib import Path

import dimod
import dimod.serialization.coo
import numpy as np
import pytest

from isingsample import Exact, FormatError, from_qubo, load_problem, to_bqm


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_smallest_qubo_has_its_published_extremes(shared_data: Path) -> None:
    problem = load_problem(shared_data / "instances" / "smallestTest.qubo")
    bits = np.array(list(product((0, 1), repeat=4)))
    energies = problem.energy(2 * bits - 1)
    assert energies.min() == pytest.approx(-2.5)
    assert bits[energies.argmin()].tolist() == [1, 0, 1, 1]
    assert energies.max() == pytest.approx(14.2678)
    assert bits[energies.argmax()].tolist() == [0, 1, 1, 1]


def test_spin_glass_has_its_published_moments(shared_data: Path) -> None:
    problem = load_problem(shared_data / "instances" / "sgn_16_001.txt")
    assert problem.labels == tuple(range(1, 17))
    result = Exact().sample(problem)
    assert result.log_partition == pytest.approx(12.262479386571634, abs=1e-12)
    assert result.magnetization[0] == pytest.approx(-0.04714259535793419, abs=1e-12)
    assert result.magnetization[-1] == pytest.approx(0.03856091039414178, abs=1e-12)
    assert Exact().minimize(problem)[1] == pytest.approx(-4.6875)


def test_symmetric_matrix_listed_once_per_pair(shared_data: Path) -> None:
    """MQLib lists Q_ij of a symmetric matrix once: both triangles count in x'Qx."""
    lines = (shared_data / "instances" / "mqlib_sampleQUBO.txt").read_text().splitlines()
    entries = [line.split() for line in lines if not line.startswith("#")][1:]
    Q = np.zeros((3, 3))
    for i, j, value in entries:
        Q[int(i) - 1, int(j) - 1] = Q[int(j) - 1, int(i) - 1] = float(value)
    bits = np.array(list(product((0, 1), repeat=3)))
    energies = from_qubo(Q).energy(2 * bits - 1)
    assert energies.max() == pytest.approx(6)
    assert bits[energies.argmax()].tolist() == [1, 0, 1]
    assert energies.min() == pytest.approx(-5)
    assert bits[energies.argmin()].tolist() == [1, 1, 1]


def test_bqm_json_keeps_energies_labels_and_offset(tmp_path: Path) -> None:
    bqm = dimod.BQM({"a": 1.0, "b": -0.5, "c": 0.0}, {("a", "b"): -1.0}, 3.0, "BINARY")
    path = write(tmp_path, "model.json", json.dumps(bqm.to_serializable()))
    problem = load_problem(path)
    assert problem.labels == ("a", "b", "c")
    for bits in product((0, 1), repeat=3):
        expected = bqm.energy(dict(zip("abc", bits, strict=True)))
        assert problem.energy(2 * np.array(bits) - 1) == pytest.approx(expected)


def test_edge_list_has_dimods_sign_and_adds_repeats(tmp_path: Path) -> None:
    path = write(tmp_path, "edges.txt", "# a comment\n10 2 0.5\n2,10,0.25\n\n2 2 -1\n")
    problem = load_problem(path)
    assert problem.labels == (2, 10)
    assert problem.h.tolist() == [1.0, 0.0]
    assert problem.J[0, 1] == -0.75
    assert to_bqm(problem).quadratic == {(10, 2): 0.75}


def test_edge_list_with_names_keeps_their_order(tmp_path: Path) -> None:
    problem = load_problem(write(tmp_path, "edges.txt", "z a 1\na m 2\n"))
    assert problem.labels == ("z", "a", "m")


def test_format_overrides_suffix(tmp_path: Path) -> None:
    path = write(tmp_path, "edges.json", "0 1 1.0\n")
    assert load_problem(path, "edges").num_spins == 2
    with pytest.raises(ValueError, match=r"format must be one of .*'edge'.*did you mean 'edges'"):
        load_problem(path, "edge")


QUBO = "p qubo 0 2 1 1\n"
MALFORMED = [
    ("edges.txt", "0 1\n", r"line 1: expected 'i j value', found 2 fields"),
    ("edges.txt", "0 1 x\n", r"line 1: 'x' is not a number"),
    ("edges.txt", "0 1 1\n0 2 nan\n", r"line 2: 'nan' is not finite"),
    ("edges.txt", "# nothing\n", r"no edges"),
    ("a.qubo", "0 0 1\n", r"line 1: expected the program line"),
    ("a.qubo", "", r"no program line"),
    ("a.qubo", "p qubo 0 2\n", r"line 1: expected 'p qubo 0 maxNodes"),
    ("a.qubo", "p qubo 0 999999999 0 0\n", r"line 1: 999999999 variables need .* of memory"),
    ("a.qubo", QUBO + QUBO, r"line 2: a second program line"),
    ("a.qubo", QUBO + "0 2 1\n", r"line 2: '2' is not a node between 0 and 1"),
    ("a.qubo", QUBO + "0 1 1\n1 0 1\n", r"line 3: entry \(0, 1\) is given twice"),
    ("a.qubo", QUBO + "0 1\n", r"line 2: expected 'i j value'"),
    ("a.qubo", QUBO + "0 1 1\n", r"announces 1 nodes and 1 links, the file holds 0 and 1"),
    ("a.json", "{", r"not JSON"),
    ("a.json", "[]", r"not a binary quadratic model"),
    ("a.json", '{"type": "BinaryQuadraticModel"}', r"malformed binary quadratic model"),
]


@pytest.mark.parametrize(("name", "text", "message"), MALFORMED)
def test_malformed_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(FormatError, match=message) as caught:
        load_problem(path)
    assert name in str(caught.value)


def test_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_bytes(b"\x80\x00\x01\xff")
    with pytest.raises(FormatError, match="not a text file"):
        load_problem(path)


CHAIN = "0 0 -0.4\n0 1 -0.7\n1 2 0.3\n0 2 -0.2\n"  # m = (.379949, .215263, .008390) at beta 1


@pytest.mark.parametrize(
    "content",
    [
        CHAIN.encode("utf-8-sig"),
        CHAIN.encode("utf-16"),
        CHAIN.replace("\n", "\r\n").encode("utf-8-sig"),
        CHAIN.replace("\n", "\r").encode(),
    ],
)
def test_encodings_and_line_ends_of_all_systems(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "edges.txt"
    path.write_bytes(content)
    problem = load_problem(path)
    assert problem.labels == (0, 1, 2)
    moments = Exact().sample(problem).magnetization
    np.testing.assert_allclose(moments, [0.379949, 0.215263, 0.008390], atol=1e-6)


@pytest.mark.parametrize("name", ["a.qubo", "a.json"])
def test_byte_order_marks_do_not_hide_the_first_line(tmp_path: Path, name: str) -> None:
    bqm = dimod.BQM({0: -1.0}, {}, 0.0, "BINARY")
    text = "p qubo 0 1 1 0\n0 0 -1\n" if name == "a.qubo" else json.dumps(bqm.to_serializable())
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8-sig"))
    assert load_problem(path).energy([1]) == pytest.approx(-1.0)


def test_headers_of_dimods_coo_files_are_read(tmp_path: Path) -> None:
    bqm = dimod.BQM({0: -1, 1: -0.5, 2: 0.25}, {(0, 1): 2, (1, 2): -0.75}, 0, "BINARY")
    path = tmp_path / "model.coo"
    with path.open("w") as file:
        dimod.serialization.coo.dump(bqm, file, vartype_header=True)
    problem = load_problem(path)
    found = Exact().sample(problem)
    np.testing.assert_allclose(found.probability, [0.5118, 0.4746, 0.5254], atol=5e-5)
    assert Exact().minimize(problem)[1] == pytest.approx(-1.0)
    for bits in product((0, 1), repeat=3):
        assert problem.energy(2 * np.array(bits) - 1) == pytest.approx(
            bqm.energy(dict(enumerate(bits)))
        )


def test_offset_of_a_header_stays_in_the_energy(tmp_path: Path) -> None:
    problem = load_problem(write(tmp_path, "a.txt", "# vartype=SPIN, offset=42\n0 1 1.0\n"))
    assert problem.energy([1, -1]) == pytest.approx(41.0)
    with pytest.raises(FormatError, match="line 1: vartype is 'TERNARY', not SPIN or BINARY"):
        load_problem(write(tmp_path, "b.txt", "# vartype=TERNARY\n0 1 1.0\n"))
    with pytest.raises(FormatError, match="line 1: 'x' is not a number"):
        load_problem(write(tmp_path, "c.txt", "# offset=x\n0 1 1.0\n"))


@pytest.mark.parametrize(
    "rows", ["0,0.5,-1\n0.5,0,0.5\n-1,0.5,0\n", "0 1 -1\n1 0 1\n-1 1 0\n", "0 1 2\n0 0 3\n0 0 0\n"]
)
def test_three_rows_that_may_be_a_matrix_are_refused(tmp_path: Path, rows: str) -> None:
    path = write(tmp_path, "matrix.csv", rows)
    with pytest.raises(FormatError, match="matrix or an edge list: say format='edges'"):
        load_problem(path)
    assert load_problem(path, "edges").num_spins > 1


def test_three_edges_are_no_matrix(tmp_path: Path) -> None:
    problem = load_problem(write(tmp_path, "edges.txt", "0 1 -0.7\n1 2 0.3\n0 2 -0.2\n"))
    assert problem.labels == (0, 1, 2)
