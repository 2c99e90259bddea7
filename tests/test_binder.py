"""What Binder is given fits the package; ``benchmarks/binder.py`` builds it, which takes a minute and the network."""

from __future__ import annotations

import importlib.util
import os
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = [
    Requirement(line)
    for line in (ROOT / "binder" / "requirements.txt").read_text(encoding="ascii").splitlines()
    if not line.startswith("#")
]
PINNED = {pin.name.lower().replace("_", "-"): str(pin.specifier) for pin in PINS}


@pytest.fixture(scope="module")
def rehearsal() -> ModuleType:
    spec = importlib.util.spec_from_file_location("binder", ROOT / "benchmarks" / "binder.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_python_is_one_that_the_package_takes() -> None:
    named = (ROOT / "binder" / "runtime.txt").read_text(encoding="ascii").strip()
    assert named == "python-3.12"
    assert SpecifierSet(PROJECT["requires-python"]).contains("3.12")


def test_everything_is_pinned_to_one_version() -> None:
    assert [str(pin) for pin in PINS if not re.fullmatch(r"==[\w.]+", str(pin.specifier))] == []


@pytest.mark.parametrize("wanted", [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["lab"]])
def test_what_the_package_needs_is_pinned_within_what_it_allows(wanted: str) -> None:
    need = Requirement(wanted)
    version = PINNED[need.name.lower()].removeprefix("==")
    assert need.specifier.contains(version)


def test_its_last_step_stops_on_an_error_and_leaves_the_pins_alone() -> None:
    script = ROOT / "binder" / "postBuild"
    lines = script.read_text(encoding="ascii").splitlines()
    assert lines.index("set -e") < lines.index("python -m pip install --no-deps .")
    assert os.access(script, os.X_OK)


def test_the_badge_opens_the_index(rehearsal: ModuleType) -> None:
    (address,) = re.findall(r"\]\((https://mybinder\.org/\S+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert address.endswith(f"?urlpath=lab/tree/{rehearsal.FIRST_PAGE}")
    assert (ROOT / rehearsal.FIRST_PAGE).is_file()


def test_the_index_leads_to_every_notebook_and_nowhere_else() -> None:
    text = (ROOT / "examples" / "index.ipynb").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((\w+\.ipynb)\)", text))
    assert linked == {path.name for path in (ROOT / "examples").glob("*.ipynb")} - {"index.ipynb"}


@pytest.mark.parametrize(
    ("figures", "good"),
    [
        ({"seconds": 30.0, "bytes": 1_000_000_000}, True),
        ({"seconds": 30.1, "bytes": 1}, False),
        ({"seconds": 1.0, "bytes": 1_000_000_001}, False),
        ({"raised": "NameError"}, False),
    ],
)
def test_a_lesson_that_raises_or_takes_too_much_fails_the_rehearsal(
    rehearsal: ModuleType, figures: dict[str, object], good: bool
) -> None:
    assert rehearsal.good(figures) is good
