"""A trace: a line of JSON for each run, phase, call, tool and look, with its id and its parent's. There is none unless asked for.

Where OpenTelemetry's conventions for generative AI have a name, fields bear it, so that what reads traces reads these; ours begin
with ``pge.``. No text of a prompt or reply is in it, and no key. docs/trace.md tells every field.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from .errors import BadInput
from .payloads import Json

FIRST = b'{"trace_id"'
"""How every line begins."""
Fields = Mapping[str, Json]


class Trace:
    """The file that lines are appended to, each by one write. What goes wrong with it stands in ``fault`` and stops nothing.

    ``BadInput`` where the file holds something else: a state file must not be written into.
    """

    def __init__(self, path: Path, run: str) -> None:
        self.path = path
        self.id = hashlib.sha256(run.encode()).hexdigest()[:32]
        self.fault = ""
        self._lock = threading.Lock()
        self._torn = False
        with self._faults_noted():
            self._check()

    def begin(self, name: str, fields: Fields, parent: str | None = None) -> Span:
        """A span that begins now."""
        return Span(trace=self, name=name, parent=parent, fields=dict(fields))

    def write(self, line: Fields) -> None:
        """Append a line, whole, unless that failed before."""
        if not self.fault:
            text = json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
            with self._lock, self._faults_noted():
                self._append(text)

    def _check(self) -> None:
        if not self.path.exists():
            return
        if not self.path.is_file():
            raise BadInput(f"{self.path} is no plain file.", "Name another file for the trace.")
        with self.path.open("rb") as file:
            if not (begins := file.read(len(FIRST))):
                return
            if begins != FIRST:
                raise BadInput(f"{self.path} is there, and holds no trace.", "Name another file for the trace.")
            file.seek(-1, os.SEEK_END)
            self._torn = file.read(1) != b"\n"

    def _append(self, text: bytes) -> None:
        # Opened anew for each line: whoever takes the file away in between gets a new one.
        target = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
        try:
            if not stat.S_ISREG(os.fstat(target).st_mode):
                raise OSError("it is no plain file any more")
            whole = b"\n" + text if self._torn else text
            written = os.write(target, whole)
            self._torn = written < len(whole)
            if self._torn:
                raise OSError("a line did not fit")
        finally:
            os.close(target)

    @contextlib.contextmanager
    def _faults_noted(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.fault = (
                f"The trace at {self.path} cannot be written: {error.strerror or error}. The run goes on without it."
            )


@dataclass(slots=True, kw_only=True)
class Span:
    """Something that takes time, from when this is made to its `end`. One without a trace is told to nobody."""

    trace: Trace | None = None
    name: str = ""
    parent: str | None = None
    fields: dict[str, Json] = field(default_factory=dict)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    _clock: float = field(default_factory=time.monotonic)

    def tell(self, fields: Fields) -> None:
        """Add what came to be known meanwhile; what is None is left out."""
        if self.trace is not None:
            self.fields.update(fields)

    def end(self) -> None:
        """Write the line."""
        if self.trace is None:
            return
        ended = self.began + timedelta(seconds=time.monotonic() - self._clock)
        known = {name: value for name, value in self.fields.items() if value is not None}
        times = {"start_time": self.began.isoformat(), "end_time": ended.isoformat()}
        ids = {"trace_id": self.trace.id, "span_id": self.id, "parent_span_id": self.parent}
        self.trace.write({**ids, "name": self.name, **times, **known})

    @contextlib.contextmanager
    def child(self, name: str, fields: Fields) -> Iterator[Span]:
        """A span below this one for the time of the block, below which those of `span` are."""
        if self.trace is None:
            yield self
            return
        own = self.trace.begin(name, fields, self.id)
        token = CURRENT.set(own)
        try:
            yield own
        except BaseException as error:
            own.tell({"error.type": type(error).__name__})
            raise
        finally:
            CURRENT.reset(token)
            own.end()


UNTRACED = Span()
CURRENT: ContextVar[Span] = ContextVar("pge_nb_span", default=UNTRACED)
"""The span below which the next one is, in this thread."""


def span(name: str, fields: Fields) -> contextlib.AbstractContextManager[Span]:
    """A span below the current one; told to nobody where there is none."""
    return CURRENT.get().child(name, fields)
