"""What a run came to, from its state file alone: step by step, in money and time, and where the deliverable is."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .abreast import blocked_by
from .decisions import standing_scores
from .records import (
    Attempt,
    Decision,
    EvaluationReport,
    Plan,
    Proposal,
    Receipt,
    Response,
    Section,
    StepContract,
    Verdict,
)
from .run import Outcome, Run, StepState


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One attempt of a step: its verdict, its overall score and the score of each criterion (None: not measured)."""

    attempt: int
    verdict: Verdict | None
    overall: float | None
    scores: dict[str, float | None]


@dataclass(frozen=True, kw_only=True)
class StepLog:
    """What became of one step.

    ``score`` is that of the attempt that stands (None: none does, or it is not measured). Of an attempt that was chosen as the
    best of several it is what it got when it was graded once more; ``gate_score`` is what it was chosen by. ``blocked_by``
    are the failed steps that it builds on.
    """

    step: int
    description: str
    state: StepState
    contract: StepContract | None
    tried: tuple[Tried, ...]
    decision: Decision | None
    score: float | None
    gate_score: float | None
    blocked_by: tuple[int, ...] = ()

    @property
    def retries(self) -> int:
        """Attempts after the first."""
        return max(0, len(self.tried) - 1)

    @property
    def scores(self) -> tuple[float | None, ...]:
        """The overall score of each attempt."""
        return tuple(tried.overall for tried in self.tried)


@dataclass(frozen=True, kw_only=True)
class PhaseCost:
    """What one phase took: the kind of section it made, calls, tokens, dollars (None: no price known), seconds of work."""

    kind: str
    step: int | None
    attempt: int | None
    round: int | None
    calls: int
    tokens: int
    dollars: float | None
    seconds: float


@dataclass(frozen=True, kw_only=True)
class HarnessResult:
    """What a run came to, over all its resumes.

    ``output_path`` is the deliverable (the plan's first that is there, else the last step's, else the working directory).
    ``total_duration`` is in seconds of work, waiting left out; ``total_cost`` in dollars, None where a model has no price;
    ``costs`` has both by phase and round.
    """

    output_path: Path
    plan: Plan | None
    step_logs: tuple[StepLog, ...]
    total_duration: float
    total_cost: float | None
    costs: tuple[PhaseCost, ...]
    summary: str
    outcome: Outcome
    run: Run


def working_directory(run: Run, root: Path) -> Path:
    """Where a run's accepted deliverables are put."""
    return Path(os.path.normpath(root / str(run.task.settings["working_directory"])))


def result_of(run: Run, root: Path) -> HarnessResult:
    """What a run has come to, from its state file alone."""
    costs = tuple(cost for section in run.sections if (cost := _cost(section)))
    logs = tuple(_step_log(run, step.number) for step in run.every_step)
    return HarnessResult(
        output_path=_output(run, root),
        plan=run.plan,
        step_logs=logs,
        total_duration=sum(cost.seconds for cost in costs),
        total_cost=_total(cost.dollars for cost in costs),
        costs=costs,
        summary=_summary(run, logs),
        outcome=run.outcome,
        run=run,
    )


def _cost(section: Section) -> PhaseCost | None:
    record, payload = section.record, section.payload
    if not isinstance(payload, Plan | Proposal | Response | Attempt | EvaluationReport):
        return None
    return PhaseCost(
        kind=record.kind,
        step=record.step,
        attempt=record.attempt,
        round=record.round,
        calls=len(payload.calls),
        tokens=sum(call.usage.total for call in payload.calls),
        dollars=_total(call.dollars for call in payload.calls),
        seconds=payload.seconds,
    )


def _total(amounts: Iterable[float | None]) -> float | None:
    """The sum; not known where one of them is not."""
    known = list(amounts)
    return None if None in known else math.fsum(amount for amount in known if amount is not None)


def _step_log(run: Run, step: int) -> StepLog:
    reports = run.evaluations(step)
    tried = []
    for attempt, overall in standing_scores(run, step):
        report = reports.get(attempt)
        scores = {f.on: f.score for f in report.findings if f.about == "criterion"} if report else {}
        tried.append(Tried(attempt=attempt, verdict=report.verdict if report else None, overall=overall, scores=scores))
    return StepLog(
        step=step,
        description=run.step(step).description,
        state=run.state(step),
        contract=run.contract(step),
        tried=tuple(tried),
        decision=run.decision(step),
        score=_overall(run.reported(step)),
        gate_score=_gate_score(run, step),
        blocked_by=blocked_by(run, step),
    )


def _overall(report: EvaluationReport | None) -> float | None:
    return report.overall if report else None


def _gate_score(run: Run, step: int) -> float | None:
    accepted = run.accepted(step)
    return None if accepted is None else _overall(run.evaluation(step, accepted))


def graded_again(run: Run, step: int) -> str:
    """What a step's score rests on where its attempt was chosen as the best of several, in words; empty where it was not."""
    again, gate = run.regrade(step), _gate_score(run, step)
    if again is None:
        return "to be graded again" if run.ungraded(step) else ""
    score = "not measured" if again.overall is None else f"{again.overall:.1f}"
    return f"graded again: {score}" + ("" if gate is None else f" ({gate:.1f} when it was chosen)")


def _output(run: Run, root: Path) -> Path:
    if not run.of("task"):
        return root
    work = working_directory(run, root)
    wanted = list(run.plan.deliverables) if run.plan else []
    for step in reversed(run.steps):
        accepted = run.accepted(step.number)
        wanted += [file.path for file in run.attempts(step.number)[accepted].files] if accepted is not None else []
    return next((work / path for path in wanted if (work / path).is_file()), work)


def _stands(run: Run, log: StepLog) -> str:
    if log.state == "blocked":
        return f"step {log.step} blocked by step {' and '.join(map(str, log.blocked_by))}"
    again = graded_again(run, log.step)
    return f"step {log.step} {log.state} after {len(log.tried)} attempt(s){f', {again}' if again else ''}"


def _summary(run: Run, logs: tuple[StepLog, ...]) -> str:
    states = ", ".join(_stands(run, log) for log in logs)
    last = run.last.payload if run.last else None
    why = last.outcome if isinstance(last, Receipt) and last.outcome.startswith("stopped: ") else run.outcome
    return f"{why}; {states}" if states else why
