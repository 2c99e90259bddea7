"""The one seam to a model: a `Request` goes in, a `Reply` comes out, one HTTP turn a call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from ..errors import ModelFailed
from ..payloads import Json, compact
from ..records import FileRef, Purpose, Role, Source, Usage

NONCE = "PGE-NONCE"
"""Stands in a logged request where the evaluation's nonce is filled in at sending."""

Message = Mapping[str, Json]
Listen = Callable[[str], None]
"""Is given each piece of text as it streams in."""
Stop = Callable[[], bool]
"""True asks a call in progress to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What is so of a copy that an exam shows: whether a defect was planted, the checks that it breaks, and its size.

    ``size`` is slight, partial or gross; empty where no input tells.
    """

    planted: bool
    breaks: tuple[str, ...] = ()
    size: Literal["", "slight", "partial", "gross"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a call is for. Never sent: logs are addressed by it, and the practice model answers from it.

    ``phase`` is plan, replan, propose, respond, withhold, generate or evaluate. ``run`` is named by calls that a study makes,
    outside any run. ``turn`` counts from 0 the calls of one phase. The fields from ``task`` on are for the practice model: the
    practice task, the hash of the attempt under evaluation, the ids of what it is to give findings on and may cite, and which
    part of a planned step a smaller one is. ``whole``:
    the task is one step, whose checks are its contract's or the prompt alone; ``files`` are then those of the attempt that
    is judged or refined. ``flaw`` tells of a copy in an exam, which the bank cannot know.
    """

    role: Role
    phase: str
    step: int | None = None
    attempt: int | None = None
    purpose: Purpose | None = None
    round: int | None = None
    run: str | None = None
    turn: int = 0
    task: str | None = None
    attempt_hash: str | None = None
    base_hash: str | None = None
    approach: str | None = None
    failed: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    part: str = ""
    whole: Literal["", "contract", "prompt"] = ""
    files: tuple[FileRef, ...] = ()
    flaw: Flaw | None = None

    @property
    def address(self) -> str:
        """Where the call stands in the run; with a hash of what is sent, its key in the call log."""
        parts = (self.role, self.phase, self.step, self.attempt, self.purpose, self.round, self.turn)
        address = "/".join("-" if part is None else str(part) for part in parts)
        return address if self.run is None else f"{address}/{self.run}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One turn to be asked of a model.

    ``system`` is the stable prefix (it is what a service may cache). ``messages`` are Messages-API messages with content
    as text or blocks. ``schema`` is the JSON schema of the reply; servers may ignore it, so the prompt says it as well.
    ``sample`` tells repeats of the same request apart. ``nonce`` replaces `NONCE` in the messages at sending.
    """

    model: str
    system: str
    messages: tuple[Message, ...]
    about: About
    schema: Mapping[str, Json] | None = None
    tools: tuple[Mapping[str, Json], ...] = ()
    max_tokens: int = 8_192
    effort: str | None = None
    sample: int = 0
    nonce: str | None = None

    def sent(self) -> dict[str, Json]:
        """What is sent, in the form in which it is logged and hashed: the nonce a placeholder."""
        return {
            "model": self.model,
            "system": self.system,
            "messages": [dict(message) for message in self.messages],
            "schema": dict(self.schema) if self.schema is not None else None,
            "tools": [dict(tool) for tool in self.tools],
            "max_tokens": self.max_tokens,
            "effort": self.effort,
        }

    @property
    def hash(self) -> str:
        """Sha256 (hex) of what is sent."""
        return hashlib.sha256(compact(self.sent()).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def key(self) -> str:
        """The call's key in the log: address, sample, and the first 16 hex of the hash of what is sent."""
        return f"{self.about.address}#{self.sample}:{self.hash[:16]}"

    @property
    def input_bytes(self) -> int:
        """Bytes of UTF-8 of what is sent, an upper bound of its tokens."""
        return len(compact(self.sent()).encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back. ``content`` holds the blocks as they came, since a turn with tools sends them back unchanged.

    ``stop_reason`` is the service's word (end_turn, max_tokens, tool_use, refusal ...). ``id`` is the call's key in the
    log; empty before the recording has settled it.
    """

    content: tuple[Mapping[str, Json], ...]
    stop_reason: str
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    source: Source = "live"
    id: str = ""
    dollars: float | None = None

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")

    @property
    def cut(self) -> bool:
        """Whether the reply ended because it reached ``max_tokens``."""
        return self.stop_reason == "max_tokens"


class CallBroken(ModelFailed):
    """A call that was sent and gave no whole reply: it may have been billed.

    ``usage`` is what is known of it; None where nothing was told. ``passing``: it was lost on the way, and may come through
    when it is asked again. Every other ``ModelFailed`` costs nothing.
    """

    def __init__(self, fact: str, next_move: str, usage: Usage | None = None, *, passing: bool = False) -> None:
        super().__init__(fact, next_move)
        self.usage = usage
        self.passing = passing


class CallStopped(CallBroken):
    """A call that ended because ``stop()`` said so."""


class NotNow(ModelFailed):
    """A service that does not answer now, and may later. It cost nothing.

    ``after``: the seconds that it asks to wait; None where it names none. ``met``: whether it was reached at all.
    """

    def __init__(self, fact: str, next_move: str, after: float | None = None, *, met: bool = True) -> None:
        super().__init__(fact, next_move)
        self.after = after
        self.met = met


class Model(Protocol):
    """Anything that answers requests."""

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        """Answer one request.

        ``ModelFailed`` where the model could not be asked, ``CallBroken`` where no whole reply came, ``CallStopped`` where
        ``stop`` ended it.
        """
        ...


def text_reply(text: str, *, stop_reason: str = "end_turn", **fields: object) -> Reply:
    """A reply that holds one block of text."""
    reply = Reply(content=({"type": "text", "text": text},), stop_reason=stop_reason)
    return replace(reply, **fields)  # type: ignore[arg-type]
