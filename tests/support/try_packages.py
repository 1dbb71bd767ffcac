"""Installs the built packages with each extra alone, and uses what the extra is for.

    python tests/support/try_packages.py dist constraints.txt [extra ...]

Each extra gets an environment of its own in a temporary folder. The sdist is tried once, without
extras; the wheel is tried with every extra of its metadata but `all` and `dev`.
"""

import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

_PROBLEM = "p = i.IsingProblem([0.5, -0.2], [[0, 0.3], [0.3, 0]]); "
# What must work once an extra is there.
_USES = {
    "": "i.Exact().sample(p).magnetization",
    "dimod": "i.get_sampler('dimod', num_reads=5).sample(p, seed=0).samples",
    "qiskit": "i.get_sampler('dqa', num_steps=3).sample(p).magnetization",
    "dwave": "from isingsample.samplers.dwave.mock import mock_dwave; i.DWave(child=mock_dwave())",
    "numba": "i.get_sampler('gibbs', num_reads=8).sample(p, seed=0).magnetization",
    "torch": "import torch, attention_bridge as a; a.BoltzmannAttention(4, 1, 3)",
    "cli": "import isingsample.cli.main",
}


def main(folder: str, constraints: str, *extras: str) -> None:
    """Try the packages in a folder."""
    (wheel,), (sdist,) = (sorted(Path(folder).glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    try_install(str(sdist), "", constraints)
    for extra in extras or ("", *extras_of(wheel)):
        try_install(str(wheel), extra, constraints)


def extras_of(wheel: Path) -> list[str]:
    """The extras that a wheel names, without `all` and `dev`."""
    archive = zipfile.ZipFile(wheel)
    (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    found = re.findall(r"^Provides-Extra: (\S+)$", archive.read(name).decode(), re.MULTILINE)
    return [extra for extra in found if extra not in ("all", "dev")]


def try_install(package: str, extra: str, constraints: str) -> None:
    """Install a package with one extra in a new environment, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        wanted = f"{package}[{extra}]" if extra else package
        run = [python, "-m", "pip", "install", "--quiet", "--constraint", constraints, wanted]
        subprocess.run(run, check=True)
        use = _USES.get(extra, _USES[""])
        code = f"import isingsample as i; {_PROBLEM}{use}"
        subprocess.run([python, "-c", code], check=True, cwd=folder)
    print(f"{Path(package).name} [{extra or 'no extra'}]: works", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
