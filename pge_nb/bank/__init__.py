"""The practice tasks: small real tasks whose every possible attempt, and what is wrong with it, is known."""

from __future__ import annotations

import difflib
import functools
import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

from ..errors import BadInput
from ..payloads import Json
from ..records import FileRef, attempt_hash
from . import intervals, money, roman, stats, textkit
from .values import Case, Defect, Oracle, PracticeStep, PracticeTask, Truth

__all__ = [
    "SOUND",
    "Case",
    "Defect",
    "Oracle",
    "PracticeStep",
    "PracticeTask",
    "Truth",
    "files",
    "match",
    "nearest",
    "oracle",
    "practice_step",
    "practice_task",
    "render",
    "tasks",
    "truth",
]

SOUND = 9.0
"""The true quality of a solution without defects, on every criterion: good, and with room for a judge's noise above it."""

_TASKS = (textkit.TASK, stats.TASK, money.TASK, intervals.TASK, roman.TASK)


def tasks() -> tuple[PracticeTask, ...]:
    """All practice tasks, the easiest first."""
    return _TASKS


def practice_task(name: str) -> PracticeTask:
    """The task called ``name``; ``BadInput`` names the nearest where there is none."""
    for task in tasks():
        if task.name == name:
            return task
    close = difflib.get_close_matches(name, [task.name for task in tasks()], n=1, cutoff=0.0)
    raise BadInput(f"There is no practice task {name!r}.", f"Did you mean {close[0]}? `%pge tasks` lists them all.")


def practice_step(task: PracticeTask, number: int) -> PracticeStep:
    """The step ``number`` of a task."""
    for step in task.steps:
        if step.number == number:
            return step
    raise BadInput(f"Task {task.name} has no step {number}.", f"It has the steps 1 to {len(task.steps)}.")


def match(prompt: str) -> PracticeTask | None:
    """The task that a prompt asks for word by word; white space and case do not count."""
    wanted = _folded(prompt)
    return next((task for task in tasks() if _folded(task.prompt) == wanted), None)


def nearest(prompt: str) -> PracticeTask:
    """The task that a prompt is most like: rare words that both have first, then the order of the letters."""
    text = _folded(prompt)[:2_000]
    shared = {task.name: _stems(text) & _vocabulary(task.name) for task in tasks()}

    def likeness(task: PracticeTask) -> tuple[float, float]:
        owners = [sum(stem in _vocabulary(other.name) for other in tasks()) for stem in shared[task.name]]
        alike = difflib.SequenceMatcher(None, text, _folded(task.prompt)).ratio()
        return sum(1 / count - 1 / len(tasks()) for count in owners), alike

    return max(tasks(), key=likeness)


def oracle(name: str) -> Oracle:
    """The oracle called "task/function"; ``BadInput`` names the nearest where there is none."""
    known = {own.name: own for task in tasks() for own in task.oracles}
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.0)
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


def truth(task_name: str, attempt: str) -> Truth | None:
    """What is so about the attempt with this hash; None where the bank cannot have made it (edited by hand, say)."""
    return _truths(practice_task(task_name).name).get(attempt)


@functools.cache
def _truths(task_name: str) -> Mapping[str, Truth]:
    task = practice_task(task_name)
    return {
        attempt_hash(files(render(step, defects))): _truth(task, step, defects)
        for step in task.steps
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
def _vocabulary(task_name: str) -> frozenset[str]:
    task = practice_task(task_name)
    solutions = (text for step in task.steps for text in step.solution.values())
    return _stems(" ".join([task.name, task.title, task.prompt, *solutions]))
