"""The state file: append, read, verify. The one channel between agents, and the complete record of a run.

``read`` takes in what was appended since the last time, and stops before a section that is not whole. Only a writer, under
the lock, moves a torn tail aside. What was once acknowledged is told by a small note beside the file (``head``): a section
that it names and that is not there whole was damaged, not torn.
"""

from __future__ import annotations

import contextlib
import glob as globbing
import hashlib
import os
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from . import dag
from .disk import Disk, RealDisk, beside, unwritable
from .errors import BadInput, PgeError, StateBusy, StateDamaged
from .framing import Broken, Frame, Place, Tail, walk
from .prose import counted
from .records import Interruption, Note, Plan, Record, Section
from .run import Run
from .runs import Runs
from .sections import NotUnderstood, framed, readable, redacted, round_key, section_of

FILE_NAME = "shared_state.md"
STUDY_NAME = "study.md"
BEGINS = b"<!-- pge/"
GLANCE = 0.2
"""Seconds that a run waits for its lock: who only looks whether it is held holds it for a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What a reading of the whole file found. ``sections`` are whole and linked; ``head`` is the hash of the last of them.

    ``broken`` is the number of the first section that is not what was written, and ``why`` tells in what way. ``torn`` counts
    the bytes of a tail that a crash left, which the next append moves aside.
    """

    path: Path
    sections: int
    head: str
    broken: int | None = None
    why: str = ""
    torn: int = 0

    @property
    def intact(self) -> bool:
        """Every section is what was written; a torn tail was never acknowledged and does not count."""
        return self.broken is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The last section that was acknowledged."""

    seq: int
    sha256: str

    def note(self) -> bytes:
        """The bytes of the note beside the file; a check sum tells one that was torn from one that is true."""
        line = f"seq={self.seq:<15} sha256={self.sha256}"
        return f"{line} check={hashlib.sha256(line.encode()).hexdigest()[:16]}\n".encode()

    @classmethod
    def of(cls, note: bytes) -> Head | None:
        """None for one that cannot be read: that is legal, and only makes a reader less sure."""
        match = re.fullmatch(rb"seq=([0-9]{1,15}) *sha256=([0-9a-f]{64}) check=[0-9a-f]{16}\n", note)
        head = cls(seq=int(match[1]), sha256=match[2].decode()) if match else None
        return head if head and head.note() == note else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who is running a task, as far as the note beside the lock tells; ``pid`` 0: it does not. ``since`` is in UTC."""

    pid: int = 0
    host: str = ""
    since: str = ""

    @classmethod
    def this(cls) -> Holder:
        """This process, from now on."""
        return cls(pid=os.getpid(), host=socket.gethostname(), since=datetime.now(UTC).isoformat(timespec="seconds"))

    @classmethod
    def of(cls, note: Path) -> Holder:
        """What a note tells; older ones hold the number alone."""
        try:
            number, since, host = f"{note.read_text(encoding='utf-8').strip()}  ".split(" ", 2)
            return cls(pid=int(number), since=since, host=host.strip())
        except (OSError, ValueError):
            return cls()

    @property
    def note(self) -> str:
        """The note beside the lock."""
        return f"{self.pid} {self.since} {self.host}\n"

    @property
    def here(self) -> bool:
        """Whether the number is that of a process of this machine."""
        return self.host in {"", socket.gethostname()}

    @property
    def details(self) -> str:
        """Where it runs, and since when."""
        since = f"since {self.since[:19].replace('T', ' ')} UTC" if self.since else ""
        return ", ".join(filter(None, (f"on {self.host}" if self.host else "", since)))

    def __str__(self) -> str:
        if not self.pid:
            return "Another process"
        return "This process" if self.pid == os.getpid() and self.here else f"Process {self.pid}"


