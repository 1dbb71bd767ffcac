"""Which of the two exact solvers suits some couplings."""

import dataclasses
from collections.abc import Sequence

from attention_bridge.couplings import Couplings
from isingsample.samplers.exact.sampler import Exact
from isingsample.samplers.transfer.sampler import Transfer

# An operation of the window-by-window solver takes as long as this many in a matrix product.
_WINDOW_COST = 128


def exact_solver(couplings: Sequence[Couplings], keys: int) -> Exact | Transfer:
    """The exact solver that takes less time for so many keys."""
    reach = _common_reach(couplings)
    if reach is None:
        return Exact()
    by_window = Transfer.max_reach >= reach and keys * 2**reach * _WINDOW_COST <= 2**keys
    return Transfer(reach=reach) if by_window else Exact()


def within_reach(sampler: Transfer, couplings: Sequence[Couplings]) -> Transfer:
    """The sampler, told how far the couplings reach: else all that are learned count as coupled."""
    reach = _common_reach(couplings)
    if sampler.reach is not None or reach is None or reach > sampler.max_reach:
        return sampler
    return dataclasses.replace(sampler, reach=reach)


def _common_reach(couplings: Sequence[Couplings]) -> int | None:
    """How far the couplings reach, all of them; None where one has no bound, or there are none."""
    reaches = [c.reach for c in couplings if c.reach is not None]
    return max(reaches) if reaches and len(reaches) == len(couplings) else None
