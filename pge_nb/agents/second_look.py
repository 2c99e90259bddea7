"""The planner's second look at its plan, for success criteria that are vague in a way that the rule cannot see.

It is a call of its own, so it is made only where it can help: where a criterion names nothing of which the rule knows that it
could be seen, as in another language than English.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..models import About, Reply, Request
from ..phases import Phase, number
from ..prompts import fill
from ..prose import counted
from ..records import Call, Plan, Step
from ..run import Run
from ..vague_parts import SECOND_LOOK, looks_twice
from ..vagueness import testable, vague
from .equipment import Equipment, ask, effort_of, model_of
from .replies import Unusable, json_somewhere

LONGEST = 400
"""Characters of a criterion that is put in the place of a vague one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The plan after the second look, and the calls that it took; none where it was not needed."""

    plan: Plan
    calls: tuple[Call, ...] = ()


def second_look(equipment: Equipment, run: Run, phase: Phase, plan: Plan, turn: int) -> Looked:
    """Have the planner rewrite the criteria that are vague, where one may be; what became of each stands in the notes.

    ``turn`` is that of the next call of the phase.
    """
    asked_about = _unsure(plan) if looks_twice(run.settings) else {}
    if not asked_about:
        return Looked(plan=plan)
    asked = ask(equipment, _request(run, phase, plan, list(asked_about), turn), lambda reply: _read(reply, asked_about))
    if asked.value is None:
        note = f"second look: the reply could not be used ({'; '.join(asked.reasons)})"
        return Looked(plan=replace(plan, notes=(*plan.notes, note)), calls=asked.calls)
    instead = {at: text for at, text in asked.value.items() if text != asked_about[at]}
    notes = [
        f"second look: in step {at.partition('.')[0]}, {asked_about[at]!r:.160} became {text!r:.160}"
        for at, text in instead.items()
    ]
    notes = notes or [f"second look: none of {counted(len(asked_about), 'criterion', 'criteria')} is vague"]
    steps = tuple(
        replace(step, success=tuple(instead.get(_at(step, place), said) for place, said in enumerate(step.success, 1)))
        for step in plan.steps
    )
    return Looked(plan=replace(plan, steps=steps, notes=(*plan.notes, *notes)), calls=asked.calls)


def _unsure(plan: Plan) -> dict[str, str]:
    """Place -> criterion, for those that name nothing of which the rule knows that it could be seen."""
    placed = {_at(step, place): said for step in plan.steps for place, said in enumerate(step.success, 1)}
    return {at: said for at, said in placed.items() if not testable(said)}


def _at(step: Step, place: int) -> str:
    return f"{step.number}.{place}"


def _request(run: Run, phase: Phase, plan: Plan, places: list[str], turn: int) -> Request:
    settings = run.settings
    lines = [f"The prompt:\n{run.task.prompt}", "", "The plan:"]
    for step in plan.steps:
        lines.append(f"Step {step.number}: {step.description}")
        lines += [f"- {_at(step, place)}: {said}" for place, said in enumerate(step.success, 1)]
    return Request(
        model=model_of(settings, "planner"),
        effort=effort_of(settings, "planner"),
        system=fill(SECOND_LOOK),
        messages=({"role": "user", "content": "\n".join([*lines, "", f"Look at {', '.join(places)}."])},),
        max_tokens=int(number(settings, "max_tokens")),
        about=About(role="planner", phase=SECOND_LOOK, round=phase.round, turn=turn, task=run.task.practice),
    )


def _read(reply: Reply, asked_about: Mapping[str, str]) -> dict[str, str]:
    """Place -> what is to stand there. A rewrite that is empty, too long or itself vague is none."""
    listed = json_somewhere(reply.text).get("vague")
    if not isinstance(listed, list):
        raise Unusable('there is no list "vague"')
    found: dict[str, str] = {}
    for item in listed:
        at, text = (item.get("at"), item.get("instead")) if isinstance(item, dict) else (None, None)
        text = " ".join(text.split()) if isinstance(text, str) else ""
        if str(at) in asked_about and text and len(text) <= LONGEST and not vague(text):
            found[str(at)] = text
    return found
