"""What is handed out: the wheel and the sdist hold what they should, and the pages beside the code tell its version."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import pge_nb

ROOT = Path(__file__).parent.parent
MOST_BYTES = 1_000_000
"""No file of what is handed out, a recording among them, is larger."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel and the sdist, built by the project's own build backend."""
    if find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the wheel, is not here")
    into = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(into)], cwd=ROOT, check=True, timeout=120)
    return into


def files_under(under: str) -> set[str]:
    """The files there, as the project names them, without what Python leaves behind."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / under).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_the_whole_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    packed = {name for name in sizes if not name.startswith(f"pge_nb-{pge_nb.__version__}.dist-info/")}

    assert packed == files_under("pge_nb")
    assert {
        "pge_nb/py.typed",
        "pge_nb/quickstart.ipynb",
        "pge_nb/prompts/evaluator.md",
        "pge_nb/bank/money.py",
    } <= packed
    assert max(sizes.values()) <= MOST_BYTES


def test_the_sdist_holds_what_the_wheel_is_built_of_and_the_pages_beside_it(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        sizes = {entry.name.partition("/")[2]: entry.size for entry in archive.getmembers() if entry.isfile()}

    assert files_under("pge_nb") | {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "SECURITY.md"} <= set(sizes)
    assert max(sizes.values()) <= MOST_BYTES


def test_the_version_is_told_alike_wherever_it_stands() -> None:
    assert f"\nversion: {pge_nb.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines() if line[:3] == "## "]
    assert headings[0].split()[1] == pge_nb.__version__
