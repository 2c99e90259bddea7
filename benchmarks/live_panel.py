"""What an update of the live panel is on the wire, for runs of 1, 10 and 200 attempts; JSON on standard output.

    python benchmarks/live_panel.py

Everything in the panel has changed since the update before: the most that one can be. The bytes are those of the Jupyter
messages, with their headers and signatures. Fails (exit status 1) where one of 200 attempts is 20 KB or more, or more than 1.05
times one of 10.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import comm
from comm.base_comm import BaseComm
from jupyter_client.session import Session

from pge_nb import records as r
from pge_nb.run import Run
from pge_nb.widgets.board import Board
from pge_nb.widgets.live import Parts, closed
from pge_nb.widgets.progress import line

MOST_BYTES, MOST_GROWTH = 20_000, 1.05
LONG = "What is told of an attempt is often long, in words that nobody cut beforehand, and < & > in it. " * 5


class Wire:
    """Takes the messages of all comms that are opened, as bytes."""

    def __init__(self) -> None:
        self.bytes = self.messages = 0
        wire, session = self, Session(key=b"a key")

        class Counted(BaseComm):
            def publish_msg(self, msg_type: str, data: Any = None, metadata: Any = None, **_: Any) -> None:
                content = {"data": data or {}, "comm_id": self.comm_id}
                frames = session.serialize(session.msg(msg_type, content, metadata=metadata))
                wire.bytes += sum(map(len, frames))
                wire.messages += 1

        self.comm = Counted


@contextmanager
def wired() -> Iterator[Wire]:
    """Inside, comms are counted."""
    wire, usual = Wire(), comm.create_comm
    comm.create_comm = wire.comm
    try:
        yield wire
    finally:
        comm.create_comm = usual


def sections(attempts: int) -> Iterator[r.Record]:
    """The records of a run of 40 steps, up to 5 attempts each."""
    yield r.Record(payload=r.Task(prompt="p", run="0" * 16, settings={"max_retries_per_step": 4}), by="person")
    steps = tuple(r.Step(number=number, description=LONG) for number in range(1, 41))
    yield r.Record(payload=r.Plan(title=LONG, scope=LONG, steps=steps, criteria=()), by="planner")
    for step in range(1, 41):
        checks = (r.Check(id="c1", says=LONG),)
        contract = r.StepContract(deliverables=("a.py",), checks=checks, agreed=True, origin="agreed in round 1")
        yield r.Record(payload=contract, by="harness", step=step)
        for attempt in range(1, min(attempts, 5) + 1):
            where = {"step": step, "attempt": attempt}
            made = r.Attempt(approach="refine", why=LONG, base=None, files=(), hash=str(attempt), log=r.text_body(LONG))
            yield r.Record(payload=made, by="generator", **where)
            again = r.Decision(action="refine", reason=LONG)
            yield r.Record(payload=again, by="harness", **where)
        attempts -= 5
        if attempts <= 0:
            return


def update(attempts: int) -> int:
    """Bytes of the update by which all of a panel that holds so many attempts changes."""
    run, board, lines = Run(), Board(began=0.0), []
    for seq, record in enumerate(sections(attempts)):
        section = r.Section(record=record, seq=seq, prev="", sha256=str(seq), at="", offset=0)
        run.add(section)
        board.take_in(run, section, at=float(seq))
        lines.append(line(section, run))
    board.hear(LONG * attempts)
    with wired() as wire:
        parts = Parts()
        before = wire.bytes
        parts.show(board, lines, [f"An error: {LONG}"], now=5_000.0, stopping=True)
        sent = wire.bytes - before
        closed(parts.box)
    return sent


def main() -> int:
    found = {attempts: update(attempts) for attempts in (1, 10, 200)}
    growth = found[200] / found[10]
    print(json.dumps({"benchmark": "B15", "bytes": found, "growth": round(growth, 3), "target": MOST_BYTES}))
    return int(found[200] >= MOST_BYTES or growth > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
