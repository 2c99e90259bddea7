"""A plan as a picture and as tables: steps with their state, what took another's place, criteria with their thresholds."""

from __future__ import annotations

from collections.abc import Iterator

from .. import frames
from ..display import Block, Cell, Fold, Mark, Picture, Table, Verbatim, Words
from ..interrupts import held_back
from ..prose import replanned_in_words
from ..records import Decision, Replan
from ..run import Run
from .alt import plan_in_words


def plan_blocks(run: Run, *, drawn: bool = True) -> Iterator[Block]:
    """The plan: its graph (of more than one step, and where it is to be ``drawn``), steps, criteria, scope and prompt."""
    plan = run.plan
    if plan is None:
        yield Words("There is no plan yet.")
        return
    if drawn and len(run.every_step) > 1:
        yield _graph(run)
    yield _steps(run)
    yield from _success(run)
    if plan.criteria:
        rows = tuple((c.name, c.weight, c.threshold, c.description) for c in plan.criteria)
        yield Table(
            caption="Criteria (scores 0 to 10)", heads=("Criterion", "Weight", "Threshold", "Description"), rows=rows
        )
    yield from (Words(told) for one in run.plans if one.replan for told in _changed(run, one.replan))
    yield Words(f"Scope: {plan.scope}")
    if plan.deliverables:
        yield Words("Deliverables: " + ", ".join(plan.deliverables))
    if plan.hints:
        yield Fold(summary="What the planner was told of earlier work", blocks=(Verbatim(text=plan.hints),))
    yield Fold(summary="The prompt", blocks=(Verbatim(text=run.task.prompt),))


def _changed(run: Run, replan: Replan) -> Iterator[str]:
    """What a replan changed, and why: what was decided, and the planner's own word."""
    made = [section.payload for section in run.of("decision", replan.step)]
    reason = next((f" {one.reason}." for one in made if isinstance(one, Decision) and one.action == "replan"), "")
    said = replanned_in_words(replan)
    yield f"{said[0].upper()}{said[1:]}.{reason[:2].upper()}{reason[2:]} The planner: {replan.why}"


def _graph(run: Run) -> Picture:
    plan = frames.plan(run)

    def draw() -> bytes:
        with held_back():
            from .. import charts

            return charts.png(charts.plan_chart(plan))

    return Picture(draw=draw, alt=plan_in_words(plan), kind="Plan")


def _steps(run: Run) -> Table:
    instead = {replan.step: ", ".join(map(str, replan.by)) for replan in run.replans}
    rows: list[tuple[Cell, ...]] = []
    for step in run.every_step:
        needs = ", ".join(map(str, step.depends_on)) or None
        state = (Mark(run.state(step.number)), *([instead.get(step.number)] if instead else []))
        rows.append((step.number, step.description, step.skill_type, needs, *state))
    heads = ("Step", "Work", "Skill", "Needs", "State", *(["Replaced by"] if instead else []))
    return Table(caption="Steps", heads=heads, rows=tuple(rows))


def _success(run: Run) -> Iterator[Fold]:
    """By what each step is known to be done: sentences, for which a column beside five others has no room."""
    rows = tuple((step.number, " ".join(step.success)) for step in run.every_step if step.success)
    if rows:
        table = Table(caption="Success criteria", heads=("Step", "It is done when"), rows=rows)
        yield Fold(summary="Success criteria of the steps", blocks=(table,))
