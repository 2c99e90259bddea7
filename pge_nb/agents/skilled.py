"""What planner and generator are told of skills, and which of them a plan may name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..errors import BadInput
from ..nearness import nearest
from ..payloads import Json
from ..records import Plan, Step, attempt_hash
from ..run import Run
from ..skills import LOOKING, Does, FrozenSkill, Skill, carried_out, contents, frozen_in, hints_in, source_hash
from ..workspace import composed, laid
from .bench import TOOLS, Bench
from .equipment import with_tools
from .loop import Tool

FALLBACK = "general"
"""The skill that stands in for one that there is not, where there is one of this name; else the first."""


def skills_told(settings: Mapping[str, Json]) -> str:
    """What the planner is told: the skills to pick among, and how skills did before; empty where there is neither."""
    return "\n\n".join(filter(None, (_choice(frozen_in(settings)), hints_in(settings))))


def _choice(skills: Mapping[str, FrozenSkill]) -> str:
    heading = "Skills. The `skill_type` of every step is the name of one of these, letter by letter:"
    lines = [f"- {name}: {' '.join(skill.description.split())}" for name, skill in skills.items()]
    return "\n".join([heading, *lines]) if lines else ""


def unknown_skill(steps: Iterable[Step], settings: Mapping[str, Json]) -> str:
    """What is wrong with the skills that steps name, for whoever is asked again; empty where nothing is."""
    names = list(frozen_in(settings))
    for step in steps if names else ():
        if _known(step.skill_type, names) is None:
            near = nearest(step.skill_type, names)
            hint = f" (did you mean {near}?)" if near else ""
            return f"step {step.number} has the skill {step.skill_type!r:.80}, and there are {', '.join(names)}{hint}"
    return ""


def with_known_skills(plan: Plan, settings: Mapping[str, Json]) -> Plan:
    """The plan with a skill that there is for every step; what stands in for another is told in its notes.

    A run without skills leaves them to the planner's words.
    """
    names = list(frozen_in(settings))
    if not names:
        return plan
    steps: list[Step] = []
    notes = list(plan.notes)
    for step in plan.steps:
        known = _known(step.skill_type, names)
        if known is None:
            known = FALLBACK if FALLBACK in names else names[0]
            notes.append(f"step {step.number}: there is no skill {step.skill_type!r:.80}; {known!r} stands in")
        steps.append(replace(step, skill_type=known))
    return replace(plan, steps=tuple(steps), notes=tuple(notes))


def _known(name: str, names: list[str]) -> str | None:
    """The name of the skill that a planner meant, whatever its case and its form in Unicode."""
    folded = composed(name).strip("`'\" ").casefold()
    return name if name in names else next((one for one in names if one.casefold() == folded), None)


# The generator


def skill_of(settings: Mapping[str, Json], step: Step) -> FrozenSkill | None:
    """The skill of a step; None in a run without skills."""
    return frozen_in(settings).get(step.skill_type)


def skill_told(settings: Mapping[str, Json], step: Step) -> str:
    """What the generator is told of the skill of its step; empty in a run without skills."""
    skill = skill_of(settings, step)
    if skill is None:
        return ""
    lines = [f"This step is carried out with the skill {step.skill_type!r}: {' '.join(skill.description.split())}"]
    return "\n".join([*lines, skill.prompt] if skill.prompt else lines)


def tools_of(run: Run, step: Step) -> tuple[Tool, ...]:
    """The tools with which a step is carried out; none where files are written in the reply."""
    skill = skill_of(run.settings, step)
    if skill is None:
        return TOOLS if with_tools(run.settings, "generator") else ()
    allowed = {*skill.tools, "write", "done"} if skill.tools is not None else set()
    return tuple(tool for tool in TOOLS if tool.name in allowed)


def tools_told(skill: FrozenSkill | None) -> str:
    """Which of the tools that a system prompt names are not there; empty where all are."""
    lacking = [name for name in LOOKING if skill and skill.tools is not None and name not in skill.tools]
    return f"With this skill there is no tool {' or '.join(lacking)}." if lacking else ""


def by_function(name: str, skill: FrozenSkill, told: str, bench: Bench) -> tuple[str, tuple[str, ...]]:
    """Have a function of the person's make the step at the bench; the work log, and what went wrong.

    It runs in this process and outside any sandbox, as the person's own code, and is called once: what it returned is in the
    call log, as all is that comes from outside. ``BadInput`` where this process does not have it.
    """
    equipment, files = bench.equipment, tuple(bench.files.values())
    args = {"skill": name, "code": skill.code, "told": hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()}

    def call() -> Json:
        does = _function(name, skill, equipment.skills.get(name))
        with laid(files, equipment.objects) as tree:
            return carried_out(does, told, tree)

    made, _ = equipment.model.observe(bench.about, "skill", args, attempt_hash(files), call)
    fault = str(made.get("fault", "")) if isinstance(made, Mapping) else ""
    said = [f"{path}: {bench.write(path, content)}" for path, content in contents(made).items()]
    log = "\n".join([f"The function of the skill {name!r} was called.", *said, *([fault] if fault else [])])
    return log, (f"the function of the skill {name!r}: {fault}",) if fault else ()


def _function(name: str, skill: FrozenSkill, own: Skill | None) -> Does:
    if own is None or own.does is None:
        raise BadInput(
            f"The skill {name!r} is a function of yours, which the state file does not hold.",
            "Run the cell that began it, or in Python PGEHarness(HarnessConfig(skills=...)).resume()",
        )
    if source_hash(own.does) != skill.code:
        raise BadInput(
            f"The function of the skill {name!r} is another than when this run was begun.",
            "Go on with the one that it was; with another one it is another task.",
        )
    return own.does
