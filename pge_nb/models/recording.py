"""Everything that came from outside, written down once and answered from there ever after.

`Recording` stands around a live model (or the practice model, or a `Replay`) and keeps one run's `.pge/calls.jsonl`;
`Replay` answers from such a file alone. What a call or a look is called by does not depend on the directory it was made in,
so a file replays anywhere.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from .. import tracing
from ..errors import BadInput, LimitReached, ModelFailed
from ..payloads import Json, all_mended, compact
from ..records import Call, Usage
from ..redaction import Redactor
from . import About, CallBroken, Listen, Model, Reply, Request, Stop, kernel
from .calllog import FORMAT, Broken, CallLog, Line, Observed, Opening, Refused, Reserved, Settled, plain
from .ledger import NOT_COUNTED, Ledger, Unfinished, from_log
from .limits import Bound, Limits, Prices, Spent
from .replay import Replay
from .traced import asked_fields, reply_fields

BYTES_A_TOKEN = 16
"""More than the tokens of a reply have on average, written as JSON."""
LINES = 4_096
"""Bytes for what stands in the lines of a call beside the request and the reply."""

UNWRITTEN: dict[tuple[Path, str], Settled] = {}
"""Replies that came and could not be written, by file and key: as long as the process lives they are not asked for again."""


class Recording:
    """Wraps a model so that each call is reserved, settled and kept in the file at ``path``, and made only once.

    A known key is answered from the file: ``source`` is then "recording" ("practice" stays "practice"), ``id`` the key and
    ``dollars`` what the call cost when it was made. ``header`` goes into the first line of a new file. Limits bind what
    the file holds, over all kernels that wrote to it; replies of a `Replay` cost nothing now and are not counted.
    """

    def __init__(
        self,
        path: Path,
        model: Model,
        *,
        limits: Limits | None = None,
        prices: Prices | None = None,
        redact: Redactor | None = None,
        header: Mapping[str, Json] | None = None,
    ) -> None:
        self.model = model
        self.limits = limits or Limits()
        self.prices = prices or Prices.load()
        self.redact = redact or Redactor()
        self._header = header or {}
        self._log = CallLog(Path(path))
        self._ledger = Ledger()
        self._lock = threading.RLock()
        self._under_way = 0
        self._landed = threading.Condition(self._lock)
        self._read_on()

    # Calls

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        """The logged reply where there is one, else the model's, settled before it is handed on.

        ``LimitReached`` before a call that could pass a limit, whatever the calls come to that are under way in other threads:
        they are waited for first.
        """
        with tracing.span(f"chat {request.model}", asked_fields(request)) as told:
            with self._lock:
                replayed = request.key in self._ledger.settled
            reply = self._met(request) or self._made(request, listen=listen, stop=stop)
            told.tell(reply_fields(reply, replayed=replayed))
            return reply

    def _met(self, request: Request) -> Reply | None:
        """The reply that came earlier; one that could not be written then is written now."""
        with self._lock:
            if request.key in self._ledger.settled:
                return from_log(self._settled(request.key))
            if (line := UNWRITTEN.get(self._place(request.key))) is not None:
                self._keep(line)
                return replace(from_log(line), source=line.source)
        return None

    def _made(self, request: Request, *, listen: Listen | None, stop: Stop | None) -> Reply:
        kernel.go_on(stop)
        if isinstance(self.model, Replay):
            return self._settle(None, request, self.model.reply(request))
        bound = Bound.of(request, self.prices)
        with kernel.HERE.reserving(bound.dollars, self.limits, stop) as held:
            return self._ask(request, bound, held, listen=listen, stop=stop)

    def _ask(
        self, request: Request, bound: Bound, held: kernel.Held, *, listen: Listen | None, stop: Stop | None
    ) -> Reply:
        """Make one call, with a line before it and one after it; ``held`` says what it came to."""
        number = self._reserve(request, bound, stop)
        held.dollars = bound.dollars or 0.0
        try:
            return self._carry_out(number, request, held, listen=listen, stop=stop)
        finally:
            with self._landed:
                self._under_way -= 1
                self._landed.notify_all()

    def _carry_out(
        self, number: int, request: Request, held: kernel.Held, *, listen: Listen | None, stop: Stop | None
    ) -> Reply:
        try:
            reply = self.model.reply(request, listen=listen, stop=stop)
        except CallBroken as error:
            broken = self._broken(number, request, error)
            held.dollars = broken.dollars or 0.0
            self._append(broken)
            raise
        except ModelFailed as error:
            held.dollars = 0.0
            self._append(Refused(n=number, key=request.key, why=self.redact.sentence(error.fact), at=now()))
            raise
        reply = self._settle(number, request, reply)
        held.dollars = 0.0 if reply.source in NOT_COUNTED else reply.dollars or 0.0
        return reply

    def _reserve(self, request: Request, bound: Bound, stop: Stop | None) -> int:
        """The number of the line that reserves a call. A call under way may come to less than is reserved for it."""
        while True:
            with self._landed:
                try:
                    number = self._reserve_now(request, bound)
                except LimitReached:
                    if not self._under_way:
                        raise
                    self._landed.wait(kernel.POLL_SECONDS)
                else:
                    self._under_way += 1
                    return number
            kernel.go_on(stop)

    def _reserve_now(self, request: Request, bound: Bound) -> int:
        with self._lock, self._log.exclusive():
            self._read_on()
            self.limits.check(self._ledger.spent, bound)
            # A reply that is paid must find room.
            self._log.make_sure_of(request.input_bytes + BYTES_A_TOKEN * request.max_tokens + LINES)
            number = self._ledger.last + 1
            self._append(
                Reserved(
                    n=number, key=request.key, model=request.model, tokens=bound.tokens, dollars=bound.dollars, at=now()
                )
            )
        return number

    def _broken(self, number: int, request: Request, error: CallBroken) -> Broken:
        bound = most_of(request, error.usage, self.prices)
        return Broken(
            n=number,
            key=request.key,
            why=self.redact.sentence(error.fact),
            usage=error.usage,
            tokens=bound.tokens,
            dollars=bound.dollars,
            at=now(),
        )

    def _settle(self, number: int | None, request: Request, reply: Reply, *, rate: float = 1.0) -> Reply:
        """Log the reply, without secrets, before anybody parses it. ``rate``: the part of the price that is billed."""
        content = tuple(dict(block) for block in self.redact.json(plain_blocks(reply)))
        cost = self.prices.cost(request.model, reply.usage)
        billed = reply.dollars if reply.source in NOT_COUNTED else None if cost is None else cost * rate
        reply = replace(reply, content=content, id=request.key, dollars=billed)
        with self._lock, self._log.exclusive():
            self._read_on()
            self._keep(
                Settled(
                    n=self._ledger.last + 1 if number is None else number,
                    key=request.key,
                    role=request.about.role,
                    address=request.about.address,
                    sample=request.sample,
                    request=self.redact.json(request.sent()),
                    content=content,
                    stop_reason=reply.stop_reason,
                    usage=reply.usage,
                    dollars=billed,
                    seconds=reply.seconds,
                    source=reply.source,
                    at=now(),
                )
            )
        return reply

    def _keep(self, line: Settled) -> None:
        """Write the line of a reply; one that cannot be written is kept in memory, and written when it is asked for again."""
        UNWRITTEN[self._place(line.key)] = line
        self._append(line)
        del UNWRITTEN[self._place(line.key)]

    def _place(self, key: str) -> tuple[Path, str]:
        return self._log.path.absolute(), key

    def settled(self, key: str) -> Settled:
        """What was sent and what came back in a call; ``BadInput`` where the log does not hold it."""
        with self._lock:
            if key not in self._ledger.settled:
                raise BadInput(
                    f"The call log {self._log.path} does not hold the call {key}.", "Put back a whole copy of it."
                )
            return self._settled(key)

    def _settled(self, key: str) -> Settled:
        line = self._log.at(self._ledger.settled[key])
        assert isinstance(line, Settled)  # noqa: S101 - the index holds nothing else
        return line

    # Observations

    def observe(
        self, about: About, method: str, args: Json, tree_hash: str, look: Callable[[], Json]
    ) -> tuple[Json, bool]:
        """What ``look()`` sees, logged; from the log, and True, where this was seen before.

        The same means: the same address, method and arguments, on a tree of the same hash.
        """
        with tracing.span(f"look {method}", {"pge.method": method}) as told:
            seen, met = self._observe(about, method, args, tree_hash, look)
            told.tell({"pge.replayed": met})
            return seen, met

    def _observe(
        self, about: About, method: str, args: Json, tree_hash: str, look: Callable[[], Json]
    ) -> tuple[Json, bool]:
        key = observation_key(about, method, args, tree_hash)
        with self._lock:
            found = self._ledger.observed.get(key)
        if found is not None:
            line = self._log.at(found)
            assert isinstance(line, Observed)  # noqa: S101 - the index holds nothing else
            return plain(line.seen), True
        met, seen = self.model.seen(key) if isinstance(self.model, Replay) else (False, None)
        seen = self.redact.json(plain(seen if met else look()))
        self._append(
            Observed(
                key=key,
                address=about.address,
                method=method,
                args=self.redact.json(args),
                tree=tree_hash,
                seen=seen,
                at=now(),
            )
        )
        return seen, met

    # What is in the file

    def calls(self) -> tuple[Call, ...]:
        """The settled calls in the order in which they were settled."""
        with self._lock:
            self._read_on()
            return tuple(self._ledger.calls)

    def unfinished(self) -> tuple[Unfinished, ...]:
        """The calls that were reserved and neither settled nor refused."""
        with self._lock:
            self._read_on()
            return tuple(self._ledger.open.values())

    def spent(self) -> Spent:
        """What the calls in the file have used, unfinished ones in full."""
        with self._lock:
            self._read_on()
            return self._ledger.spent

    @property
    def header(self) -> Mapping[str, Json]:
        """The header of the file's first line; of a file that has none yet, the one that it will get."""
        header = self._ledger.header
        return self._header if header is None else {name: plain(item) for name, item in header.items()}

    @property
    def torn(self) -> tuple[Path, ...]:
        """Files to which a torn last line was moved aside."""
        return tuple(self._log.torn)

    def _read_on(self) -> None:
        for span, line in self._log.new_lines():
            self._ledger.add(span, line)

    def _append(self, line: Line) -> None:
        with self._lock, self._log.exclusive():
            self._read_on()
            if self._ledger.header is None:
                self._add(Opening(format=FORMAT, header=self.redact.json(self._header)))
            self._add(line)

    def _add(self, line: Line) -> None:
        self._ledger.add(self._log.append(line), line)


