"""All runs of a notebook: which there are, and a look at one without moving it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import frames
from ..display import Cell, Code, Mark, Table, View
from ..errors import BadInput
from ..notebook import Kept
from ..notebook import runs as runs_in
from ..prose import counted
from ..run import Run
from ..views.costs import bill
from ..views.ends import foot
from .here import UNNAMED, Here
from .standing import outcome


def runs(here: Here) -> View:
    """All runs here: those that stand at their place, and the earlier ones that made room for them."""
    from pandas import DataFrame, array

    found = list(runs_in(here.directory))
    if not found:
        raise BadInput(f"No run is in {here.directory}.", "Begin with %%pge run.")
    heads = ("Run", "Task", "Outcome", "Attempts", "Cost", "Last section")
    rows = tuple((_line(kept), *_told(kept)) for kept in found)
    ids = [(kept.run.task.run, kept.run.head) if kept.run else (None, None) for kept in found]
    named = {
        "run": [run for run, _ in ids],
        "name": [kept.name for kept in found],
        "number": array([kept.number for kept in found], dtype="Int64"),
    }
    told = [[cell.word if isinstance(cell, Mark) else cell for cell in row[1:]] for row in rows]
    columns = dict(zip(("task", "outcome", "attempts", "cost", "when"), zip(*told, strict=True), strict=True))
    table = Table(caption="Runs", heads=heads, rows=rows)
    return View(
        title=f"{counted(len(found), 'run')} in {here.directory}",
        blocks=(table,),
        next=_line(found[-1]).text,
        foot=_foot_of_all([kept.run for kept in found if kept.run]),
        df=DataFrame({**named, **columns, "head": [head for _, head in ids]}),
    )


def _foot_of_all(runs: Sequence[Run]) -> str:
    """The foot of the run that has the newest section: it is the one that may have changed since."""
    newest = max(runs, key=lambda run: run.sections[-1].at, default=None)
    return f"newest: {foot(newest)}" if newest else ""


def of(address: str, view: View) -> View:
    """The view of another run than the one that commands are about: its next action names it as well."""
    if view.next.startswith("%pge show"):
        return replace(view, title=f"{address}: {view.title}", next=f"{view.next} {address}")
    return replace(view, title=f"{address}: {view.title}", next="%pge runs")


def _line(kept: Kept) -> Code:
    return Code(f"%pge open {kept.address}" if kept.number is not None else f"%pge {kept.name or UNNAMED}")


def _told(kept: Kept) -> tuple[Cell, ...]:
    run = kept.run
    if run is None:
        return "its file is damaged, or holds no task", Mark("broken"), None, None, None
    task = run.plan.title if run.plan else run.task.prompt.split("\n", 1)[0]
    attempts = sum(len(run.attempts(step.number)) for step in run.every_step)
    when = run.sections[-1].at.replace("T", " ")[:16]
    return task, Mark(outcome(run, kept.state)), attempts, bill(frames.cost(run)).removeprefix("Cost: "), f"{when} UTC"
