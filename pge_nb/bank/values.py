"""What a practice task is made of, and short ways to write one down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..payloads import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One hidden input of an oracle and what must come of it: a value, or an exception of the type named ``raises``.

    All values are JSON values; a tuple that a function gives counts as a list.
    """

    args: tuple[Json, ...]
    kwargs: Mapping[str, Json] = field(default_factory=dict)
    returns: Json = None
    raises: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """Inputs with known outcomes for one function. ``name`` is "task/function", ``call`` is "module.function".

    The module is the deliverables' own. Where they hold no function to call (a text, a page, a notebook) or one call tells
    too little (a store), ``reader`` is the source of a module of the bank's, which goes by the name in ``call`` and looks at
    the deliverables from the directory that they are in.
    """

    name: str
    call: str
    cases: tuple[Case, ...]
    reader: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """A flaw that a generator may bring in: ``old``, found once in the solution's file ``path``, becomes ``new``.

    ``breaks`` are the ids of the checks that it makes unmet, ``costs`` the points that it takes off each criterion.
    ``form``: it lies in the docstrings, the tone, repetitions or the like, where a reader sees it and no input can tell.
    """

    id: str
    says: str
    path: str
    old: str
    new: str
    breaks: tuple[str, ...] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    form: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PracticeStep:
    """One step: what is to be delivered, how it is checked, a sound solution, and what may be wrong with it.

    ``checks`` are in the order of the final contract, so the first is c1. ``first_checks`` are the positions of those that
    the generator proposes by itself; ``objection`` is what the evaluator says when it demands the rest.
    """

    number: int
    deliverables: tuple[str, ...]
    checks: tuple[Mapping[str, Json], ...]
    first_checks: tuple[int, ...]
    objection: str = ""
    solution: Mapping[str, str]
    defects: tuple[Defect, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PracticeTask:
    """A small real task whose every possible attempt is known. ``plan`` is the planner's reply."""

    name: str
    title: str
    prompt: str
    plan: Mapping[str, Json]
    steps: tuple[PracticeStep, ...]
    oracles: tuple[Oracle, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is so about one attempt, whatever a judge says: its defects, and what they do to checks and criteria.

    It is the truth of the deliverables by themselves: the modules of earlier steps that they import are taken as sound.
    """

    step: int
    defects: tuple[str, ...]
    met: Mapping[str, bool]
    quality: Mapping[str, float]


def case(*args: Json, returns: Json = None, raises: str | None = None, **kwargs: Json) -> Case:
    """A case written as the call itself."""
    return Case(args=args, kwargs=kwargs, returns=returns, raises=raises)


def pairs(*rows: tuple[Json, Json]) -> tuple[Case, ...]:
    """Cases of a function of one argument: (argument, what it returns)."""
    return tuple(case(given, returns=wanted) for given, wanted in rows)


def refuses(exception: str, *given: Json) -> tuple[Case, ...]:
    """Cases of a function of one argument that must raise."""
    return tuple(case(argument, raises=exception) for argument in given)


def by_oracle(says: str, oracle: str) -> Mapping[str, Json]:
    """A check that hidden inputs decide."""
    return {"says": says, "method": "oracle", "args": {"oracle": oracle}}


def by_command(says: str, *run: str, **rest: Json) -> Mapping[str, Json]:
    """A check that a command decides: exit status 0 unless ``exit`` says otherwise, and ``prints`` in its output."""
    return {"says": says, "method": "command", "args": {"run": list(run), **rest}}


def by_file(says: str, path: str, **rest: Json) -> Mapping[str, Json]:
    """A check that a look at a file decides: it ``contains`` a text or ``matches`` a pattern."""
    return {"says": says, "method": "file", "args": {"path": path, **rest}}


def by_judge(says: str) -> Mapping[str, Json]:
    """A check that only the judge can decide."""
    return {"says": says, "method": "judge", "args": {}}


def by_notebook(says: str, path: str, *shows: str) -> Mapping[str, Json]:
    """A check that running a notebook from its first cell decides: it ends without an error and ``shows`` these texts.

    Where no kernel can be run it falls to the judge.
    """
    return {"says": says, "method": "notebook", "args": {"path": path, "shows": list(shows)}}


def by_browser(
    says: str, path: str, *, see: Sequence[str], do: Sequence[Mapping[str, Json]] = (), then: Sequence[str] = ()
) -> Mapping[str, Json]:
    """A check that a browser decides: what the page shows, what is done there, and what it shows then.

    Where there is no browser it falls to the judge.
    """
    args: dict[str, Json] = {"path": path, "see": list(see), "do": [dict(act) for act in do], "then": list(then)}
    return {"says": says, "method": "browser", "args": args}


def criterion(name: str, description: str, weight: str = "standard", threshold: float = 7.0) -> dict[str, Json]:
    """A criterion as a planner writes it."""
    return {"name": name, "weight": weight, "description": description, "threshold": threshold}


def planned(
    description: str, step: PracticeStep, *, skill: str, kind: str = "code", depends_on: tuple[int, ...] = ()
) -> dict[str, Json]:
    """A step as a planner writes it; what the checks say is its success, so a run without contracts asks the same."""
    return {
        "description": description,
        "skill_type": skill,
        "task_type": kind,
        "depends_on": list(depends_on),
        "success": [check["says"] for check in step.checks],
    }


def notebook(*cells: tuple[str, str]) -> str:
    """A notebook file, never run, from pairs of cell type and source."""
    listed: list[Json] = []
    for number, (kind, text) in enumerate(cells, 1):
        cell: dict[str, Json] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell |= {"execution_count": None, "outputs": []} if kind == "code" else {}
        listed.append(cell | {"source": text.splitlines(keepends=True)})
    kernel: Json = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {"cells": listed, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def in_cell(line: str) -> str:
    """A piece of a line of a cell as it stands in the notebook file."""
    return json.dumps(line, ensure_ascii=False)[1:-1]
