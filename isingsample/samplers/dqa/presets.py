"""Settings of DQA by name; see `DQA.preset`."""

from typing import Any

from isingsample.samplers.dqa.trained_curves import COUNTERTERMS

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"total_time": 5.0, "num_steps": 200, "calibration": "none"},
    "boltzmann": {"trotter_order": 2, "schedule": "trained", "counterterms": COUNTERTERMS},
    "monotone": {"trotter_order": 2, "schedule": "monotone"},
    "slow": {"total_time": 20.0, "num_steps": 800},
}
