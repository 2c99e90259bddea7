"""The planner: a short prompt becomes scope, deliverables, steps and criteria, at the strategic level."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

from ..approval import asked as asked_about
from ..errors import LimitReached
from ..markdown import dotted
from ..models import About, Reply, Request
from ..payloads import Json, compact
from ..phases import TOO_LONG, Phase, due, number
from ..prompts import fill
from ..prose import counted, few
from ..records import Criterion, Plan, Record, Weight
from ..run import Run
from ..skills import frozen_in, hints_in
from ..vague_parts import left_vague, vague_steps
from ..verdict import meant
from ..workspace import composed, refused
from . import replanning
from .equipment import Agent, ask, effort_of, model_of
from .inputs_told import inputs_told
from .named_files import told_of, unpromised
from .one_step import UNUSABLE, default_criteria, of_prompt
from .planned import read_steps, text, texts
from .replies import Unusable, json_somewhere
from .second_look import second_look
from .skilled import skills_told, unknown_skill, with_known_skills

MAX_CRITERIA = 8
MAX_NAME = 80
CHECK_ID = re.compile(r"c\d+", re.IGNORECASE)


class Planner(Agent):
    """Makes the plan of a run."""

    def brief(self, run: Run) -> str:
        """All that the planner is told beside its system prompt: the person's prompt and the files that are there."""
        there = "\n".join(f"- {file.path} ({file.size} bytes)" for file in run.task.files[:100])
        files = f"Files in the working directory:\n{there}" if there else ""
        told = (f"The prompt:\n{run.task.prompt}", files, inputs_told(run), skills_told(run.settings), _sent_back(run))
        return "\n\n".join(filter(None, told))

    def request(self, run: Run, phase: Phase) -> Request:
        """The call that this phase begins with."""
        if phase.name == "replan":
            return replanning.request(run, phase)
        settings = run.settings
        return Request(
            model=model_of(settings, "planner"),
            effort=effort_of(settings, "planner"),
            system=fill("planner", max_steps=str(int(number(settings, "max_steps")))),
            messages=({"role": "user", "content": self.brief(run)},),
            max_tokens=int(number(settings, "max_tokens")),
            about=About(
                role="planner",
                phase="plan",
                round=phase.round,
                task=run.task.practice,
                skills=tuple(frozen_in(settings)),
            ),
        )

    def records(self, run: Run, phase: Phase) -> tuple[Record, ...]:
        """Carry out the phase; the plan, not appended.

        A plan that cannot be read, whose steps wait for themselves or for none that there is, have a skill that there is not, or
        vague success criteria, that leaves out a file which the prompt names, or that is longer than ``max_steps``, is sent back
        once. After that it is mended and cut, or where nothing can be read, made of the prompt alone: one step. All of it is told
        in its notes, with what a second look came to. ``LimitReached`` where its steps do not fit into one reply: one step in
        their stead could pass, and say nothing of the others.
        """
        if phase.name == "replan":
            return asked_about(run, replanning.replan(self.equipment, run, phase))
        started = time.monotonic()
        limit = int(number(run.settings, "max_steps"))
        criteria = default_criteria(run.settings)

        def strict(reply: Reply) -> Plan:
            plan = read_plan(json_somewhere(reply.text), criteria, strict=True)
            if len(plan.steps) > limit:
                long = f"the plan has {len(plan.steps)} steps, and at most {limit} are allowed"
                raise Unusable(f"{long}; join steps, and leave nothing out")
            if why := unknown_skill(plan.steps, run.settings):
                raise Unusable(why)
            if why := vague_steps(plan.steps, run.settings):
                raise Unusable(why)
            if why := told_of(unpromised(run, plan.deliverables)):
                raise Unusable(f"{why}; list under deliverables what is to be made under that very name")
            return plan

        def mild(reply: Reply) -> Plan:
            return cut_to(read_plan(json_somewhere(reply.text), criteria), limit)

        asked = ask(self.equipment, self.request(run, phase), strict, mild)
        if asked.value is None and asked.cut and '"steps"' in asked.text:
            raise _too_long(int(number(run.settings, "max_tokens")))
        back = tuple(f"sent back: {reason}" for reason in asked.reasons)
        plan = with_known_skills(asked.value, run.settings) if asked.value else of_prompt(run, UNUSABLE)
        vague = left_vague((said for step in plan.steps for said in step.success), run.settings)
        lost = told_of(unpromised(run, plan.deliverables)) if asked.value else ""
        plan = replace(plan, notes=(*back, *plan.notes, *vague, *filter(None, (lost,))))
        looked = second_look(self.equipment, run, phase, plan, turn=len(asked.calls))
        plan = replace(
            looked.plan,
            hints=hints_in(run.settings),
            calls=(*asked.calls, *looked.calls),
            seconds=time.monotonic() - started,
        )
        return asked_about(run, Record(payload=plan, by="planner"))

    def run(self, prompt: str, shared_state_path: Path | str) -> None:
        """Plan ``prompt`` and append the plan to the state file, with the task first where the file is new.

        Where a step waits to be cut into smaller ones, that is carried out.
        """
        from .opening import opened

        with opened(shared_state_path, prompt=prompt, config=self.config, model=self.model) as (state, equipment):
            run = state.read()
            cut = (phase for phase in due(run) if phase.name == "replan")
            phase = next(cut, Phase(name="plan", round=len(run.of("plan")) + 1))
            state.append(*Planner(equipment).records(run, phase))


