"""How far chains can be trusted: split R-hat and effective sample size.

The latter comes from arviz-stats, whose import takes longer than most calls here: it waits until
somebody reads a size. R-hat, which every call looks at, is computed here.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from isingsample.errors import MissingExtraError

# Vehtari et al., Bayesian Analysis 16, 667 (2021), ask for 1.01 from a few long chains. Here
# there are many short ones, for which R-hat - 1 is about the correlation time over the length:
# 1.2 means that half a chain is more than twice as long as it remembers.
LARGEST_R_HAT = 1.2
# Two halves of one chain, or four of two, differ by more than that by chance.
_LARGEST_R_HAT_OF_FEW = 1.5
_TOO_FEW = 2  # chains that all sit still by chance
_FEWEST_DRAWS = 4  # of a chain that is cut in halves


def chain_diagnostics(
    series: np.ndarray, reads: int, shape: tuple[int, ...]
) -> dict[str, np.ndarray | Callable[[], np.ndarray]]:
    """What chains say about themselves.

    Args:
        series: (queries, chains, draws), means over successive sweeps.
        reads: the number of all chains, of which these are the first.
        shape: of the results, with as many entries as there are queries.

    Returns:
        By name, each of that shape: "r_hat", split R-hat (1 where nothing varies, infinite where
        chains are constant and differ, NaN for chains of less than 4 draws, and where one or two
        chains do not vary: they may sit in one valley of several); "ess", a function
        giving the effective number of independent draws in all chains (NaN where nothing
        varies); "converged", whether r_hat is at most 1.2 (1.5 for one or two chains).
    """
    chains, draws = series.shape[1:]
    wide = series.astype(float)
    r_hat = np.full(len(series), np.nan)
    largest = LARGEST_R_HAT if chains > 2 else _LARGEST_R_HAT_OF_FEW
    if draws >= _FEWEST_DRAWS:
        r_hat = _split_r_hat(wide)
        if chains <= _TOO_FEW:
            r_hat[np.ptp(wide, axis=(1, 2)) == 0] = np.nan

    def ess() -> np.ndarray:
        return _effective_size(wide, reads / chains).reshape(shape)

    return {
        "r_hat": r_hat.reshape(shape),
        "ess": ess,
        "converged": (r_hat <= largest).reshape(shape),
    }


def _split_r_hat(series: np.ndarray) -> np.ndarray:
    """R-hat of the halves of chains (queries, chains, draws): Gelman et al., BDA 3, eq. 11.4."""
    half = series.shape[2] // 2
    halves = series[:, :, : 2 * half].reshape(len(series), -1, half)
    within = halves.var(axis=2, ddof=1).mean(axis=1)
    between = halves.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat: np.ndarray = np.sqrt((half - 1) / half + between / within)
    idle = np.ptp(series, axis=(1, 2)) == 0
    r_hat[idle] = 1.0
    r_hat[~idle & np.isnan(r_hat)] = np.inf
    return r_hat


def _effective_size(series: np.ndarray, factor: float) -> np.ndarray:
    """The effective number of draws of chains (queries, chains, draws), times a factor."""
    stats = _array_stats()
    if series.shape[2] < _FEWEST_DRAWS:
        return np.full(len(series), np.nan)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # 0/0 where nothing varies
        ess = np.asarray(stats.ess(series, method="mean"), float) * factor
    ess[np.ptp(series, axis=(1, 2)) == 0] = np.nan
    return ess


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


def warn_unless(converged: np.ndarray, message: str) -> None:
    """One UserWarning where some problems have not converged.

    Args:
        converged: flags of all problems.
        message: in which {failed} and {size} stand for the numbers of those that have not and of
            all.
    """
    failed = ~np.asarray(converged)
    if failed.any():
        text = message.format(failed=failed.sum(), size=failed.size)
        warnings.warn(text, UserWarning, stacklevel=4)


def _array_stats() -> Any:
    try:
        from arviz_stats.base import array_stats
    except ImportError:
        raise MissingExtraError("the effective number of draws", "numba") from None
    return array_stats
