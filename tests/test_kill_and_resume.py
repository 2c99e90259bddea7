"""A run in a child process, killed at random moments and called again, ends the same as one left alone."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from messages_stub import MessagesStub, StubReply
from scripted import MODEL, PROMPT, Request, first_message, scripted

from pge_nb import bank
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.run import Run, same
from pge_nb.state import open_run

CHILD = """
import sys
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
config = HarnessConfig(model=sys.argv[2], shared_state_path=sys.argv[1])
print(PGEHarness(config).run(sys.argv[3]).outcome)
"""
KILLS = 6


def flawed_first(request: Request) -> Any:
    """The first attempt at step 1 fails its oracle, so that there is a retry to be killed in."""
    text = first_message(request)
    if "Step 1" not in text or "This is attempt" in text:
        return None
    return "Approach: subtract.\n\n```python calc.py\ndef add(a, b):\n    return a - b\n```\n"


def slowly(request: Request) -> StubReply:
    """Each reply takes a while, so that many of the kills fall into a call."""
    reply = scripted(generate=flawed_first)(request)
    return StubReply(reply, delay=0.06)


def run_child(state: Path, stub: MessagesStub, *, kill_after: float | None = None) -> str | None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(state), MODEL, PROMPT],
        env={**os.environ, **stub.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return None
    assert child.returncode == 0, err
    return out.strip()


def log_lines(state: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (state.parent / ".pge" / "calls.jsonl").read_text().split("\n") if line]


def unbroken(directory: Path) -> tuple[Run, float]:
    directory.mkdir()
    with MessagesStub(slowly) as stub:
        started = time.monotonic()
        assert run_child(directory / "shared_state.md", stub) == "passed"
        took = time.monotonic() - started
        assert stub.tally.requests == len(open_run(directory / "shared_state.md").calls)
    return open_run(directory / "shared_state.md"), took


def test_a_killed_run_ends_the_same_and_pays_for_no_settled_call_twice(tmp_path: Path) -> None:
    whole, took = unbroken(tmp_path / "whole")
    assert len(whole.attempts(1)) == 2, "the flawed attempt was retried"
    broken = tmp_path / "broken" / "shared_state.md"
    rng = random.Random(20261130)
    broken.parent.mkdir()
    kills = 0
    with MessagesStub(slowly) as stub:
        for _ in range(60):
            # The start alone takes most of a child's time: kill in what comes after it.
            after = rng.uniform(0.4, 1.0) * took if kills < KILLS else None
            outcome = run_child(broken, stub, kill_after=after)
            if outcome is not None:
                break
            kills += 1
        assert outcome == "passed"
        lines = log_lines(broken)
        settled = [line for line in lines if line["line"] == "settled"]
        reserved = [line for line in lines if line["line"] == "reserved"]
        assert max(Counter(line["key"] for line in settled).values()) == 1, "no call settled twice"
        # A request that the stub saw was settled, or was killed under way and stays counted as unfinished.
        assert len(settled) <= stub.tally.requests <= len(reserved)
    assert kills >= 1
    assert same(whole, open_run(broken))
    assert open_run(broken).outcome == "passed"
    assert (broken.parent / "work" / "calc.py").read_bytes() == (tmp_path / "whole" / "work" / "calc.py").read_bytes()


def test_killed_after_any_section_it_goes_on_to_the_same_end(tmp_path: Path) -> None:
    """Prefixes of a finished file, as a crash between two sections leaves them; the call log lost as well."""
    prompt, model = bank.practice_task("textkit").prompt, "practice:seed=1"
    whole = tmp_path / "whole" / "shared_state.md"
    whole.parent.mkdir()
    PGEHarness(HarnessConfig(model=model, shared_state_path=whole)).run(prompt)
    run, content = open_run(whole), whole.read_bytes()
    for section in run.sections[1::3]:
        cut = tmp_path / f"cut{section.seq}" / "shared_state.md"
        cut.parent.mkdir()
        cut.write_bytes(content[: section.offset])
        shutil.copytree(whole.parent / ".pge" / "objects", cut.parent / ".pge" / "objects")
        PGEHarness(HarnessConfig(model=model, shared_state_path=cut)).run(prompt)
        assert same(run, open_run(cut)), f"cut before section {section.seq}"
