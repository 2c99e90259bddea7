"""What of a run goes into a zip: up to its last whole section, with what that rests on, whatever is being written meanwhile."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..disk import RealDisk
from ..errors import BadInput, StateDamaged
from ..framing import Broken, Frame, Place, Tail, walk
from ..moving import EARLIER, TRACES
from ..prose import counted
from ..records import Body, Evidence, FileRef, Task
from ..run import Run
from ..sections import section_of
from ..state import FILE_NAME, Head
from ..workspace import TEMPORARY, Objects, refused
from .archive import HOUSE, Member

CALLS = "calls.jsonl"
NAMES = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The whole sections of a state file, read at one moment. ``broken`` tells of one that is no whole section of a run.

    Then ``content`` is all of the file, as it stands.
    """

    content: bytes
    frames: tuple[Frame, ...]
    broken: bool

    @classmethod
    def of(cls, state: Path) -> Snapshot:
        """Of a state file; ``BadInput`` where it cannot be read."""
        try:
            data = state.read_bytes()
        except OSError as error:
            raise BadInput(f"{state} cannot be read: {error.strerror or error}.", "Look at its permissions.") from None
        found = list(walk(lambda offset, count: data[offset : offset + count], Place(), len(data)))
        frames = tuple(one for one in found if isinstance(one, Frame))
        tail = next((one for one in found if isinstance(one, Tail)), None)
        broken = tail is not None and tail.broken is not None
        whole = frames[-1].after.offset if frames else 0
        return cls(content=data if broken else data[:whole], frames=frames, broken=broken)

    def head(self, state: Path) -> bytes:
        """The note ``.pge/head`` that fits these sections; of a broken file the one that is there, so that it stays told."""
        if self.broken or not self.frames:
            return RealDisk(state).head()
        last = self.frames[-1]
        return Head(seq=last.place.seq, sha256=last.sha256).note()

    @property
    def work(self) -> str:
        """The working directory, as the task says it."""
        with contextlib.suppress(Broken):  # of a version that we do not know, and therefore never carry out
            for one in self.frames:
                payload = section_of(one).payload if one.kind == "task" else None
                if isinstance(payload, Task):
                    return str(payload.settings.get("working_directory", "work"))
        return "work"

    @property
    def astray(self) -> str:
        """The working directory where it does not stand below the state file; empty where it does."""
        return self.work if refused(self.work) or self.work.partition("/")[0] == EARLIER else ""

    def objects(self, objects: Objects) -> Iterator[str]:
        """The objects that are there and that a section names, in any way: a note names those that it tells of in words."""
        for name in dict.fromkeys(match.decode() for match in NAMES.findall(self.content)):
            if (objects.directory / name[:2] / name).is_file():
                yield name


def lacking(run: Run, objects: Objects) -> list[str]:
    """The objects that a run rests on and that are gone, or are not what their names say."""
    found: list[str] = []
    for name in dict.fromkeys(name for section in run.sections for name in _rests_on(section.payload)):
        try:
            objects.get(name)
        except StateDamaged:
            found.append(name)
    return found


def _rests_on(value: object) -> Iterator[str]:
    """The objects that a payload names: contents of files, long texts, pictures."""
    if isinstance(value, FileRef | Body):
        yield from filter(None, [value.sha256])
    elif isinstance(value, tuple):
        for item in value:
            yield from _rests_on(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, Evidence):
            yield from filter(None, [value.picture])
        for field in dataclasses.fields(value):
            yield from _rests_on(getattr(value, field.name))


def said_lacking(names: Sequence[str], name: str = "") -> tuple[str, ...]:
    """One line on objects that are lacking; none where none are."""
    if not names:
        return ()
    whose = f"of {name} " if name else ""
    gone = f"{counted(len(names), 'object')} {whose}that it rests on"
    return (f"Incomplete: {gone} {'is' if len(names) == 1 else 'are'} gone from .pge/objects/, or changed.",)


def log_of(house: Path) -> bytes:
    """The whole lines of the call log; empty where there is none."""
    path = house / CALLS
    try:
        data = path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.", "Look at its permissions.") from None
    return data[: data.rfind(b"\n") + 1]


def members(state: Path, base: Path, found: Snapshot) -> Iterator[Member]:
    """The state file and what is in ``.pge/``, named relative to ``base``. No locks, and nothing that is half written."""
    root = state.parent
    before = root.relative_to(base).as_posix() + "/" if root != base else ""
    yield Member(name=f"{before}{FILE_NAME}", content=found.content)
    if head := found.head(state):
        yield Member(name=f"{before}{HOUSE}/head", content=head)
    if log := log_of(root / HOUSE):
        yield Member(name=f"{before}{HOUSE}/{CALLS}", content=log, mode=0o600)
    for path in sorted((root / HOUSE).rglob("*")):
        inner = path.relative_to(root / HOUSE).as_posix()
        if path.is_symlink() or not path.is_file() or inner in {"head", CALLS} or passing(path):
            continue
        yield Member(name=f"{before}{HOUSE}/{inner}", content=path.read_bytes(), mode=path.stat().st_mode & 0o777)


def passing(path: Path) -> bool:
    """Whether a file tells nothing once no process holds it, or is being written."""
    return path.name in TRACES or path.name.endswith(".lock") or path.name.startswith(TEMPORARY)
