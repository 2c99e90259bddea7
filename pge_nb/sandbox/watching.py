"""Watching a child: feeding it, taking what it says, and ending it with all that it started."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..interrupts import look_up

MAX_OUTPUT = 1_000_000
CHUNK = 65_536
BREATH = 0.05
"""Seconds between two looks at a child that says nothing."""
SHARE = 0.1
"""Of the time at most so much goes into measuring directories."""
GONE_WITHIN = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended. ``exit`` is None when it had to be killed; outputs are cut at ``MAX_OUTPUT`` bytes each.

    ``timed_out``: its time was over. ``cut``: it said too much. ``full``: it wrote too much.
    """

    exit: int | None
    out: str
    err: str
    timed_out: bool = False
    cut: bool = False
    full: bool = False


@dataclass(slots=True, kw_only=True)
class Meter:
    """Whether directories have grown by more than so many bytes or files since the meter was made."""

    directories: tuple[Path, ...]
    disk: int
    files: int
    session: int = 0
    """A session whose open files without a name count as well."""
    _began: tuple[int, int] = field(init=False)
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = _size(self.directories)
        self._next = time.monotonic() + BREATH

    def over(self, *, now: bool = False) -> bool:
        """Whether it is too much. Looked up from time to time alone, unless ``now``."""
        started = time.monotonic()
        if started < self._next and not now:
            return False
        used, count = _size(self.directories)
        used += _nameless(self.session) if self.session else 0
        took = time.monotonic() - started
        self._next = started + max(BREATH, took / SHARE)
        return used - self._began[0] > self.disk or count - self._began[1] > self.files


def _size(directories: tuple[Path, ...]) -> tuple[int, int]:
    """Bytes on disk and number of files below some directories."""
    used = count = 0
    waiting = [os.fspath(directory) for directory in directories]
    while waiting:
        # What is measured may be gone, or closed to us, by the time that it is looked at.
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                count += 1
                with contextlib.suppress(OSError):
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return used, count


def _nameless(session: int) -> int:
    """Bytes of files that have no name any more and are held open by a process of the session; 0 where that cannot be seen."""
    found: dict[tuple[int, int], int] = {}
    for process in _members(session):
        with contextlib.suppress(OSError):
            for name in os.listdir(f"{process}/fd"):  # noqa: PTH208 - names alone
                with contextlib.suppress(OSError):
                    facts = os.stat(f"{process}/fd/{name}")  # noqa: PTH116 - a Path for each of them costs too much
                    if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 0:
                        found[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
    return sum(found.values())


def _members(session: int) -> Iterator[str]:
    """The directories in /proc of the processes of a session, which nothing in the sandbox can leave."""
    with contextlib.suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if os.getsid(int(entry.name)) == session:
                        yield entry.path


def watch(child: subprocess.Popen[bytes], stdin: bytes, deadline: float, meter: Meter, *, supervised: bool) -> Ran:
    """Feed and drain the child until it ends, is late, or says or writes too much; then nothing of it is left running.

    ``Cut`` where what waits for it is to end: the child is then still to be ended.
    """
    if child.stdin is None or child.stdout is None or child.stderr is None:
        raise TypeError("the child must have three pipes")
    taken = {child.stdout: bytearray(), child.stderr: bytearray()}
    pending, late, cut, full = memoryview(stdin), False, False, False
    with selectors.DefaultSelector() as selector:
        for stream in taken:
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ)
        os.set_blocking(child.stdin.fileno(), False)
        selector.register(child.stdin, selectors.EVENT_WRITE)
        while len(selector.get_map()) > 0 and not (late or cut or full):
            ended = child.poll() is not None
            for key, _ in selector.select(0 if ended else min(BREATH, max(0.0, deadline - time.monotonic()))):
                if key.fileobj is child.stdin:
                    pending = _feed(child.stdin.fileno(), pending)
                    if not pending:
                        selector.unregister(child.stdin)
                        child.stdin.close()
                elif not _drain(key.fd, taken[key.fileobj]):  # type: ignore[index]
                    selector.unregister(key.fileobj)
            if ended:
                # What the child left running may hold the pipes open for ever.
                for stream, got in taken.items():
                    _drain(stream.fileno(), got)
                break
            look_up()
            late = time.monotonic() >= deadline
            cut = any(len(got) > MAX_OUTPUT for got in taken.values())
            full = meter.over()
    while not (late or cut or full) and child.poll() is None:
        # It has closed its outputs and goes on.
        look_up()
        late = not _ends(child, min(BREATH, deadline - time.monotonic())) and time.monotonic() >= deadline
        full = meter.over()
    code = end(child, supervised=supervised)
    # Also of a child that ended before it was looked at: the same run always ends the same.
    cut = any(len(got) > MAX_OUTPUT for got in taken.values())
    full = full or meter.over(now=True)
    out, err = (bytes(got[:MAX_OUTPUT]).decode("utf-8", "backslashreplace") for got in taken.values())
    return Ran(
        exit=None if late or cut or full else code,
        out=out,
        err=err,
        timed_out=late and not cut,
        cut=cut,
        full=full and not (late or cut),
    )


def end(child: subprocess.Popen[bytes], *, supervised: bool) -> int:
    """End the child and all that it started, and wait until they are gone: none may write while the tree is looked at.

    Where a launcher supervises, it is told to; else, and should it not answer, all of the session are killed from here.
    """
    if supervised and child.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            child.terminate()
        _ends(child, GONE_WITHIN)
    if supervised and child.poll() not in (None, -signal.SIGKILL):
        return child.wait()  # Whoever supervised ended last; one who was killed may have left others.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    code = child.wait()
    until, pause = time.monotonic() + GONE_WITHIN, 0.0005
    while (left := [member for member in _members(child.pid) if not _dead(member)]) and time.monotonic() < until:
        for member in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(member.rsplit("/", 1)[1]), signal.SIGKILL)
        time.sleep(pause)
        pause = min(2 * pause, BREATH)
    return code


def _dead(process: str) -> bool:
    try:
        with open(f"{process}/stat", "rb") as file:  # noqa: PTH123 - once for each of them
            return file.read().rsplit(b")", 1)[1].split()[0] in (b"Z", b"X")
    except OSError:
        return True


def _ends(child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the child ends within that time; told at once, where waiting in steps is not needed."""
    if child.poll() is None and hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError), os.fdopen(os.pidfd_open(child.pid), "rb", buffering=0) as ended:
            waiting = select.poll()
            waiting.register(ended)
            waiting.poll(max(0.0, 1e3 * seconds))
        return child.poll() is not None
    try:
        child.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        return False
    return True


def _feed(fd: int, pending: memoryview) -> memoryview:
    try:
        return pending[os.write(fd, pending[:CHUNK]) :] if pending else pending
    except BlockingIOError:
        return pending
    except BrokenPipeError:
        return memoryview(b"")  # The child does not read its input; that is its own affair.


def _drain(fd: int, into: bytearray) -> bool:
    """Take what is there; False at the end of the stream."""
    while len(into) <= MAX_OUTPUT:
        try:
            got = os.read(fd, CHUNK)
        except BlockingIOError:
            return True
        if not got:
            return False
        into += got
    return True