class StateFile:
    """One state file. Several of them, in several processes, may read and append to the same file.

    ``redact`` is applied to every string of a payload before it is written; ``redact_own`` instead of it where the harness
    itself speaks, in interruptions and notes. ``clock`` gives an aware time.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        disk: Disk | None = None,
        redact: Callable[[str], str] = lambda text: text,
        redact_own: Callable[[str], str] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path = Path(path)
        self.disk: Disk = RealDisk(self.path) if disk is None else disk
        self.redact = redact
        self.redact_own = redact_own or redact
        self.clock = clock
        self._run = Run(root=self.root)
        self._place = Place()
        self._rounds: Counter[tuple[object, ...]] = Counter()
        self._read_once = False
        self._untold: tuple[Record, ...] = ()  # torn tails that were moved aside; kept until they are told in the file
        self._one_at_a_time = threading.RLock()
        if disk is None:
            _check_place(self.path)

    @property
    def root(self) -> Path:
        """The directory of the file; ``work/`` and ``.pge/`` stand in it."""
        return self.path.parent

    def read(self) -> Run:
        """The run as the file tells it now: always the same `Run`, grown by what was appended since.

        ``StateDamaged`` names the first section that is not what was written; it and those after it are not taken in.
        """
        with self._one_at_a_time:
            if not self._read_once or self.disk.size() != self._place.offset:
                with self.disk.locked(reading=True):
                    self._take_in_news()
            return self._run

    def append(self, *records: Record) -> tuple[Section, ...]:
        """Write the records in one go; on return they are durable. What others appended is taken in first.

        A record's ``round`` is counted where it is None. Nothing is left half-written: a full disk is a ``PgeError``, and
        the file is as before.
        """
        with self._one_at_a_time, self.disk.locked():
            tail = self._take_in_news()
            if tail is not None:
                self._frames(records)  # what cannot be written is refused before anything is moved
                self._untold += (self._move_aside(tail),)
            told = len(self._untold)
            frames = self._frames((*self._untold, *records))
            sections = tuple(map(readable, frames))
            self._write(b"".join(one.data for one in frames))
            for one, section in zip(frames, sections, strict=True):
                self._take_in(one, section)
            self._untold = ()
            if frames:
                self._note_head()
                APPENDED[self.path.resolve()] += len(frames)
            return sections[told:]

    def verify(self) -> Verification:
        """Read the whole file again, from the first byte."""
        with self._one_at_a_time, self.disk.locked(reading=True):
            head = Head.of(self.disk.head())
            place, size, torn = Place(), self.disk.size(), 0
            try:
                for one in walk(self.disk.read, place, size):
                    if isinstance(one, Tail):
                        _check_tail(one, head)
                        torn = one.size
                    else:
                        _known(one, head)
                        place = one.after
                if not torn:
                    _check_reached(place, size, head)
            except Broken as error:
                broken: Broken | None = error
            else:
                broken = None
            return Verification(
                path=self.path,
                sections=place.seq,
                head=place.prev,
                broken=broken.seq if broken else None,
                why=broken.why if broken else "",
                torn=torn,
            )

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Hold ``.pge/run.lock`` while a run is carried out. ``StateBusy`` names the process that already does."""
        house = self.root / ".pge"
        name = house / "run.pid"
        try:
            house.mkdir(exist_ok=True)
            lock = FileLock(house / "run.lock", timeout=GLANCE, poll_interval=GLANCE / 10, thread_local=False)
            lock.acquire()
        except Timeout:
            who = Holder.of(name)
            raise StateBusy(
                f"{who} is running {self.path}{f' ({who.details})' if who.details else ''}.",
                "Wait for it, or stop it there; here you may look, answer and label meanwhile.",
            ) from None
        except OSError as error:
            raise unwritable(self.root, error) from None
        try:
            name.write_text(Holder.this().note, encoding="utf-8")
            yield
        finally:
            with contextlib.suppress(OSError):
                name.unlink()
            lock.release()

    # Reading

    def _take_in_news(self) -> Tail | None:
        """Take in what was appended; the torn tail, if there is one. To be called under the lock, where one can be had."""
        # The note first: what it names was durable before it was written, so a later look at the file must find it.
        head = Head.of(self.disk.head())
        size = self.disk.size()
        try:
            for one in walk(self.disk.read, self._place, size):
                if isinstance(one, Tail):
                    _check_tail(one, head)
                    return one
                self._take_in(one, _known(one, head))
            _check_reached(self._place, size, head)
        except Broken as error:
            raise _damage(self.path, error) from None
        self._read_once = True
        return None

    def _take_in(self, one: Frame, section: Section) -> None:
        self._rounds[round_key(section.record)] += 1
        self._place = one.after
        self._run.add(section)

    # Writing

    def _frames(self, records: tuple[Record, ...]) -> list[Frame]:
        counted: Counter[tuple[object, ...]] = Counter()
        place, frames = self._place, []
        for record in records:
            if isinstance(record.payload, Plan):
                dag.check(record.payload.steps)
            key = round_key(record)
            counted[key] += 1
            number = self._rounds[key] + counted[key] if record.round is None else record.round
            own = isinstance(record.payload, Interruption | Note)
            payload = redacted(record.payload, self.redact_own if own else self.redact)
            frames.append(framed(place, replace(record, payload=payload, round=number), self.clock()))
            place = frames[-1].after
        return frames

    def _write(self, data: bytes) -> None:
        before = self._place.offset
        try:
            if data:
                self.disk.append(before, data)
        except OSError as error:
            left = "Nothing of it was left in the file"
            try:
                if self.disk.size() > before:
                    self.disk.truncate(before)
            except OSError:
                left = "A part of it may stand at the file's end, and is moved aside by the next append"
            raise PgeError(
                f"{self.path} could not be extended: {error.strerror or error}. {left}.",
                "Free some space (or raise the limit on file sizes), then run this again: it goes on from the last section.",
            ) from error

    def _note_head(self) -> None:
        with contextlib.suppress(OSError):  # a note that lags is legal; the sections are durable
            self.disk.set_head(Head(seq=self._place.seq - 1, sha256=self._place.prev).note())

    def _move_aside(self, tail: Tail) -> Record:
        try:
            name = self.disk.set_aside(tail.place.offset)
            self.disk.truncate(tail.place.offset)
        except OSError as error:
            raise PgeError(
                f"The torn end of {self.path} could not be moved aside: {error.strerror or error}.",
                "Free some space, then run this again; nothing was lost.",
            ) from error
        text = (
            f"The file ended in {counted(tail.size, 'byte')} of a section that was never finished, as after a crash. "
            f"It was moved to {name}; the run goes on from the last whole section."
        )
        return Record(payload=Note(text=text), by="harness")


