"""The few file operations that a state file needs, so that tests can lose, tear and reorder what was not synced."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from .errors import BadInput, StateBusy

PATIENCE = 30.0
"""Seconds to wait for another process that is appending; an append takes milliseconds."""


class Disk(Protocol):
    """One state file and the few small files beside it. Failures are ``OSError``."""

    def size(self) -> int:
        """Bytes in the file; 0 where there is none."""

    def read(self, offset: int, count: int) -> bytes:
        """At most ``count`` bytes from ``offset``; fewer only at the end of the file."""

    def append(self, offset: int, data: bytes) -> None:
        """Write ``data`` at the file's end in one write, and return once it is durable. Makes the file.

        After an ``OSError`` any part of it may stand in the file.
        """

    def truncate(self, size: int) -> None:
        """Cut the file, durably."""

    def set_aside(self, offset: int) -> str:
        """Copy all from ``offset`` into a new file, durably; its path as a person would look for it."""

    def head(self) -> bytes:
        """The note of what was written last; empty where there is none."""

    def set_head(self, note: bytes) -> None:
        """Replace the note; not durable."""

    def locked(self, *, reading: bool = False) -> AbstractContextManager[None]:
        """Keep other writers out. A reader without the right to lock reads all the same."""


def beside(path: Path, name: str) -> Path:
    """A file in ``.pge/`` that belongs to the state file ``path``; another than the run's own carries its stem."""
    return path.parent / ".pge" / (name if path.name == "shared_state.md" else f"{path.stem}.{name}")


class RealDisk:
    """The file itself; the small files stand in ``.pge/`` beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.house = path.parent / ".pge"

    def beside(self, name: str) -> Path:
        """A file in ``.pge/`` that belongs to this state file; another than the run's own carries its stem."""
        return beside(self.path, name)

    def size(self) -> int:
        """Bytes in the file; 0 where there is none."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, offset: int, count: int) -> bytes:
        """At most ``count`` bytes from ``offset``."""
        with self.path.open("rb", buffering=0) as file:
            file.seek(offset)
            parts = []
            while count > 0 and (part := file.read(count)):
                parts.append(part)
                count -= len(part)
        return b"".join(parts)

    def append(self, offset: int, data: bytes) -> None:
        """One write, then fsync; the directory too where the file is new."""
        created = not self.path.exists()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.seek(offset)
            written = file.write(data)
            if written != len(data):
                raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes could be written")
            os.fsync(descriptor)
        if created:
            sync_directory(self.path.parent)

    def truncate(self, size: int) -> None:
        """Cut and fsync."""
        with self.path.open("r+b", buffering=0) as file:
            file.truncate(size)
            os.fsync(file.fileno())

    def set_aside(self, offset: int) -> str:
        """Copy all from ``offset`` into ``.pge/torn-N.md``, N the first that is free."""
        self.house.mkdir(exist_ok=True)
        number = 1
        while self.beside(f"torn-{number}.md").exists():
            number += 1
        place = self.beside(f"torn-{number}.md")
        with self.path.open("rb") as source, place.open("xb") as target:
            source.seek(offset)
            while part := source.read(1 << 20):
                target.write(part)
            target.flush()
            os.fsync(target.fileno())
        sync_directory(self.house)
        sync_directory(self.path.parent)
        return f".pge/{place.name}"

    def head(self) -> bytes:
        """The note of what was written last; empty where there is none that can be read."""
        try:
            return self.beside("head").read_bytes()
        except OSError:
            return b""

    def set_head(self, note: bytes) -> None:
        """Overwrite in place: notes are of equal length, and renaming would make some file systems sync."""
        self.house.mkdir(exist_ok=True)
        place = self.beside("head")
        with place.open("r+b" if place.exists() else "wb", buffering=0) as file:
            file.write(note)
            file.truncate()

    @contextlib.contextmanager
    def locked(self, *, reading: bool = False) -> Iterator[None]:
        """Hold ``.pge/state.lock``. Looking at a run leaves no trace: a reader does not make the directory."""
        if reading and not self.house.is_dir():
            yield
            return
        with contextlib.ExitStack() as stack:
            try:
                self.house.mkdir(exist_ok=True)
                stack.enter_context(FileLock(self.beside("state.lock"), timeout=PATIENCE, poll_interval=0.002))
            except Timeout:
                raise StateBusy(
                    f"Another process has kept {self.path} locked for {PATIENCE:g} seconds.",
                    "Look for a stopped notebook or process on it, end that one, and run this again.",
                ) from None
            except OSError as error:
                if not reading:
                    raise unwritable(self.path.parent, error) from None
            yield


class UnlockedDisk(RealDisk):
    """The file as it stands this moment, for a look that must not wait: never to be appended to."""

    @contextlib.contextmanager
    def locked(self, *, reading: bool = False) -> Iterator[None]:  # noqa: ARG002
        """Keeps nobody out: a section that is not whole yet is a torn end to whoever looks."""
        yield


def unwritable(place: Path, error: OSError) -> BadInput:
    """Why nothing can be written at the place of a run."""
    house = place / ".pge"
    if os.path.lexists(house) and not house.is_dir():
        return BadInput(
            f"{house} is no directory, and a run keeps its own things in one of that name.",
            "Move it away, then run this again.",
        )
    return BadInput(
        f"{place} cannot be written: {error.strerror or error}.",
        "Give a state file in a directory of your own with --state, or change the permissions.",
    )


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable; where directories cannot be opened (Windows) they need no sync."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that knows no sync of directories
            raise
    finally:
        os.close(descriptor)
