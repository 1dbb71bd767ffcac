"""The interface of a sampler, and what everyone who takes one relies on.

`Sampler` and `Minimizer` promise what can be called. `isingsample.samplers.block_sampler` has
the template that turns one method into a whole sampler; wrappers, which leave the work to
another sampler, implement the interface itself.
"""

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from isingsample._core import checks as check
from isingsample._core.arrays import Array, is_torch
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.streams import Seed


@dataclass(frozen=True)
class Sampler(ABC):
    """A way to get the moments of Ising problems: a frozen dataclass of its options.

    Attributes:
        name: the name it is registered under.
    """

    name: ClassVar[str]

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Refuse unknown options with the nearest right name."""
        known = [f.name for f in dataclasses.fields(cls)]
        for option in options:
            if option not in known:
                raise TypeError(
                    f"{cls.__name__} has no option {option!r}{check.suggestion(option, known)}; "
                    f"it has {', '.join(known) or 'none'}"
                )
        return super().__new__(cls)

    @property
    def thermal(self) -> bool:
        """Whether results target exp(-beta E) without a bias of unknown size."""
        return True

    @property
    def differentiable(self) -> bool:
        """Whether PyTorch can differentiate the moments, tensors having gone in."""
        return False

    @property
    def is_remote(self) -> bool:
        """Whether each call is sent to a service, which may take money for it."""
        return False

    @abstractmethod
    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """Moments, and samples where the sampler draws any, of every problem of a batch.

        Args:
            problem: the batch.
            beta: inverse temperature, in units of 1/energy: one finite number, at least 0.
            seed: an integer of any size, a numpy.random.Generator or None. Equal integers give
                equal results, whatever else is in the batch.

        Raises:
            TypeError: problem is not an IsingProblem, or beta or seed is of the wrong kind.
            ValueError: beta is not finite or negative, or the problem does not suit the sampler.
            TooLargeError: the problem's couplings are sparse, the sampler takes only dense ones,
                and they would be too large.
            MissingExtraError: an optional dependency is not installed.
        """

    def close(self) -> None:  # noqa: B027  (most samplers hold nothing)
        """Release connections, where the sampler holds any."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def options(self) -> dict[str, Any]:
        """The options by name, secrets left out."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.repr}


class Minimizer(Sampler):
    """A sampler that can also look for ground states."""

    @abstractmethod
    def minimize(self, problem: IsingProblem, *, seed: Seed = None) -> tuple[Array, Array]:
        """The state of lowest energy found for each problem.

        The schedule is scaled to the problem and ignores beta.

        Args:
            problem: the batch.
            seed: as for `sample`.

        Returns:
            state (..., n) int8 and its energy (...), in the problem's library.
        """


class HasDistribution(Protocol):
    """A sampler that knows the probability of every state, as Exact and simulated DQA do."""

    def distribution(self, problem: IsingProblem, *, beta: Any = 1.0) -> Array:
        """P(s) of every state, (..., 2**n); bit j of a state's number is 1 where s_j = +1."""


def check_is_problem(problem: object) -> None:
    """TypeError for anything but an IsingProblem."""
    if not isinstance(problem, IsingProblem):
        raise TypeError(
            f"a sampler takes an IsingProblem, not {type(problem).__name__}; "
            f"build one with IsingProblem(h, J)"
        )


def check_has_distribution(sampler: object) -> None:
    """TypeError for a sampler that does not know the probability of every state."""
    if not callable(getattr(sampler, "distribution", None)):
        raise TypeError(
            f"this takes a sampler that has a distribution, such as Exact or simulated DQA, not "
            f"{sampler!r}"
        )


def check_beta(beta: Any, problem: IsingProblem, *, on_host: bool) -> Any:
    """beta as a float; a 0-d tensor stays one where gradients can reach it through problem."""
    if not is_torch(beta) or beta.ndim > 0:
        return check.check_number("beta", beta, minimum=0.0)
    value = check.check_number("beta", beta.item(), minimum=0.0)
    return beta if is_torch(problem.h) and not on_host else value
