"""What the built packages hold."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True, timeout=120)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_wheel_holds_the_two_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    metadata = {top for top in tops if top.endswith(".dist-info")}
    assert tops - metadata == {"isingsample", "attention_bridge"}
    assert len(metadata) == 1


def test_wheel_is_typed_licensed_and_complete(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {"isingsample/py.typed", "attention_bridge/py.typed"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    for package in ("isingsample", "attention_bridge"):
        sources = {str(path.relative_to(ROOT)) for path in (ROOT / package).rglob("*.py")}
        assert sources <= names
