"""What planner and generator are told of skills, and which of them a plan may name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..nearness import nearest
from ..payloads import Json
from ..records import Plan, Step
from ..skills import LOOKING, FrozenSkill, frozen_in, hints_in
from ..workspace import composed

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


def tools_told(skill: FrozenSkill | None) -> str:
    """Which of the tools that a system prompt names are not there; empty where all are."""
    lacking = [name for name in LOOKING if skill and skill.tools is not None and name not in skill.tools]
    return f"With this skill there is no tool {' or '.join(lacking)}." if lacking else ""
