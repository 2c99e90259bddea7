"""The plan where no planner made one: the prompt is the only step."""

from __future__ import annotations

from ..markdown import dotted
from ..records import Criterion, Plan, Step
from ..run import Run
from .skilled import with_known_skills

OFF = "the planner is off; the prompt itself is the only step"
UNUSABLE = "the planner gave no usable plan; the prompt itself is the only step"


def of_prompt(run: Run, note: str = OFF) -> Plan:
    """The plan of the prompt alone, with the default criteria; ``note`` says why it is so."""
    prompt = run.task.prompt
    plan = Plan(
        title=dotted(prompt.strip().split("\n", 1)[0], 80),
        scope=prompt,
        steps=(Step(number=1, description=prompt),),
        criteria=default_criteria(run.settings),
        notes=(note,),
    )
    return with_known_skills(plan, run.settings)


def default_criteria(settings: object) -> tuple[Criterion, ...]:
    """The criteria for a plan that names none: one for each of the default thresholds."""
    thresholds = settings.get("default_thresholds") if hasattr(settings, "get") else None
    if not isinstance(thresholds, dict):
        return ()
    return tuple(
        Criterion(name=name, description=f"{name} of the work", threshold=float(threshold))
        for name, threshold in thresholds.items()
        if isinstance(threshold, int | float)
    )
