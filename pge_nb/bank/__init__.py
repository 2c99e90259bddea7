"""The practice tasks: small real tasks whose every possible attempt, and what is wrong with it, is known."""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from ..errors import BadInput
from ..payloads import Json
from ..records import FileRef, attempt_hash
from . import generated
from .cutting import Piece, pieces
from .values import Case, Defect, Oracle, PracticeStep, PracticeTask, Truth

__all__ = [
    "NAMES",
    "SOUND",
    "Case",
    "Defect",
    "Grade",
    "Oracle",
    "Piece",
    "PracticeStep",
    "PracticeTask",
    "Truth",
    "files",
    "grade",
    "inputs_missed",
    "match",
    "nearest",
    "oracle",
    "pieces",
    "practice_step",
    "practice_task",
    "render",
    "tasks",
    "truth",
]

SOUND = 9.0
"""The true quality of a solution without defects, on every criterion: good, and with room for a judge's noise above it."""

NAMES = (
    "textkit",
    "stats",
    "money",
    "intervals",
    "roman",
    "calculator",
    "registration",
    "markup",
    "notice",
    "report",
    "page",
    "workdays",
    "table",
    "routes",
    "units",
    "reconcile",
    "grid",
    "limits",
)
"""The practice tasks by name, those that a beginner starts with first. Each is a module that is loaded when it is asked for."""

Grade = Literal["slight", "partial", "gross"]
SLIGHT = 0.1
GROSS = 0.5
COUNTS = Path(__file__).with_name("missed.json")
"""Task -> defect -> hidden inputs that fail and hidden inputs in all, as counted by running each defect alone."""


def tasks() -> tuple[PracticeTask, ...]:
    """All practice tasks, in the order of their names."""
    return tuple(map(practice_task, NAMES))


@functools.cache
def practice_task(name: str) -> PracticeTask:
    """The task called ``name``; ``BadInput`` names the nearest where there is none.

    ``generated:steps=30,dag=random,seed=7`` is one of as many steps, made now and the same everywhere.
    """
    if name.startswith(generated.PREFIX):
        return generated.task_of(name)
    if name in NAMES:
        task: PracticeTask = importlib.import_module(f".{name}", __name__).TASK
        return task
    close = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.0)
    raise BadInput(f"There is no practice task {name!r}.", f"Did you mean {close[0]}? `%pge tasks` lists them all.")


def practice_step(task: PracticeTask, number: int, part: str = "") -> PracticeStep:
    """The step ``number`` of a task, or the ``part`` of a step: "2.1" is the first piece of step 2."""
    number, *places = map(int, part.split(".")) if part else [number]
    for step in task.steps:
        if step.number == number:
            return functools.reduce(lambda whole, place: pieces(task, whole)[place - 1].step, places, step)
    raise BadInput(f"Task {task.name} has no step {number}.", f"It has the steps 1 to {len(task.steps)}.")


def match(prompt: str) -> PracticeTask | None:
    """The task that a prompt asks for word by word; white space and case do not count."""
    wanted = _folded(prompt)
    named = generated.NAME.search(prompt)
    made = () if named is None else (practice_task(named[0]),)
    return next((task for task in (*tasks(), *made) if _folded(task.prompt) == wanted), None)


def nearest(prompt: str) -> PracticeTask:
    """The task that a prompt is most like: rare words that both have first, then the order of the letters.

    A word of a task's own prompt counts twice as much as one that stands in its solution alone.
    """
    text = _folded(prompt)[:2_000]
    stems = _stems(text)
    owners = {stem: sum(stem in _vocabulary(task.name) for task in tasks()) for stem in stems}

    def likeness(task: PracticeTask) -> tuple[float, float]:
        shared = stems & _vocabulary(task.name)
        alike = difflib.SequenceMatcher(None, text, _folded(task.prompt)).ratio()
        rare = {stem: 1 / owners[stem] - 1 / len(NAMES) for stem in shared}
        return sum(rare.values()) + sum(rare[stem] for stem in shared & _spoken(task.name)), alike

    return max(tasks(), key=likeness)


def oracle(name: str) -> Oracle:
    """The oracle called "task/function"; ``BadInput`` names the nearest where there is none."""
    owner = name.partition("/")[0]
    for own in practice_task(owner).oracles if owner in NAMES or owner.startswith(generated.PREFIX) else ():
        if own.name == name:
            return own
    close = difflib.get_close_matches(name, [own.name for task in tasks() for own in task.oracles], n=1, cutoff=0.0)
    raise BadInput(f"There is no oracle {name!r}.", f"Did you mean {close[0]}?")


