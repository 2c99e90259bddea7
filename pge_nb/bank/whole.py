"""A practice task as one step: what is to be done where there is no planner to cut it into several."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..payloads import Json
from ..records import FileRef, attempt_hash
from . import practice_task, truth
from .values import PracticeStep, Truth


@functools.cache
def whole_step(name: str) -> PracticeStep:
    """All steps of a task as one: what they deliver, their checks in order, and what may be wrong with any of them."""
    task = practice_task(name)
    checks: list[Mapping[str, Json]] = []
    first: list[int] = []
    whole = replace(task.steps[0], number=1)
    for step in task.steps:
        before = len(checks)
        checks += step.checks
        first += [before + position for position in step.first_checks]
        if step is task.steps[0]:
            continue
        whole = replace(
            whole,
            deliverables=(*whole.deliverables, *step.deliverables),
            objection=" ".join(filter(None, (whole.objection, step.objection))),
            solution={**whole.solution, **step.solution},
            defects=(
                *whole.defects,
                *(replace(one, breaks=_later(one.breaks, before)) for one in step.defects),
            ),
        )
    return replace(whole, checks=tuple(checks), first_checks=tuple(first))


def whole_truth(name: str, files: Iterable[FileRef]) -> Truth | None:
    """What is so about files that a task's steps are delivered in together; None where the bank cannot have made one's."""
    task, known, before = practice_task(name), Truth(step=1, defects=(), met={}, quality={}), 0
    held = {file.path: file for file in files}
    for step in task.steps:
        own = tuple(held.pop(path) for path in sorted(step.deliverables) if path in held)
        part = truth(name, attempt_hash(own))
        if part is None or part.step != step.number:
            return None
        known = Truth(
            step=1,
            defects=(*known.defects, *part.defects),
            met={**known.met, **{_later((on,), before)[0]: met for on, met in part.met.items()}},
            # A fault in a part is one of the whole.
            quality={on: min(score, known.quality.get(on, score)) for on, score in part.quality.items()},
        )
        before += len(step.checks)
    return None if held else known


def _later(ids: Iterable[str], by: int) -> tuple[str, ...]:
    return tuple(f"c{int(one[1:]) + by}" for one in ids)
