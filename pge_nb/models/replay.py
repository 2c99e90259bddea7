"""Answering from a recording alone, with no live model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

from ..errors import BadInput, ModelFailed
from ..payloads import Json
from ..prose import counted
from ..records import Call
from ..redaction import Redactor
from . import Listen, Reply, Request, Stop
from .calllog import CallLog, Observed, Settled, Span, plain
from .ledger import Ledger, from_log

SHOWN = 24
"""Lines of a difference that are shown."""


class Replay:
    """Answers from a recording, which it only reads.

    A request that the recording does not hold is a ``ModelFailed``: one at a known address shows what differs.
    """

    def __init__(self, path: Path, *, redact: Redactor | None = None) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise BadInput(f"There is no recording at {path}.", "Give the path of a calls.jsonl: recording:PATH.")
        self._redact = redact or Redactor()
        self._log = CallLog(self.path)
        self._ledger = Ledger()
        for span, line in self._log.new_lines():
            self._ledger.add(span, line)

    @property
    def header(self) -> Mapping[str, Json]:
        """Models, settings and prompt hashes of the run that was recorded."""
        return {name: plain(item) for name, item in (self._ledger.header or {}).items()}

    @property
    def models(self) -> Mapping[str, str]:
        """Role -> the model that was recorded for it. A request must name it to be found."""
        return {call.role: call.model for call in self._ledger.calls}

    def calls(self) -> tuple[Call, ...]:
        """The recorded calls in order."""
        return tuple(self._ledger.calls)

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:  # noqa: ARG002
        """The recorded reply to this very request."""
        span = self._ledger.settled.get(request.key)
        if span is None:
            raise self._missing(request)
        return from_log(self._line(span))

    def seen(self, key: str) -> tuple[bool, Json]:
        """Whether an observation was recorded, and what was seen."""
        span = self._ledger.observed.get(key)
        line = self._log.at(span) if span else None
        return (True, plain(line.seen)) if isinstance(line, Observed) else (False, None)

    def _line(self, span: Span) -> Settled:
        line = self._log.at(span)
        assert isinstance(line, Settled)  # noqa: S101 - the index holds nothing else
        return line

    def _missing(self, request: Request) -> ModelFailed:
        address = f"{request.about.address}#{request.sample}"
        span = self._ledger.addressed.get((request.about.address, request.sample))
        if span is None:
            return ModelFailed(
                f"The recording {self.path} holds no call at {address}: it ends before this one.",
                "%pge model NAME chooses a model that can be asked.",
            )
        recorded, current = dict(self._line(span).request), self._redact.json(request.sent())
        return ModelFailed(
            f"The recording {self.path} holds another request at {address}. What differs:\n{difference(recorded, current)}",
            "Use the prompt and settings that were recorded, or %pge model NAME to ask a live model.",
        )


def difference(recorded: Mapping[str, object], current: Mapping[str, object]) -> str:
    """A short unified diff of two requests, as `Request.sent` gives them."""
    before, after = list(request_lines(recorded)), list(request_lines(current))
    lines = [line.rstrip("\n") for line in unified_diff(before, after, "recorded", "now", n=1, lineterm="")]
    if len(lines) > SHOWN:
        lines = [*lines[:SHOWN], f"... and {counted(len(lines) - SHOWN, 'line')} more"]
    return "\n".join(lines)


def request_lines(sent: Mapping[str, object]) -> Iterator[str]:
    """A request line by line: its settings, the system prompt, then each message under its role."""
    for name in ("model", "max_tokens", "effort", "schema", "tools"):
        if sent.get(name):
            yield f"{name}: {json.dumps(sent[name], ensure_ascii=False)}"
    yield "system:"
    yield from str(sent.get("system", "")).split("\n")
    messages = sent.get("messages")
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, Mapping):
            yield f"{message.get('role')}:"
            yield from content_lines(message.get("content"))


def content_lines(content: object) -> Iterator[str]:
    """The lines of a message's content, text blocks as text and other blocks as JSON."""
    if isinstance(content, str):
        yield from content.split("\n")
        return
    for block in content if isinstance(content, list) else []:
        text = block.get("text") if isinstance(block, Mapping) else None
        yield from str(text).split("\n") if text is not None else [json.dumps(block, ensure_ascii=False)]
