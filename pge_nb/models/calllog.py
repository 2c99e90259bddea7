"""The call log: a file of JSON lines that is only ever added to, each line on disk before anything rests on it.

Format ``pge-calls/1``. The first line is the opening; then, for each call, a reservation and what became of it (settled,
refused or broken), told apart by ``n``; batches of calls; and observations. `docs/call-log.md` has the fields.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from ..errors import BadInput, PgeError, StateDamaged
from ..payloads import DEEPEST, TOO_DEEP, Json, Misfit, decode, encode
from ..records import Role, Source, Usage

FORMAT = "pge-calls/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first line. ``header`` holds models, settings and prompt hashes, as the run that wrote it knew them."""

    format: str
    header: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """A call that is about to be made, and the most that it can use. ``dollars`` is None for a model without a price."""

    n: int
    key: str
    model: str
    tokens: int
    dollars: float | None
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batched:
    """Reserved calls that were sent together. ``id`` is the service's name of the batch, ``calls`` their numbers."""

    id: str
    calls: tuple[int, ...]
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A completed call: what was sent, what came back, what it cost. ``source`` is where the reply came from then."""

    n: int
    key: str
    role: Role
    address: str
    sample: int
    request: Mapping[str, object]
    content: tuple[Mapping[str, object], ...]
    stop_reason: str
    usage: Usage
    dollars: float | None
    seconds: float
    source: Source
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A call that the service did not carry out: it costs nothing."""

    n: int
    key: str
    why: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A call that was sent and gave no whole reply.

    ``usage`` is what was told of it until then; ``tokens`` and ``dollars`` are the most that it can have used.
    """

    n: int
    key: str
    why: str
    usage: Usage | None
    tokens: int
    dollars: float | None
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Something that the harness looked at itself: the output of a command, a file, an oracle's outcome."""

    key: str
    address: str
    method: str
    args: object
    tree: str
    seen: object
    at: str


