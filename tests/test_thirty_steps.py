"""Thirty steps, unattended and in parallel, through three kills and a budget stop, come to the same table as left alone."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pge_nb import bank
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.records import Decision, Receipt
from pge_nb.run import Run, compared
from pge_nb.state import open_run

TASK = "generated:steps=30,dag=random,seed=3"
SETTINGS: Mapping[str, Any] = {
    "model": "practice:skill=0.45,noise=0.3,seed=3,delay=0.05",
    "max_steps": 30,
    "max_retries_per_step": 4,
    "on_exhausted": ("keep",),
    "max_parallel": 4,
}
CHILD = """
import json, sys
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.state import open_run
state, prompt, settings, limit = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
harness = PGEHarness(HarnessConfig(shared_state_path=state, **settings))
run = harness.start(prompt)
if limit != run.settings.get("max_calls"):
    harness.amend(max_calls=limit)
print(harness.resume().outcome)
"""
KILLS = 3


@dataclass(frozen=True)
class Row:
    """A step in the final table."""

    step: int
    state: str
    attempts: int
    scores: tuple[float | None, ...]
    accepted: str


def table(run: Run) -> list[Row]:
    result = PGEHarness(HarnessConfig(shared_state_path=(run.root or Path()) / "shared_state.md")).result()
    rows = []
    for log in result.step_logs:
        accepted = run.accepted(log.step)
        taken = run.attempts(log.step)[accepted].hash if accepted is not None else ""
        rows.append(Row(log.step, log.state, len(log.tried), log.scores, taken))
    return rows


@contextlib.contextmanager
def child(state: Path, limit: int | None) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that goes on with the run, and is killed with all that it started if it is still there."""
    argv = [
        sys.executable,
        "-c",
        CHILD,
        str(state),
        bank.practice_task(TASK).prompt,
        json.dumps(SETTINGS),
        json.dumps(limit),
    ]
    made = subprocess.Popen(
        argv,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield made
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(made.pid, signal.SIGKILL)
        made.communicate()


def ended(state: Path, limit: int | None) -> str:
    with child(state, limit) as made:
        out, err = made.communicate(timeout=60)
        assert made.returncode == 0, err
    return out.strip()


def sections(state: Path) -> int:
    """How many sections are in a file that another process is writing."""
    with contextlib.suppress(FileNotFoundError):
        return state.read_text(encoding="utf-8", errors="replace").count("\n<!-- pge/1 ")
    return 0


def killed_after(state: Path, limit: int | None, more: int, wait: float) -> None:
    """Go on until so many sections more are there, a moment longer, then kill: in whatever it is at."""
    with child(state, limit) as made:
        before = sections(state)
        until = time.monotonic() + 60
        while sections(state) < before + more and made.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(wait)
        assert made.poll() is None, made.communicate()[1] or "it had ended before it could be killed"


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Run:
    state = tmp_path_factory.mktemp("whole") / "shared_state.md"
    config = HarnessConfig(shared_state_path=state, **SETTINGS)
    PGEHarness(config).run(bank.practice_task(TASK).prompt)
    return open_run(state)


def test_it_holds_failures_of_every_kind(unbroken: Run) -> None:
    actions = Counter(s.payload.action for s in unbroken.sections if isinstance(s.payload, Decision))
    assert actions.keys() >= {"accept", "refine", "pivot", "keep", "stop"}
    states = Counter(row.state for row in table(unbroken))
    assert states.keys() == {"accepted", "kept", "failed", "blocked"}
    assert states.total() == 30


def test_steps_were_really_worked_on_side_by_side(unbroken: Run) -> None:
    """The sections of one step stand between those of others."""
    order = [section.record.step for section in unbroken.sections if section.record.step is not None]
    changes = sum(one != other for one, other in itertools.pairwise(order))
    assert changes > len(order) / 2


def test_through_three_kills_and_a_budget_stop_it_comes_to_the_same_table(unbroken: Run, tmp_path: Path) -> None:
    state = tmp_path / "shared_state.md"
    rng = random.Random(20261201)
    whole = len(unbroken.sections)
    calls = len(unbroken.calls)
    limit = calls // 2
    for _ in range(KILLS - 1):
        killed_after(state, limit, rng.randint(whole // 12, whole // 8), rng.uniform(0.0, 0.05))
    assert ended(state, limit) == "stopped"
    run = open_run(state)
    last = run.sections[-1].payload
    assert isinstance(last, Receipt)
    assert last.outcome.startswith(f"stopped: This run may make {limit} calls")
    assert last.calls + last.unfinished <= limit
    killed_after(state, None, rng.randint(whole // 12, whole // 8), rng.uniform(0.0, 0.05))
    assert ended(state, None) == unbroken.outcome
    run = open_run(state)
    assert table(run) == table(unbroken)
    amended = {address for address in compared(run) if address[1] == "amendment"}
    assert amended == {(None, "amendment", None, None, 1), (None, "amendment", None, None, 2)}
    assert {address: told for address, told in compared(run).items() if address not in amended} == compared(unbroken)
    log = [json.loads(line) for line in (tmp_path / ".pge" / "calls.jsonl").read_text().split("\n") if line]
    assert max(Counter(line["key"] for line in log if line["line"] == "settled").values()) == 1, "no call settled twice"
