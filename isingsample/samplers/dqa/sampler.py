"""The sampler: calibrate, anneal, read out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import Array, concat, detach, in_own_precision, like, namespace
from isingsample._core.blocks import Block, split
from isingsample._core.problem import IsingProblem
from isingsample._core.streams import Streams
from isingsample.errors import TooLargeError
from isingsample.samplers.base import check_beta, check_is_problem
from isingsample.samplers.block_sampler import BlockSampler
from isingsample.samplers.dqa.anneal import Anneal
from isingsample.samplers.dqa.calibration.counterterms import (
    Counterterms,
    CountertermsLike,
    counterterms_of,
    with_counterterms,
)
from isingsample.samplers.dqa.calibration.fitting import fitted_to_energy, fitted_to_reads
from isingsample.samplers.dqa.calibration.validity import field_range, warn_of_strong_fields
from isingsample.samplers.dqa.engines.aer import AerEngine
from isingsample.samplers.dqa.engines.choose import Engine, engine_for
from isingsample.samplers.dqa.engines.primitive import PrimitiveEngine
from isingsample.samplers.dqa.engines.statevector import StatevectorEngine
from isingsample.samplers.dqa.presets import PRESETS
from isingsample.samplers.dqa.readout import table_order
from isingsample.samplers.dqa.schedule import ScheduleLike
from isingsample.samplers.dqa.solve import (
    check_size,
    converted,
    in_kind_of,
    probabilities,
    scaled,
    solutions,
)
from isingsample.samplers.dqa.temperatures import ScheduleBetas
from isingsample.samplers.solution import Solution, nothing_to_solve

CALIBRATIONS = ("analytic", "circuit", "fit", "none")
PRECISIONS = ("single", "double")
_DISTRIBUTION_LIMIT = 20


@dataclass(frozen=True)
class DQA(BlockSampler):
    r"""Diabatic quantum anneal: a circuit of Trotter steps, run by Qiskit or by this package.

    .. math::

        H(t) = -A(s) \sum_j X_j + B(s) \, E(Z), \qquad s = t / \tau,

    from the ground state of the driver, too fast to end in the ground state of E. For weak
    problems the outcome is near a Boltzmann distribution, each body order at its own temperature
    (see `isingsample.schedule_betas`); calibration undoes that. It is an expansion for weak fields
    and couplings: the error grows with them, and results are never thermal. Longer anneals are
    nearer to Boltzmann, and `isingsample.Refine` removes what is left of the error.

    Simulated circuits run once for each query, and their 2**n outcome probabilities are exact.
    Reads are drawn from them with this package's own streams: Aer seeds a query by its place in
    the batch, and a query's samples must not depend on its neighbours. Primitives draw their own.

    Attributes:
        total_time: duration tau of the anneal, in 1/energy (hbar = 1).
        num_steps: Trotter steps. One should turn a spin by no more than 2 radians or so, which
            are 2 A total_time / num_steps: fewer steps are another anneal.
        trotter_order: 1 (problem, then driver) or 2 (half driver, problem, half driver).
        schedule: "linear" (A = 1 - s, B = s), "monotone" or "trained" (for total time 5; "trained"
            is for the counterterms of the preset "boltzmann"), a Schedule (`Schedule.power`,
            `.table`, `.from_csv`), or a pair of functions (A, B) of s.
        calibration: "analytic" anneals h beta / beta_h, J beta / beta_J and K beta / beta_K and
            reports these temperatures in info. "circuit" does the same with the temperatures of
            the circuit's own steps, which is nearer where they are few. "fit" multiplies those of
            "analytic" by one number for the whole call, so that the batch has the mean energy of
            Boltzmann, or, on a primitive, so that its own reads have the temperature asked for,
            which takes up to 8 more runs. Simulated problems may have 24 spins; a query's result
            then depends on its batch, and gradients take the number for a constant. "none"
            anneals beta h, beta J and beta K.
        counterterms: None; or "analytic": calibrates to second order in weak problems, by what
            `calibration.counterterms` takes from h and J; or that as a pair of numbers (of J h,
            of J J). Not with "fit" or "none". Nothing is taken for K.
        num_reads: reads to draw for each problem, whose averages are the moments; None for exact
            expectations and no samples.
        max_spins: problems with more spins are refused: each further spin doubles the cost.
        engine: "aer" (Qiskit Aer); "statevector", this package's own, many times faster and
            differentiable once in PyTorch; or a qiskit BaseSamplerV2, which needs num_reads, and
            whose seed decides whether calls repeat and queries are independent.
        convention: of A, B and total_time: "unit" (H as above), "half" (half of that), or "GHz"
            (half of that, A and B in GHz, total_time in ns).
        precision: "single" or "double" for the statevector engine; None for the problem's own,
            and double where reads are drawn. Probabilities are right to 1e-5 or 1e-12. Aer
            computes in double.
        noise_model: a qiskit_aer NoiseModel for engine "aer", with errors of the circuit's gates
            h, rz, rzz, cx and rx alone.
        pass_manager: of a primitive's backend; its run() is given the measured circuit.

    Calibrated, a StrongFieldWarning says when a field lies where even a lone spin comes out wrong
    by more than 0.1; info has "field_range", the largest good ``|beta h|``, and "largest_field",
    that of the call.

    Raises:
        TypeError, ValueError: an option of the wrong kind or out of its range.
        TooLargeError: a problem has more than max_spins spins, or needs more memory than there is.
        MissingExtraError: qiskit, qiskit-aer or scipy is not installed.

    Source: Kadowaki & Nishimori, Phys. Rev. E 58, 5355 (1998), for annealing with a transverse
    field.
    """

    total_time: float = 5.0
    num_steps: int = 200
    trotter_order: int = 1
    schedule: ScheduleLike = "linear"
    calibration: str = "analytic"
    counterterms: CountertermsLike = None
    num_reads: int | None = None
    max_spins: int = 20
    engine: Any = "aer"
    convention: str = "unit"
    precision: str | None = None
    noise_model: Any = None
    pass_manager: Any = None

    name: ClassVar[str] = "dqa"

    def __post_init__(self) -> None:
        _ = self._anneal  # refuses its own options
        check.check_choice("calibration", self.calibration, CALIBRATIONS)
        if self._counterterms is not None and self.calibration not in ("analytic", "circuit"):
            raise ValueError(
                f"counterterms go with calibration='analytic' or 'circuit', not "
                f"{self.calibration!r}; leave them out with counterterms=None"
            )
        if self.num_reads is not None:
            check.check_count("num_reads", self.num_reads)
        check.check_count("max_spins", self.max_spins)
        if self.precision is not None:
            check.check_choice("precision", self.precision, PRECISIONS)
            if not isinstance(self._engine, StatevectorEngine):
                raise TypeError("precision is for engine='statevector'")
        if isinstance(self._engine, PrimitiveEngine) and self.num_reads is None:
            raise ValueError("a primitive gives reads, not expectations: set num_reads")

    @classmethod
    def preset(cls, name: str, **options: Any) -> Self:
        """A named setting, with further options.

        "default"; "paper": the published total time and steps (Kim & Park 2026, arXiv 2606.12478),
        not calibrated; its schedule, its convention (a factor of 1/2) and its order are not known
        to us, and those of the default are taken: another convention gives other results;
        "boltzmann": the trained schedule and its counterterms, nearest to Boltzmann at the
        default's total time;
        "monotone": the same for annealers: A falls, B rises, and the problem is taken as it is;
        "slow": the linear schedule at four times that.

        Raises:
            ValueError: no setting has this name, or counterterms that were trained for one anneal
                would be used in another.
        """
        setting = PRESETS[check.check_choice("preset", name, PRESETS)]
        other = {"schedule", "total_time", "convention"} & set(options)
        if "counterterms" in setting and other and "counterterms" not in options:
            raise ValueError(
                f"the counterterms of {name!r} were trained for its own anneal: with another "
                f"{' and '.join(sorted(other))} give counterterms too, 'analytic' or None"
            )
        return cls(**{**setting, **options})

    @property
    def thermal(self) -> bool:
        """False: how far the outcome is from Boltzmann is not known."""
        return False

    @property
    def runs_on_host(self) -> bool:
        """Whether the engine is one of Qiskit's."""
        return not isinstance(self._engine, StatevectorEngine)

    @property
    def differentiable(self) -> bool:
        """Whether moments are expectations of this package's own engine."""
        return not self.runs_on_host and self.num_reads is None

    @cached_property
    def _anneal(self) -> Anneal:
        return Anneal(
            self.total_time, self.num_steps, self.trotter_order, self.schedule, self.convention
        )

    @cached_property
    def _engine(self) -> Engine:
        return engine_for(self.engine, noise_model=self.noise_model, pass_manager=self.pass_manager)

    @cached_property
    def _betas(self) -> ScheduleBetas:
        """What beta = 1 is divided by, for each body order, before any fit."""
        return self._anneal.betas_by(self.calibration)

    @cached_property
    def _counterterms(self) -> Counterterms | None:
        return counterterms_of(self.counterterms, self._anneal)

    @cached_property
    def _field_range(self) -> float:
        known = "analytic" if self.calibration == "none" else self.calibration
        return field_range(self._anneal, self._anneal.betas_by(known).h)

    def distribution(self, problem: IsingProblem, *, beta: Any = 1.0) -> Array:
        """P(s) of every state, in the order of `isingsample._core.states.spin_table`.

        Args:
            problem: a batch without absent spins, of at most 20 spins.
            beta: inverse temperature.

        Returns:
            (..., 2**n) in the problem's library and dtype.

        Raises:
            TypeError: problem is not an IsingProblem, or the engine is a primitive.
            ValueError: as for `sample`, or spins are absent.
        """
        check_is_problem(problem)
        beta = check_beta(beta, problem, on_host=self.runs_on_host)
        if problem.num_spins > _DISTRIBUTION_LIMIT:
            raise TooLargeError(
                f"a distribution has 2**n entries; n = {problem.num_spins} is above "
                f"{_DISTRIBUTION_LIMIT}"
            )
        if problem.present is not None and not problem.present.all():
            raise ValueError("problems with absent spins have different numbers of states")
        blocks = split(self._local(problem))
        if blocks[0].is_empty:
            return like(np.ones((*problem.batch_shape, 2**problem.num_spins)), problem.h)
        parts = []
        with in_own_precision(problem.h):
            betas = self._betas_for(blocks, beta)
            for block in blocks:
                ready = self._ready(block, beta, betas)
                found = concat(list(probabilities(self._engine, ready, self._anneal)), axis=0)
                found = found[:, like(table_order(problem.num_spins), found, keep_dtype=True)]
                parts.append(namespace(found).reshape(found, (*block.index.shape, -1)))
        return converted(blocks.join(parts, 0), problem.h)

    def _check(self, problem: IsingProblem) -> None:
        check_size(problem, self._engine, self.max_spins, differentiable=self.differentiable)
        self._anneal.check_calibration(self.calibration, "hJ" if problem.K is None else "hJK")

    def _solve_all(
        self, blocks: Sequence[Block], beta: Any, streams: Streams
    ) -> list[Solution | None]:
        betas = self._betas_for(blocks, beta)
        ready = [self._ready(block, beta, betas) for block in blocks if not block.is_empty]
        info: dict[str, Any] = {"calibration": self.calibration}
        info |= self._fields(blocks, beta, betas)
        if self.calibration != "none":
            info |= {"beta_h": betas.h, "beta_J": betas.J, "beta_K": betas.K}
        if self._counterterms is not None:
            info |= {"counterterms": tuple(self._counterterms)}
        solved = iter(solutions(self._engine, ready, self._anneal, self.num_reads, streams))
        found = (
            nothing_to_solve(block, self.num_reads)
            if block.is_empty
            else in_kind_of(next(solved), block.h)
            for block in blocks
        )
        return [replace(solution, info=info) for solution in found]

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        (found,) = self._solve_all([block], beta, streams)
        assert found is not None
        return found

    def _ready(self, block: Block, beta: Any, betas: ScheduleBetas) -> Block:
        """What the circuit is made of."""
        local = block.to_numpy() if self.runs_on_host else block
        local = with_counterterms(local, beta, self._counterterms)
        # Rounding depends on how queries are cut into chunks; in double it does not reach reads.
        precision = self.precision or (None if self.num_reads is None else "double")
        return scaled(local, beta, betas, precision)

    def _betas_for(self, blocks: Sequence[Block], beta: Any) -> ScheduleBetas:
        if self.calibration != "fit":
            return self._betas
        host = [block.to_numpy() for block in blocks if not block.is_empty]
        known = (host, float(detach(beta)), self._anneal, self._betas)
        if isinstance(self._engine, PrimitiveEngine):
            assert self.num_reads is not None
            return fitted_to_reads(*known, self._engine, self.num_reads)
        # Without noise all engines agree, and ours is the quickest.
        noisy = isinstance(self._engine, AerEngine) and self._engine.noise_model is not None
        return fitted_to_energy(*known, self._engine if noisy else StatevectorEngine())

    def _fields(self, blocks: Sequence[Block], beta: Any, betas: ScheduleBetas) -> dict[str, float]:
        """The largest beta h of a call and the largest that comes out right, with a warning."""
        sizes = [float(abs(detach(block.h)).max()) for block in blocks if not block.is_empty]
        largest = float(detach(beta)) * max(sizes, default=0.0)
        allowed = self._field_range * betas.h
        if self.calibration != "none":
            warn_of_strong_fields(largest, allowed)
        return {"largest_field": largest, "field_range": allowed}
