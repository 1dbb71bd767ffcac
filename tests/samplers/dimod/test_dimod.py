"""dimod samplers as children, and simulated annealing through them: thermal means thermal."""

from collections.abc import Callable
from typing import Any, ClassVar

import dimod
import neal
import numpy as np
import pytest
from dwave.samplers import SimulatedAnnealingSampler, TreeDecompositionSampler
from hypothesis import given, settings

from isingsample import (
    Dimod,
    IsingProblem,
    IsingSampleError,
    Minimizer,
    SimulatedAnnealing,
    TooLargeError,
    from_bqm,
    get_sampler,
)
from isingsample.testing import enumerate_moments
from support.fixtures import ASYM3, KNOWN, PAIR, Known, three_body
from support.strategies import problems

READS = 4000

THERMAL: dict[str, Callable[..., Minimizer]] = {
    "sa": lambda reads=READS: SimulatedAnnealing(num_reads=reads),
    "sa linear": lambda reads=READS: SimulatedAnnealing(
        num_reads=reads, beta_schedule_type="linear"
    ),
    "dimod sa": lambda reads=READS: Dimod(SimulatedAnnealingSampler(), num_reads=reads),
    "dimod neal": lambda reads=READS: Dimod(neal.SimulatedAnnealingSampler(), num_reads=reads),
    "dimod exact": lambda reads=READS: Dimod(dimod.ExactSolver(), num_reads=reads),
    "dimod tree": lambda reads=READS: Dimod(TreeDecompositionSampler(), num_reads=reads),
}
thermal = pytest.mark.parametrize("make", THERMAL.values(), ids=THERMAL)


def assert_magnetization(found: Any, exact: np.ndarray, reads: int) -> None:
    tolerance = 5 * np.sqrt((1 - exact**2) / reads) + 1e-12
    assert (np.abs(np.asarray(found) - exact) <= tolerance).all(), (found, exact)


@thermal
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("beta", [1.0, 0.4])
def test_known_moments_at_beta(make: Callable[[], Minimizer], known: Known, beta: float) -> None:
    problem = IsingProblem(known.h / beta, known.J / beta)
    result = make().sample(problem, beta=beta, seed=11)
    assert result.thermal
    assert_magnetization(result.magnetization, known.magnetization, READS)
    pairs = np.triu_indices(problem.num_spins, 1)
    assert_magnetization(result.correlation[pairs], known.correlation[pairs], READS)
    assert result.samples.shape == (READS, problem.num_spins)


@pytest.mark.filterwarnings("ignore:sa. .*did not converge")  # a ferromagnet turns slowly
@thermal
@given(problem=problems(three_body=False, max_spins=4, scales=(0.0, 0.3, 1.0)))
@settings(max_examples=15)
def test_batches_masks_and_libraries(make: Callable[[int], Minimizer], problem: Any) -> None:
    """Every shape comes back as it went in, and no moment is further off than shot noise."""
    reads = 400
    result = make(reads).sample(problem, seed=5)
    exact = enumerate_moments(problem)
    assert type(result.magnetization) is type(problem.h)
    assert result.magnetization.dtype == problem.h.dtype
    # Five standard errors, and one read for spins that all but never flip.
    tolerance = 5 * np.sqrt((1 - exact.magnetization**2) / reads) + 5 / reads
    assert (np.abs(np.asarray(result.magnetization) - exact.magnetization) <= tolerance).all()
    absent = np.asarray(exact.probability + np.abs(exact.magnetization)) == 0
    assert (
        np.asarray(result.samples).transpose(-2, *range(result.samples.ndim - 2), -1)[..., absent]
        == 0
    ).all()


@thermal
def test_items_do_not_depend_on_their_neighbours(make: Callable[[int], Minimizer]) -> None:
    h = np.stack([ASYM3.h, 0.5 * ASYM3.h, ASYM3.h])
    sampler = make(60)
    whole = sampler.sample(IsingProblem(h, ASYM3.J), seed=9).samples
    h[1] = 7.0
    changed = sampler.sample(IsingProblem(h[:2], ASYM3.J), seed=9).samples
    np.testing.assert_array_equal(whole[0], changed[0])
    assert not np.array_equal(whole[0], whole[2])  # equal problems, streams of their own
    assert len(np.unique(whole[0], axis=0)) > 1
    again = sampler.sample(IsingProblem(h[:1], ASYM3.J), seed=np.int64(9)).samples
    np.testing.assert_array_equal(whole[0], again[0])


