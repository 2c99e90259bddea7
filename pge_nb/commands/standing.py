"""Whether anybody is at work on a run: what its file alone cannot tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .. import views
from ..detached import last_words, starting
from ..display import View
from ..run import Run
from ..state import at_work

ENDED = "stopped in the middle (process ended)"
ELSEWHERE = "running in another process"


def outcome(run: Run, state: Path) -> str:
    """The run's outcome; for one that has not come to an end, whether a process is still at it."""
    if run.outcome != "running" or (who := at_work(state)) is None:
        return run.outcome
    if who:
        return run.outcome if who == "This process" else ELSEWHERE
    return ELSEWHERE if starting(state) else ENDED


def run_view(run: Run, state: Path) -> View:
    """The whole run, with this outcome; one that another process is at has nothing to be done about it here."""
    view, told = views.run_view(run), outcome(run, state)
    words = last_words(state) if told == ENDED else ()
    notes = (f"The last that its process printed: {' / '.join(words)}",) if words else ()
    return replace(view, mark=told, notes=(*view.notes, *notes), next="%pge" if told == ELSEWHERE else view.next)
