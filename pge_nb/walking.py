"""Trees that somebody may change while they are walked: nothing is reached through a link that was swapped in meanwhile.

Each folder is held open and what lies in it is opened by its name in it, links refused, and looked at once it is open: between
the look and the use there is no name that could come to mean something else. Where a system has no such calls (Windows), names
are looked at first and used then.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

HOLDS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")
"""Whether this system opens things by their name in an open folder."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
READING = os.O_RDONLY | NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
"""Without waiting: a pipe that nobody writes to would keep whoever opens it."""
WRITING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK | getattr(os, "O_BINARY", 0)
MOST_DEPTH = 64
"""Folders within each other that are walked; each is held open on the way."""
MOST_NAMES = 20_000
"""Names that a walk looks at, whatever they name."""
GONE = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EMLINK, getattr(errno, "EFTYPE", errno.ELOOP)}
)
"""What opening gives where a name is no more what it was, or names a link, a socket, a device without a driver."""
Limit = Literal["bytes", "names", "depth"]


class TooMuch(Exception):
    """A walk or a file goes beyond a cap: which one, and at which path it stopped."""

    def __init__(self, limit: Limit, path: str) -> None:
        super().__init__(f"{path}: too many {limit}")
        self.limit: Limit = limit
        self.path = path


class NotPlain(Exception):
    """What has a name is no folder, or no file, of its own: a link, a pipe, a device, or the one where the other is wanted."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class Content:
    """A plain file as it was when it was opened."""

    bytes: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that is held open; ``descriptor`` is None where the system does not hold any."""

    path: Path
    descriptor: int | None

    def entries(self) -> Iterator[os.DirEntry[str]]:
        """What lies in it, in no order."""
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as entries:
            yield from entries

    @contextlib.contextmanager
    def folder(self, name: str, *, make: bool = False) -> Iterator[Folder]:
        """A folder in it. ``NotPlain`` where the name is something else's, ``FileNotFoundError`` where it is nothing's."""
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._at(name), dir_fd=self.descriptor)
        with _held(self._at(name), self.path / name, self.descriptor) as held:
            yield held

    def read(self, name: str, most: int) -> Content:
        """A plain file in it, of at most ``most`` bytes. ``NotPlain`` for anything else, ``TooMuch`` for a larger one."""
        if self.descriptor is None and (self.path / name).is_symlink():
            raise NotPlain(name)
        try:
            descriptor = os.open(self._at(name), READING, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno in GONE - {errno.ENOENT}:
                raise NotPlain(name) from None
            raise
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            os.close(descriptor)
            raise NotPlain(name)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(most + 1) if facts.st_size <= most else b""
        if facts.st_size > most or len(content) > most:
            raise TooMuch("bytes", name)
        return Content(content, facts.st_mode & 0o777)

    def write(self, name: str, content: bytes, mode: int, *, prefix: str) -> None:
        """Write a file in it, whole or not at all; what had the name, a link too, is replaced and not followed.

        ``prefix`` begins the name that the file has until it is whole.
        """
        temporary = self._at(f"{prefix}{secrets.token_hex(8)}")
        descriptor = os.open(temporary, WRITING, 0o600, dir_fd=self.descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                if hasattr(os, "fchmod"):
                    os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            os.replace(temporary, self._at(name), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=self.descriptor)
            raise

    def _at(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Folder]:
    """A folder by its path. A link above it is followed, since it is where the person put it; one in its place is not."""
    with _held(str(path), path, None) as folder:
        yield folder


@contextlib.contextmanager
def _held(at: str, path: Path, within: int | None) -> Iterator[Folder]:
    if not HOLDS:
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise NotPlain(path.name)
        yield Folder(path, None)
        return
    try:
        descriptor = os.open(at, os.O_RDONLY | os.O_DIRECTORY | NO_LINK, dir_fd=within)
    except OSError as error:
        if error.errno in GONE - {errno.ENOENT}:
            raise NotPlain(path.name) from None
        raise
    try:
        yield Folder(path, descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def parent(root: Folder, path: str, *, make: bool = False) -> Iterator[tuple[Folder, str]]:
    """The folder in which a relative path of a tree lies, and its name in that folder."""
    *folders, name = PurePosixPath(path).parts
    with contextlib.ExitStack() as held:
        folder = root
        for part in folders:
            folder = held.enter_context(folder.folder(part, make=make))
        yield folder, name


def read(root: Path, path: str, most: int) -> Content | None:
    """A plain file of a tree; None where there is none, a link or a pipe stands there, or it has more than ``most`` bytes."""
    try:
        with opened(root) as top, parent(top, path) as (folder, name):
            return folder.read(name, most)
    except (OSError, NotPlain, TooMuch):
        return None


def walk(root: Folder, *, most: int, leave_out: Callable[[str, bool], bool]) -> Iterator[tuple[str, Content]]:
    """Every plain file under a folder with its relative path: those of a folder by name, then those of its folders.

    Links, pipes, sockets and devices are left out, and so is what ``leave_out(name, is a folder)`` says or what goes away
    meanwhile. ``TooMuch`` beyond the caps, before the file in question is read.
    """
    left = [MOST_NAMES]

    def files(folder: Folder, parts: Sequence[str]) -> Iterator[tuple[str, Content]]:
        names: list[str] = []
        folders: list[str] = []
        for entry in folder.entries():
            left[0] -= 1
            if left[0] < 0:
                raise TooMuch("names", "/".join((*parts, entry.name)))
            is_folder = entry.is_dir(follow_symlinks=False)
            if not entry.is_symlink() and not leave_out(entry.name, is_folder):
                (folders if is_folder else names).append(entry.name)
        for name in sorted(names):
            path = "/".join((*parts, name))
            try:
                yield path, folder.read(name, most)
            except (NotPlain, FileNotFoundError):
                continue
            except TooMuch:
                raise TooMuch("bytes", path) from None
            except OSError as error:
                raise OSError(error.errno, error.strerror, path) from None
        for name in sorted(folders):
            below = (*parts, name)
            if len(below) > MOST_DEPTH:
                raise TooMuch("depth", "/".join(below))
            with contextlib.ExitStack() as held:
                try:
                    inner = held.enter_context(folder.folder(name))
                except (NotPlain, FileNotFoundError):
                    continue
                except OSError as error:
                    raise OSError(error.errno, error.strerror, "/".join(below)) from None
                yield from files(inner, below)

    return files(root, ())
