"""A detached run goes on without its kernel, holds its lock, is found finished, and is ended whole by ``%pge stop``."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import scripted
from filelock import FileLock
from jupyter_client.manager import start_new_kernel
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell

from pge_nb import detached
from pge_nb.bank import practice_task
from pge_nb.commands.standing import ELSEWHERE, ENDED
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput, LimitReached, StateBusy
from pge_nb.harness import PGEHarness
from pge_nb.models import kernel
from pge_nb.models.ledger import spent_in
from pge_nb.records import Interruption, Record
from pge_nb.run import same
from pge_nb.state import StateFile, at_work, open_run

ROOT = Path(__file__).parents[1]
RUN = f"%%pge run --detach --model {scripted.MODEL}\n{scripted.PROMPT}"
CANARY = "sk-canary-51f0a7c2d9"


def slow(seconds: float) -> Any:
    """The scripted model, thinking so long over each reply."""
    script = scripted.scripted()

    def late(request: scripted.Request) -> StubReply:
        said = script(request)
        return replace(said if isinstance(said, StubReply) else StubReply(said), delay=seconds)

    return late


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesStub]:
    """A slow service, at which the environment points with a canary key."""
    with MessagesStub(slow(0.3)) as opened:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", opened.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
        yield opened


def wait(until: Any, what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, f"{what} did not come about in {seconds} s"
        time.sleep(0.05)


def ended(state: Path) -> bool:
    return state.is_file() and not at_work(state) and open_run(state).outcome not in {"running", "empty"}


def process_of(state: Path) -> int:
    return int((state.parent / ".pge" / "detached.pid").read_text().split()[0])


def no_secret_below(place: Path) -> bool:
    return all(CANARY.encode() not in path.read_bytes() for path in place.rglob("*") if path.is_file())


@pytest.mark.parametrize("now", [True, False], ids=["killed", "shut down"])
def test_a_run_outlives_its_kernel_and_is_found_finished_with_a_key_that_was_typed(
    stub: MessagesStub, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: bool
) -> None:
    place = tmp_path / "away"
    place.mkdir()
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    manager, client = start_new_kernel(cwd=str(place), env={**os.environ, "PYTHONPATH": str(ROOT)})

    def run(code: str) -> float:
        began = time.monotonic()
        reply = client.execute_interactive(
            code, timeout=60, allow_stdin=True, output_hook=lambda _: None, stdin_hook=lambda _: client.input(CANARY)
        )
        assert reply["content"]["status"] == "ok", reply["content"]
        return time.monotonic() - began

    try:
        for code in ("%load_ext pge_nb", "%pge tasks", "%pge key"):
            run(code)
        took = run(RUN)
    finally:
        manager.shutdown_kernel(now=now)
        client.stop_channels()
    assert took < 2, f"the kernel was held for {took:.1f} s"
    state = place / "shared_state.md"
    wait(lambda: ended(state), "the end of the run")
    assert open_run(state).outcome == "passed"
    assert all(CANARY in " ".join(headers.values()) for headers in stub.headers)
    assert no_secret_below(tmp_path)
    calls = len(stub.requests)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    unbroken = PGEHarness(HarnessConfig(model=scripted.MODEL, shared_state_path=tmp_path / "shared_state.md"))
    unbroken.run(scripted.PROMPT)
    assert same(open_run(state), open_run(tmp_path / "shared_state.md"))
    assert len(stub.requests) == 2 * calls, "nothing was asked twice"
    assert shell.cell("%pge away").view.mark == "passed"


def test_it_is_shown_at_work_and_a_second_one_is_refused_and_stop_ends_it_whole(
    stub: MessagesStub, shell: Shell, tmp_path: Path
) -> None:
    state = tmp_path / "shared_state.md"
    view = shell.cell(RUN).view
    assert view.mark == "running"
    assert "Process " in view.plain()
    assert shell.cell("%pge").view.mark.startswith(f"{ELSEWHERE} (pid {process_of(state)}, ")
    for line in ("%pge resume --detach", "%pge resume"):
        again = shell.cell(line)  # it may not even hold the lock yet
        assert isinstance(again.error, StateBusy), line
    wait(lambda: len(stub.requests) > 2, "the third call")
    number = process_of(state)
    command = Path(f"/proc/{number}/cmdline")
    assert not command.exists() or CANARY not in command.read_text()
    view = shell.cell("%pge").view
    assert view.mark.startswith(f"{ELSEWHERE} (pid {number}, on {socket.gethostname()}, since 20")
    assert any(note.endswith("since you last looked, by another process.") for note in view.notes)
    assert ELSEWHERE in set(shell.cell("%pge runs").view.df["outcome"])
    busy = shell.cell("%pge resume")
    assert isinstance(busy.error, StateBusy)
    assert f"Process {number}" in busy.text
    began = time.monotonic()
    stopped = shell.cell("%pge stop").view
    assert time.monotonic() - began < 3
    assert stopped.mark == "stopped"
    assert stopped.next == "%pge resume"
    assert open_run(state).sections[-1].record.kind == "interruption"
    assert isinstance(shell.cell("%pge stop").error, BadInput)
    assert shell.cell("%pge resume --detach").view.mark == "running"
    wait(lambda: ended(state) and open_run(state).outcome == "passed", "the end of the run")
    assert (tmp_path / ".pge" / "detached.log").is_file()
    assert no_secret_below(tmp_path)


def test_a_run_with_nothing_left_to_do_is_shown_at_once(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2")
    view = shell.cell("%pge run --practice stats --seed 2 --detach").view
    assert view.mark in {"passed", "degraded"}
    assert not (tmp_path / ".pge" / "detached.pid").exists()
    assert "--detach does not wait" in shell.cell("%pge run --practice stats --seed 2 --detach --raise").text


def failing(place: Path) -> str:
    """A Python that cannot do anything, and tells a secret."""
    broken = place / "broken-python"
    broken.write_text("#!/bin/sh\necho $ANTHROPIC_API_KEY\necho no such module: everything\nexit 1\n")
    broken.chmod(0o755)
    return str(broken)


def test_a_process_that_fails_leaves_its_last_words(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", failing(tmp_path))
        shell.cell("%pge run --practice stats --seed 2 --detach")
    wait(lambda: shell.cell("%pge").view.mark == ENDED, "the end of the process", 20)
    view = shell.cell("%pge").view
    assert "no such module: everything" in view.plain()
    assert "[redacted]" in view.plain()
    assert CANARY not in view.plain()
    assert view.next == "%pge resume"
    assert shell.cell("%pge resume").view.mark in {"passed", "degraded"}
    assert "no such module" not in shell.cell("%pge").view.plain()


def test_a_run_that_was_stopped_and_whose_next_process_fails_says_why(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    harness = PGEHarness(HarnessConfig(model=scripted.MODEL, shared_state_path=tmp_path / "shared_state.md"))
    harness.start(scripted.PROMPT)
    harness.state.append(Record(payload=Interruption(reason="interrupted by a person", phase="plan"), by="harness"))
    assert shell.cell("%pge").view.mark == "stopped"
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", failing(tmp_path))
        assert shell.cell("%pge resume --detach").view.mark == "running"
    wait(lambda: "no such module" in shell.cell("%pge").view.plain(), "the last words", 20)
    assert shell.cell("%pge").view.mark == "stopped"


def test_a_question_ends_the_process_and_an_answer_goes_on_away(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "shared_state.md"
    asking = {"overall_score": 1}

    def unkind(request: scripted.Request) -> str:
        role = scripted.role_of(request)
        if role == "evaluate":
            return json.dumps({**asking, "findings": scripted.findings(request, score=1.0, verdict="fail")})
        said = scripted.scripted()(request)
        return said if isinstance(said, str) else said.text

    with MessagesStub(unkind) as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        shell.cell(RUN.replace("--detach", "--detach --max-retries 0"))
        wait(lambda: not detached.busy(state) and open_run(state).outcome == "paused", "the question")
        assert shell.cell("%pge").view.next.startswith("%pge answer")
        assert shell.cell("%pge answer stop --detach").view.mark in {"running", "stopped", "blocked"}
        wait(lambda: not detached.busy(state), "the end")
    assert open_run(state).outcome in {"stopped", "blocked"}


@pytest.mark.parametrize(("deaf", "how"), [("SIGINT", "terminated"), ("SIGINT SIGTERM", "killed")])
def test_a_process_that_does_not_listen_is_ended_all_the_same_and_that_is_told(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaf: str, how: str
) -> None:
    monkeypatch.setattr(detached, "SECONDS_TO_END", 0.5)
    script = tmp_path / "deaf.py"
    ignored = "".join(f"signal.signal(signal.{name}, signal.SIG_IGN)\n" for name in deaf.split())
    script.write_text(
        f"import signal, sys, time\n{ignored}from pathlib import Path\nfrom pge_nb.state import StateFile\n"
        "with StateFile(Path(sys.argv[-1])).running():\n    time.sleep(60)\n"
    )
    other = tmp_path / "deaf-python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n')
    other.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(other))
        shell.cell("%pge run --practice stats --seed 2 --detach")
    wait(lambda: at_work(tmp_path / "shared_state.md"), "the lock")
    view = shell.cell("%pge stop").view
    assert f"The process was {how}." in view.plain()
    assert (view.mark, view.next) == (ENDED, "%pge resume")
    assert shell.cell("%pge resume").view.mark in {"passed", "degraded"}


def test_a_process_that_is_stopped_while_it_starts_leaves_no_traceback(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2 --detach")
    command = Path(f"/proc/{process_of(tmp_path / 'shared_state.md')}/maps")
    wait(lambda: not command.exists() or "pandas" in command.read_text(), "its imports")
    assert "was interrupted" in shell.cell("%pge stop").view.plain()
    assert "Traceback" not in (tmp_path / ".pge" / "detached.log").read_text()
    assert "Traceback" not in shell.cell("%pge").view.plain()


def test_a_process_that_was_given_the_number_of_ours_is_left_alone(shell: Shell, tmp_path: Path) -> None:
    state = tmp_path / "shared_state.md"
    shell.cell("%pge run --practice stats --seed 2 --max-retries 0;")
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as stranger:
        try:
            (tmp_path / ".pge" / "detached.pid").write_text(f"{stranger.pid} {time.time() - 60:.2f} 1\n")
            assert isinstance(shell.cell("%pge stop").error, BadInput)
            assert detached.busy(state) == ""
            # The lock is held by somebody else, and a killed one left the number of the stranger behind.
            with StateFile(state).running():
                (tmp_path / ".pge" / "run.pid").write_text(f"{stranger.pid}\n")
                assert "was not detached" in shell.cell("%pge stop").text
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_two_kernels_that_detach_at_once_start_one_process(stub: MessagesStub, shell: Shell, tmp_path: Path) -> None:
    state = tmp_path / "shared_state.md"
    PGEHarness(HarnessConfig(model=scripted.MODEL, shared_state_path=state)).start(scripted.PROMPT)
    code = "import sys; from pathlib import Path; from pge_nb.detached import start; print(start(Path(sys.argv[1])))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(state)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        for _ in range(2)
    ]
    ends = [one.communicate(timeout=60) for one in both]
    assert sorted(one.returncode for one in both) == [0, 1]
    assert any(b"is at work on" in error for _, error in ends)
    assert shell.cell("%pge stop").error is None


def test_while_one_process_is_being_started_no_other_one_is(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "shared_state.md"
    PGEHarness(HarnessConfig(model="practice:seed=2", shared_state_path=state)).start(practice_task("stats").prompt)
    monkeypatch.setattr(detached, "SECONDS_TO_END", 0.1)
    with FileLock(tmp_path / ".pge" / "detached.lock"):
        refused = shell.cell("%pge resume --detach")
    assert isinstance(refused.error, StateBusy)
    assert not (tmp_path / ".pge" / "detached.pid").exists()


def test_what_a_detached_run_may_cost_is_reserved_until_it_has_ended(
    stub: MessagesStub, shell: Shell, tmp_path: Path
) -> None:
    state = tmp_path / "shared_state.md"
    dear = RUN.replace(scripted.MODEL, "claude-opus-5-5")
    assert shell.cell(dear).error is None
    assert kernel.HERE.dollars == 5.0
    wait(lambda: ended(state) and not detached.busy(state), "the end of the run")
    assert 0 < kernel.HERE.dollars == spent_in(tmp_path / ".pge" / "calls.jsonl").dollars < 5
    kernel.HERE.lend(16, lambda: None)
    refused = shell.cell(dear.replace("run --detach", "run again --detach"))
    assert isinstance(refused.error, LimitReached)
    assert not (tmp_path / "again" / ".pge" / "detached.pid").exists()
    assert shell.cell("%pge resume --detach --budget 5").view.mark == "running"
    assert shell.cell("%pge stop").view


def test_a_run_of_another_kernel_is_not_killed(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2")
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        with PGEHarness(HarnessConfig(shared_state_path=tmp_path / "shared_state.md")).state.running():
            time.sleep(60)
        os._exit(0)
    try:
        wait(lambda: at_work(tmp_path / "shared_state.md"), "the lock of the other process")
        refused = shell.cell("%pge stop")
        assert isinstance(refused.error, BadInput)
        assert "was not detached" in refused.text
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
