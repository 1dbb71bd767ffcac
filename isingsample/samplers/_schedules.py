"""Sequences of inverse temperatures for annealing."""

import numpy as np

from isingsample._validation import check_number

SCHEDULE_TYPES = ("geometric", "linear")


def annealing_betas(hot: float, cold: float, num_sweeps: int, kind: str, hold: float) -> np.ndarray:
    """One inverse temperature per sweep: a ramp from hot to cold, then a hold at cold.

    Args:
        hot: the first inverse temperature, above 0 for a geometric ramp.
        cold: the last one.
        num_sweeps: how many sweeps in all.
        kind: "geometric" or "linear".
        hold: the share of the sweeps spent at cold after the ramp, in [0, 1]; a thermal
            sampler needs some, since during the ramp the state lags behind its temperature.

    Returns:
        (num_sweeps,), ending at cold exactly.
    """
    held = min(num_sweeps, max(1, round(hold * num_sweeps)))
    space = np.geomspace if kind == "geometric" else np.linspace
    ramp = space(hot, cold, num_sweeps - held, endpoint=False)
    return np.concatenate([ramp, np.full(held, cold)])


def check_beta_range(
    beta_range: tuple[float, float] | None, beta: float, kind: str
) -> tuple[float, float]:
    """(hot, cold) with cold equal to beta; by default hot is 0.1 beta.

    Raises:
        ValueError: the range is malformed, or does not end at beta: its samples would belong to
            another temperature than the one asked for.
    """
    if beta_range is None:
        return 0.1 * beta, beta
    try:
        hot, cold = (check_number("beta_range", end, minimum=0.0) for end in beta_range)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"beta_range must be two finite numbers (hot, cold), not {beta_range!r}"
        ) from error
    if cold != beta:
        raise ValueError(
            f"beta_range must end at beta={beta:g}, the temperature of the samples, but ends at "
            f"{cold:g}; pass beta={cold:g} to sample(), or look for ground states with minimize()"
        )
    if kind == "geometric" and hot == 0 < cold:
        raise ValueError(
            "a geometric beta_range cannot start at 0; use beta_schedule_type='linear'"
        )
    return hot, cold
