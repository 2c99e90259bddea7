"""A run in one zip: the state file byte for byte, what it names, and the log of its calls; or a redacted export of it."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ..errors import BadInput
from ..payloads import Json
from ..records import Redaction
from ..run import Run
from ..state import FILE_NAME, StateFile
from ..workspace import Objects
from .archive import HOUSE, Archive, Member, pack, unpacked
from .redacted import Hidden, redacted
from .snapshot import CALLS, Snapshot, lacking, log_of, said_lacking

FORMAT = "pge-bundle/1"
HELD = re.compile(
    rf"{re.escape(FILE_NAME)}|{re.escape(HOUSE)}/(?:head|{re.escape(CALLS)}|objects/[0-9a-f]{{2}}/[0-9a-f]{{64}})"
)
"""The files that a bundle may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A bundle that is not written yet. ``redaction`` is None where nothing is hidden."""

    content: bytes
    redaction: Redaction | None
    notes: Sequence[str] = ()


def bundle(run: Run, state: Path, hide: frozenset[Hidden], name: str) -> Bundle:
    """The bundle of the run of a state file, which is to be called ``name``.zip.

    The same run gives the same bytes, where nothing is hidden. ``StateDamaged`` where an object is not what it was.
    """
    last = datetime.fromisoformat(run.sections[-1].at)
    made = redacted(state, hide) if hide else None
    redaction = made.redaction if made else None
    members = [_renamed(member, state.name) for member in made.members] if made else _members(state)
    file = io.BytesIO()
    head = redaction.of if redaction else run.head
    manifest: dict[str, Json] = {
        "format": FORMAT,
        "name": name,
        "run": run.task.run,
        "head": head,
        "redacted": redaction is not None,
    }
    pack(file, manifest, _readme(name, redaction), members, last)
    return Bundle(
        content=file.getvalue(),
        redaction=redaction,
        notes=(*(made.notes() if made else ()), *said_lacking(lacking(run, Objects(state.parent)))),
    )


def _members(state: Path) -> list[Member]:
    found = Snapshot.of(state)
    objects = Objects(state.parent)
    members = [
        Member(name=FILE_NAME, content=found.content),
        Member(name=f"{HOUSE}/head", content=found.head(state)),
    ]
    if log := log_of(state.parent / HOUSE):
        members.append(Member(name=f"{HOUSE}/{CALLS}", content=log, mode=0o600))
    members += [
        Member(name=f"{HOUSE}/objects/{name[:2]}/{name}", content=objects.get(name)) for name in found.objects(objects)
    ]
    return members


def _renamed(member: Member, own: str) -> Member:
    return Member(name=FILE_NAME, content=member.content, mode=member.mode) if member.name == own else member


def _readme(name: str, redaction: Redaction | None) -> str:
    what = f"A redacted export of head {redaction.of}: " if redaction else ""
    return (
        f"{what}a run of pge_nb. {FILE_NAME} is its record, which any reader of Markdown shows. To open it, put this file "
        f"beside a notebook and run there\n\n    %load_ext pge_nb\n    %pge open {name}.zip\n"
    )


def called(run: Run, name: str, *, redacted: bool) -> str:
    """What the bundle of a run is called: its task's name, the practice task, or the first words of its plan's title."""
    words = re.findall(r"[^\W_]+", run.plan.title.lower() if run.plan else "")
    stem = name or run.task.practice or re.sub(r"^[\d-]+", "", "-".join(words[:5]))[:40].strip("-")
    stem = stem or f"run-{run.task.run[:8]}"
    return f"{stem}-redacted" if redacted else stem


def lay_out(archive: Archive, place: Path) -> bool:
    """Lay a bundle out as the new directory ``place``, whole; False where the same run stands there already.

    ``BadInput`` where something else does.
    """
    for info in archive.files:
        if not HELD.fullmatch(info.filename):
            raise BadInput(
                f"{archive.path.name} holds {info.filename!r:.80}, which belongs to no bundle.",
                "Nothing was laid out. Do not use this zip.",
            )
    with unpacked(archive, place.parent) as root:
        _check(archive, root)
        if place.is_symlink() or place.exists():
            state = place / FILE_NAME
            if state.is_file() and state.read_bytes() == (root / FILE_NAME).read_bytes():
                return False
            raise BadInput(
                f"{place.name}/ is here already, and holds something else than {archive.path.name}.",
                "Nothing was laid out. Give the zip another name, then open it: the directory is called like it.",
            )
        root.rename(place)
    return True


def _check(archive: Archive, root: Path) -> None:
    """``BadInput`` where a bundle is not what was exported: a damaged copy is of no use."""
    state, again = root / FILE_NAME, "Nothing was laid out. Copy it again, or ask for another one."
    if not state.is_file():
        raise BadInput(f"{archive.path.name} holds no {FILE_NAME}.", again)
    found = StateFile(state).verify()
    (root / HOUSE / "state.lock").unlink(missing_ok=True)
    if not found.intact:
        raise BadInput(f"Section {found.broken} in {archive.path.name} {found.why}", again)
    if astray := Snapshot.of(state).astray:
        raise BadInput(
            f"The run in {archive.path.name} would write into {astray!r:.80}, outside of its place.",
            "Nothing was laid out. Do not use this zip.",
        )
    for info in archive.files:
        name = info.filename.rpartition("/")[2]
        if len(name) == 64 and hashlib.sha256((root / info.filename).read_bytes()).hexdigest() != name:
            raise BadInput(f"The object {name[:12]} in {archive.path.name} was changed.", again)
