"""How far chains can be trusted: split R-hat and effective sample size, from arviz-stats."""

import warnings
from typing import Any

import numpy as np

from isingsample.errors import MissingExtraError

# Vehtari et al., Bayesian Analysis 16, 667 (2021), ask for 1.01 from a few long chains. Here
# there are many short ones, for which R-hat - 1 is about the correlation time over the length:
# 1.2 means that half a chain is more than twice as long as it remembers.
LARGEST_R_HAT = 1.2
# Two halves of one chain, or four of two, differ by more than that by chance.
_LARGEST_R_HAT_OF_FEW = 1.5


def chain_diagnostics(series: np.ndarray, reads: int) -> dict[str, np.ndarray]:
    """What chains say about themselves.

    Args:
        series: (queries, chains, draws), means over successive sweeps.
        reads: the number of all chains, of which these are the first.

    Returns:
        By name, each (queries,): "r_hat", split R-hat (1 where nothing varies, infinite where
        chains are constant and differ, NaN for chains of less than 4 draws); "ess", the
        effective number of independent draws in all chains (NaN where nothing varies);
        "converged", whether r_hat is at most 1.2 (1.5 for one or two
        chains).
    """
    queries, chains, draws = series.shape
    if draws < 4:
        unknown = np.full(queries, np.nan)
        return {"r_hat": unknown, "ess": unknown, "converged": np.zeros(queries, bool)}
    stats = _array_stats()
    wide = series.astype(float)
    # Split here, since arviz-stats asks for two chains before it splits them.
    halves = wide[:, :, : draws // 2 * 2].reshape(queries, 2 * chains, draws // 2)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # 0/0 where nothing varies
        r_hat = np.asarray(stats.rhat(halves, method="identity"), float)
        ess = np.asarray(stats.ess(wide, method="mean"), float) * (reads / chains)
    idle = np.ptp(wide, axis=(1, 2)) == 0
    largest = LARGEST_R_HAT if chains > 2 else _LARGEST_R_HAT_OF_FEW
    r_hat[idle], ess[idle] = 1.0, np.nan
    r_hat[~idle & np.isnan(r_hat)] = np.inf
    return {"r_hat": r_hat, "ess": ess, "converged": r_hat <= largest}


def warn_unless_converged(name: str, info: Any, remedy: str) -> None:
    """One UserWarning for a result with problems that did not converge, saying what to raise."""
    if "converged" not in info:  # there was nothing to sample
        return
    failed = ~np.asarray(info["converged"])
    if not failed.any():
        return
    r_hat = np.asarray(info["r_hat"])[failed]
    worst = "unknown" if np.isnan(r_hat).all() else f"up to {np.nanmax(r_hat):.3g}"
    warnings.warn(
        f"{name}: {failed.sum()} of {failed.size} problems did not converge (split R-hat {worst}, "
        f"at most {LARGEST_R_HAT} wanted); {remedy}",
        UserWarning,
        stacklevel=3,
    )


def _array_stats() -> Any:
    try:
        from arviz_stats.base import array_stats
    except ImportError:
        raise MissingExtraError("the diagnosis of chains", "numba") from None
    return array_stats
