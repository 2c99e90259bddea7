"""A detached run goes on without its kernel, holds its lock, is found finished, and is ended whole by ``%pge stop``."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import scripted
from jupyter_client.manager import start_new_kernel
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell

from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput, StateBusy
from pge_nb.harness import PGEHarness
from pge_nb.run import same
from pge_nb.state import at_work, open_run

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
    return int((state.parent / ".pge" / "detached.pid").read_text())


def test_a_run_outlives_its_killed_kernel_and_is_found_finished(
    stub: MessagesStub, shell: Shell, tmp_path: Path
) -> None:
    place = tmp_path / "away"
    place.mkdir()
    manager, client = start_new_kernel(cwd=str(place), env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        for code in ("%load_ext pge_nb", "%pge tasks"):
            client.execute_interactive(code, timeout=60, output_hook=lambda _: None)
        began = time.monotonic()
        reply = client.execute_interactive(RUN, timeout=60, output_hook=lambda _: None)
        took = time.monotonic() - began
        assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        manager.shutdown_kernel(now=True)
        client.stop_channels()
    assert took < 2, f"the kernel was held for {took:.1f} s"
    state = place / "shared_state.md"
    wait(lambda: ended(state), "the end of the run")
    assert open_run(state).outcome == "passed"
    calls = len(stub.requests)
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
    assert shell.cell("%pge").view.mark == "running in another process"
    again = shell.cell("%pge resume --detach")
    assert isinstance(again.error, StateBusy)
    wait(lambda: len(stub.requests) > 2, "the third call")
    number = process_of(state)
    command = Path(f"/proc/{number}/cmdline")
    assert not command.exists() or CANARY not in command.read_text()
    assert shell.cell("%pge").view.mark == "running in another process"
    busy = shell.cell("%pge resume")
    assert isinstance(busy.error, StateBusy)
    assert f"Process {number}" in busy.text
    began = time.monotonic()
    stopped = shell.cell("%pge stop").view
    assert time.monotonic() - began < 4
    assert stopped.mark == "stopped"
    assert stopped.next == "%pge resume"
    assert open_run(state).sections[-1].record.kind == "interruption"
    assert isinstance(shell.cell("%pge stop").error, BadInput)
    assert shell.cell("%pge resume --detach").view.mark == "running"
    wait(lambda: ended(state) and open_run(state).outcome == "passed", "the end of the run")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "detached.log" for path in written)
    assert all(CANARY.encode() not in path.read_bytes() for path in written)


def test_a_run_with_nothing_left_to_do_is_shown_at_once(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2")
    view = shell.cell("%pge run --practice stats --seed 2 --detach").view
    assert view.mark in {"passed", "degraded"}
    assert not (tmp_path / ".pge" / "detached.pid").exists()
    assert "--detach does not wait" in shell.cell("%pge run --practice stats --seed 2 --detach --raise").text


def test_a_process_that_fails_leaves_its_last_words(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken-python"
    broken.write_text("#!/bin/sh\necho no such module: everything\nexit 1\n")
    broken.chmod(0o755)
    python = sys.executable
    monkeypatch.setattr(sys, "executable", str(broken))
    shell.cell("%pge run --practice stats --seed 2 --detach")
    monkeypatch.setattr(sys, "executable", python)
    wait(lambda: "process ended" in shell.cell("%pge").view.mark, "the end of the process", 20)
    view = shell.cell("%pge").view
    assert "no such module: everything" in view.plain()
    assert view.next == "%pge resume"
    assert shell.cell("%pge resume").view.mark in {"passed", "degraded"}


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
