"""The rows of the frames, without the run's id: what a run's sections tell, one tuple a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from ..payloads import compact
from ..records import Attempt, Decision, EvaluationReport, Evidence, Finding, Payload, Section
from ..run import Run
from ..verdict import HIGHEST, share_met

Row = tuple[object, ...]
P = TypeVar("P", bound=Payload)


def task_rows(run: Run) -> Iterator[Row]:
    """The rows of ``tasks``."""
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


def plan_rows(run: Run) -> Iterator[Row]:
    """The rows of ``plan``."""
    instead = {replan.step: ", ".join(map(str, replan.by)) for replan in run.replans}
    for step in run.every_step:
        contract = run.contract(step.number)
        yield (
            step.number,
            step.description,
            step.skill_type,
            step.task_type,
            ", ".join(map(str, step.depends_on)),
            "\n".join(step.success),
            run.state(step.number),
            instead.get(step.number),
            len(contract.checks) if contract else None,
            len(run.attempts(step.number)),
            run.accepted(step.number),
            _overall(run.reported(step.number)),
            _overall(run.evaluation(step.number, run.accepted(step.number) or 0)),
        )


def _overall(report: EvaluationReport | None) -> float | None:
    return report.overall if report else None


def criteria_rows(run: Run) -> Iterator[Row]:
    """The rows of ``criteria``."""
    for criterion in run.plan.criteria if run.plan else ():
        yield criterion.name, criterion.weight, criterion.threshold, criterion.description


def checks_rows(run: Run) -> Iterator[Row]:
    """The rows of ``checks``."""
    for step in run.every_step:
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


def attempts_rows(run: Run) -> Iterator[Row]:
    """The rows of ``attempts``."""
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


def evaluations_rows(run: Run) -> Iterator[Row]:
    """The rows of ``evaluations``."""
    known = {c.name: c for c in (run.plan.criteria if run.plan else ())}
    for section, report in _of(run, EvaluationReport):
        record, evidence = section.record, {e.id: e for e in report.evidence}
        for finding in report.findings:
            criterion = known.get(finding.on) if finding.about == "criterion" else None
            cited = [evidence[name] for name in finding.evidence if name in evidence]
            yield (
                record.step,
                record.attempt,
                _terms(run, section),
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
    """That of the strongest evidence cited; what is weak alone is weak."""
    if not cited:
        return None
    return next((e.strength for e in cited if not e.strength.startswith("weak")), cited[0].strength)


def trajectory_rows(run: Run) -> Iterator[Row]:
    """The rows of ``trajectory``."""
    known = {c.name: c for c in (run.plan.criteria if run.plan else ())}
    for section, attempt in _of(run, Attempt):
        step, number = section.record.step or 0, section.record.attempt or 0
        judged = run.of("evaluation", step, number, "gate")[-1:]
        report = run.evaluation(step, number)
        if report is None:
            continue
        where = (step, number, _terms(run, judged[0]), attempt.approach)
        for finding in report.findings:
            if finding.about == "criterion":
                criterion = known.get(finding.on)
                threshold, weight = (criterion.threshold, criterion.weight) if criterion else (None, None)
                yield *where, finding.on, "criterion", finding.score, threshold, weight, finding.verdict
        if met := _checks_met(report.findings):
            yield *where, *met
        yield *where, "overall", "overall", report.overall, None, None, report.verdict


def _terms(run: Run, section: Section) -> int | None:
    """By which of its step's contracts an evaluation was made, counted from 1; None where there was none."""
    return sum(one.seq < section.seq for one in run.of("contract", section.record.step)) or None


def _checks_met(findings: Sequence[Finding]) -> Row | None:
    verdicts = {finding.verdict for finding in findings if finding.about == "check"}
    share = share_met(findings)
    if share is None:
        return None
    verdict = "fail" if "fail" in verdicts else "unmeasured" if "unmeasured" in verdicts else "pass"
    score = None if "unmeasured" in verdicts else HIGHEST * share
    return "checks", "checks", score, HIGHEST, None, verdict


def decisions_rows(run: Run) -> Iterator[Row]:
    """The rows of ``decisions``."""
    for section, decision in _of(run, Decision):
        numbers = compact(decision.numbers) if decision.numbers else None
        record = section.record
        yield record.step, record.attempt, decision.action, decision.attempt, decision.reason, numbers, section.at


def _of(run: Run, cls: type[P]) -> Iterator[tuple[Section, P]]:
    for section in run.sections:
        if isinstance(section.payload, cls):
            yield section, section.payload
