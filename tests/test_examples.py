"""The notebooks under ``examples/`` give the outputs that they were saved with, in another directory and without a server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(path.relative_to(ROOT / "examples") for path in (ROOT / "examples").rglob("*.ipynb"))


def test_there_are_notebooks_to_try() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
def test_a_notebook_gives_what_it_was_saved_with(notebook: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "elsewhere", ignore=shutil.ignore_patterns(".*", "*.pyc"))
    shutil.copy(ROOT / "tests" / "nbval.cfg", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")  # without this project's own settings
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-c", "pytest.ini", "--nbval", "--nbval-current-env"),
            *("--nbval-sanitize-with", "nbval.cfg", str(Path("elsewhere") / notebook)),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PGE_NB_LIVE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-6_000:]
    assert " passed" in ran.stdout
