"""A disk in memory that fails, tears, drops and reorders what was not synced."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, Sequence

from pge_nb.framing import SECTOR


class Crash(BaseException):
    """The process ends here: nothing after it runs, not even a handler for errors."""


class MemoryDisk:
    """Keeps the durable bytes apart from those that only the running system sees.

    ``crash_at`` names the point where the next operation ends in a `Crash`; ``room`` is the number of bytes that can still
    be written before the disk is full.
    """

    def __init__(self, data: bytes = b"", head: bytes = b"") -> None:
        self.durable = bytes(data)
        self.seen = bytearray(data)
        self.asides: list[bytes] = []
        self.heads = [head]
        self.crash_at: str | None = None
        self.room: int | None = None
        self.fsync_fails = False
        self.bytes_read = 0
        self.bytes_written = 0

    def _point(self, name: str) -> None:
        if self.crash_at == name:
            self.crash_at = None
            raise Crash(name)

    def size(self) -> int:
        return len(self.seen)

    def read(self, offset: int, count: int) -> bytes:
        self.bytes_read += count
        return bytes(self.seen[offset : offset + count])

    def append(self, offset: int, data: bytes) -> None:
        assert offset == len(self.seen), "an append that is not one"
        self._point("before the write")
        fits = len(data) if self.room is None else min(self.room, len(data))
        self.seen[offset:] = data[:fits]
        self.bytes_written += fits
        if fits < len(data):
            raise OSError(errno.ENOSPC, "No space left on device")
        self._point("after the write")
        if self.fsync_fails:
            raise OSError(errno.EIO, "Input/output error")
        self.durable = bytes(self.seen)
        self._point("after the sync")

    def truncate(self, size: int) -> None:
        self._point("before the cut")
        del self.seen[size:]
        self.durable = self.durable[:size]
        self._point("after the cut")

    def set_aside(self, offset: int) -> str:
        self._point("before setting aside")
        self.asides.append(bytes(self.seen[offset:]))
        self._point("after setting aside")
        return f".pge/torn-{len(self.asides)}.md"

    def head(self) -> bytes:
        return self.heads[-1]

    def set_head(self, note: bytes) -> None:
        self.heads.append(note)

    @contextlib.contextmanager
    def locked(self, *, reading: bool = False) -> Iterator[None]:
        yield

    def lose_power(self, lost: Sequence[bool], size: float, which_head: int) -> None:
        """Keep what was synced; of the rest, lose sectors, and a part of the size (as a share of what was added)."""
        start, end = len(self.durable), len(self.seen)
        after = bytearray(self.durable) + self.seen[start:]
        for number, gone in enumerate(lost):
            first = max(start, (start // SECTOR + number) * SECTOR)
            last = min(end, (start // SECTOR + number + 1) * SECTOR)
            if gone and first < last:
                after[first:last] = b"\0" * (last - first)
        del after[start + round(size * max(0, end - start)) :]
        self.durable = bytes(after)
        self.seen = after
        self.heads = [self.heads[which_head % len(self.heads)]]
