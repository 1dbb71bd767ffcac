"""Any dimod sampler as a sampler of this package."""

import importlib
from dataclasses import dataclass, field
from typing import Any, ClassVar

from isingsample._core import checks as check
from isingsample._core.blocks import Block
from isingsample._core.extras import import_dimod
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.streams import Seed, Streams
from isingsample.errors import MissingExtraError
from isingsample.samplers._shared.reads import check_reads_fit
from isingsample.samplers.block_sampler import BlockMinimizer
from isingsample.samplers.dimod.children import (
    check_parameters,
    lowest_states,
    reads_at_unit_temperature,
    refuse_three_body,
    treatment,
)
from isingsample.samplers.monte_carlo.diagnostics import warn_unless_converged
from isingsample.samplers.monte_carlo.mixing import can_be_followed, mixing
from isingsample.samplers.solution import Solution

_CHILD_MODULES = ("dwave.samplers", "dimod")


@dataclass(frozen=True)
class Dimod(BlockMinimizer):
    """Samples from any dimod sampler, one query at a time.

    The child sees each problem multiplied by beta, in dimod's sign. Known children are made to
    sample at that temperature instead of optimising: dwave-samplers' (and neal's) annealer gets
    a schedule that ends at it, ExactSolver's rows are drawn with their Boltzmann weights,
    TreeDecompositionSampler samples exactly. Of any other child nothing is known: its
    results are not `thermal`, unless child_is_thermal says otherwise.

    An annealer's reads are thermal if it was slow enough. So the first 32 of each problem go on
    for 32 heat-bath sweeps: info["r_hat"] and info["converged"] say whether they come to agree
    (not for a sparse J).

    Attributes:
        child: a dimod sampler or composite; or the name of one, such as "TabuSampler" (looked up
            in dwave.samplers, then dimod) or "package.module.Class", made without arguments.
        num_reads: reads of each problem.
        parameters: further arguments of the child's sample(), such as {"num_sweeps": 1000}.
            An annealer's own beta_range or beta_schedule is in units where beta is 1.
        child_is_thermal: whether the child's reads follow exp(-E) of the BQM it is given; None
            to decide by what is known of it.

    Raises:
        TypeError: child is not a dimod sampler, or a parameter that it does not have.
        ValueError: the child returns other values than its vartype has, or misses a variable.
        MissingExtraError: dimod or dwave-samplers is not installed.
    """

    child: Any = "SimulatedAnnealingSampler"
    num_reads: int = 1000
    parameters: dict[str, Any] = field(default_factory=dict, hash=False)
    child_is_thermal: bool | None = None

    name: ClassVar[str] = "dimod"
    takes_sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.check_count("num_reads", self.num_reads)
        dimod = import_dimod("the sampler 'dimod'")
        if isinstance(self.child, str):
            object.__setattr__(self, "child", _child_by_name(self.child))
        if not isinstance(self.child, dimod.Sampler):
            raise TypeError(
                f"child must be a dimod sampler such as dwave.samplers.TabuSampler(), "
                f"not {self.child!r}"
            )
        check_parameters(self.child, self.parameters)

    @property
    def thermal(self) -> bool:
        """Whether the child's reads follow exp(-beta E)."""
        if self.child_is_thermal is not None:
            return self.child_is_thermal
        return treatment(self.child, self.parameters).thermal

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; warns of problems whose reads an annealer left too hot or stuck."""
        result = super().sample(problem, beta=beta, seed=seed)
        if self.thermal:
            remedy = "raise num_sweeps in parameters, or use 'tempering'"
            warn_unless_converged(self.name, result.info, remedy)
        return result

    def _check(self, problem: IsingProblem) -> None:
        refuse_three_body(self, problem)
        check_reads_fit(problem, self.num_reads)

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        reads = reads_at_unit_temperature(
            self.child, block, beta, self.num_reads, self.parameters, streams
        )
        judged = {}
        if treatment(self.child, self.parameters).anneals and can_be_followed(block):
            judged = mixing(block, reads, beta, streams)
        return Solution.from_samples(reads, thermal=self.thermal, per_query=judged)

    def _lowest(self, block: Block, streams: Streams) -> Any:
        return lowest_states(self.child, block, self.num_reads, self.parameters, streams)


def _child_by_name(name: str) -> Any:
    module_name, _, attribute = name.rpartition(".")
    candidates = [module_name] if module_name else list(_CHILD_MODULES)
    known: list[str] = []
    for candidate in candidates:
        try:
            module = importlib.import_module(candidate)
        except ImportError as error:
            if not module_name:
                raise MissingExtraError(f"the child {name!r}", "dimod") from error
            raise ValueError(f"child {name!r}: no module is called {module_name!r}") from error
        found = getattr(module, attribute, None)
        if isinstance(found, type) and issubclass(found, import_dimod("a child").Sampler):
            return found()
        known += [entry for entry in dir(module) if entry.endswith(("Sampler", "Solver"))]
    raise ValueError(f"no dimod sampler is called {name!r}{check.suggestion(attribute, known)}")
