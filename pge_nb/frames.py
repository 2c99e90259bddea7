"""Runs as data frames: tidy, with columns and types that are declared here and are the same for an empty run.

Every function takes one run or several and gives one row a thing. Unknown is missing (NaN or NA), never 0 or "". Every frame
has ``run``, the run's id, as its first column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import pandas as pd

from .payloads import compact
from .records import (
    Attempt,
    Call,
    Decision,
    EvaluationReport,
    Evidence,
    Finding,
    Payload,
    Plan,
    Proposal,
    Response,
    Section,
)
from .run import Run
from .verdict import HIGHEST, share_met

if TYPE_CHECKING:
    from pandas import DataFrame

Columns = Mapping[str, str]
Row = tuple[object, ...]
P = TypeVar("P", bound=Payload)

TEXT, NUMBER, COUNT, FLAG, TIME = "string", "float64", "Int64", "boolean", "datetime64[us, UTC]"

TASKS: Columns = {
    "run": TEXT,
    "prompt": TEXT,
    "practice": TEXT,
    "outcome": TEXT,
    "isolation": TEXT,
    "steps": COUNT,
    "sections": COUNT,
    "head": TEXT,
    "started": TIME,
    "last": TIME,
}
PLAN: Columns = {
    "run": TEXT,
    "step": COUNT,
    "description": TEXT,
    "skill_type": TEXT,
    "task_type": TEXT,
    "depends_on": TEXT,
    "success": TEXT,
    "state": TEXT,
    "checks": COUNT,
    "attempts": COUNT,
    "accepted": COUNT,
}
CRITERIA: Columns = {"run": TEXT, "criterion": TEXT, "weight": TEXT, "threshold": NUMBER, "description": TEXT}
CHECKS: Columns = {
    "run": TEXT,
    "step": COUNT,
    "check": TEXT,
    "says": TEXT,
    "method": TEXT,
    "args": TEXT,
    "agreed": FLAG,
    "origin": TEXT,
}
ATTEMPTS: Columns = {
    "run": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "approach": TEXT,
    "base": COUNT,
    "why": TEXT,
    "files": COUNT,
    "bytes": COUNT,
    "missing": TEXT,
    "hash": TEXT,
    "verdict": TEXT,
    "overall": NUMBER,
    "accepted": FLAG,
    "seconds": NUMBER,
    "at": TIME,
}
EVALUATIONS: Columns = {
    "run": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "round": COUNT,
    "purpose": TEXT,
    "on": TEXT,
    "about": TEXT,
    "score": NUMBER,
    "threshold": NUMBER,
    "weight": TEXT,
    "verdict": TEXT,
    "why": TEXT,
    "says": TEXT,
    "evidence": TEXT,
    "saw": TEXT,
    "quote": TEXT,
    "strength": TEXT,
    "replayed": FLAG,
    "rater": TEXT,
    "by": TEXT,
    "at": TIME,
}
TRAJECTORY: Columns = {
    "run": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "approach": TEXT,
    "on": TEXT,
    "about": TEXT,
    "score": NUMBER,
    "threshold": NUMBER,
    "weight": TEXT,
    "verdict": TEXT,
}
DECISIONS: Columns = {
    "run": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "action": TEXT,
    "stands": COUNT,
    "reason": TEXT,
    "numbers": TEXT,
    "at": TIME,
}
CALLS: Columns = {
    "run": TEXT,
    "phase": TEXT,
    "role": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "round": COUNT,
    "purpose": TEXT,
    "model": TEXT,
    "call": TEXT,
    "tokens_in": COUNT,
    "tokens_out": COUNT,
    "tokens_cached": COUNT,
    "tokens_to_cache": COUNT,
    "dollars": NUMBER,
    "seconds": NUMBER,
    "stop_reason": TEXT,
    "source": TEXT,
    "settled": FLAG,
}
COST: Columns = {
    "run": TEXT,
    "phase": TEXT,
    "role": TEXT,
    "step": COUNT,
    "round": COUNT,
    "calls": COUNT,
    "tokens_in": COUNT,
    "tokens_out": COUNT,
    "tokens_cached": COUNT,
    "tokens_to_cache": COUNT,
    "dollars": NUMBER,
    "seconds": NUMBER,
    "model": TEXT,
    "source": TEXT,
}

PHASES: Mapping[str, str] = {
    "plan": "plan",
    "proposal": "propose",
    "response": "respond",
    "attempt": "generate",
    "evaluation": "evaluate",
}
"""Kind of section -> the phase that makes it."""


def tasks(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a run: its prompt, practice task (missing: none), outcome, isolation, and how far its state file has come."""
    return _frame(TASKS, runs, _task)