APPENDED: Counter[Path] = Counter()


def appended(state: Path) -> int:
    """How many sections this process has appended to a file; whatever else is new in it came from others."""
    return APPENDED[state.resolve()]


def holder(state: Path) -> Holder | None:
    """Who is running the task of a state file; None where nobody is. ``OSError`` where it cannot be told.

    The lock is asked, since a process that was killed leaves its number behind, and a number may be given again.
    """
    lock = state.parent / ".pge" / "run.lock"
    try:
        if lock.is_file():
            with FileLock(lock, blocking=False):
                return None
    except Timeout:
        return Holder.of(lock.with_name("run.pid"))
    return None


def at_work(state: Path) -> str | None:
    """Which process is running the task of a state file, in words; empty where none is, None where it cannot be told."""
    try:
        return str(who) if (who := holder(state)) else ""
    except OSError:
        return None


def open_run(path: str | os.PathLike[str]) -> Run:
    """The run of a state file, or of the directory that holds one."""
    place = Path(path)
    if place.is_dir():
        place /= FILE_NAME
    if not place.exists():
        raise BadInput(f"There is no state file {place}.", "%pge runs lists those there are.")
    return StateFile(place).read()


def open_runs(glob: str) -> Runs:
    """The runs of all state files, or directories with one, that the pattern matches; in order of their paths.

    What a wildcard happens to match beside them, and is no state file, is left out.
    """
    pattern = str(Path(glob).expanduser())
    found = globbing.glob(pattern, recursive=True)  # noqa: PTH207 - absolute patterns too
    matches = sorted(map(Path, found))
    places = [match / FILE_NAME if match.is_dir() else match for match in matches]
    wild = globbing.has_magic(pattern)
    runs = [open_run(place) for place in dict.fromkeys(places) if place.is_file() and (not wild or _is_meant(place))]
    if not runs:
        raise BadInput(f"No state file matches {glob}.", f"A pattern looks like 'runs/*/{FILE_NAME}' or 'runs/*'.")
    return Runs(runs)


def _is_meant(place: Path) -> bool:
    """Whether a file holds a run, maybe a damaged one: by its name, or by how it begins."""
    if place.name in (FILE_NAME, STUDY_NAME):
        return place.name == FILE_NAME
    with place.open("rb") as file:
        return file.read(len(BEGINS)) == BEGINS


# What is damage


class Behind(Broken):
    """The file holds less, or other, than was written to it."""


def _known(one: Frame, head: Head | None) -> Section:
    if head and head.seq == one.place.seq and head.sha256 != one.sha256:
        raise Behind(
            one.place.seq, "is not the one that was written last: its hash differs from the note in .pge/head."
        )
    return section_of(one)


def _check_tail(tail: Tail, head: Head | None) -> None:
    if tail.broken:
        raise tail.broken
    if head and head.seq >= tail.place.seq:
        raise Behind(tail.place.seq, "is cut off, though it was written whole.")


def _check_reached(place: Place, size: int, head: Head | None) -> None:
    if size < place.offset:
        raise Behind(place.seq - 1, "is gone: the file is shorter than it was.")
    if head and head.seq >= place.seq:
        raise Behind(place.seq, "is gone, though it was written: the file ends before it.")


def _damage(path: Path, error: Broken) -> PgeError:
    note = beside(path, "head").relative_to(path.parent).as_posix()
    fact = f"Section {error.seq} of {path} {error.why}".replace(".pge/head", note)
    if isinstance(error, NotUnderstood) or (error.version and error.seq == 0):
        return BadInput(fact, "Install a newer pge_nb to open it.")
    if isinstance(error, Behind):
        return StateDamaged(
            fact, f"Restore the newer file; or, if an older copy was put back on purpose, delete {note}."
        )
    readable = f" Sections 0 to {error.seq - 1} are whole." if error.seq else ""
    # %pge new makes room for a run; what is known of raters is no run.
    anew = f"move it and {note} away" if path.name == STUDY_NAME else "begin again with %pge new"
    return StateDamaged(fact, f"Restore the file from a copy, or {anew}.{readable}")


def check_kind(path: Path) -> None:
    """``BadInput`` where something stands there that can be no state file; to open a pipe would never end."""
    if path.is_dir():
        own = {FILE_NAME: "Move it away, or give the task another name.", STUDY_NAME: "Move it away."}
        move = own.get(path.name, f"Give the file in it: {path / FILE_NAME}.")
        raise BadInput(f"{path} is a directory, not a state file.", move)
    if path.exists() and not path.is_file():
        raise BadInput(f"{path} is not a regular file.", f"Give a path like {FILE_NAME}.")


def _check_place(path: Path) -> None:
    check_kind(path)
    if not path.parent.is_dir():
        raise BadInput(f"There is no directory {path.parent}.", "Make it first, or give another path with --state.")
