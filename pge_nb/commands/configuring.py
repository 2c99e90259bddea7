"""The settings of new runs, and where each is from."""

from __future__ import annotations

from ..config import UNSAID
from ..display import Cell, Code, Table, View, Words
from ..run import Run
from ..settings import Given, Setting, known, told
from ..views.ends import foot
from .here import Here


def config(here: Here) -> View:
    """Every setting of new runs: its value, where it is from, and that of the run here where it is another."""
    found, run = here.settings(), here.run()
    frozen = _frozen(run) if run else {}
    heads = ("Setting", "Value", *(("In this run",) if run else ()), "From", "What it is")
    rows = tuple(_row(setting, found.given[name], frozen if run else None) for name, setting in known().items())
    words = Words(
        "The first that says a setting counts: a flag, %config PGE.NAME = VALUE, [tool.pge_nb] in the pyproject.toml beside the "
        "notebook, the IPython profile, a variable PGE_NB_NAME, the default. A run that was begun keeps its own."
    )
    return View(
        title="Settings of new runs",
        mark="broken" if found.faults else "",
        blocks=(Table(caption="Settings", heads=heads, rows=rows), words),
        notes=found.doubts,
        next="%config PGE",
        foot=foot(run) if run else "",
    )


def _row(setting: Setting, given: Given, frozen: dict[str, Cell] | None) -> tuple[Cell, ...]:
    value = told(given.value)
    there: tuple[Cell, ...] = ()
    if frozen is not None:
        old = frozen.get(setting.name)
        same = old == value or given.value == "auto"  # what a run froze is what that came to
        there = (None if same else "none" if old is None else old,)
    return (Code(setting.name), value, *there, given.place or given.source, setting.says)


def _frozen(run: Run) -> dict[str, Cell]:
    """The settings of a run as they are shown: one model for every role is that, else each role has its own."""
    settings = {**UNSAID, **run.settings}
    values: dict[str, Cell] = {name: told(settings.get(name)) for name in known()}
    models = settings.get("models")
    if isinstance(models, dict) and len(set(models.values())) == 1:
        values |= {"model": told(models), "models": None}
    else:
        values["model"] = "by role"
    return values
