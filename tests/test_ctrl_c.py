"""Ctrl-C in a real kernel, in the middle of parallel calls to a slow service."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager
from messages_stub import MessagesStub, StubReply
from scripted import MODEL, fenced, role_of

from pge_nb.records import Interruption
from pge_nb.state import open_run

ROOT = Path(__file__).parents[1]
PLAN = {
    "title": "Three files",
    "scope": "a, b, c",
    "steps": [{"description": f"write {name}.txt"} for name in "abc"],
    "criteria": [],
}
SLOW = 20.0


def script(request: dict[str, Any]) -> StubReply:
    """Quick until something is to be written: one answers late, one slowly, one not to the end."""
    role = role_of(request)
    if role == "planner":
        return StubReply(fenced(PLAN))
    name = next(name for name in "abc" if f"write {name}.txt" in str(request))
    if role == "propose":
        check = {"says": "it is there", "method": "judge", "args": {}}
        return StubReply(fenced({"deliverables": [f"{name}.txt"], "checks": [check]}))
    if role == "respond":
        return StubReply(fenced({"agreed": True, "reason": "complete"}))
    if name == "a":
        return StubReply("x" * 50, delay=SLOW)
    return StubReply("word " * 400, pause=SLOW / 100)


@pytest.fixture
def stub() -> Iterator[MessagesStub]:
    with MessagesStub(script) as opened:
        yield opened


@pytest.fixture
def kernel(tmp_path: Path, stub: MessagesStub) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(
        cwd=str(tmp_path),
        env={**os.environ, **stub.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path / "ipython")},
    )
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run(client: BlockingKernelClient, code: str) -> str:
    """What a cell prints and shows."""
    texts: list[str] = []

    def hook(message: dict[str, Any]) -> None:
        content = message["content"]
        texts.append(
            str(content.get("text") or content.get("data", {}).get("text/plain") or content.get("traceback", ""))
        )

    client.execute_interactive(code, timeout=60, output_hook=hook)
    return "\n".join(texts)


def test_it_ends_within_two_seconds_with_an_interruption_and_nothing_is_written_later(
    tmp_path: Path, stub: MessagesStub, kernel: tuple[KernelManager, BlockingKernelClient]
) -> None:
    manager, client = kernel
    run(client, "%load_ext pge_nb")
    # An error would have the kernel drop what is sent to it just after.
    sent = client.execute(f"%%pge run --model {MODEL} --parallel 3\nWrite a.txt, b.txt and c.txt.", stop_on_error=False)
    until = time.monotonic() + 60
    while sum(role_of(request) == "generate" for request in list(stub.requests)) < 3:
        assert time.monotonic() < until, [role_of(request) for request in stub.requests]
        time.sleep(0.02)
    time.sleep(0.5)
    pressed = time.monotonic()
    manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=20)
    assert time.monotonic() - pressed < 2
    assert reply["parent_header"]["msg_id"] == sent
    state = tmp_path / "shared_state.md"
    opened = open_run(state)
    last = opened.sections[-1].payload
    assert isinstance(last, Interruption)
    assert last.reason == "interrupted by a person"
    assert last.phase == "generate 1.1, generate 2.1, generate 3.1"
    written, calls = state.read_bytes(), (tmp_path / ".pge" / "calls.jsonl").read_bytes()
    left = run(
        client, "import threading; print([t.name for t in threading.enumerate() if t.name.startswith('pge_nb')])"
    )
    assert left.strip() == "[]"
    time.sleep(1.0)
    assert state.read_bytes() == written
    assert (tmp_path / ".pge" / "calls.jsonl").read_bytes() == calls
    assert calls.count(b'"line":"broken"') == 3, "what may have been billed is counted"
