"""What a trace tells of a run and its phases."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from .payloads import Json
from .phases import Phase
from .records import Decision, EvaluationReport, Note, Record, Response
from .run import Run
from .state import StateFile
from .tracing import UNTRACED, Span, Trace


@contextlib.contextmanager
def traced(state: StateFile, run: Run, path: Path | None) -> Iterator[Span]:
    """What the phases of a run stand below, from here to its end, its pause or its stop; without a path it is told to nobody.

    Where the trace cannot be written, a note in the state file says so, once.
    """
    if path is None:
        yield UNTRACED
        return
    trace = Trace(path, run.task.run)
    top = trace.begin(f"run {run.task.run}", {"gen_ai.operation.name": "invoke_workflow", "pge.run": run.task.run})
    try:
        yield top
    except GeneratorExit:  # whoever asked for sections has enough
        raise
    except BaseException as error:
        top.tell({"error.type": type(error).__name__})
        raise
    finally:
        top.tell({"pge.outcome": run.outcome})
        top.end()
        if trace.fault:
            state.append(Record(payload=Note(text=trace.fault), by="harness"))


def carried_out(top: Span, phase: Phase, work: Callable[[], tuple[Record, ...]]) -> tuple[Record, ...]:
    """What ``work`` makes of a phase, told in the trace."""
    name = phase.name if phase.role is None else f"invoke_agent {phase.role}"
    with top.child(name, _fields(phase)) as told:
        records = work()
        told.tell({"pge.outcome": _came_to(records)})
        return records


def _fields(phase: Phase) -> dict[str, Json]:
    return {
        "gen_ai.operation.name": "invoke_agent" if phase.role else None,
        "gen_ai.agent.name": phase.role,
        "pge.phase": phase.name,
        "pge.step": phase.step,
        "pge.attempt": phase.attempt,
        "pge.round": phase.round,
        "pge.purpose": phase.purpose,
    }


def _came_to(records: tuple[Record, ...]) -> str | None:
    """What a phase came to in a word: a verdict, an action, an answer; else the kind of section that it made."""
    for record in records:
        match record.payload:
            case EvaluationReport(verdict=verdict):
                return verdict
            case Decision(action=action):
                return action
            case Response(agreed=agreed):
                return "agreed" if agreed else "not agreed"
    return records[-1].kind if records else None
