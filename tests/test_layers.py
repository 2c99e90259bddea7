"""Imports only point down, and the heavy or notebook-bound packages stay in their rooms."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1] / "pge_nb"

LAYERS = """
    __init__ __main__
    magic
    completing traits
    commands
    widgets
    studies exports notebook
    views
    display
    frames charts harness
    agents
    settings
    config
    reviews skills
    results estimates
    contracts decisions approval vague_parts moving inputs pauses driving traced_run
    detached
    state workspace models prompts
    sections
    prose latex readings sentences
    study_prose
    sandbox bank phases redaction framing disk markdown walking tracing
    abreast clock runs step_looks
    run settable verdict dag vagueness
    records
    study_records
    payloads interrupts nearness columns crew
    calibration
    errors
"""
"""The rooms of the house, top to bottom. A room imports from lines below its own; rooms on one line do not know each other."""

LINE = {room: number for number, line in enumerate(LAYERS.split("\n")) for room in line.split()}

ONLY_IN = {
    "anthropic": {"models"},
    "matplotlib": {"charts"},
    "ipywidgets": {"widgets"},
    "IPython": {"magic", "completing", "commands", "widgets", "display"},
}
HEAVY = ("anthropic", "pandas", "matplotlib", "ipywidgets", "nbformat", "scipy", "sklearn")


@dataclass(frozen=True)
class Import:
    """One import: from which module of ours, of what, on which line, and whether it happens when that module is imported."""

    module: str
    package: bool
    target: str
    line: int
    at_import: bool

    @property
    def room(self) -> str:
        return self.module.split(".")[0]

    @property
    def inside(self) -> str | None:
        """The room of the house that is imported; None for what is not ours."""
        return self.target.split(".")[1] if self.target.startswith("pge_nb.") else None

    def __str__(self) -> str:
        return f"pge_nb.{self.module}, line {self.line}, imports {self.target}"


def modules() -> dict[str, tuple[Path, bool]]:
    """Dotted name inside the package -> its file, and whether it is a package's ``__init__``."""
    found = {}
    for path in sorted(HOUSE.rglob("*.py")):
        parts = path.relative_to(HOUSE).with_suffix("").parts
        package = parts[-1] == "__init__"
        found[".".join(parts[:-1] if package and len(parts) > 1 else parts)] = (path, package)
    return found


def imports_of(module: str, source: str, *, package: bool) -> Iterator[Import]:
    """Every import of a module, wherever it stands."""
    tree = ast.parse(source)
    lazy = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or _only_for_types(node)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        for target in _targets(node, module, package=package):
            yield Import(module, package, target, getattr(node, "lineno", 0), node not in lazy)


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _targets(node: ast.AST, module: str, *, package: bool) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    if not node.level:
        return (
            [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "pge_nb" else [node.module or ""]
        )
    inside = [] if module == "__init__" else module.split(".")
    folder = ["pge_nb", *(inside if package else inside[:-1])]
    base = folder[: len(folder) - node.level + 1]
    if node.module or len(base) > 1:
        return [".".join([*base, *(node.module or "").split(".")]).rstrip(".")]
    return [f"pge_nb.{alias.name}" for alias in node.names]


def every_import() -> list[Import]:
    return [
        one
        for module, (path, package) in modules().items()
        for one in imports_of(module, path.read_text(encoding="utf-8"), package=package)
    ]


def test_every_room_stands_on_a_line() -> None:
    assert {module.split(".")[0] for module in modules()} <= set(LINE)


def test_imports_only_point_down() -> None:
    upward = [
        str(one)
        for one in every_import()
        if one.inside is not None
        and one.inside != one.room
        and one.inside in LINE  # else a name of the package itself, as its version
        and LINE[one.room] >= LINE[one.inside]
    ]
    assert upward == []


@pytest.mark.parametrize("name", ONLY_IN)
def test_a_package_with_a_room_of_its_own_is_imported_nowhere_else(name: str) -> None:
    strays = [str(one) for one in every_import() if one.target.split(".")[0] == name and one.room not in ONLY_IN[name]]
    assert strays == []


def test_the_sdk_is_imported_on_the_first_call_only() -> None:
    early = [str(one) for one in every_import() if one.target.split(".")[0] == "anthropic" and one.at_import]
    assert early == []


def test_calibration_imports_nothing_of_ours_but_errors() -> None:
    inside = {one.inside for one in every_import() if one.room == "calibration"}
    assert inside <= {None, "calibration", "errors"}


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, pge_nb; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(HOUSE.parent)}
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    assert loaded.stdout.split() == []


@pytest.mark.parametrize(
    ("module", "package", "source", "target"),
    [
        ("run", False, "from .errors import BadInput", "pge_nb.errors"),
        ("agents.planner", False, "from ..config import HarnessConfig", "pge_nb.config"),
        ("agents.planner", False, "from .replies import Unusable", "pge_nb.agents.replies"),
        ("reviews", True, "from ..workspace import Tree", "pge_nb.workspace"),
        ("reviews.command", False, "from . import Outcome", "pge_nb.reviews"),
        ("magic", False, "from . import commands", "pge_nb.commands"),
        ("magic", False, "from pge_nb import commands", "pge_nb.commands"),
        ("magic", False, "import pge_nb.commands", "pge_nb.commands"),
        ("__init__", True, "from .run import Run", "pge_nb.run"),
        ("charts", False, "def draw():\n    import matplotlib.figure", "matplotlib.figure"),
    ],
)
def test_an_import_is_read_in_every_form(module: str, package: bool, source: str, target: str) -> None:
    assert [one.target for one in imports_of(module, source, package=package)] == [target]


def test_an_import_in_a_function_or_for_types_alone_is_lazy() -> None:
    source = "if TYPE_CHECKING:\n    import a\ndef f():\n    import b\nimport c\nif True:\n    import d\n"
    assert {one.target: one.at_import for one in imports_of("x", source, package=False)} == {
        "a": False,
        "b": False,
        "c": True,
        "d": True,
    }
