r"""Independence Metropolis: a known distribution as the proposal, Boltzmann's as the result.

Each chain alternates a proposal, drawn from the sampler's distribution Q and accepted by
Metropolis' rule, and a heat-bath sweep. Both leave Boltzmann's distribution P as it is. Proposals
jump between valleys, but a state of which Q has too little holds them up; sweeps leave such states
at once.

Q and P are tables here, so nothing about the chains has to be guessed: the distribution of a
chain's state is carried along, step by step, and its distance from P at the end is exact. A
proposal turns a distribution v into

.. math::

    v'(s) = Q(s) \sum_t v(t) \min\Bigl(1, \frac{w(s)}{w(t)}\Bigr)
            + v(s) \Bigl(1 - \sum_t Q(t) \min\Bigl(1, \frac{w(t)}{w(s)}\Bigr)\Bigr),
    \qquad w = P/Q,

whose sums over t are running sums once the states are in the order of w.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isingsample._core import checks as check
from isingsample._core.arrays import like, slices, to_numpy
from isingsample._core.blocks import Block
from isingsample._core.memory import available_memory, readable_bytes
from isingsample._core.problem import IsingProblem
from isingsample._core.result import SampleResult
from isingsample._core.states import interactions, spin_table
from isingsample._core.streams import Seed, Streams
from isingsample.errors import TooLargeError
from isingsample.samplers._shared.inverse_cdf import invert
from isingsample.samplers.base import check_has_distribution
from isingsample.samplers.block_sampler import BlockSampler
from isingsample.samplers.monte_carlo.diagnostics import warn_unless
from isingsample.samplers.solution import Solution

# The stream of steps: apart from those of sweeps in refine.py.
_STEPS = 2**21
# Of a table of all states: the largest, and how much of it goes at a time.
_MAX_SPINS, _CHUNK_BYTES = 20, 2**28
# For each state: of a query its probability, weight and what they are made with; of the table.
_BYTES_PER_STATE, _BYTES_PER_SPIN = 160, 24
# A distance below this share of the shot noise of a fair coin is not seen in any average.
_SHARE_OF_NOISE = 0.1


@dataclass(frozen=True)
class IndependenceMetropolis(BlockSampler):
    """Reads of a sampler whose distribution is known, turned into Boltzmann's by Metropolis' rule.

    Each read is a chain of its own: it starts at a draw from the sampler's distribution Q. In each
    step another draw s' replaces its state s with probability min(1, w(s')/w(s)),
    w = exp(-beta E)/Q, and a heat-bath sweep follows. info["total_variation"] is the distance
    that is left at the end between the distribution of a chain's state and Boltzmann's, computed
    exactly, for each problem. info["converged"] says whether it is below a tenth of the shot noise
    of a fair coin, 0.1 / sqrt(num_reads); a result is thermal where all its problems are.

    Attributes:
        sampler: one with a `distribution`, such as Exact or DQA on a simulator; up to 20 spins.
        num_reads: chains, and samples, of each problem.
        num_steps: proposals to each chain, each with a sweep after it.

    Raises:
        TypeError, ValueError: an option of the wrong kind or out of its range.
        TooLargeError: a problem has more than 20 spins, or needs more memory than there is.

    Warns:
        UserWarning: there are problems that did not converge; their error bars are NaN.

    Source: Liu, Statistics and Computing 6, 113 (1996), for independence chains; the sweeps in
    between, and the exact rest, are this package's own.
    """

    sampler: Any
    num_reads: int = 1000
    num_steps: int = 50

    name: ClassVar[str] = "independence_metropolis"

    def __post_init__(self) -> None:
        check_has_distribution(self.sampler)
        check.check_count("num_reads", self.num_reads)
        check.check_count("num_steps", self.num_steps)

    def close(self) -> None:
        """Close the sampler."""
        self.sampler.close()

    def sample(self, problem: IsingProblem, *, beta: Any = 1.0, seed: Seed = None) -> SampleResult:
        """As for every sampler; thermal where all problems have converged, by the exact rest."""
        result = super().sample(problem, beta=beta, seed=seed)
        converged = np.asarray(result.info.get("converged", True))
        if converged.all():
            return result
        left = np.asarray(result.info["total_variation"])
        warn_unless(
            converged,
            f"{self.name}: of {{failed}} of {{size}} problems the reads are up to {left.max():.2g} "
            f"(total variation) from Boltzmann; raise num_steps",
        )
        known = like(converged[..., None], result.std_error) > 0
        error = result.std_error + like(np.where(to_numpy(known), 0.0, np.nan), result.std_error)
        return dataclasses.replace(result, thermal=False, std_error=error)

    def _check(self, problem: IsingProblem) -> None:
        largest = problem.num_spins
        if problem.present is not None:
            largest = int(problem.present.sum(axis=-1).max(initial=0))
        needed, available = _table_bytes(largest), available_memory()
        if largest > _MAX_SPINS or needed > available:
            raise TooLargeError(
                f"proposals to {largest} spins are drawn from a table of 2**{largest} states, of "
                f"about {readable_bytes(needed)}; the limit is {_MAX_SPINS} spins and "
                f"{readable_bytes(available)} are available. Use Refine, or a Monte Carlo sampler"
            )

    def _solve(self, block: Block, beta: Any, streams: Streams) -> Solution:
        local, table = block.to_numpy(), spin_table(block.num_spins)
        step = max(1, int(_CHUNK_BYTES // (_BYTES_PER_STATE * len(table))))
        groups, queries = block.index.shape
        samples = np.empty((groups, queries, self.num_reads, block.num_spins), np.int8)
        left = np.empty((groups, queries))
        for some in slices(groups, step // queries):
            J, K = local.J[some], None if local.K is None else local.K[some]
            coupled = interactions(table[None], J, K)[:, None]
            for rows in slices(queries, step):
                at = some, rows
                part = dataclasses.replace(local, h=local.h[at], J=J, K=K, index=local.index[at])
                laws = self._laws(part, beta, part.h @ table.T + coupled)
                samples[at] = table[laws.run(self.num_reads, self.num_steps, part.index, streams)]
                left[at] = laws.left_after(self.num_steps)
        converged = left <= _SHARE_OF_NOISE / np.sqrt(self.num_reads)
        found = {"total_variation": left, "converged": converged}
        return Solution.from_samples(samples, thermal=True, per_query=found)

    def _laws(self, block: Block, beta: float, pull: np.ndarray) -> "_Laws":
        """Proposal and target of every query, as pull = -E."""
        K = None if block.K is None else block.K[:, None]
        problem = IsingProblem(block.h, block.J[:, None], K)
        proposal = to_numpy(self.sampler.distribution(problem, beta=beta)).astype(float)
        logs = beta * pull
        logs -= logs.max(axis=-1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(axis=-1, keepdims=True))
        return _Laws(proposal / proposal.sum(axis=-1, keepdims=True), logs)


@dataclass(frozen=True, eq=False)
class _Laws:
    """What chains are drawn from and end at, over the states of `spin_table`.

    Attributes:
        proposal: Q, (groups, queries, 2**n).
        log_target: ln P, likewise.
    """

    proposal: np.ndarray
    log_target: np.ndarray

    @property
    def _log_weight(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            weight: np.ndarray = self.log_target - np.log(self.proposal)
        return weight

    @property
    def _bits(self) -> list[int]:
        """What each spin adds to the number of a state when it is up."""
        num_spins = self.log_target.shape[-1].bit_length() - 1
        return [1 << num_spins - 1 - spin for spin in range(num_spins)]

    def run(
        self, num_reads: int, num_steps: int, index: np.ndarray, streams: Streams
    ) -> np.ndarray:
        """The numbers of the states (groups, queries, num_reads) at which chains end."""
        cumulative, weight, bits = np.cumsum(self.proposal, axis=-1), self._log_weight, self._bits

        def uniforms(step: int, count: int) -> np.ndarray:
            drawn = streams.uniforms(index, count * num_reads, _STEPS + step)
            return np.moveaxis(drawn.reshape(*index.shape, num_reads, count), -1, 0)

        state = invert(cumulative, uniforms(0, 1)[0])
        for step in range(1, num_steps + 1):
            proposed, decided, *spins = uniforms(step, 2 + len(bits))
            new = invert(cumulative, proposed)
            gain = np.take_along_axis(weight, new, -1) - np.take_along_axis(weight, state, -1)
            state = np.where(decided < np.exp(np.minimum(gain, 0.0)), new, state)
            for bit, drawn in zip(bits, spins, strict=True):
                up, down = state | bit, state & ~bit
                odds = np.take_along_axis(self.log_target, down, -1)
                odds -= np.take_along_axis(self.log_target, up, -1)
                with np.errstate(over="ignore"):
                    state = np.where(drawn * (1 + np.exp(odds)) < 1, up, down)
        return state

    def left_after(self, num_steps: int) -> np.ndarray:
        """The total variation between a chain's distribution and P after so many steps."""
        target, law = np.exp(self.log_target), self.proposal
        order = np.argsort(-self._log_weight, axis=-1, kind="stable")
        weight = np.exp(np.minimum(np.take_along_axis(self._log_weight, order, -1), 700.0))
        proposed = np.take_along_axis(self.proposal, order, -1)
        # From a state of weight w: to those at least as heavy surely, to others by the ratio.
        heavier = np.cumsum(proposed, axis=-1)
        lighter = np.cumsum((proposed * weight)[..., ::-1], axis=-1)[..., ::-1]
        leaves = heavier + (lighter - proposed * weight) / weight
        for _ in range(num_steps):
            sorted_law = np.take_along_axis(law, order, -1)
            from_heavier = np.cumsum(sorted_law / weight, axis=-1) * weight
            from_lighter = np.cumsum(sorted_law[..., ::-1], axis=-1)[..., ::-1] - sorted_law
            moved = proposed * (from_heavier + from_lighter) + sorted_law * (1 - leaves)
            law = np.empty_like(moved)
            np.put_along_axis(law, order, moved, -1)
            for bit in self._bits:
                law = _swept(law, target, bit)
        return np.asarray(0.5 * np.abs(law - target).sum(axis=-1))


def _swept(law: np.ndarray, target: np.ndarray, bit: int) -> np.ndarray:
    """A distribution after one spin has been drawn given the others."""
    shape = (*law.shape[:-1], -1, 2, bit)
    both, share = law.reshape(shape).sum(axis=-2, keepdims=True), target.reshape(shape)
    total = share.sum(axis=-2, keepdims=True)
    with np.errstate(invalid="ignore"):
        spread = np.where(total > 0, share / total, 0.5)
    swept: np.ndarray = (both * spread).reshape(law.shape)
    return swept


def _table_bytes(num_spins: int) -> float:
    """Of all states and one query."""
    per_state = _BYTES_PER_STATE + _BYTES_PER_SPIN * num_spins
    return per_state * 2.0 ** min(num_spins, 1000)  # beyond 1023 a float overflows
