"""Loading costs nothing, and the public names are those that were promised."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pge_nb

HEAVY = ("anthropic", "pandas", "matplotlib", "ipywidgets", "nbformat", "scipy", "sklearn")
PUBLIC = {
    "PGEHarness",
    "PlannerGeneratorEvaluator",
    "HarnessConfig",
    "HarnessResult",
    "Planner",
    "Generator",
    "Evaluator",
    "Plan",
    "StepContract",
    "EvaluationReport",
    "Run",
    "Skill",
    "SkillRegistry",
    "open_run",
    "open_runs",
    "calibration",
    "studies",
    "load_ipython_extension",
    "unload_ipython_extension",
    "__version__",
}


def test_load_ext_prints_nothing_and_imports_nothing_heavy() -> None:
    code = f"""
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
shell.run_line_magic("load_ext", "pge_nb")
print([name for name in {HEAVY!r} if name in set(sys.modules) - before])
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(pge_nb.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "[]\n"


def test_the_public_names_are_these() -> None:
    assert set(dir(pge_nb)) == PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(pge_nb, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pge_nb.nothing  # noqa: B018