@thermal
def test_two_coupled_spins_and_one_free_spin(make: Callable[[], Minimizer]) -> None:
    coupled = make().sample(IsingProblem([0.0, 0.0], [[0, 0.7], [0.7, 0]]), seed=2)
    assert_magnetization(coupled.correlation[0, 1], np.tanh(0.7), READS)
    free = make().sample(IsingProblem([0.0]), seed=2)
    assert_magnetization(free.magnetization, np.zeros(1), READS)


@pytest.mark.parametrize("sweeps", [1, 2, 10, 11])
def test_a_free_spin_forgets_where_it_started(sweeps: int) -> None:
    """Accepting every move that costs nothing would flip it at each sweep."""
    start = {"initial_states": np.ones((READS, 1)), "num_sweeps": sweeps}
    sampler = Dimod(SimulatedAnnealingSampler(), num_reads=READS, parameters=start)
    result = sampler.sample(IsingProblem([0.0]), seed=4)
    assert_magnetization(result.magnetization, np.zeros(1), READS)


@thermal
def test_degenerate_problems(make: Callable[[int], Minimizer]) -> None:
    sampler = make(3)
    for shape in [(0,), (2, 0), (0, 3)]:
        result = sampler.sample(IsingProblem(np.zeros(shape)), seed=0)
        assert result.magnetization.shape == shape
        assert result.samples.shape == (*shape[:-1], 3, shape[-1])
    single = sampler.sample(IsingProblem([2.0]), seed=0)
    assert single.samples.shape == (3, 1)
    one_read = make(1).sample(PAIR.problem(), seed=0)
    assert np.isnan(one_read.std_error).all()


@pytest.mark.parametrize("make", [m for name, m in THERMAL.items() if name.startswith("dimod")])
def test_three_body_couplings_are_refused(make: Callable[[], Minimizer]) -> None:
    with pytest.raises(ValueError, match="no three-body couplings K"):
        make().sample(ASYM3.problem(K=three_body(3, {(0, 1, 2): 1.0})))


@pytest.mark.parametrize(
    ("child", "parameters"),
    [
        ("TabuSampler", {"timeout": 5}),
        ("SteepestDescentSampler", {}),
        ("RandomSampler", {}),
        ("SimulatedAnnealingSampler", {"beta_range": (0.1, 100.0)}),
    ],
)
def test_what_does_not_sample_says_so(child: str, parameters: dict[str, Any]) -> None:
    result = Dimod(child, num_reads=10, parameters=parameters).sample(PAIR.problem(), seed=0)
    assert not result.thermal
    assert np.isnan(result.std_error).all()
    assert Dimod(child, num_reads=10, child_is_thermal=True).thermal


class OneState(dimod.Sampler):
    """A child that chooses its number of reads, as Leap's hybrid solvers do."""

    parameters = {"time_limit": []}  # noqa: RUF012  (dimod's interface)
    properties = {}  # noqa: RUF012

    def sample(self, bqm: Any, time_limit: float | None = None) -> dimod.SampleSet:
        return dimod.ExactSolver().sample(bqm).truncate(1)


def test_a_child_without_reads_serves_minimize() -> None:
    state, energy = Dimod(OneState()).minimize(ASYM3.problem())
    assert state.tolist() == [1, -1, 1]
    assert energy == pytest.approx(-1.95)
    assert Dimod(OneState(), num_reads=1).sample(PAIR.problem()).samples.tolist() == [[1, 1]]


def test_aggregated_rows_are_weighted() -> None:
    class Aggregating(dimod.Sampler):
        parameters = {"num_reads": []}  # noqa: RUF012  (dimod's interface)
        properties = {}  # noqa: RUF012

        def sample(self, bqm: Any, num_reads: int) -> dimod.SampleSet:
            rows = {"b": [1, -1], "a": [1, 1]}
            states = (np.array([rows[v] for v in ("b", "a")]).T, ["b", "a"])
            counts = [num_reads - 2, 2]
            return dimod.SampleSet.from_samples_bqm(states, bqm, num_occurrences=counts)

    result = Dimod(Aggregating(), num_reads=10).sample(PAIR.problem(labels=["a", "b"]))
    assert result.magnetization == pytest.approx([1.0, 0.6])
    assert result.samples.shape == (10, 2)


def test_columns_come_back_in_the_callers_order() -> None:
    order = [2, 0, 1]
    labels = ["z", ("a",), 3]
    problem = IsingProblem(
        ASYM3.h[order], ASYM3.J[np.ix_(order, order)], labels=[labels[i] for i in order]
    )
    result = Dimod(num_reads=READS).sample(problem, seed=1)
    assert_magnetization(result.magnetization, ASYM3.magnetization[order], READS)


