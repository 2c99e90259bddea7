"""The skills of a run, and how skills did in all runs that the registry keeps."""

from __future__ import annotations

from collections.abc import Iterator

from ..display import Block, Cell, Table, View, Words
from ..errors import BadInput
from ..models.choose import is_practice
from ..models.choose import models_in as models_of
from ..run import Run
from ..skills import FrozenSkill, frozen_in
from ..skills.keeping import registry_of
from ..skills.registry import frame_of
from .ends import caveats, foot, next_move, title

HEADS = ("Skill", "For", "Carried out by", "Steps", "Evaluations", "Mean score")
REGISTRY = ("Skill", "Task type", "Mean score", "95 % interval", "Scores")


def skills_view(run: Run, registry: str | None = None) -> View:
    """The skills that the planner picked among, with the steps that have them; and the registry's frame.

    ``registry`` is the one that the settings name now; ``.df`` is its frame; where there is none, the skills of the run.
    """
    notes = list(caveats(run))
    frame, kept = frame_of([]), None
    try:
        kept = registry_of(run.settings, registry)
        frame = kept.frame() if kept else frame
    except BadInput as error:
        notes.append(f"{error.fact} {error.next_move}")
    blocks: list[Block] = [_of_run(run)]
    if kept is None:
        blocks.append(Words(_why_none(run)))
    elif frame.empty:
        blocks.append(Words(f"Nothing is in the registry {kept.path} yet."))
    else:
        rows = tuple(_kept(**{str(name): value for name, value in row.items()}) for row in frame.to_dict("records"))
        blocks.append(Table(caption=f"The registry {kept.path}", heads=REGISTRY, rows=rows))
    return View(
        title=f"{title(run)}: skills",
        blocks=tuple(blocks),
        notes=tuple(notes),
        next=next_move(run, "skills"),
        foot=foot(run),
        df=None if frame.empty else frame,
    )


def _kept(
    *, skill_type: str, task_type: str, mean: float, sample_count: int, low: float, high: float
) -> tuple[Cell, ...]:
    return skill_type, task_type, mean, f"{low:.1f} to {high:.1f}", sample_count


def _why_none(run: Run) -> str:
    if run.settings.get("recording"):
        return "This run is a replay: what it tells is kept in no registry."
    if any(map(is_practice, models_of(run.settings))):
        return "A practice run is kept in no registry, unless one is named: %config PGE.registry = 'skills.sqlite3'"
    return "This run is kept in no registry: the setting registry is off."


def _of_run(run: Run) -> Block:
    skills = frozen_in(run.settings)
    if not skills and not run.steps:
        return Words("This run has no skills of its own, and no plan yet.")
    if skills:
        return Table(caption="The skills of this run", heads=HEADS, rows=tuple(_rows(run, skills)))
    named = {step.skill_type: None for step in run.every_step}
    caption = "This run has no skills of its own; these are words of the planner's"
    return Table(
        caption=caption, heads=HEADS, rows=tuple((name, None, "the generator", *_done(run, name)) for name in named)
    )


def _rows(run: Run, skills: dict[str, FrozenSkill]) -> Iterator[tuple[Cell, ...]]:
    for name, skill in skills.items():
        how = f"a function of yours, {skill.code}" if skill.code else skill.model or "the generator"
        if skill.tools is not None:
            how += f", with {', '.join((*skill.tools, 'write'))}"
        yield name, skill.description, how, *_done(run, name)


def _done(run: Run, skill: str) -> tuple[Cell, Cell, Cell]:
    """The steps that have a skill, and of their evaluations at the gate the number and the mean score."""
    steps = [step.number for step in run.every_step if step.skill_type == skill]
    reports = [report for step in steps for report in run.evaluations(step).values()]
    scores = [report.overall for report in reports if report.overall is not None]
    return ", ".join(map(str, steps)) or None, len(reports), sum(scores) / len(scores) if scores else None
