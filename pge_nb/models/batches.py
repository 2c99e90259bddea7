"""Many requests at half the price: a service answers them within a day, in any order (Message Batches).

What is reserved is sent in batches, and the id of each is in the call log before anything waits for it: a restart asks for the
replies, and sends nothing twice. Replies go into the call log, from which whoever asks for one of them is answered.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import LimitReached, ModelFailed, PgeError
from ..payloads import Json
from . import CallBroken, CallStopped, NotNow, Reply, Request, Stop, kernel
from .calllog import Batched, Broken, Refused
from .claude import FRESH, Claude, Extra, blamed, body, extras_of, import_sdk, told, whole_reply
from .failures import UNREADABLE, ErrorEvent, Lost
from .gathered import Gathered, fields
from .limits import BATCH_RATE, Bound
from .recording import Recording, most_of, now

MOST_REQUESTS = 100_000
"""In one batch, by the service's rule."""
MOST_BYTES = 250_000_000
"""Of one batch; the service takes 256 MB. Counted with every character outside ASCII escaped, which is no fewer."""
ROUNDS = 3
"""So often a request is sent whose batch expired, was canceled, or failed for a reason that passes."""


class BatchGone(ModelFailed):
    """A batch whose replies cannot be had any more: it was deleted, or is older than they are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a service is waited for, in seconds: from ``first`` on half as much more each time, up to ``longest``.

    ``failures``: after so many in a row it is given up; the same call goes on from there later.
    """

    first: float = 2.0
    longest: float = 60.0
    failures: int = 10

    def seconds(self, number: int) -> float:
        """The wait before look ``number``, from 0."""
        return min(self.first * 1.5 ** min(number, 64), self.longest)


@dataclass(slots=True)
class Away:
    """What a batch counts for in this process: its requests that are not settled yet, and what the others cost."""

    open: int
    dollars: float = 0.0

    def settled(self) -> float | None:
        """Dollars; None while replies are still to come."""
        return None if self.open else self.dollars


AWAY: dict[tuple[Path, str], Away] = {}
"""By call log and batch: one that was left and is asked for again counts once."""


