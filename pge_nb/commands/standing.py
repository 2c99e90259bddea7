"""Whether anybody is at work on a run: what its file alone cannot tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .. import views
from ..detached import came_to_nothing, last_words, starting
from ..display import View
from ..run import Run
from ..state import Holder, holder

ENDED = "unfinished (nobody is at work on it)"
ELSEWHERE = "running in another process"


def outcome(run: Run, state: Path) -> str:
    """The run's outcome; for one that can be gone on with, whether a process is at it."""
    return _outcome(run, _at_it(run, state))


def _outcome(run: Run, who: Holder | None) -> str:
    if who is not None and str(who) != "This process":
        return ELSEWHERE
    return ENDED if run.outcome == "running" and who is None else run.outcome


def _at_it(run: Run, state: Path) -> Holder | None:
    """Who is at the run, or was started for it; this process stands for whoever cannot be told. None: nobody."""
    if run.outcome not in {"running", "stopped", "paused"}:
        return None
    try:
        return holder(state) or (Holder(pid=pid) if (pid := starting(state)) else None)
    except OSError:
        return Holder.this()


def at_hand(view: View, run: Run, state: Path) -> View:
    """A view of the run with a next action that can be done here: where another process is at it, that is to look."""
    return replace(view, next="%pge") if "resume" in view.next and outcome(run, state) == ELSEWHERE else view


def run_view(run: Run, state: Path) -> View:
    """The whole run, with this outcome; one that another process is at has nothing to be done about it here."""
    who = _at_it(run, state)
    view, told = views.run_view(run), _outcome(run, who)
    if told == ELSEWHERE and who is not None:
        details = ", ".join(filter(None, (f"pid {who.pid}" if who.pid else "", who.details or "starting")))
        return replace(view, mark=f"{ELSEWHERE} ({details})", next="%pge")
    failed = told == ENDED or (told == "stopped" and came_to_nothing(state))
    words = last_words(state) if failed else ()
    notes = (f"The last that its process printed: {' / '.join(words)}",) if words else ()
    return replace(view, mark=told, notes=(*view.notes, *notes))