Line = Opening | Reserved | Batched | Settled | Refused | Broken | Observed
KINDS: Mapping[str, type[Line]] = {
    "opening": Opening,
    "reserved": Reserved,
    "batched": Batched,
    "settled": Settled,
    "refused": Refused,
    "broken": Broken,
    "observed": Observed,
}
KIND_OF: Mapping[type, str] = {kind: name for name, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Span:
    """Where a line stands in the file, in bytes, without its newline."""

    start: int
    length: int


class CallLog:
    """One file of lines. Other threads and processes may add to it as well; each line is added whole.

    A torn last line (a crash in the middle of an append) is not read, and moved aside by the next append.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn: list[Path] = []
        self._unseen: list[tuple[Span, Line]] = []
        self._end = 0
        self._count = 0
        self._threads = threading.RLock()
        self._processes = FileLock(f"{path}.lock")

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nobody else adds a line inside this block. May be nested."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._threads, self._processes:
            yield

    def new_lines(self) -> list[tuple[Span, Line]]:
        """The whole lines that others have added since the last time. ``StateDamaged`` names one that is not whole."""
        with self._threads:
            found = [*self._unseen, *self._read_on()]
            self._unseen = []
            return found

    def append(self, line: Line) -> Span:
        """Add a line and see it on disk. `new_lines` does not give it."""
        data = line_bytes(line)
        with self._at_the_end() as descriptor:
            span = Span(self._end, len(data) - 1)
            write_whole(descriptor, data)
            os.fsync(descriptor)
            self._end += len(data)
            self._count += 1
            return span

    def make_sure_of(self, room: int) -> None:
        """``PgeError`` where the disk, or a limit on the size of files, has no room for so many bytes more.

        The room is taken and given back: what is written later may still find the disk full, filled by others meanwhile.
        A crash in between leaves zeros, a torn tail like any other.
        """
        if not hasattr(os, "posix_fallocate"):
            return
        with self._at_the_end() as descriptor:
            try:
                os.posix_fallocate(descriptor, self._end, room)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                    raise
            os.ftruncate(descriptor, self._end)

    @contextmanager
    def _at_the_end(self) -> Iterator[int]:
        """The file, open to be added to at its last whole line; cut back to that line where the system then refuses."""
        with self.exclusive():
            self._begin_anew_where_gone()
            self._unseen += self._read_on()
            try:
                self._move_torn_aside()
                is_new = not self.path.exists()
                descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    yield descriptor
                except OSError:
                    with suppress(OSError):  # What is left then is a torn tail.
                        os.ftruncate(descriptor, self._end)
                    raise
                finally:
                    os.close(descriptor)
                if is_new:
                    sync_directory(self.path.parent)
            except OSError as error:
                raise PgeError(
                    f"{self.path} could not be extended: {error.strerror or error}.",
                    "Free some space (or raise the limit on file sizes), then %pge resume: no reply that was kept is paid again.",
                ) from error

    def at(self, span: Span) -> Line:
        """The line at a place, read again."""
        with self.path.open("rb") as file:
            file.seek(span.start)
            line = self._line(file.read(span.length), last=False)
        assert line is not None  # noqa: S101 - only a last line may be torn
        return line

    def _read_on(self) -> list[tuple[Span, Line]]:
        found: list[tuple[Span, Line]] = []
        data = self._bytes_from(self._end)
        start = 0
        while (stop := data.find(b"\n", start)) >= 0:
            line = self._line(data[start:stop], last=stop + 1 == len(data))
            if line is None:
                break
            found.append((Span(self._end, stop - start), line))
            self._end += stop + 1 - start
            self._count += 1
            start = stop + 1
        return found

    def _begin_anew_where_gone(self) -> None:
        """A file that was taken away is begun again: what comes now is paid for, and is kept at the least.

        ``StateDamaged`` for one that is shorter than it was, which may hold anything.
        """
        size = self.path.stat().st_size if self.path.exists() else 0
        if size == 0:
            self._end = self._count = 0
        elif size < self._end:
            raise StateDamaged(
                f"{self.path} is shorter than it was: somebody has cut it.",
                "Put back a whole copy of it, or move it away: what it holds would be asked and paid again.",
            )

    def _bytes_from(self, start: int) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                return file.read()
        except FileNotFoundError:
            return b""

    def _line(self, data: bytes, *, last: bool) -> Line | None:
        """The parsed line; None where it is the last one and torn."""
        try:
            return parsed(data)
        except (ValueError, Misfit) as error:
            if last and not isinstance(error, Misfit):
                return None
            raise StateDamaged(
                f"Line {self._count + 1} of {self.path} is damaged: {error}.",
                "Put back a whole copy of it, or move it away: what it holds would be asked and paid again.",
            ) from None

    def _move_torn_aside(self) -> None:
        if torn := self._bytes_from(self._end):
            aside = self.path.with_name(f"{self.path.name}.torn-{self._end}")
            aside.write_bytes(torn)
            os.truncate(self.path, self._end)
            self.torn.append(aside)


def parsed(data: bytes) -> Line:
    """The line that these bytes hold. ``ValueError`` where they are no JSON, ``Misfit`` where it is another thing."""
    try:
        value = json.loads(data.decode("utf-8"))
    except RecursionError:
        raise Misfit("it is nested deeper than any line of ours") from None
    kind = KINDS.get(str(value.pop("line", None))) if isinstance(value, dict) else None
    if kind is None:
        raise Misfit("it is of no kind that a call log has")
    line = decode(kind, value)
    if isinstance(line, Opening) and line.format != FORMAT:
        raise BadInput(
            f"The call log is of format {line.format}, not {FORMAT}.", "Open it with the version that wrote it."
        )
    return line


def line_bytes(line: Line) -> bytes:
    """The line as it stands in the file."""
    # A request holds replies some levels down, which must stand here as they were handed on.
    fields = {field.name: plain(getattr(line, field.name), 2 * DEEPEST) for field in dataclasses.fields(line)}
    text = json.dumps({"line": KIND_OF[type(line)], **fields}, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate has no UTF-8; as an escape it is lossless, and legal JSON.
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text).encode() + b"\n"


def plain(value: object, deepest: int = DEEPEST) -> Json:
    """The value as JSON, names in the order in which they came.

    Whatever it is: numbers that JSON lacks, and what is nested too deep, become text, since what was billed must be logged.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping | tuple | list) and not deepest:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {str(name): plain(item, deepest - 1) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item, deepest - 1) for item in value]
    return encode(value) if dataclasses.is_dataclass(value) else str(value)


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all of it; a short write is gone on with."""
    while data:
        data = data[os.write(descriptor, data) :]


def sync_directory(directory: Path) -> None:
    """See a new file's name on disk, where the system can."""
    if os.name == "posix":
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