def call_of(request: Request, reply: Reply) -> Call:
    """The citation of a call, for the record that rests on it."""
    return Call(
        id=reply.id or request.key,
        role=request.about.role,
        model=request.model,
        usage=reply.usage,
        dollars=reply.dollars,
        stop_reason=reply.stop_reason,
        seconds=reply.seconds,
        source=reply.source,
    )


def most_of(request: Request, usage: Usage | None, prices: Prices) -> Bound:
    """The most that a broken call can have used: its input as far as it was told, and all the output it was allowed."""
    bound = Bound.of(request, prices)
    if usage is None:
        return bound
    whole = replace(usage, output_tokens=max(usage.output_tokens, request.max_tokens))
    return Bound(tokens=min(bound.tokens, whole.total), dollars=prices.cost(request.model, whole))


def observation_key(about: About, method: str, args: Json, tree_hash: str) -> str:
    """What an observation is called by."""
    digest = hashlib.sha256(compact([method, args, tree_hash]).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{about.address}!{method}:{digest[:16]}"


def plain_blocks(reply: Reply) -> tuple[dict[str, Json], ...]:
    """The blocks of a reply as JSON, without halves of characters: what is made of them could never be sent again."""
    return tuple({str(name): all_mended(plain(item)) for name, item in block.items()} for block in reply.content)


def now() -> str:
    """The time, in UTC, as it is logged."""
    return datetime.now(UTC).isoformat(timespec="seconds")
