"""Away from the desk: a run that goes on in a process of its own, and its end."""

from __future__ import annotations

from typing import Annotated

from .. import detached
from ..display import View, Words
from ..errors import BadInput
from ..harness import PGEHarness
from ..run import Run
from ..views.ends import foot, title
from .here import Here
from .standing import run_view


def send_away(harness: PGEHarness, run: Run, said: str = "") -> View:
    """Start a process that carries the run on; the kernel is free at once."""
    path = harness.state.path
    number = detached.start(path)
    told = (
        f"Process {number} carries it on, whatever becomes of this kernel and this tab.",
        f"What it prints is in {path.parent.name}/.pge/detached.log; what it does is in the state file.",
    )
    return View(
        title=title(run),
        mark="running",
        blocks=(Words(" ".join(told)),),
        notes=(said,) if said else (),
        next="%pge",
        foot=foot(run),
    )


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
        mark=run.outcome,
        blocks=(Words(said),),
        next="%pge resume" if run.outcome in {"running", "stopped"} else view.next,
        foot=view.foot,
        df=view.df,
    )