def render(step: PracticeStep, defects: Iterable[Defect]) -> Mapping[str, str]:
    """The solution of a step with these defects in it, path by path. Any of a step's defects go together."""
    wanted = {defect.id for defect in defects}
    texts = dict(step.solution)
    for defect in step.defects:
        if defect.id in wanted:
            texts[defect.path] = texts[defect.path].replace(defect.old, defect.new)
    return texts


def files(texts: Mapping[str, str]) -> tuple[FileRef, ...]:
    """The file references of rendered deliverables, as a workspace lists them."""
    return tuple(
        FileRef(path=path, mode=0o644, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        for path, data in ((path, text.encode()) for path, text in sorted(texts.items()))
    )


def truth(task_name: str, attempt: str, part: str = "") -> Truth | None:
    """What is so about the attempt with this hash; None where the bank cannot have made it (edited by hand, say).

    ``part``: of an attempt at that part of a step, as `practice_step` takes it; its checks are other ones than the step's.
    """
    return _truths(practice_task(task_name).name, part).get(attempt)


def inputs_missed(task_name: str, defect: str) -> tuple[int, int]:
    """How many hidden inputs of its step a defect alone makes fail, and of how many."""
    task = practice_task(task_name)
    known = counted()[task.name] if task.name in NAMES else generated.counts(task.name)
    if defect not in known:
        close = difflib.get_close_matches(defect, list(known), n=1, cutoff=0.0)
        raise BadInput(f"Task {task.name} has no defect {defect!r}.", f"Did you mean {close[0]}?")
    missed, inputs = known[defect]
    return missed, inputs


def grade(task_name: str, defect: str) -> Grade | None:
    """How bad a defect is by the share of its step's hidden inputs that it makes fail: under 10 %, up to 50 %, or over.

    None: no input fails; a command, a look at a file or a reader finds it.
    """
    missed, inputs = inputs_missed(task_name, defect)
    if missed == 0:
        return None
    share = missed / inputs
    return "slight" if share < SLIGHT else "partial" if share <= GROSS else "gross"


@functools.cache
def counted() -> Mapping[str, Mapping[str, tuple[int, int]]]:
    """Task -> defect -> hidden inputs that fail, and all of them, as they were counted."""
    counts: dict[str, dict[str, tuple[int, int]]] = json.loads(COUNTS.read_text(encoding="utf-8"))
    return counts


@functools.cache
def _truths(task_name: str, part: str) -> Mapping[str, Truth]:
    task = practice_task(task_name)
    return {
        attempt_hash(files(render(step, defects))): _truth(task, step, defects)
        for step in ([practice_step(task, 0, part)] if part else task.steps)
        for defects in _subsets(step.defects)
    }


def _subsets(defects: tuple[Defect, ...]) -> Iterator[tuple[Defect, ...]]:
    for size in range(len(defects) + 1):
        yield from itertools.combinations(defects, size)


def _truth(task: PracticeTask, step: PracticeStep, defects: tuple[Defect, ...]) -> Truth:
    broken = {check for defect in defects for check in defect.breaks}
    return Truth(
        step=step.number,
        defects=tuple(defect.id for defect in defects),
        met={f"c{i}": f"c{i}" not in broken for i in range(1, len(step.checks) + 1)},
        quality={
            name: max(0.0, SOUND - sum(defect.costs.get(name, 0.0) for defect in defects)) for name in _criteria(task)
        },
    )


def _criteria(task: PracticeTask) -> Iterator[str]:
    listed: Json = task.plan["criteria"]
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict):
            yield str(entry["name"])


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _stems(text: str) -> frozenset[str]:
    """The beginnings of the longer words, a plural's s left out: enough to tell slugs from shares."""
    return frozenset(word.rstrip("s")[:5] for word in re.findall(r"[^\W_]{4,}", text.casefold()))


@functools.cache
def _spoken(task_name: str) -> frozenset[str]:
    task = practice_task(task_name)
    return _stems(f"{task.name} {task.title} {task.prompt}")


@functools.cache
def _vocabulary(task_name: str) -> frozenset[str]:
    solutions = (text for step in practice_task(task_name).steps for text in step.solution.values())
    return _spoken(task_name) | _stems(" ".join(solutions))
