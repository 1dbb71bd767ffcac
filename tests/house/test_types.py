"""What users write passes a strict type checker."""

import subprocess
import sys
from pathlib import Path

import pytest

SNIPPET = """
from isingsample import IsingProblem, SampleResult, SimulatedAnnealing, get_sampler

problem = IsingProblem([0.3, -0.2], [[0, 0.7], [0.7, 0]])
annealer: SimulatedAnnealing = get_sampler("sa", num_reads=50)
state, energy = annealer.minimize(problem, seed=0)
states = get_sampler("exact").distribution(problem)
result: SampleResult = get_sampler("gibbs").sample(problem, beta=2.0)
anything = get_sampler("ex" + "act").sample(problem).magnetization
"""


@pytest.mark.slow
def test_a_users_lines(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text(SNIPPET)
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *options, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    file.write_text(SNIPPET + 'get_sampler("dqa").minimize(problem)\n')  # which it has not
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert 'has no attribute "minimize"' in done.stdout
