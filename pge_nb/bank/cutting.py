"""A practice step in two: first one of the functions that hidden inputs look at, then the whole.

What a piece is follows from the step alone: its file is the step's without the functions that come later, its checks are those
that name its function, its defects those that lie in it. A step whose file has one such function alone cannot be cut.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..payloads import Json
from .values import Defect, Oracle, PracticeStep, PracticeTask


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A smaller step in place of one, and what a planner says of it."""

    step: PracticeStep
    description: str


def pieces(task: PracticeTask, step: PracticeStep) -> tuple[Piece, ...]:
    """The two smaller steps, the second building on the first; none where the step cannot be cut."""
    found = _first_function(task, step)
    if found is None:
        return ()
    path, first, later = found
    text = _without(step.solution[path], later)
    own = [at for at, check in enumerate(step.checks) if _is_about(check, first, later)]
    rest = [at for at in range(len(step.checks)) if at not in own]
    in_it = tuple(one for one in step.defects if one.path == path and text.count(one.old) == 1)
    others = tuple(one for one in step.defects if one not in in_it)
    return (
        Piece(step=_piece(step, own, in_it, {path: text}), description=f"the function {first} in {path}"),
        Piece(
            step=_piece(step, rest, others, step.solution), description=f"{_listed(later)} in {path}, beside {first}"
        ),
    )


def _first_function(task: PracticeTask, step: PracticeStep) -> tuple[str, str, tuple[str, ...]] | None:
    """The file, the function in it that comes first, and those that come later; None where there are not two."""
    calls = [_call(task, check) for check in step.checks]
    asked = [call for call in calls if call is not None]
    for path in step.deliverables:
        module = path.removesuffix(".py")
        names = {function for where, function in asked if path.endswith(".py") and where == module}
        defined = [name for name in _functions(step.solution[path]) if name in names] if names else []
        # The first must do without the others.
        for name in defined if len(defined) > 1 else ():
            others = tuple(other for other in defined if other != name)
            if not _uses(step.solution[path], name) & set(others):
                return path, name, others
    return None


def _call(task: PracticeTask, check: Mapping[str, Json]) -> tuple[str, str] | None:
    """The module and the function that an oracle check calls; None for another check, and for one with a reader of its own."""
    args = check["args"]
    name = args.get("oracle") if check["method"] == "oracle" and isinstance(args, Mapping) else None
    own: Oracle | None = next((one for one in task.oracles if one.name == name and one.reader is None), None)
    module, _, function = own.call.rpartition(".") if own else ("", "", "")
    return (module, function) if function else None


def _functions(source: str) -> Mapping[str, ast.FunctionDef]:
    """The functions of a module by name, in their order."""
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def _uses(source: str, name: str) -> set[str]:
    """The functions of the module that a function needs, directly or by way of others."""
    functions, found, waiting = _functions(source), set[str](), [name]
    while waiting:
        for node in ast.walk(functions[waiting.pop()]):
            if isinstance(node, ast.Name) and node.id in functions and node.id not in found | {name}:
                found.add(node.id)
                waiting.append(node.id)
    return found


def _without(source: str, names: Iterable[str]) -> str:
    """The module without these functions, and without the helpers that nothing else in it needs."""
    functions = _functions(source)
    gone = set(names)
    kept = {name for name in functions if name not in gone and not name.startswith("_")}
    needed = kept.union(*(_uses(source, name) for name in kept))
    lines: list[str | None] = list(source.splitlines(keepends=True))
    for name, node in functions.items():
        if name in gone or (name.startswith("_") and name not in needed):
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            lines[first - 1 : node.end_lineno] = [None] * ((node.end_lineno or first) - first + 1)
    left = "".join(line for line in lines if line is not None)
    return re.sub(r"\n{4,}", "\n\n\n", left).rstrip("\n") + "\n"


def _is_about(check: Mapping[str, Json], first: str, later: Sequence[str]) -> bool:
    """Whether a check says something of the first function and of none that comes later."""
    said = set(re.findall(r"\w+", f"{check['says']} {check['args']}"))
    return first in said and not said & set(later)


def _piece(
    step: PracticeStep, checks: Sequence[int], defects: Sequence[Defect], solution: Mapping[str, str]
) -> PracticeStep:
    """The step with these of its checks, renumbered, and these of its defects."""
    renamed = {f"c{at + 1}": f"c{place}" for place, at in enumerate(checks, 1)}
    return replace(
        step,
        deliverables=tuple(path for path in step.deliverables if path in solution),
        checks=tuple(step.checks[at] for at in checks),
        first_checks=tuple(range(len(checks))),
        objection="",
        solution=solution,
        defects=tuple(
            replace(one, breaks=tuple(renamed[check] for check in one.breaks if check in renamed)) for one in defects
        ),
    )


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"the functions {', '.join(most)} and {last}" if most else f"the function {last}"
