"""What became of a state file since this kernel last showed it, other than by this kernel itself."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

from ..prose import counted
from ..run import Run
from ..state import appended


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A file as it was shown: its run, how many sections it had, and how many this process had appended to it by then."""

    run: str
    sections: int
    head: str
    own: int


def since_last_look(seen: MutableMapping[Path, Seen], path: Path, run: Run) -> str:
    """What is told of the file at ``path``, which is shown now; empty where this kernel shows it for the first time.

    What this kernel appended is left out: a notebook that is run again from its top draws the same.
    """
    path = path.resolve()
    before, own = seen.get(path), appended(path)
    now = seen[path] = Seen(run=run.task.run, sections=len(run.sections), head=run.head, own=own)
    if before is None:
        return ""
    if before.run != now.run:
        return f"Another task's file stands here now: when you last looked, it was that of run {before.run}."
    if before.sections > now.sections or run.sections[before.sections - 1].sha256 != before.head:
        return (
            f"Another file of this run stands here now: it has {counted(now.sections, 'section')}, and does not hold "
            f"section {before.sections - 1} (head {before.head[:12]}), the last one when you last looked."
        )
    new = now.sections - before.sections - (own - before.own)
    return f"{counted(new, 'section')} since you last looked, by another process." if new > 0 else ""