def plan(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a step of the plan in force.

    ``depends_on`` lists step numbers, ``success`` the success criteria (one a line), ``state`` tells where the step stands,
    ``accepted`` is the attempt whose deliverables stand for it.
    """
    return _frame(PLAN, runs, _plan)


def criteria(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a criterion of the plan in force; scores run 0 to 10 and below ``threshold`` fails, whatever the weight."""
    return _frame(CRITERIA, runs, _criteria)


def checks(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a check of the contract in force of each step; ``args`` is JSON, ``method`` the review that looks."""
    return _frame(CHECKS, runs, _checks)


def attempts(runs: Run | Iterable[Run]) -> DataFrame:
    """A row an attempt, with the verdict and overall score (0 to 10) of its last evaluation at the gate.

    ``base`` is the attempt that a refine started from, ``bytes`` the size of its deliverables, ``missing`` the deliverables
    that it did not make, ``accepted`` whether it stands for the step, ``seconds`` the wall time of making it.
    """
    return _frame(ATTEMPTS, runs, _attempts)


def evaluations(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a finding: one rater's verdict on one check or criterion of one attempt.

    ``on`` is the check's id or the criterion's name; ``score`` and ``threshold`` are missing for checks. ``evidence`` lists
    the cited ids, ``saw`` what the harness saw there, ``strength`` is weak where the generator could have made all of it,
    ``replayed`` true where it was met again from the call log and not run here. ``by`` is the review method, or judge.
    """
    return _frame(EVALUATIONS, runs, _evaluations)


def trajectory(runs: Run | Iterable[Run]) -> DataFrame:
    """Scores over a step's attempts: a row for each criterion, one for all ``checks``, one for the ``overall`` score.

    The score of ``checks`` is 10 times the share met, its threshold 10, since every check must hold; the overall row carries
    the evaluation's verdict and no threshold. The last evaluation at the gate counts. A score is missing where it was not
    measured.
    """
    return _frame(TRAJECTORY, runs, _trajectory)


def decisions(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a decision of the harness: what it did after ``attempt``; ``stands`` is the attempt it accepted or kept.

    ``numbers`` (JSON) holds what it was computed from.
    """
    return _frame(DECISIONS, runs, _decisions)


def calls(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a model call. ``settled`` is false for calls that no record rests on: cut off, or answered and never used.

    ``tokens_cached`` were read from the service's cache, ``tokens_to_cache`` written to it; ``dollars`` is missing where the
    model has no price; ``source`` is live, recording or practice.
    """
    return _frame(CALLS, runs, _calls)


def cost(runs: Run | Iterable[Run]) -> DataFrame:
    """Calls, tokens, dollars and time by step, phase, role and round, over all resumes.

    ``round`` is the round of negotiation for propose and respond, the attempt for generate and evaluate. ``seconds`` is the
    wall time of the phase. ``dollars`` is missing where any call of the group has no price. The phase ``unfinished`` holds
    the calls that were billed, or may have been, and that no record rests on.
    """
    return _frame(COST, runs, _cost)


# Rows


def _frame(columns: Columns, runs: Run | Iterable[Run], rows_of: Callable[[Run], Iterable[Row]]) -> DataFrame:
    several = [runs] if isinstance(runs, Run) else list(runs)
    rows = [(_name(run), *row) for run in several for row in rows_of(run)]
    return pd.DataFrame(
        {name: _column([row[i] for row in rows], dtype) for i, (name, dtype) in enumerate(columns.items())}
    )


def _column(values: list[object], dtype: str) -> pd.Series:
    if dtype == TEXT:
        # Storages of text that are UTF-8 inside refuse a lone surrogate, and an agent may well write one.
        values = [
            value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value for value in values
        ]
    if dtype == TIME:
        values = [datetime.fromisoformat(value) if isinstance(value, str) else None for value in values]
    return pd.Series(values, dtype=dtype)


def _name(run: Run) -> str | None:
    return run.task.run if run.of("task") else None


def _task(run: Run) -> Iterator[Row]:
    if not run.of("task"):
        return
    task, times = run.task, [section.at for section in run.sections]
    outcome, count = run.outcome, len(run.sections)
    yield (
        task.prompt,
        task.practice,
        outcome,
        task.isolation or None,
        len(run.steps),
        count,
        run.head,
        min(times),
        max(times),
    )


def _plan(run: Run) -> Iterator[Row]:
    for step in run.steps:
        contract = run.contract(step.number)
        yield (
            step.number,
            step.description,
            step.skill_type,
            step.task_type,
            ", ".join(map(str, step.depends_on)),
            "\n".join(step.success),
            run.state(step.number),
            len(contract.checks) if contract else None,
            len(run.attempts(step.number)),
            run.accepted(step.number),
        )


def _criteria(run: Run) -> Iterator[Row]:
    for criterion in run.plan.criteria if run.plan else ():
        yield criterion.name, criterion.weight, criterion.threshold, criterion.description


def _checks(run: Run) -> Iterator[Row]:
    for step in run.steps:
        contract = run.contract(step.number)
        for check in contract.checks if contract else ():
            args = compact(check.args) if check.args else None
            yield (
                step.number,
                check.id,
                check.says,
                check.method,
                args,
                contract and contract.agreed,
                contract and contract.origin,
            )


def _attempts(run: Run) -> Iterator[Row]:
    for section, attempt in _of(run, Attempt):
        step, number = section.record.step or 0, section.record.attempt or 0
        report = run.evaluation(step, number)
        yield (
            step,
            number,
            attempt.approach,
            attempt.base,
            attempt.why,
            len(attempt.files),
            sum(file.size for file in attempt.files),
            ", ".join(attempt.missing),
            attempt.hash,
            report and report.verdict,
            report and report.overall,
            run.accepted(step) == number,
            attempt.seconds,
            section.at,
        )


def _evaluations(run: Run) -> Iterator[Row]:
    known = {c.name: c for c in (run.plan.criteria if run.plan else ())}
    for section, report in _of(run, EvaluationReport):
        record, evidence = section.record, {e.id: e for e in report.evidence}
        for finding in report.findings:
            criterion = known.get(finding.on) if finding.about == "criterion" else None
            cited = [evidence[name] for name in finding.evidence if name in evidence]
            yield (
                record.step,
                record.attempt,
                record.round,
                record.purpose,
                finding.on,
                finding.about,
                finding.score,
                criterion and criterion.threshold,
                criterion and criterion.weight,
                finding.verdict,
                finding.why,
                finding.says,
                ", ".join(finding.evidence),
                "; ".join(e.says for e in cited),
                finding.quote,
                _strength(cited),
                any(e.replayed for e in cited),
                report.rater,
                finding.by,
                section.at,
            )


def _strength(cited: Sequence[Evidence]) -> str | None:
    if not cited:
        return None
    return "weak" if all(e.strength == "weak" for e in cited) else "strong"


def _trajectory(run: Run) -> Iterator[Row]:
    known = {c.name: c for c in (run.plan.criteria if run.plan else ())}
    for section, attempt in _of(run, Attempt):
        step, number = section.record.step or 0, section.record.attempt or 0
        report = run.evaluation(step, number)
        if report is None:
            continue
        for finding in report.findings:
            if finding.about == "criterion":
                criterion = known.get(finding.on)
                threshold, weight = (criterion.threshold, criterion.weight) if criterion else (None, None)
                row = (finding.on, "criterion", finding.score, threshold, weight, finding.verdict)
                yield step, number, attempt.approach, *row
        if met := _checks_met(report.findings):
            yield step, number, attempt.approach, *met
        yield step, number, attempt.approach, "overall", "overall", report.overall, None, None, report.verdict


def _checks_met(findings: Sequence[Finding]) -> Row | None:
    verdicts = {finding.verdict for finding in findings if finding.about == "check"}
    share = share_met(findings)
    if share is None:
        return None
    verdict = "fail" if "fail" in verdicts else "unmeasured" if "unmeasured" in verdicts else "pass"
    score = None if "unmeasured" in verdicts else HIGHEST * share
    return "checks", "checks", score, HIGHEST, None, verdict


def _decisions(run: Run) -> Iterator[Row]:
    for section, decision in _of(run, Decision):
        numbers = compact(decision.numbers) if decision.numbers else None
        record = section.record
        yield record.step, record.attempt, decision.action, decision.attempt, decision.reason, numbers, section.at


def _calls(run: Run) -> Iterator[Row]:
    for section, call in _settled(run):
        record = section.record
        where = (PHASES[record.kind], call.role, record.step, record.attempt, record.round, record.purpose)
        yield *where, *_call(call), True


def _call(call: Call) -> Row:
    usage = call.usage
    tokens = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return call.model, call.id, *tokens, call.dollars, call.seconds, call.stop_reason, call.source


def _settled(run: Run) -> Iterator[tuple[Section, Call]]:
    for section in run.sections:
        payload = section.payload
        if isinstance(payload, Plan | Proposal | Response | Attempt | EvaluationReport):
            for call in payload.calls:
                yield section, call


def _cost(run: Run) -> Iterator[Row]:
    groups: dict[Row, list[Call]] = {}
    seconds: dict[Row, float] = {}
    for section in run.sections:
        payload, record = section.payload, section.record
        if not isinstance(payload, Plan | Proposal | Response | Attempt | EvaluationReport):
            continue
        turn = record.attempt if isinstance(payload, Attempt | EvaluationReport) else record.round
        roles: set[str] = {call.role for call in payload.calls}
        for role in sorted(roles or {record.by}):
            key: Row = (PHASES[record.kind], role, record.step, turn)
            groups.setdefault(key, []).extend(call for call in payload.calls if call.role == role)
            seconds[key] = seconds.get(key, 0.0) + payload.seconds
    for key, made in groups.items():
        yield (
            *key,
            *_sums(made),
            seconds[key],
            _names(call.model for call in made),
            _names(call.source for call in made),
        )


def _sums(made: Sequence[Call]) -> Row:
    usages = [call.usage for call in made]
    dollars = [call.dollars for call in made]
    return (
        len(made),
        sum(usage.input_tokens for usage in usages),
        sum(usage.output_tokens for usage in usages),
        sum(usage.cache_read_tokens for usage in usages),
        sum(usage.cache_write_tokens for usage in usages),
        None if None in dollars else sum(price for price in dollars if price is not None),
    )


def _names(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))


def _of(run: Run, cls: type[P]) -> Iterator[tuple[Section, P]]:
    for section in run.sections:
        if isinstance(section.payload, cls):
            yield section, section.payload
