"""Whether a state file is what was written, wherever it stands; and what was taken out of one that was exported so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from ..disk import RealDisk
from ..display import View, Words
from ..errors import BadInput
from ..exports.archive import is_zip
from ..exports.redacted import redaction_of
from ..exports.snapshot import Snapshot, lacking, said_lacking
from ..notebook import begun
from ..prose import counted, removed_in_words
from ..records import Redaction
from ..state import StateFile, Verification
from ..views.ends import foot
from ..workspace import Objects
from .here import Here
from .opening import address_of, resolved
from .saving import spelled


def verify(
    here: Here,
    run: Annotated[str, "another run: NAME, NAME@N or @N; or the path of a state file; none: this run"] = "",
    /,
) -> View:
    """Read a state file again from its first byte, and say whether every section is what was written."""
    there = resolved(run, here) if run else here
    path = there.path if isinstance(there, Here) else there
    if is_zip(path):
        raise BadInput(f"{path.name} is a zip.", f"%pge open {spelled(run)} lays it out, and says how to verify it.")
    if not path.is_file() and isinstance(there, Here):
        there.needs_run()
    found, redaction = StateFile(path).verify(), redaction_of(path)
    held = begun(path) if found.intact else None
    gone = lacking(held, Objects(path.parent)) if held else []
    whole = found.intact and not (redaction and _lacks(found, redaction))
    return View(
        title=path.name if there is here else run,
        mark="broken" if not whole else "incomplete" if gone else "intact",
        blocks=tuple(Words(said) for said in (*_about(redaction, found), *_told(found), *said_lacking(gone))),
        next=_next(there, run, found),
        foot=foot(held) if held else f"{counted(found.sections, 'section')} · head {found.head[:12]}",
    )


def _about(redaction: Redaction | None, found: Verification) -> Iterator[str]:
    """Of a redacted export: of what, what was taken out, and whether it still is what the export wrote."""
    if redaction is None:
        return
    of = f"redacted export of head {redaction.of[:12]} ({counted(redaction.sections, 'section')})"
    yield f"This is a {of}. Taken out: {removed_in_words(redaction)}."
    own = redaction.sections + 1
    if not found.intact or _lacks(found, redaction):
        yield "It was edited after it was exported."
    elif found.sections > own:
        yield f"{counted(found.sections - own, 'section was', 'sections were')} added to it since."


def _lacks(found: Verification, redaction: Redaction) -> bool:
    return found.sections <= redaction.sections


def _told(found: Verification) -> Iterator[str]:
    said = "Every section is what was written." if found.intact else f"Section {found.broken} {found.why}"
    yield f"{counted(found.sections, 'section is', 'sections are')} whole and linked. {said}"
    yield f"Head: {found.head}"
    if found.torn:
        yield (
            f"At the end, {counted(found.torn, 'byte')} of a section that was never finished, as after a crash; "
            "the next append moves it aside."
        )
    if not found.intact:
        yield f"Put back a copy of {found.path}: %pge open FILE.zip lays out what %pge save and %pge export bundle made."
        if not Snapshot.of(found.path).broken:
            note = RealDisk(found.path).beside("head")
            yield f"If an older copy was put back on purpose, delete {note}, which names the newer one."


def _next(there: Here | Path, run: str, found: Verification) -> str:
    """A line that works: a damaged run that stands at its place can make room, any other is left where it is."""
    if isinstance(there, Path):
        return f"%pge open {spelled(run)}" if found.intact else "%pge"
    earlier = there.place.is_earlier
    if found.intact:
        return f"%pge open {address_of(there)}" if earlier else f"%pge {there.name if run else ''}".rstrip()
    return "%pge runs" if earlier else f"%pge new {there.name}".rstrip()
