"""Evaluations as tables, a row a finding, with the evidence that it cites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..display import WHOLE, Block, Cell, Fold, Mark, Picture, Table, Verbatim, Words, cut, number
from ..errors import StateDamaged
from ..prose import counted
from ..records import EvaluationReport, Evidence, Finding, Section, StepContract, Verdict
from ..run import Run
from ..workspace import Objects


def findings_tables(
    run: Run,
    step: int | None = None,
    attempt: int | None = None,
    on: str | None = None,
    *,
    verdict: Verdict | None = None,
    standing: bool,
) -> Iterator[Block]:
    """A table an evaluation; with ``standing``, only of what stands for each step, or was tried last.

    ``on`` names one check or criterion, ``verdict`` what was found; None: all of them.
    """
    steps = [run.step(step).number] if step is not None else [one.number for one in run.every_step]
    chosen = _Chosen(attempt=attempt, on=on, verdict=verdict, standing=standing)
    tables = [table for number in steps for table in _tables(run, number, chosen)]
    yield from tables or [Words(_none(run, steps, attempt, verdict))]


def _none(run: Run, steps: Sequence[int], attempt: int | None, verdict: Verdict | None) -> str:
    """Why there is nothing to show."""
    judged = [one for step in steps for one in run.of("evaluation", step) if attempt in (None, one.record.attempt)]
    if not judged:
        return "Nothing was evaluated there yet."
    return f"Nothing that was found there is {verdict}; it was evaluated {counted(len(judged), 'time')}."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """Which evaluations of a step, and which of their findings."""

    attempt: int | None
    on: str | None
    verdict: Verdict | None
    standing: bool

    def holds(self, finding: Finding) -> bool:
        """Whether the finding is one of them."""
        return self.on in (None, finding.on) and self.verdict in (None, finding.verdict)


def _tables(run: Run, step: int, of: _Chosen) -> Iterator[Block]:
    chosen = of.attempt or (run.accepted(step) if of.standing else None)
    sections = [s for s in run.of("evaluation", step) if chosen is None or s.record.attempt == chosen]
    if of.standing:
        sections = [section for section in sections if section.record.purpose in DECIDING][-1:]
    for section in sections:
        report = section.payload
        if isinstance(report, EvaluationReport):
            findings = [finding for finding in report.findings if of.holds(finding)]
            if findings or not of.verdict:
                yield _table(run, section, report, findings)
                yield from _below(run, report, of)


def _table(run: Run, section: Section, report: EvaluationReport, findings: Sequence[Finding]) -> Table:
    record = section.record
    which = f" ({record.purpose})" if record.purpose not in (None, "gate") else ""
    which += f", round {record.round}" if record.round and record.round > 1 else ""
    said = f"{report.verdict}, overall {number(report.overall)}"
    contract = contract_at(run, section)
    rows = tuple(_finding(run, contract, report, finding) for finding in findings)
    return Table(caption=f"Step {record.step}, attempt {record.attempt}{which}: {said}", heads=HEADS, rows=rows)


def _below(run: Run, report: EvaluationReport, of: _Chosen) -> Iterator[Block]:
    yield from (Words(note) for note in report.notes)
    if not of.standing:
        yield from _seen(run, report)
    if report.unusable:
        text = cut(report.unusable.text, WHOLE)
        yield Fold(summary="The judge's reply, which could not be used", blocks=(Verbatim(text=text),))


def contract_at(run: Run, section: Section) -> StepContract | None:
    """The contract by which an evaluation was made: a later one may give the same id to another check."""
    held = [one.payload for one in run.of("contract", section.record.step) if one.seq < section.seq]
    return held[-1] if held and isinstance(held[-1], StepContract) else None


DECIDING = frozenset({"gate", "kept"})
"""Purposes of the evaluations that count for an attempt."""
LINE = 160
HEADS = ("Check or criterion", "Score", "Threshold", "Verdict", "Why", "Evidence")


def _finding(run: Run, contract: StepContract | None, report: EvaluationReport, finding: Finding) -> tuple[Cell, ...]:
    says = {check.id: check.says for check in contract.checks} if contract else {}
    thresholds = {c.name: c.threshold for c in run.plan.criteria} if run.plan else {}
    name = f"{finding.on}: {says[finding.on]}" if finding.about == "check" and finding.on in says else finding.on
    threshold = thresholds.get(finding.on) if finding.about == "criterion" else None
    return name, finding.score, threshold, Mark(finding.verdict), reason_of(finding), evidence_of(report, finding)


def reason_of(finding: Finding) -> str:
    """Why the verdict is what it is, and what the rater said."""
    return f"{finding.why}. {finding.says}" if finding.says else finding.why


def evidence_of(report: EvaluationReport, finding: Finding) -> str | None:
    """The evidence that a finding cites, in words, and its quote; None where it cites none."""
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