def _too_long(most: int) -> LimitReached:
    more = f"%pge new, then the task with --max-tokens {4 * most} or with a prompt that asks for less at once"
    return LimitReached(f"{TOO_LONG} (max_tokens is {most:,}): it was cut off, twice. Begin anew: {more}.", "%pge new")


def read_plan(value: dict[str, Json], criteria: tuple[Criterion, ...], *, strict: bool = False) -> Plan:
    """The plan in a reply's JSON; ``criteria`` stand in where it names none, and notes tell what was mended.

    ``strict``: steps that wait for themselves, or for what is no step, are ``Unusable``, with the path. Each step stands
    behind those that it depends on; its number is that of the reply.
    """
    notes: list[str] = []
    listed = value.get("steps")
    if not isinstance(listed, list) or not listed:
        raise Unusable("the plan has no steps")
    steps = read_steps(listed, notes, strict=strict)
    found = _criteria(value.get("criteria"), notes)
    if not found and criteria:
        notes.append("the plan named no criteria; the default ones stand")
    deliverables = tuple(composed(path) for path in texts(value.get("deliverables")) if refused(path) is None)
    return Plan(
        title=text(value.get("title")) or text(steps[0].description),
        scope=text(value.get("scope")),
        deliverables=deliverables,
        steps=steps,
        criteria=found or criteria,
        notes=few(notes),
    )


def cut_to(plan: Plan, limit: int) -> Plan:
    """The plan with its first ``limit`` steps, the cut told."""
    if len(plan.steps) <= limit:
        return plan
    cut = plan.steps[limit:]
    names = few([f"{step.number}. {dotted(step.description, 80)}" for step in cut])
    told = f"cut to {counted(limit, 'step')}; left out: {'; '.join(names)}"
    return replace(plan, steps=plan.steps[:limit], notes=(*plan.notes, told))


def _criteria(value: Json, notes: list[str]) -> tuple[Criterion, ...]:
    found: dict[str, Criterion] = {}
    for item in value if isinstance(value, list) else []:
        name = composed(text(item.get("name"))[:MAX_NAME].strip()) if isinstance(item, dict) else ""
        if CHECK_ID.fullmatch(name):
            # Findings name checks and criteria alike.
            name = f"criterion {name}"
        if not isinstance(item, dict) or not name:
            notes.append(f"a criterion without a name was left out: {item!r:.80}")
            continue
        if meant(name, found) in found:
            notes.append(f"the criterion {name!r:.80} stood twice; the first stands")
            continue
        weight: Weight = "standard"
        given = item.get("weight", "standard")
        if given in ("high", "standard", "low"):
            weight = given
        else:
            notes.append(f"the weight {given!r:.40} of {name!r:.40} is not high, standard or low; standard stands")
        threshold = item.get("threshold", 7)
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 10:
            notes.append(f"the threshold {threshold!r:.40} of {name!r:.40} is no number from 0 to 10; 7 stands")
            threshold = 7
        found[name] = Criterion(
            name=name, description=text(item.get("description")), weight=weight, threshold=float(threshold)
        )
    if len(found) > MAX_CRITERIA:
        notes.append(f"{len(found) - MAX_CRITERIA} criteria above {MAX_CRITERIA} were left out")
    return tuple(found.values())[:MAX_CRITERIA]


def _sent_back(run: Run) -> str:
    """The plan that a person sent back, in the shape of the reply, and why; empty where none was."""
    words, plan = run.sent_back(), run.plan
    if not words or plan is None:
        return ""
    value = {
        "title": plan.title,
        "scope": plan.scope,
        "deliverables": list(plan.deliverables),
        "steps": [
            {
                "description": step.description,
                "skill_type": step.skill_type,
                "task_type": step.task_type,
                "depends_on": list(step.depends_on),
                "success": list(step.success),
            }
            for step in plan.steps
        ],
        "criteria": [
            {"name": one.name, "weight": one.weight, "description": one.description, "threshold": one.threshold}
            for one in plan.criteria
        ],
    }
    said = "\n".join(f"- {text}" for text in words)
    return f"Your last plan:\n{compact(value)}\n\nThe person sends it back:\n{said}\n\nMake it again, whole."
