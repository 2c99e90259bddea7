"""Limits under parallel steps: what is reserved and settled by many threads never passes them, and nothing billed is lost."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub, StubReply

from pge_nb.errors import LimitReached, ModelFailed
from pge_nb.models import About, CallStopped, Reply, Request, kernel, text_reply
from pge_nb.models.claude import Claude
from pge_nb.models.kernel import KERNEL_DOLLARS
from pge_nb.models.limits import Bound, Limits, Prices
from pge_nb.models.recording import Recording
from pge_nb.records import Usage

MODEL = "claude-haiku-4-5"
PRICES = Prices.load()
THREADS = 8


def request(number: int, max_tokens: int = 400) -> Request:
    about = About(role="generator", phase="generate", step=number, attempt=1, round=1)
    message = {"role": "user", "content": f"question {number}"}
    return Request(model=MODEL, system="", messages=(message,), about=about, max_tokens=max_tokens)


def script(asked: dict[str, Any]) -> StubReply:
    """Replies of unlike lengths after unlike times; one in seven is refused, one in eleven breaks off."""
    number = int(re.findall(r"question (\d+)", str(asked))[-1])
    if number % 7 == 3:
        return StubReply(status=400, error="invalid_request_error", message="no")
    usage = {"input_tokens": 20, "output_tokens": 1 + number * 37 % 400}
    return StubReply("done", usage=usage, delay=number % 5 / 200, cut_after_events=2 if number % 11 == 5 else None)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesStub]:
    with MessagesStub(script) as opened:
        for name, value in opened.environ.items():
            monkeypatch.setenv(name, value)
        yield opened


class Pile:
    """Requests that threads take from, until a limit ends each of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0
        self.reached: list[LimitReached] = []

    def take(self) -> int:
        with self._lock:
            self._next += 1
            return self._next

    def work(self, log: Recording) -> None:
        while self.take() and not self.reached:
            try:
                log.reply(request(self.take()))
            except LimitReached as error:
                self.reached.append(error)
            except ModelFailed:
                continue

    def all_work(self, logs: list[Recording]) -> None:
        threads = [threading.Thread(target=self.work, args=(log,)) for log in logs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    "limits",
    [Limits(max_dollars=0.05), Limits(max_tokens_total=20_000), Limits(max_calls=60)],
    ids=["dollars", "tokens", "calls"],
)
def test_no_limit_is_passed_however_many_threads_ask(stub: MessagesStub, tmp_path: Path, limits: Limits) -> None:
    log = Recording(tmp_path / "calls.jsonl", Claude(), limits=limits)
    pile = Pile()
    pile.all_work([log] * THREADS)
    assert pile.reached
    spent, tally = log.spent(), stub.tally
    rates = PRICES.of(MODEL)
    assert rates is not None
    billed = (tally.input_tokens * rates.input + tally.output_tokens * rates.output) / 1e6
    most = Bound.of(request(1), PRICES)
    assert spent.calls + spent.unfinished <= (limits.max_calls or 10**9)
    assert tally.billed <= spent.calls + spent.unfinished, "each reply that was billed is counted"
    assert tally.tokens <= spent.tokens <= (limits.max_tokens_total or 10**9)
    assert billed <= spent.dollars + 1e-9
    assert spent.dollars <= (limits.max_dollars or 10**9)
    # And they are used up: less was left than one call could use.
    near = [
        limits.max_calls is not None and spent.calls + spent.unfinished == limits.max_calls,
        limits.max_tokens_total is not None and spent.tokens + most.tokens + 10 > limits.max_tokens_total,
        limits.max_dollars is not None and spent.dollars + (most.dollars or 0) * 1.01 > limits.max_dollars,
    ]
    assert any(near), spent
    again = Recording(tmp_path / "calls.jsonl", Claude(), limits=limits)
    assert again.spent() == spent, "another kernel counts the same"


def test_the_limit_of_a_kernel_holds_over_the_runs_of_many_threads(
    stub: MessagesStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "KERNEL_DOLLARS", 0.05)
    logs = [Recording(tmp_path / f"calls{number}.jsonl", Claude()) for number in range(THREADS)]
    pile = Pile()
    pile.all_work(logs)
    most = Bound.of(request(1), PRICES).dollars or 0.0
    assert 0.05 - most * 1.01 < kernel.HERE.dollars <= 0.05 < KERNEL_DOLLARS
    assert kernel.HERE.dollars == pytest.approx(sum(log.spent().dollars for log in logs))
    assert all("of one kernel may cost" in error.fact for error in pile.reached)


class Slow:
    """A model whose calls last until they are let go."""

    def __init__(self) -> None:
        self.go, self.begun = threading.Event(), threading.Semaphore(0)

    def reply(self, request: Request, **_: Any) -> Reply:
        self.begun.release()
        assert self.go.wait(20)
        return text_reply("done", usage=Usage(input_tokens=10, output_tokens=1))


def test_a_call_that_only_what_is_reserved_stands_against_waits_for_those_under_way(tmp_path: Path) -> None:
    model, most = Slow(), Bound.of(request(1), PRICES)
    log = Recording(tmp_path / "calls.jsonl", model, limits=Limits(max_tokens_total=int(1.5 * most.tokens)))
    threads = [threading.Thread(target=log.reply, args=(request(number),)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    assert model.begun.acquire(timeout=10)
    time.sleep(0.2)
    assert log.spent().unfinished == 1, "the other one waits"
    model.go.set()
    for thread in threads:
        thread.join(10)
    assert log.spent().calls == 2


def test_such_a_wait_ends_when_the_run_is_stopped(tmp_path: Path) -> None:
    model, most = Slow(), Bound.of(request(1), PRICES)
    log = Recording(tmp_path / "calls.jsonl", model, limits=Limits(max_tokens_total=int(1.5 * most.tokens)))
    first = threading.Thread(target=log.reply, args=(request(1),))
    first.start()
    assert model.begun.acquire(timeout=10)
    began = time.monotonic()
    with pytest.raises(CallStopped):
        log.reply(request(2), stop=lambda: time.monotonic() - began > 0.2)
    assert time.monotonic() - began < 2
    model.go.set()
    first.join(10)
