"""The steps in a planner's reply: read, and mended where they would wait for what never comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from .. import dag
from ..payloads import Json
from ..records import Step
from .replies import Unusable


def read_steps(listed: Sequence[Json], notes: list[str], *, strict: bool = False) -> tuple[Step, ...]:
    """The steps, each behind those that it depends on; its number is its place in the reply. ``notes`` is told what was mended.

    ``strict``: steps that wait for themselves, or for what is no step, are ``Unusable``, with the path.
    """
    steps = tuple(_step(item, number, notes) for number, item in enumerate(listed, 1))
    if strict and (why := dag.fault(steps)):
        raise Unusable(why)
    return dag.in_order(_mended(steps, notes))


def _step(item: Json, number: int, notes: list[str]) -> Step:
    if isinstance(item, str):
        item = {"description": item}
    if not isinstance(item, dict):
        raise Unusable(f"step {number} is neither an object nor a sentence")
    description = text(item.get("description", item.get("title")))
    if not description:
        raise Unusable(f"step {number} has no description")
    listed = item.get("depends_on")
    needs: list[int] = []
    for given in listed if isinstance(listed, list) else [] if listed is None else [listed]:
        need = int(given) if isinstance(given, str) and given.strip().isdecimal() and len(given) < 6 else given
        if isinstance(need, int) and not isinstance(need, bool):
            needs.append(need)
        else:
            notes.append(f"step {number} cannot depend on {need!r:.40}, which is no step; left out")
    return Step(
        number=number,
        description=description,
        skill_type=text(item.get("skill_type")) or "general",
        task_type=text(item.get("task_type")) or "general",
        depends_on=tuple(sorted(set(needs))),
        success=tuple(texts(item.get("success"))),
    )


def _mended(steps: tuple[Step, ...], notes: list[str]) -> tuple[Step, ...]:
    """The steps without the dependencies that lead nowhere, and without the last of each circle; all are told."""
    found = {step.number for step in steps}
    out: dict[int, set[int]] = defaultdict(set)
    for step in steps:
        for need in step.depends_on:
            if need not in found:
                out[step.number].add(need)
                notes.append(f"step {step.number} cannot depend on {need}, which is no step; left out")
    for path in dag.circles(steps):
        *_, last, first = path
        out[last].add(first)
        notes.append(f"step {last} cannot depend on {first}, which waits for it ({dag.told(path)}); left out")
    return tuple(_without(step, out[step.number]) for step in steps)


def _without(step: Step, needs: set[int]) -> Step:
    return replace(step, depends_on=tuple(need for need in step.depends_on if need not in needs)) if needs else step


def text(value: Json) -> str:
    """A text without the white space around it; empty for anything else."""
    return value.strip() if isinstance(value, str) else ""


def texts(value: Json) -> list[str]:
    """The texts of a list, or the one text that stands for a list; empty ones and anything else are left out."""
    if isinstance(value, str):
        value = [value]
    return [item.strip() for item in value if isinstance(item, str) and item.strip()] if isinstance(value, list) else []
