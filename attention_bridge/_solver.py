"""Which of the two exact solvers suits some couplings."""

from collections.abc import Sequence

from attention_bridge.couplings import Couplings
from isingsample.samplers.exact.sampler import Exact
from isingsample.samplers.transfer.sampler import Transfer

# An operation of the window-by-window solver takes as long as this many in a matrix product.
_WINDOW_COST = 128


def exact_solver(couplings: Sequence[Couplings], keys: int) -> Exact | Transfer:
    """The exact solver that takes less time for so many keys."""
    reaches = [c.reach for c in couplings if c.reach is not None]
    if not reaches or len(reaches) < len(couplings):
        return Exact()
    reach = max(reaches)
    by_window = Transfer.max_reach >= reach and keys * 2**reach * _WINDOW_COST <= 2**keys
    return Transfer(reach=reach) if by_window else Exact()