@pytest.mark.parametrize("scale", [1e-3, 1e6])
@pytest.mark.parametrize("name", ["sa", "dimod"])
def test_optimising_scales_with_the_problem(scale: float, name: str) -> None:
    signs = np.random.default_rng(0).choice([-1, 1], size=100)
    state, energy = get_sampler(name, num_reads=20).minimize(IsingProblem(scale * signs), seed=1)
    np.testing.assert_array_equal(state, signs)
    assert energy == pytest.approx(-100 * scale)


@thermal
def test_minimize_finds_ground_states_of_a_batch(make: Callable[[int], Minimizer]) -> None:
    rng = np.random.default_rng(3)
    J = np.triu(rng.normal(size=(6, 6)), 1)
    batch = IsingProblem(rng.normal(size=(2, 3, 6)), J + J.T)
    state, energy = make(50).minimize(batch, seed=0)
    exact_state, exact_energy = get_sampler("exact").minimize(batch)
    np.testing.assert_array_equal(state, exact_state)
    np.testing.assert_allclose(energy, exact_energy)


def test_published_qubo_reaches_its_known_maximum(shared_data: Any) -> None:
    from isingsample import load_problem

    problem = load_problem(shared_data / "instances" / "bqp50_1.qubo")
    flipped = IsingProblem(-problem.h, -problem.J, offset=-problem.offset)
    assert get_sampler("sa", num_reads=20).minimize(flipped, seed=1)[1] == pytest.approx(-2098)


def test_a_sparse_model_of_200_variables() -> None:
    rng = np.random.default_rng(1)
    names = [f"v{i}" for i in rng.permutation(200)]
    tree = {(names[i], names[rng.integers(i)]): 0.5 * rng.normal() for i in range(1, 200)}
    bqm = dimod.BQM({name: rng.normal() for name in names}, tree, 0.0, "SPIN")
    problem = from_bqm(bqm)
    result = Dimod(num_reads=READS, parameters={"num_sweeps": 500}).sample(problem, seed=2)
    marginals = TreeDecompositionSampler().sample(bqm, beta=1.0, num_reads=1, seed=1)
    exact = marginals.info["variable_marginals"]
    expected = np.array([2 * exact[name] - 1 for name in problem.labels])
    assert_magnetization(result.magnetization, expected, READS)


