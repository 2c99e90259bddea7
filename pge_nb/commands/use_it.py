"""Use it: what there is to practise on."""

from __future__ import annotations

from .. import bank
from ..display import Code, Table, View
from .here import Here


def tasks(here: Here) -> View:  # noqa: ARG001 - every command is given the place
    """The practice tasks: small real tasks, each with known defects, for which no key is needed."""
    rows = tuple((Code(task.name), len(task.steps), len(task.oracles), task.prompt) for task in bank.tasks())
    table = Table(caption="Small and real, with known defects", heads=("Task", "Steps", "Oracles", "Prompt"), rows=rows)
    return View(title="Practice tasks", blocks=(table,), next=f"%pge run --practice {bank.tasks()[0].name}")