class Batches:
    """The service's side, through the client of a `Claude`."""

    def __init__(self, claude: Claude, patience: Patience | None = None) -> None:
        self.claude = claude
        self.patience = patience or Patience()
        self.without: dict[str, list[Extra]] = {}  # what a request, by its key, was refused for and goes without

    def create(self, params: Mapping[str, Any], model: Request, stop: Stop | None) -> str:
        """Send a batch (custom id -> arguments of a message); its id. What was not taken for now is sent again after a wait.

        ``CallBroken`` where it is not known whether the service took it. ``model``: a request of it, for what errors say.
        """
        entries: list[Any] = [{"custom_id": name, "params": sent} for name, sent in params.items()]
        client, sdk = self.claude.connected(), import_sdk()

        def ask() -> str:
            try:
                return str(client.messages.batches.create(requests=entries, extra_headers=FRESH).id)
            except sdk.NotFoundError:
                raise ModelFailed("The service takes no batches.", "Leave out batch: one call at a time.") from None

        return self._patiently(ask, model, stop, again=NotNow)

    def wait(self, batch: str, model: Request, stop: Stop | None) -> None:
        """Wait until a batch has ended. ``BatchGone`` where it is not there."""
        client = self.claude.connected()
        looks = 0
        while self._patiently(lambda: self._status(client, batch), model, stop) != "ended":
            waited(self.patience.seconds(looks), stop)
            looks += 1

    def outcomes(self, batch: str, model: Request, stop: Stop | None) -> Iterator[tuple[str, Mapping[str, Json]]]:
        """Custom id and outcome of each request of a batch that has ended. Where the line drops, all is given once more."""
        client = self.claude.connected()
        failures = 0
        while True:
            try:
                yield from self._lines(client, batch)
            except Exception as error:
                failed = self.claude.explained(error, model)
                failures += 1
                if not passes(failed) or failures >= self.patience.failures:
                    raise failed from None
                waited(pause_of(failed, self.patience.seconds(failures)), stop)
            else:
                return

    def outcome(self, told_: Mapping[str, Json], request: Request) -> Reply | ModelFailed:
        """What one request came to. ``NotNow``: it was not carried out, and may be sent again."""
        kind = told_.get("type")
        if kind == "succeeded":
            message = fields(told_.get("message"))
            if not isinstance(message.get("content"), list):
                return self.claude.explained(Lost(UNREADABLE, passing=False), request)
            got = Gathered()
            got.take_message(message)
            return whole_reply(got, request)
        if kind == "errored":
            error = fields(told_.get("error"))
            inner = fields(error.get("error")) or error
            return self.claude.explained(ErrorEvent(str(inner.get("type", "")), str(inner.get("message", ""))), request)
        if kind in ("expired", "canceled"):
            return NotNow(f"A batch was {kind} before its turn came to this request.", "Ask again.")
        return self.claude.explained(Lost(UNREADABLE, passing=False), request)

    @staticmethod
    def _status(client: Any, batch: str) -> str:
        try:
            return str(client.messages.batches.retrieve(batch, extra_headers=FRESH).processing_status)
        except import_sdk().NotFoundError:
            raise gone(batch) from None

    @staticmethod
    def _lines(client: Any, batch: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
        import httpx2

        sdk = import_sdk()
        try:
            lines = client.messages.batches.results(batch, extra_headers=FRESH)
        except (sdk.NotFoundError, sdk.PermissionDeniedError):
            raise gone(batch) from None
        except sdk.APIError:
            raise
        except sdk.AnthropicError:  # The SDK's word for a batch without an address of its replies.
            raise gone(batch) from None
        try:
            for line in lines_of(lines.http_response.iter_bytes()):
                one = told(line)
                yield str(one.get("custom_id", "")), fields(one.get("result"))
        except (httpx2.HTTPError, httpx2.StreamError, ValueError, RecursionError):
            raise Lost("closed the connection in the middle of its answer") from None
        finally:
            lines.close()

    def _patiently(
        self, ask: Callable[[], str], model: Request, stop: Stop | None, again: type[ModelFailed] | None = None
    ) -> str:
        """What ``ask`` gives, asked again while what keeps it passes; with ``again`` only after failures of that kind."""
        failures = 0
        while True:
            kernel.go_on(stop)
            try:
                return ask()
            except Exception as error:
                failed = self.claude.explained(error, model)
                failures += 1
                may = isinstance(failed, again) if again else passes(failed)
                if not may or failures >= self.patience.failures:
                    raise failed from None
                waited(pause_of(failed, self.patience.seconds(failures)), stop)


class BatchRecording(Recording):
    """A recording that also asks for many replies at a time."""

    def reply_many(
        self,
        requests: Iterable[Request],
        batches: Batches,
        *,
        stop: Stop | None = None,
        told: Callable[[int, int], None] | None = None,
    ) -> Mapping[str, PgeError]:
        """Have the replies that are not in the log yet put there; why there is none to a request, by its key.

        ``told`` is given how many are there, and of how many. A limit leaves the rest unsent. ``CallStopped``, an interruption
        or a service that is away for long ends it; the same call then asks for what was sent, and sends the rest.
        """
        asked = {request.key: request for request in requests}
        failed: dict[str, PgeError] = {}
        for _ in range(ROUNDS):
            missing = {key: one for key, one in asked.items() if not self.has(one) and not final(failed.get(key))}
            if not missing:
                break
            failed.update(self._send(missing, batches, stop))
            for batch, numbers in self._awaited(missing).items():
                failed.update(self._collect(batch, numbers, missing, batches, stop))
                if told is not None:
                    told(sum(map(self.has, asked.values())), len(asked))
        return {key: why for key, why in failed.items() if not self.has(asked[key])}

    def has(self, request: Request) -> bool:
        """Whether the reply has come already."""
        with self._lock:
            return request.key in self._ledger.settled or self._met(request) is not None

    def _awaited(self, missing: Mapping[str, Request]) -> dict[str, dict[int, str]]:
        """Batches that carry some of the requests: the numbers of these calls, and their keys."""
        found: dict[str, dict[int, str]] = {}
        with self._lock:
            self._read_on()
            for number, batch in self._ledger.batched.items():
                if (key := self._ledger.open[number].key) in missing:
                    found.setdefault(batch, {})[number] = key
        return found

    def _send(self, missing: Mapping[str, Request], batches: Batches, stop: Stop | None) -> dict[str, PgeError]:
        """Send what no batch carries yet; why something was not sent, by key."""
        carried = {key for numbers in self._awaited(missing).values() for key in numbers.values()}
        failed: dict[str, PgeError] = {}
        for chunk in chunks({key: one for key, one in missing.items() if key not in carried}, batches.without):
            if failed and any(isinstance(why, LimitReached) for why in failed.values()):
                failed.update(dict.fromkeys(chunk, next(iter(failed.values()))))
                continue
            failed.update(self._send_one(chunk, missing, batches, stop))
        return failed

    def _send_one(
        self, chunk: Mapping[str, Any], requests: Mapping[str, Request], batches: Batches, stop: Stop | None
    ) -> dict[str, PgeError]:
        numbers, limit = self._reserve_all([requests[key] for key in chunk])
        failed: dict[str, PgeError] = dict.fromkeys(chunk.keys() - numbers.keys(), limit) if limit else {}
        if not numbers:
            return failed
        one = requests[next(iter(numbers))]
        try:
            batch = batches.create({custom_id(key): chunk[key] for key in numbers}, one, stop)
        except CallBroken as error:
            if isinstance(error, CallStopped):
                self._refuse_all(numbers, requests, error)
                raise
            for key, number in numbers.items():
                self._append(self._half_broken(number, requests[key], error))
            # Sent again at once it might be paid twice: the next call does so, if somebody wants it.
            return {**failed, **dict.fromkeys(numbers, CallBroken(error.fact, error.next_move))}
        except ModelFailed as error:
            self._refuse_all(numbers, requests, error)
            if isinstance(error, NotNow):
                raise
            return {**failed, **dict.fromkeys(numbers, error)}
        self._append(Batched(id=batch, calls=tuple(numbers.values()), at=now()))
        away = AWAY[self._place(batch)] = Away(open=len(numbers))
        bound = sum(half(requests[key], self).dollars or 0.0 for key in numbers)
        kernel.HERE.lend(bound, away.settled)
        return failed

    def _reserve_all(self, requests: Iterable[Request]) -> tuple[dict[str, int], LimitReached | None]:
        """The numbers of the calls that the limits leave room for, by key, and the limit that the next one meets."""
        numbers: dict[str, int] = {}
        dollars = 0.0
        for request in requests:
            bound = half(request, self)
            dollars += bound.dollars or 0.0
            try:
                kernel.HERE.check_room(dollars, self.limits)
                numbers[request.key] = self._reserve_now(request, bound)
            except LimitReached as error:
                return numbers, error
        return numbers, None

    def _collect(
        self,
        batch: str,
        numbers: Mapping[int, str],
        requests: Mapping[str, Request],
        batches: Batches,
        stop: Stop | None,
    ) -> dict[str, PgeError]:
        """Wait for a batch and keep what it came to; why there is no reply, by key."""
        left = {custom_id(key): (number, requests[key]) for number, key in numbers.items()}
        one = next(iter(left.values()))[1]
        away = AWAY.get(self._place(batch), Away(open=0))
        failed: dict[str, PgeError] = {}
        missed: ModelFailed = CallBroken(
            "A batch has ended and says nothing of this request.", "Ask again.", passing=True
        )
        try:
            batches.wait(batch, one, stop)
            for name, told_ in batches.outcomes(batch, one, stop):
                if name not in left:
                    continue  # Given twice where the line had dropped, or no call of this round.
                number, request = left.pop(name)
                outcome = batches.outcome(told_, request)
                self._keep_outcome(number, request, outcome, away)
                if isinstance(outcome, ModelFailed):
                    failed[request.key] = self._again_without(request, outcome, batches.without)
        except BatchGone as error:
            missed = CallBroken(error.fact, error.next_move)
        for number, request in left.values():
            failed[request.key] = missed
            self._keep_outcome(number, request, missed, away)
        return failed

    def _keep_outcome(self, number: int, request: Request, outcome: Reply | ModelFailed, away: Away) -> None:
        """The line of one outcome. Where another process has collected it, it is there already."""
        with self._lock, self._log.exclusive():
            self._read_on()
            if number not in self._ledger.batched:
                return
            away.open = max(0, away.open - 1)
            if isinstance(outcome, Reply):
                away.dollars += self._settle(number, request, outcome, rate=BATCH_RATE).dollars or 0.0
            elif isinstance(outcome, CallBroken):
                broken = self._half_broken(number, request, outcome)
                away.dollars += broken.dollars or 0.0
                self._append(broken)
            else:
                self._append(self._refusal(number, request, outcome))

    @staticmethod
    def _again_without(request: Request, why: ModelFailed, without: dict[str, list[Extra]]) -> PgeError:
        """A refusal that names what a request can do without is one that passes: it is sent again without that."""
        had = [extra for extra in extras_of(request) if extra not in without.get(request.key, [])]
        refused = blamed(why.fact, had) if not isinstance(why, CallBroken | NotNow) else []
        if not refused or refused == had:
            return why
        without[request.key] = [*without.get(request.key, []), *refused]
        return NotNow(why.fact, why.next_move)

    def _refuse_all(self, numbers: Mapping[str, int], requests: Mapping[str, Request], why: ModelFailed) -> None:
        for key, number in numbers.items():
            self._append(self._refusal(number, requests[key], why))

    def _refusal(self, number: int, request: Request, why: ModelFailed) -> Refused:
        return Refused(n=number, key=request.key, why=self.redact.sentence(why.fact), at=now())

    def _half_broken(self, number: int, request: Request, error: CallBroken) -> Broken:
        dollars = most_of(request, error.usage, self.prices).dollars
        whole = self._broken(number, request, error)
        return replace(whole, dollars=None if dollars is None else dollars * BATCH_RATE)


def half(request: Request, recording: Recording) -> Bound:
    """The bound of a request in a batch."""
    bound = Bound.of(request, recording.prices)
    return replace(bound, dollars=None if bound.dollars is None else bound.dollars * BATCH_RATE)


def chunks(requests: Mapping[str, Request], without: Mapping[str, list[Extra]]) -> Iterator[dict[str, Any]]:
    """The arguments of the requests, by key, in batches that the service takes."""
    chunk: dict[str, Any] = {}
    size = 0
    for key, request in requests.items():
        sent = body(request, {extra[0] for extra in extras_of(request) if extra not in without.get(key, [])})
        length = len(json.dumps(sent)) + 200  # its name and the marks around it
        if chunk and (len(chunk) >= MOST_REQUESTS or size + length > MOST_BYTES):
            yield chunk
            chunk, size = {}, 0
        chunk[key] = sent
        size += length
    if chunk:
        yield chunk


def custom_id(key: str) -> str:
    """A call's name in a batch: the same after a restart. The service takes letters, digits, - and _, at most 64."""
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a body that comes in pieces; the last may lack its end. Only a newline ends one: JSON may hold the others."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n") if b"\n" in piece else (rest + piece,)
        yield from (line for line in whole if line.strip())
    if rest.strip():
        yield rest


def final(why: PgeError | None) -> bool:
    """Whether asking again would come to the same, or cost twice."""
    return why is not None and not passes(why)


def passes(failed: PgeError) -> bool:
    """Whether what went wrong passes by itself, so that the same may be asked again."""
    return isinstance(failed, NotNow) or (isinstance(failed, CallBroken) and failed.passing)


def pause_of(failed: ModelFailed, least: float) -> float:
    """The seconds to wait after a failure: what the service asks for, where that is longer."""
    return max(least, failed.after or 0.0) if isinstance(failed, NotNow) else least


def waited(seconds: float, stop: Stop | None) -> None:
    """Wait, and look now and then whether to stop: ``CallStopped``."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        kernel.go_on(stop)
        time.sleep(min(left, kernel.POLL_SECONDS))


def gone(batch: str) -> BatchGone:
    """The replies of a batch cannot be had."""
    return BatchGone(f"The replies of the batch {batch} are gone.", "Ask again; what they cost counts in full.")
