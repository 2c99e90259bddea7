"""Evaluations as tables, a row a finding, with the evidence that it cites."""

from __future__ import annotations

from collections.abc import Iterator

from ..display import Block, Cell, Fold, Mark, Picture, Table, Verbatim, Words, number
from ..errors import StateDamaged
from ..prose import counted
from ..records import EvaluationReport, Evidence, Finding
from ..run import Run
from ..workspace import Objects


def findings_tables(
    run: Run, step: int | None = None, attempt: int | None = None, on: str | None = None, *, standing: bool
) -> Iterator[Block]:
    """A table an evaluation; with ``standing``, only of what stands for each step, or was tried last.

    ``on`` names one check or criterion; None: all of them.
    """
    steps = [run.step(step).number] if step is not None else [one.number for one in run.steps]
    tables = [table for number in steps for table in _tables(run, number, attempt, on, standing=standing)]
    yield from tables or [Words("Nothing was evaluated there yet.")]


def _tables(run: Run, step: int, attempt: int | None, on: str | None, *, standing: bool) -> Iterator[Block]:
    chosen = attempt or (run.accepted(step) if standing else None)
    sections = [s for s in run.of("evaluation", step) if chosen is None or s.record.attempt == chosen]
    for section in sections[-1:] if standing else sections:
        report, record = section.payload, section.record
        if isinstance(report, EvaluationReport):
            again = f", round {record.round}" if record.round and record.round > 1 else ""
            caption = (
                f"Step {step}, attempt {record.attempt}{again}: {report.verdict}, overall {number(report.overall)}"
            )
            findings = [finding for finding in report.findings if on in (None, finding.on)]
            yield Table(caption=caption, heads=HEADS, rows=tuple(_finding(run, step, report, f) for f in findings))
            yield from (Words(note) for note in report.notes)
            if not standing:
                yield from _seen(run, report)
            if report.unusable:
                yield Fold(
                    summary="The judge's reply, which could not be used", blocks=(Verbatim(text=report.unusable.text),)
                )


LINE = 160
HEADS = ("Check or criterion", "Score", "Threshold", "Verdict", "Why", "Evidence")


def _finding(run: Run, step: int, report: EvaluationReport, finding: Finding) -> tuple[Cell, ...]:
    contract = run.contract(step)
    says = {check.id: check.says for check in contract.checks} if contract else {}
    thresholds = {c.name: c.threshold for c in run.plan.criteria} if run.plan else {}
    name = f"{finding.on}: {says[finding.on]}" if finding.about == "check" and finding.on in says else finding.on
    threshold = thresholds.get(finding.on) if finding.about == "criterion" else None
    why = f"{finding.why}. {finding.says}" if finding.says else finding.why
    return name, finding.score, threshold, Mark(finding.verdict), why, _evidence(report, finding)


def _evidence(report: EvaluationReport, finding: Finding) -> str | None:
    issued = {evidence.id: evidence for evidence in report.evidence}
    said = []
    for cited in finding.evidence:
        evidence = issued.get(cited)
        if evidence is None:
            said.append(f"{cited}: never issued")
            continue
        said.append(f"{cited} ({', '.join(_marks(evidence))}): {evidence.says}{_outcome(evidence)}")
    quote = [f"“{finding.quote}”"] if finding.quote else []
    return "; ".join([*said, *quote]) or None


def _marks(evidence: Evidence) -> list[str]:
    less = evidence.strength.split(":", 1)[0].removeprefix("strong, but ")
    strength = [] if less == "strong" else [less]
    return [evidence.method, *strength, *(["replayed, not run here"] if evidence.replayed else [])]


def _outcome(evidence: Evidence) -> str:
    """What a review saw, on one line; an artifact is not told again, the finding quotes from it."""
    saw = "" if evidence.method == "artifact" else " ".join(evidence.body.text.split())
    return f"; {saw[:LINE].rstrip()}{' ...' if len(saw) > LINE else ''}" if saw else ""


def _seen(run: Run, report: EvaluationReport) -> Iterator[Block]:
    """Everything that the harness opened or ran for an evaluation."""
    number = len(report.evidence)
    if number:
        yield Fold(
            summary=f"What the harness saw: {counted(number, 'piece of evidence', 'pieces of evidence')}",
            blocks=tuple(block for evidence in report.evidence for block in _piece(run, evidence)),
        )


def _piece(run: Run, evidence: Evidence) -> Iterator[Block]:
    label = f"{evidence.id} ({', '.join(_marks(evidence))}): {evidence.says}"
    yield Verbatim(label=label, text=evidence.body.text)
    if evidence.picture and run.root:
        try:
            content = Objects(run.root).get(evidence.picture)
        except StateDamaged as error:
            yield Words(f"Its screenshot cannot be shown. {error.fact}")
        else:
            yield Picture(kind="Screenshot", draw=lambda: content, alt=label)
