"""What a fresh interpreter loads."""

import subprocess
import sys

HEAVY = (
    "torch", "qiskit", "qiskit_aer", "dimod", "dwave", "numba", "arviz_stats", "matplotlib",
    "scipy", "rich", "typer",
)  # fmt: skip


def loaded_by(code: str) -> set[str]:
    """The heavy modules that a fresh interpreter holds after running code."""
    report = f"import sys; print(*(m for m in {HEAVY} if m in sys.modules))"
    command = [sys.executable, "-W", "error", "-c", f"{code}; {report}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())
