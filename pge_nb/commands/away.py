"""Away from the desk: a run that goes on in a process of its own, and its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from .. import detached
from ..agents.opening import CALLS
from ..config import limits_in
from ..display import View, Words
from ..errors import BadInput
from ..harness import PGEHarness
from ..models import kernel
from ..models.choose import models_in
from ..models.ledger import spent_in
from ..models.limits import DEFAULT_DOLLARS, Prices
from ..run import Run
from ..skills.keeping import told_on
from ..views.ends import foot, title
from .here import Here
from .standing import run_view


def send_away(harness: PGEHarness, run: Run, *said: str) -> View:
    """Start a process that carries the run on; the kernel is free at once. ``said`` is told as well."""
    path = harness.state.path
    limits, log = limits_in(run.settings), path.parent / CALLS
    before = spent_in(log).dollars
    limit = DEFAULT_DOLLARS if limits.max_dollars is None else limits.max_dollars
    most = max(0.0, limit - before) if Prices.load().bind(models_in(run.settings)) else 0.0
    kernel.HERE.check_room(most, limits)
    number = detached.start(path, harness.config.trace_path, told_on(harness.config.registry))
    kernel.HERE.lend(most, came_to(path, log, before))
    told = (
        f"Process {number} carries it on, whatever becomes of this kernel and this tab.",
        f"What it prints is in {path.parent.name}/.pge/detached.log; what it does is in the state file.",
    )
    return View(
        title=title(run),
        mark="running",
        blocks=(Words(" ".join(told)),),
        notes=tuple(filter(None, said)),
        next="%pge",
        foot=foot(run),
    )


def came_to(state: Path, log: Path, before: float) -> Callable[[], float | None]:
    """Asks what a detached run has cost in dollars since ``before``: None while its process lives, or where it cannot be told."""

    def settled() -> float | None:
        if detached.busy(state) or not state.is_file():
            return None
        return spent_in(log).dollars - before

    return settled


def stop(here: Here, name: Annotated[str, "the task; none: the one that commands are about"] = "", /) -> View:
    """End the process that a run was detached to. The file is whole, and %pge resume goes on from there."""
    there = here.elsewhere(name) if name else here
    there.needs_run()
    how = detached.stop(there.path)
    if how is None:
        raise BadInput("No process is at work on this run.", "%pge shows where it stands.")
    run = there.needs_run()
    said = f"The process was {how}. What it had not finished is asked again when the run goes on."
    view = run_view(run, there.path)
    return View(
        title=view.title,
        mark=view.mark,
        blocks=(Words(said),),
        next="%pge resume" if run.outcome in {"running", "stopped"} else view.next,
        foot=view.foot,
        df=view.df,
    )
