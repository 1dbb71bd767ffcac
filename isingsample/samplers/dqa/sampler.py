"""The sampler: calibrate, anneal, read out."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from isingsample import _validation as check
from isingsample._memory import available_memory, readable_bytes
from isingsample._progress import track
from isingsample.blocks import Block
from isingsample.calibration import EffectiveBetas, effective_betas
from isingsample.errors import TooLargeError
from isingsample.problem import IsingProblem
from isingsample.samplers.base import Sampler, Solution
from isingsample.samplers.dqa.aer import outcome_probabilities
from isingsample.samplers.dqa.circuit import BlockCircuit
from isingsample.samplers.dqa.readout import draw, moments
from isingsample.samplers.dqa.schedule import Anneal, ScheduleLike
from isingsample.streams import Streams

CALIBRATIONS = ("analytic", "none")
# Of a query: the state vector, its probabilities, and the readout's temporaries.
_BYTES_PER_STATE = 64
# Of a Python float in a list, and of its copy in the simulator.
_BYTES_PER_ANGLE = 48
# Of a uniform number, a state's number and the bisection's temporaries.
_BYTES_PER_READ = 64
_CHUNK_BYTES = 2**28


@dataclass(frozen=True)
class DQA(Sampler):
    r"""Diabatic quantum anneal: a circuit of Trotter steps, simulated exactly by Qiskit Aer.

    .. math::

        H(t) = -A(s) \sum_j X_j + B(s) \, E(Z), \qquad s = t / \tau,

    from the ground state of the driver, too fast to end in the ground state of E. For weak
    problems the outcome is near a Boltzmann distribution, each body order at its own temperature
    (see `isingsample.calibration`); calibration undoes that. It is an expansion for weak fields
    and couplings: the error grows with them (``|beta h|`` above 1 is already far off), and results
    are never thermal. Longer anneals are nearer to Boltzmann.

    The circuit is simulated once for each query, and its 2**n outcome probabilities are exact.
    Reads are drawn from them with this package's own streams: Aer seeds a query by its place in
    the batch, and a query's samples must not depend on its neighbours.

    Attributes:
        total_time: duration tau of the anneal, in 1/energy (hbar = 1).
        num_steps: Trotter steps.
        trotter_order: 1 (problem, then driver) or 2 (half driver, problem, half driver).
        schedule: "linear" (A = 1 - s, B = s), a Schedule, or a pair of functions (A, B) of s.
        calibration: "analytic" anneals h beta / beta_h, J beta / beta_J and K beta / beta_K and
            reports these temperatures in info; "none" anneals beta h, beta J and beta K.
        num_reads: reads to draw for each problem, whose averages are the moments; None for exact
            expectations and no samples.
        max_spins: problems with more spins are refused: each further spin doubles the cost.

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
    num_reads: int | None = None
    max_spins: int = 20

    name: ClassVar[str] = "dqa"

    def __post_init__(self) -> None:
        _ = self._anneal  # refuses its own options
        check.check_choice("calibration", self.calibration, CALIBRATIONS)
        if self.num_reads is not None:
            check.check_count("num_reads", self.num_reads)
        check.check_count("max_spins", self.max_spins)

    @property
    def thermal(self) -> bool:
        """False: how far the outcome is from Boltzmann is not known."""
        return False

    @cached_property
    def _anneal(self) -> Anneal:
        return Anneal(self.total_time, self.num_steps, self.trotter_order, self.schedule)

    @cached_property
    def _betas(self) -> EffectiveBetas:
        """What beta = 1 is divided by, for each body order."""
        if self.calibration == "none":
            return EffectiveBetas(1.0, 1.0, 1.0)
        curves = self._anneal.curves
        return effective_betas(curves.A, curves.B, self.total_time)

    def _check(self, problem: IsingProblem) -> None:
        self._check_size(problem)
        used = {"h": self._betas.h, "J": self._betas.J}
        used |= {} if problem.K is None else {"K": self._betas.K}
        for name, beta in used.items():
            if not beta > 0:
                raise ValueError(
                    f"this anneal cannot be calibrated: the inverse temperature that its schedule "
                    f"and total_time={self.total_time:g} give to {name} is {beta:.3g}, not above "
                    f"0. Use another schedule or time, or calibration='none'"
                )

    def _check_size(self, problem: IsingProblem) -> None:
        largest = problem.num_spins
        if problem.present is not None:
            largest = int(problem.present.sum(axis=-1).max(initial=0))
        needed = _BYTES_PER_STATE * 2.0 ** min(largest, 1000)  # beyond 1023 a float overflows
        available = available_memory()
        if largest > self.max_spins or needed > available:
            raise TooLargeError(
                f"a state vector of {largest} spins has 2**{largest} entries and needs about "
                f"{readable_bytes(needed)} of memory; the limit is max_spins={self.max_spins} and "
                f"{readable_bytes(available)} are available. Use a Monte Carlo sampler such as 'sa'"
            )

    def _solve(self, block: Block, beta: float, streams: Streams) -> Solution:
        betas, local = self._betas, block.to_numpy()
        h, J = _scaled(local.h, beta / betas.h), _scaled(local.J, beta / betas.J)
        K = None if local.K is None else _scaled(local.K, beta / betas.K)
        program = BlockCircuit.of(h, J, K, self._anneal)
        index = block.index.reshape(-1)
        parts = []
        for rows in track(self._chunks(program, block), "dqa"):
            found = outcome_probabilities(program.circuit, program.values(rows))
            # Queries that do not differ in any angle make a circuit without parameters.
            probabilities = np.broadcast_to(found, (len(index[rows]), found.shape[-1]))
            parts.append(self._read_out(probabilities, index[rows], streams))
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        outcome = [array.reshape(*block.index.shape, *array.shape[1:]) for array in joined]
        info: dict[str, Any] = {"calibration": self.calibration}
        if self.calibration == "analytic":
            info |= {"beta_h": betas.h, "beta_J": betas.J, "beta_K": betas.K}
        if self.num_reads is not None:
            return Solution.from_samples(*outcome, thermal=False, info=info)
        magnetization, probability, correlation = outcome
        return Solution(
            magnetization,
            probability,
            np.full_like(magnetization, np.nan),
            correlation=lambda: correlation,
            info=info,
        )

    def _read_out(
        self, probabilities: np.ndarray, index: np.ndarray, streams: Streams
    ) -> tuple[np.ndarray, ...]:
        """What is kept of a chunk: its samples alone, or its moments."""
        if self.num_reads is None:
            return moments(probabilities)
        return (draw(probabilities, streams.uniforms(index, self.num_reads)),)

    def _chunks(self, program: BlockCircuit, block: Block) -> list[slice]:
        """Slices of queries whose probabilities, angles and reads fit into a bounded memory."""
        size = _BYTES_PER_STATE * 2**block.num_spins + _BYTES_PER_READ * (self.num_reads or 0)
        size += _BYTES_PER_ANGLE * self.num_steps * len(program.free)
        step = max(1, _CHUNK_BYTES // size)
        return [slice(first, first + step) for first in range(0, block.index.size, step)]


def _scaled(coefficients: np.ndarray, factor: float) -> np.ndarray:
    with np.errstate(over="ignore"):
        scaled = coefficients * factor
    if not np.isfinite(scaled).all():
        raise ValueError(
            "beta times the fields or couplings leaves the range of float64; scale the problem down"
        )
    return scaled
