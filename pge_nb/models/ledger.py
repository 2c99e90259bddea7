"""What the lines of a call log add up to: the bill, what is unfinished, and where each call and look is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..records import Call, Usage
from . import Reply
from .calllog import Batched, Broken, CallLog, Line, Observed, Opening, Refused, Reserved, Settled, Span, plain
from .limits import Spent

NOT_COUNTED = ("recording",)
"""Where a reply comes from that nobody is billed for, and that no limit binds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A call that was reserved and never settled: under way, broken off, or lost in a crash.

    ``tokens`` and ``dollars`` are the most that it can have used; ``usage`` what was told before it broke.
    """

    key: str
    model: str
    tokens: int
    dollars: float | None
    why: str = "no reply was logged"
    usage: Usage | None = None


class Ledger:
    """What the lines of a call log add up to."""

    def __init__(self) -> None:
        self.header: Mapping[str, object] | None = None
        self.calls: list[Call] = []
        self.open: dict[int, Unfinished] = {}
        self.batched: dict[int, str] = {}
        self.settled: dict[str, Span] = {}
        self.addressed: dict[tuple[str, int], Span] = {}
        self.observed: dict[str, Span] = {}
        self.last = 0
        self._settled = Spent()

    def add(self, span: Span, line: Line) -> None:
        """Take in the next line of the file."""
        if isinstance(line, Opening):
            self.header = line.header if self.header is None else self.header
        elif isinstance(line, Observed):
            self.observed[line.key] = span
        elif isinstance(line, Batched):
            self.batched.update(dict.fromkeys(line.calls, line.id))
        else:
            self.last = max(self.last, line.n)
            self._add_call(span, line)

    def _add_call(self, span: Span, line: Reserved | Settled | Refused | Broken) -> None:
        before = self.open.pop(line.n, None)
        self.batched.pop(line.n, None)
        if isinstance(line, Reserved):
            self.open[line.n] = Unfinished(key=line.key, model=line.model, tokens=line.tokens, dollars=line.dollars)
        elif isinstance(line, Broken):
            model = before.model if before else ""
            self.open[line.n] = Unfinished(
                key=line.key, model=model, tokens=line.tokens, dollars=line.dollars, why=line.why, usage=line.usage
            )
        elif isinstance(line, Settled):
            self.settled[line.key] = span
            self.addressed[line.address, line.sample] = span
            self.calls.append(cited(line))
            if line.source not in NOT_COUNTED:
                self._settled = self._settled.plus(line.usage.total, line.dollars, calls=1)

    @property
    def spent(self) -> Spent:
        """Settled calls as billed, unfinished ones in full."""
        spent = self._settled
        for call in self.open.values():
            spent = spent.plus(call.tokens, call.dollars, unfinished=1)
        return spent


def spent_in(path: Path) -> Spent:
    """What the calls in a call log have used, unfinished ones in full."""
    ledger = Ledger()
    for span, line in CallLog(path).new_lines():
        ledger.add(span, line)
    return ledger.spent


def cited(line: Settled) -> Call:
    """The citation of a settled line; ``source`` is where its reply came from when it was made."""
    return Call(
        id=line.key,
        role=line.role,
        model=str(line.request.get("model", "")),
        usage=line.usage,
        dollars=line.dollars,
        stop_reason=line.stop_reason,
        seconds=line.seconds,
        source=line.source,
    )


def from_log(line: Settled) -> Reply:
    """The reply that a settled line keeps."""
    return Reply(
        content=tuple({name: plain(item) for name, item in block.items()} for block in line.content),
        stop_reason=line.stop_reason,
        usage=line.usage,
        seconds=line.seconds,
        source="practice" if line.source == "practice" else "recording",
        id=line.key,
        dollars=line.dollars,
    )
