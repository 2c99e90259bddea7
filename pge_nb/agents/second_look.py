"""Vague sentences: what the rule finds is sent back once with the reason, and the planner looks once more at its plan.

The second look is a call of its own, so it is made only where it can help: where a success criterion names nothing that the rule
knows could be seen. A run that was begun before there was a rule goes on without it, and a recording of one replays as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from ..models import About, Reply, Request
from ..models.choose import is_practice
from ..payloads import Json
from ..phases import Phase, number
from ..prompts import fill
from ..prose import counted
from ..records import Call, Check, Plan, Step
from ..run import Run
from ..vagueness import testable, vague
from ..verdict import JUDGE
from .equipment import Equipment, ask, effort_of, model_of
from .replies import Unusable, json_somewhere

NAME = "second_look"
MOST_SAID = 5
"""Vague sentences that are named when they are sent back."""
LONGEST = 400
"""Characters of a criterion that is put in the place of a vague one."""


def is_looked_for(settings: Mapping[str, Json]) -> bool:
    """Whether vague sentences are looked for in a run: in each that was begun since there is this look."""
    prompts = settings.get("prompts")
    return isinstance(prompts, Mapping) and NAME in prompts


# The rule


def vague_steps(steps: Iterable[Step], settings: Mapping[str, Json]) -> str:
    """What is vague in the success criteria of steps, for whoever is asked again; empty where nothing is."""
    if not is_looked_for(settings):
        return ""
    return _told([(f"in step {step.number}, ", sentence) for step in steps for sentence in step.success])


def vague_checks(checks: Iterable[Check], settings: Mapping[str, Json], known: Collection[str] = ()) -> str:
    """What is vague in the checks that the judge decides, but for ``known`` sentences: each is sent back once."""
    if not is_looked_for(settings):
        return ""
    return _told([("", check.says) for check in checks if check.method == JUDGE and check.says not in known])


def _told(sentences: list[tuple[str, str]]) -> str:
    found = [(where, sentence, words) for where, sentence in sentences if (words := vague(sentence))]
    if not found:
        return ""
    said = [f'{where}"{sentence:.120}" is vague ("{words:.60}")' for where, sentence, words in found[:MOST_SAID]]
    more = [f"and {counted(len(found) - MOST_SAID, 'more sentence')}"] if len(found) > MOST_SAID else []
    example = '"POST /login returns 401 for a wrong password", not "implement login"'
    return f"{'; '.join([*said, *more])}: say what a test could prove wrong, such as {example}"


def left_vague(sentences: Iterable[str], settings: Mapping[str, Json]) -> tuple[str, ...]:
    """Notes on the sentences that came back as vague as they were, and stand."""
    if not is_looked_for(settings):
        return ()
    return tuple(f"vague, and kept: {sentence:.120}" for sentence in sentences if vague(sentence))


def earlier_checks(run: Run, step: int) -> frozenset[str]:
    """The sentences of a step's checks in all versions so far: what is vague in them has been sent back."""
    versions = (section.payload for kind in ("proposal", "response") for section in run.of(kind, step))
    return frozenset(check.says for version in versions for check in getattr(version, "checks", None) or ())


# The planner's look


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The plan after the second look, and the calls that it took; none where it was not needed."""

    plan: Plan
    calls: tuple[Call, ...] = ()


def second_look(equipment: Equipment, run: Run, phase: Phase, plan: Plan, turn: int) -> Looked:
    """Have the planner rewrite the criteria that are vague, where one may be; what became of each stands in the notes.

    ``turn`` is that of the next call of the phase.
    """
    asked_about = _unsure(plan) if is_on(run.settings) else {}
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


def is_on(settings: Mapping[str, Json]) -> bool:
    """Whether the planner may look once more: as it was set, else where its model is a live one."""
    chosen = settings.get(NAME)
    if isinstance(chosen, bool):
        return chosen
    return is_looked_for(settings) and not is_practice(model_of(settings, "planner"))


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
        system=fill(NAME),
        messages=({"role": "user", "content": "\n".join([*lines, "", f"Look at {', '.join(places)}."])},),
        max_tokens=int(number(settings, "max_tokens")),
        about=About(role="planner", phase=NAME, round=phase.round, turn=turn, task=run.task.practice),
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
