"""A service that does not answer now: the run pauses, waits where that is short, and goes on the same."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell
from sample_runs import opening, sections
from scripted import MODEL, PROMPT, Request, honest, role_of, scripted
from side_by_side import MODEL as PLAYED
from side_by_side import Player

from pge_nb import pauses
from pge_nb import records as r
from pge_nb.config import HarnessConfig
from pge_nb.errors import ModelFailed
from pge_nb.harness import PGEHarness
from pge_nb.models import CallBroken, NotNow
from pge_nb.models import Request as ModelRequest
from pge_nb.models.recording import Recording
from pge_nb.pauses import LONGEST_PAUSE, LONGEST_WAIT, clock, pause_after, pauses_in_a_row
from pge_nb.records import Interruption, Receipt, Record
from pge_nb.run import Run, same
from pge_nb.state import open_run
from pge_nb.views import run_view

ROOT = Path(__file__).parents[1]
TRIES = 3
"""How often the SDK asks by itself before it gives up."""
SOON = {"retry-after": "0.05"}


def refused(status: int, kind: str = "", **fields: Any) -> StubReply:
    return StubReply(status=status, error=kind, message="not now", **fields)


class Faltering:
    """The honest run, but for the first ``times`` requests to the generator, which are answered with ``reply``."""

    def __init__(self, reply: StubReply | Callable[[], StubReply], times: int = TRIES, role: str = "generate") -> None:
        self.reply, self.left, self.role = reply, times, role

    def __call__(self, request: Request) -> StubReply | str:
        if role_of(request) == self.role and self.left:
            self.left -= 1
            return self.reply if isinstance(self.reply, StubReply) else self.reply()
        return honest(request)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    @contextmanager
    def at_stub(script: Any) -> Iterator[MessagesStub]:
        with MessagesStub(script) as stub:
            for name, value in stub.environ.items():
                monkeypatch.setenv(name, value)
            yield stub

    return at_stub


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda *seconds: monkeypatch.setattr(pauses, "WAITS", seconds)


def config(tmp_path: Path, **settings: Any) -> HarnessConfig:
    return HarnessConfig(**{"model": MODEL, "shared_state_path": tmp_path / "shared_state.md", **settings})


def unbroken(tmp_path: Path, at: Any) -> Run:
    with at(scripted()):
        (tmp_path / "unbroken").mkdir()
        return PGEHarness(config(tmp_path / "unbroken")).run(PROMPT).run


def paused(run: Run) -> list[Interruption]:
    found = [section.payload for section in run.of("interruption")]
    return [one for one in found if isinstance(one, Interruption) and one.until]


# What passes by itself


@pytest.mark.parametrize(
    ("reply", "times"),
    [
        (refused(429, "rate_limit_error", headers=SOON), TRIES),
        (refused(529, "overloaded_error", headers=SOON), TRIES),
        (refused(500, "api_error", headers=SOON), TRIES),
        (refused(503, headers=SOON), TRIES),
        (StubReply("a long reply " * 20, cut_after_events=5), 1),
        (StubReply("a long reply " * 20, cut_after_bytes=10), 1),
    ],
    ids=["429", "529", "500", "503", "cut", "cut early"],
)
def test_a_short_pause_is_recorded_waited_for_and_the_run_is_the_same(
    reply: StubReply, times: int, tmp_path: Path, at: Any, waits: Any
) -> None:
    waits(0.1)
    with at(Faltering(reply, times)):
        told = list(sections_of(config(tmp_path)))
    run = open_run(tmp_path / "shared_state.md")
    assert run.outcome == "passed"
    [pause] = paused(run)
    assert pause.phase == "generate 1.1"
    assert pause.reason in [
        getattr(section.payload, "reason", None) for section in told
    ]  # whoever watches is told of it
    assert same(run, unbroken(tmp_path, at))


def sections_of(settings: HarnessConfig) -> Iterator[r.Section]:
    harness = PGEHarness(settings)
    harness.start(PROMPT)
    yield from harness.records()


def test_a_reply_that_was_lost_counts_in_full_and_is_asked_for_again(tmp_path: Path, at: Any, waits: Any) -> None:
    waits(0.05)
    with at(Faltering(StubReply("x" * 400, cut_after_events=4, usage={"input_tokens": 70}), 1)) as stub:
        PGEHarness(config(tmp_path)).run(PROMPT)
    run = open_run(tmp_path / "shared_state.md")
    last = run.sections[-1].payload
    assert isinstance(last, Receipt)
    assert last.unfinished == 1
    assert last.tokens >= stub.tally.tokens


def test_a_long_pause_is_not_waited_for_and_tells_until_when(tmp_path: Path, at: Any, shell: Shell, waits: Any) -> None:
    waits(0.05)
    with at(Faltering(refused(429, "rate_limit_error", headers={"retry-after": "3600"}), 1)):
        began = time.monotonic()
        failed = shell.cell(f"%%pge run --model {MODEL}\n{PROMPT}")
        assert time.monotonic() - began < 30
        assert isinstance(failed.error, ModelFailed)
        run = open_run(tmp_path / "shared_state.md")
        [pause] = paused(run)
        until = datetime.fromisoformat(pause.until)
        assert timedelta(minutes=58) < until - datetime.now(UTC) < timedelta(minutes=61)
        assert f"Paused until {clock(pause.until, run.sections[-1].at)}: %pge resume goes on" in failed.text
        shown = shell.cell("%pge").view
        assert shown.mark == run.outcome == "paused"
        assert f"Paused until {clock(pause.until, run.sections[-1].at)}, in generate 1.1" in shown.plain()
        assert shown.next == "%pge resume"
        assert shell.cell("%pge resume").view.mark == "passed"
    assert same(open_run(tmp_path / "shared_state.md"), unbroken(tmp_path, at))


def test_after_so_many_pauses_in_a_row_the_run_is_left_and_resumed_as_it_was(
    tmp_path: Path, at: Any, waits: Any
) -> None:
    waits(0.05, 0.05)
    with at(Faltering(refused(529, "overloaded_error", headers=SOON), 3 * TRIES)) as stub:
        with pytest.raises(NotNow, match="overloaded") as caught:
            PGEHarness(config(tmp_path)).run(PROMPT)
        run = open_run(tmp_path / "shared_state.md")
        assert len(paused(run)) == 3
        assert run.outcome == "paused"
        assert "%pge resume" in caught.value.next_move
        assert PGEHarness(config(tmp_path)).resume().outcome == "passed"
    assert stub.tally.errors == 3 * TRIES


def test_a_service_that_was_never_reached_is_not_waited_for(tmp_path: Path, at: Any, waits: Any) -> None:
    waits(60.0)
    with at(scripted()):
        pass  # it is closed again
    began = time.monotonic()
    with pytest.raises(NotNow, match="cannot be reached"):
        PGEHarness(config(tmp_path)).run(PROMPT)
    assert time.monotonic() - began < 20
    run = open_run(tmp_path / "shared_state.md")
    assert (run.outcome, paused(run)) == ("stopped", [])


def test_one_that_is_gone_in_the_middle_of_a_run_is_waited_for(tmp_path: Path, at: Any, waits: Any) -> None:
    waits(0.1, 0.1, 0.1)
    stub = MessagesStub(scripted())
    port = int(stub.url.rpartition(":")[2])

    def gone(request: Request) -> Any:
        stub._server.socket.close()  # nobody listens any more; this reply is still sent
        return None

    stub.close = lambda: None  # type: ignore[method-assign]
    stub._script = scripted(propose=gone)
    stub.start()
    again: list[MessagesStub] = []
    with at(scripted()) as held:
        os.environ["ANTHROPIC_BASE_URL"] = stub.url
        harness = PGEHarness(config(tmp_path))
        harness.start(PROMPT)
        for section in harness.records():
            if section.record.kind == "interruption" and not again:
                again.append(MessagesStub(scripted(), port=port).start())
    run = open_run(tmp_path / "shared_state.md")
    assert held.tally.requests == 0
    assert run.outcome == "passed"
    # A call that was taken just before the door shut is broken off or gets no answer; every later one finds nobody.
    told = re.compile("cannot be reached|broke off|without an answer")
    assert [one.reason for one in paused(run) if not told.search(one.reason)] == []
    assert paused(run)
    again[0].close()


def test_of_steps_side_by_side_one_that_gets_no_answer_pauses_the_run_and_nobody_is_asked_twice(
    tmp_path: Path, waits: Any
) -> None:
    waits(0.05, 0.05, 0.05)
    refusals = {2: 2, 3: 1}

    def before(request: ModelRequest) -> None:
        step = request.about.step or 0
        if request.about.phase == "generate" and refusals.get(step, 0):
            refusals[step] -= 1
            raise NotNow(f"busy for {step}", "wait", 0.05)

    needs = {1: (), 2: (1,), 3: (1,), 4: (2, 3)}
    model = Player(needs, seconds=0.03, before=before)
    settings = {"model": PLAYED, "max_parallel": 3, "trace": str(tmp_path / "trace.jsonl")}
    run = PGEHarness(config(tmp_path, **settings), model=model).run("Make some files.").run
    assert {step.number: run.state(step.number) for step in run.steps} == dict.fromkeys(needs, "accepted")
    assert 2 <= len(paused(run)) <= 3
    answered = [request.key for request in model.asked]
    assert len(answered) == len(set(answered)) + 3  # asked again was what had been refused, and nothing else
    (tmp_path / "other").mkdir()
    other = PGEHarness(config(tmp_path / "other", **settings | {"trace": None}), model=Player(needs))
    assert same(run, other.run("Make some files.").run)


# What does not


@pytest.mark.parametrize(
    ("reply", "move"),
    [
        (refused(400, "invalid_request_error"), "Change what it names"),
        (refused(401, "authentication_error"), "%pge key"),
        (refused(402, "billing_error"), "Add credit"),
        (refused(403, "permission_error"), "%pge model"),
        (refused(404, "not_found_error"), "%pge model"),
        (refused(413, "request_too_large"), "Shorten"),
        (StubReply(raw=b"null"), "ANTHROPIC_BASE_URL"),
        (StubReply(raw=b"[]"), "ANTHROPIC_BASE_URL"),
        (StubReply(raw=b"<html>", headers={"content-type": "text/html"}), "ANTHROPIC_BASE_URL"),
    ],
    ids=["400", "401", "402", "403", "404", "413", "null", "list", "html"],
)
def test_what_waiting_does_not_mend_stops_the_run_at_once(
    reply: StubReply, move: str, tmp_path: Path, at: Any, waits: Any
) -> None:
    waits(60.0)
    began = time.monotonic()
    with at(Faltering(reply, 10_000)) as stub, pytest.raises(ModelFailed) as caught:
        PGEHarness(config(tmp_path)).run(PROMPT)
    assert move in caught.value.next_move
    assert time.monotonic() - began < 20
    asked = [request for request in stub.requests if role_of(request) == "generate"]
    assert len(asked) <= 2  # once more without what a server may not take
    run = open_run(tmp_path / "shared_state.md")
    assert (run.outcome, paused(run)) == ("stopped", [])
    last = run.sections[-1].payload
    assert isinstance(last, Interruption)
    assert last.reason == caught.value.fact


# An end of the wait


def test_who_may_stop_a_run_may_stop_its_wait(tmp_path: Path, at: Any, waits: Any) -> None:
    waits(60.0)
    with at(Faltering(refused(429, "rate_limit_error"), 100)):
        harness = PGEHarness(config(tmp_path), stop=lambda: bool(paused(harness.state.read())))
        harness.start(PROMPT)
        began = time.monotonic()
        assert harness.resume().outcome == "stopped"
    assert time.monotonic() - began < 20
    last = open_run(tmp_path / "shared_state.md").sections[-1].payload
    assert isinstance(last, Receipt)
    assert "stopped" in last.outcome


@pytest.mark.skipif(sys.platform == "win32", reason="a console of its own is needed there")
def test_ctrl_c_ends_the_wait_within_two_seconds_and_the_file_is_whole(tmp_path: Path) -> None:
    with MessagesStub(Faltering(refused(529, "overloaded_error"), TRIES)) as stub:
        environment = {**os.environ, **stub.environ, "PYTHONPATH": str(ROOT)}
        PGEHarness(config(tmp_path)).start(PROMPT)
        line = [sys.executable, "-m", "pge_nb", "resume"]
        child = subprocess.Popen(line, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        state = tmp_path / "shared_state.md"
        end = time.monotonic() + 60
        while not paused(open_run(state)):
            assert time.monotonic() < end, child.communicate(timeout=1)
            time.sleep(0.05)
        time.sleep(0.3)  # it waits by now, 15 seconds
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout is not None
        told = [next(child.stdout)]
        while b"Interrupted" not in told[-1]:
            told.append(next(child.stdout))
        assert time.monotonic() - began < 2
        child.communicate(timeout=30)
        assert child.returncode == 130
        assert b"paused until" in b"".join(told)  # as it happened
        assert open_run(state).outcome in {"paused", "stopped"}
        again = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=60)
        assert again.returncode == 0, again.stdout
    assert open_run(state).outcome == "passed"


# How long


def now(seconds: float = 0.0) -> str:
    return f"{datetime.now(UTC) + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


def after(*until: str, more: tuple[Record, ...] = ()) -> Run:
    pauses = [Record(payload=Interruption(reason="busy", phase="plan", until=one), by="harness") for one in until]
    return Run(sections([*opening()[:1], *pauses, *more]))


def test_pauses_grow_and_end(waits: Any) -> None:
    waits(1.0, 5.0)
    found = [pause_after(NotNow("busy", "wait"), after(*[now()] * count), answered=True) for count in range(3)]
    assert [(one.seconds, one.waited) for one in found if one] == [(1.0, True), (5.0, True), (LONGEST_WAIT, False)]


@pytest.mark.parametrize(
    ("asked", "before", "seconds", "waited"),
    [
        (0.0, 0, 0.0, True),
        (0.5, 0, 0.5, True),  # its word is taken at first,
        (0.5, 1, 5.0, True),  # and no more when it was wrong
        (20.0, 1, 20.0, True),
        (LONGEST_WAIT, 0, LONGEST_WAIT, True),
        (LONGEST_WAIT + 1, 0, LONGEST_WAIT + 1, False),
        (1e300, 0, LONGEST_PAUSE, False),
    ],
)
def test_a_service_that_names_a_time_is_given_it_within_reason(
    asked: float, before: int, seconds: float, waited: bool, waits: Any
) -> None:
    waits(1.0, 5.0)
    pause = pause_after(NotNow("busy", "wait", asked), after(*[now()] * before), answered=False)
    assert pause is not None
    assert (pause.seconds, pause.waited) == (seconds, waited)
    datetime.fromisoformat(pause.until())


def test_only_what_may_pass_is_paused_for(waits: Any) -> None:
    waits(1.0)
    run = after()
    assert pause_after(ModelFailed("no", "never"), run, answered=True) is None
    assert pause_after(KeyboardInterrupt(), run, answered=True) is None
    assert pause_after(CallBroken("nonsense", "never"), run, answered=True) is None
    assert pause_after(CallBroken("lost", "again", passing=True), run, answered=False) is not None
    assert pause_after(NotNow("gone", "again", met=False), run, answered=False) is None
    assert pause_after(NotNow("gone", "again", met=False), run, answered=True) is not None


def test_pauses_are_in_a_row_until_something_is_done_or_time_has_passed() -> None:
    assert pauses_in_a_row(after(now(), now())) == 2
    assert pauses_in_a_row(after(now(), now(), more=(Record(payload=r.Note(text="x"), by="harness"),))) == 2
    assert pauses_in_a_row(after(now(), now(), more=tuple(opening()[1:]))) == 0
    assert pauses_in_a_row(after(now(-LONGEST_WAIT - 60), now())) == 1
    assert pauses_in_a_row(after("not a time", now())) == 1


def test_a_time_is_told_with_its_date_where_that_is_another() -> None:
    assert clock("2026-12-01T14:05:30Z", "2026-12-01T10:00:00Z") == "14:05 UTC"
    assert clock("2026-12-02T00:05:30Z", "2026-12-01T23:59:00Z") == "2026-12-02 00:05 UTC"
    assert clock("2026-12-01T16:05:30+02:00", "2026-12-01T10:00:00Z") == "14:05 UTC"
    assert clock("soon", "2026-12-01T10:00:00Z") == "soon"


def test_a_pause_is_told_in_the_file_and_in_the_view() -> None:
    run = after("2026-11-30T14:05:30Z")
    assert run.outcome == "paused"
    assert "Paused until 14:05 UTC, in plan: busy" in run_view(run).plain()
    assert run_view(run).next == "%pge resume"
    assert re.search("Paused until 2026", "\n".join(prose_of(run)))


def prose_of(run: Run) -> list[str]:
    from pge_nb.prose import for_people

    return for_people(run.sections[-1].record)


def test_only_calls_that_came_through_make_a_service_known(tmp_path: Path) -> None:
    assert Recording(tmp_path / "calls.jsonl", None).calls() == ()  # type: ignore[arg-type]