BAD_OPTIONS = [
    (lambda: Dimod(num_reads=0), ValueError, "num_reads must be at least 1"),
    (lambda: Dimod("TabbuSampler"), ValueError, "did you mean 'TabuSampler'"),
    (lambda: Dimod("no.such.Sampler"), ValueError, "no module is called 'no.such'"),
    (lambda: Dimod(3), TypeError, "child must be a dimod sampler"),
    (lambda: Dimod(parameters={"num_sweep": 3}), TypeError, "did you mean 'num_sweeps'"),
    (lambda: Dimod(parameters={"num_reads": 3}), ValueError, "num_reads is an option"),
    (lambda: Dimod(parameters={"seed": 3}), ValueError, r"seed is an argument of sample\(\)"),
    (lambda: Dimod(parameters={"initial_states": [[0, 1]]}), ValueError, r"entry \[0, 0\] is 0"),
    (lambda: Dimod(parameters={"initial_states": [[1, 10]]}), ValueError, r"entry \[0, 1\] is 10"),
    (lambda: Dimod(num_read=3), TypeError, "did you mean 'num_reads'"),
    (lambda: SimulatedAnnealing(num_sweeps=0), ValueError, "num_sweeps must be at least 1"),
    (lambda: SimulatedAnnealing(hold=1.5), ValueError, "hold must be between 0 and 1"),
    (lambda: SimulatedAnnealing(beta_schedule_type="linaer"), ValueError, "did you mean 'linear'"),
    (
        lambda: SimulatedAnnealing(beta_range=(0.1, 2.0)).sample(PAIR.problem()),
        ValueError,
        "beta_range must end at beta=1",
    ),
    (
        lambda: SimulatedAnnealing(beta_range=(0.0, 1.0)).sample(PAIR.problem()),
        ValueError,
        "cannot start at 0",
    ),
    (
        lambda: SimulatedAnnealing(beta_range=(1.0,)).sample(PAIR.problem()),
        ValueError,
        "beta_range must be two finite numbers",
    ),
    (
        lambda: Dimod("ExactSolver").sample(IsingProblem(np.zeros(40))),
        TooLargeError,
        r"lists all 2\*\*40 states",
    ),
    (
        lambda: Dimod(OneState(), num_reads=3).sample(PAIR.problem()),
        IsingSampleError,
        "returned 1 reads where num_reads=3",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD_OPTIONS)
def test_bad_options_are_named(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_beta_zero_is_uniform() -> None:
    result = SimulatedAnnealing(num_reads=READS).sample(ASYM3.problem(), beta=0.0, seed=0)
    assert_magnetization(result.magnetization, np.zeros(3), READS)


METROPOLIS = {"proposal_acceptance_criteria": "Metropolis"}
SCHEDULES = [
    ({}, True),
    ({"num_sweeps": 11, "num_sweeps_per_beta": 3}, True),
    ({"num_sweeps": None}, True),
    ({"beta_schedule_type": "linear"}, True),
    ({"beta_range": (0.2, 1.0)}, True),
    ({"beta_schedule": [0.1, 0.5, 1.0, 1.0]}, True),
    ({"beta_schedule": [0.1, 2.0]}, False),
    ({"beta_range": (0.2, 3.0)}, False),
    (METROPOLIS, False),  # it flips a free spin at every sweep, and never forgets
]


@pytest.mark.parametrize(("parameters", "is_thermal"), SCHEDULES)
def test_any_schedule_of_the_annealer_runs_and_knows_whether_it_samples(
    parameters: dict[str, Any], is_thermal: bool
) -> None:
    result = Dimod(num_reads=20, parameters=parameters).sample(PAIR.problem(), seed=1)
    assert result.samples.shape == (20, 2)
    assert result.thermal is is_thermal


@pytest.mark.parametrize("states", [[[1, -1]] * 4, [1, -1], np.array([[1, -1]] * 4)])
def test_initial_states_in_any_form(states: Any) -> None:
    parameters = {"initial_states": states, "initial_states_generator": "tile"}
    sampler = Dimod(num_reads=4, parameters=parameters)
    assert sampler.sample(PAIR.problem(labels="ba"), seed=0).samples.shape == (4, 2)


@pytest.mark.parametrize("name", ["sa", "dimod"])
def test_minimizing_nothing_is_no_trouble(name: str) -> None:
    state, energy = get_sampler(name, num_reads=2).minimize(IsingProblem(np.zeros(3)), seed=0)
    assert energy == 0
    assert (abs(state) == 1).all()


class Answering(dimod.Sampler):
    """A child that answers with what it was made with."""

    parameters: ClassVar[dict[str, Any]] = {"num_reads": []}
    properties: ClassVar[dict[str, Any]] = {}

    def __init__(self, rows: list[list[int]], labels: list[Any], vartype: str) -> None:
        kinds = [("sample", np.int8, (len(labels),)), ("energy", float), ("num_occurrences", int)]
        record = np.rec.array([(row, 0.0, 1) for row in rows], dtype=kinds)
        self.answer = dimod.SampleSet(record, labels, {}, vartype)

    def sample(self, bqm: Any, **parameters: Any) -> dimod.SampleSet:
        return self.answer


TWO = IsingProblem([0.1, 0.2], [[0, 0.3], [0.3, 0]])
WRONG_ANSWERS = [
    (
        [[1, -1], [1, 3], [-1, 1]],
        [0, 1],
        "SPIN",
        "Answering returned 3 for the variable 1 in",
    ),
    (
        [[1, 0]],
        [0, 1],
        "SPIN",
        "0 for the variable 1 in row 0 of SPIN samples, whose",
    ),
    ([[1, -1]], [0, 1], "BINARY", "returned -1 for the variable 1 in row 0 of BINARY samples"),
    ([[1, -1]], [0, "x"], "SPIN", "samples without the variable 1; they have 0, 'x'"),
]


@pytest.mark.parametrize(("rows", "labels", "vartype", "message"), WRONG_ANSWERS)
def test_what_a_child_returns_is_looked_at(
    rows: list[list[int]], labels: list[Any], vartype: str, message: str
) -> None:
    sampler = Dimod(Answering(rows, labels, vartype), num_reads=len(rows))
    with pytest.raises(ValueError, match=message):
        sampler.sample(TWO)
    if len(rows) == 1:
        with pytest.raises(ValueError, match=message):
            sampler.minimize(TWO)


@pytest.mark.parametrize("beta", [0.0, 1e-200])
def test_couplings_that_beta_takes_away_leave_spins_free(beta: float) -> None:
    """What decides is what the child is given, beta J, not J."""
    problem = IsingProblem([0.0, 0.0], [[0, 1e-150], [1e-150, 0]])
    sampler = Dimod(TreeDecompositionSampler(), num_reads=1000)
    result = sampler.sample(problem, beta=beta, seed=0)
    assert (np.abs(result.magnetization) <= 5 * result.std_error).all()
    assert abs(result.correlation[0, 1]) <= 5 * result.correlation_error[0, 1]
