"""An attempt as its evaluation at the gate saw it, kept still: so that another rater can be asked about the very same.

Contract, artifacts and the outcomes of the reviews are those of the gate; nothing is run again. All of it is held by value.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from ..errors import BadInput
from ..models import About, Flaw, Request
from ..phases import margin_of, number
from ..records import Attempt, Check, EvaluationReport, Evidence, FileRef, Finding, StepContract, attempt_hash
from ..run import Run
from ..study_records import Rater
from ..verdict import JUDGE, Claim, grade, overall, raised, undelivered, verdict_of
from ..workspace import Objects
from .continuing import Conversation
from .equipment import Equipment
from .generator import listed
from .hearing import hear
from .inputs_told import inputs_told
from .judging import Docket, difference, laid_before, shared_out
from .raters import system_of

NONCE_BYTES = 8
LOGGED = "What was made and found at this step so far:"
LOGGED_CHARS = 300
"""Of what an author or a judge wrote, in the log that a judge is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """What a rater is asked of one attempt.

    ``claims`` are what reviews decided, ``docket`` what is left to a judge with all evidence. ``said`` stands at the top of the
    brief, ``diff`` is what changed since the attempt before. ``practice`` is the practice task's name, ``part`` the part of a
    planned step that the step is, as `Run.part` says it. ``flaw`` tells of a copy in an exam, ``after`` of the attempt
    that a judge with the log looks back from: both for the practice model alone. ``turns``: the conversation in which the attempt
    was made, where the judge is to see it first.
    """

    run: str
    step: int
    attempt: int
    attempt_hash: str
    practice: str | None
    checks: tuple[Check, ...]
    claims: tuple[Claim, ...]
    docket: Docket
    said: str
    diff: str
    missing: tuple[str, ...]
    max_tokens: int
    part: str = ""
    flaw: Flaw | None = None
    after: int | None = None
    turns: Conversation | None = None

    @property
    def brief(self) -> str:
        """The message of the gate's judge."""
        return "\n\n".join(filter(None, (self.said, laid_before(self.docket, self.checks, self.diff))))

    def seen_by(self, rater: Rater) -> Frozen:
        """What this rater is asked: one that judges alone has every check to decide, and only the artifacts to cite."""
        if not rater.alone:
            return self
        artifacts = tuple(one for one in self.docket.evidence if one.method == "artifact")
        texts = {one.id: self.docket.texts[one.id] for one in artifacts}
        return replace(
            self, claims=(), docket=replace(self.docket, checks=self.checks, evidence=artifacts, texts=texts)
        )

    def request(self, rater: Rater, sample: int) -> Request:
        """The judge call."""
        about = About(
            role="evaluator",
            phase="evaluate",
            run=self.run,
            step=self.step,
            attempt=self.after or self.attempt,
            task=self.practice,
            part=self.part,
            attempt_hash=self.attempt_hash,
            checks=tuple(check.id for check in self.docket.checks),
            criteria=tuple(criterion.name for criterion in self.docket.criteria),
            evidence=tuple(f"{evidence.id}:{evidence.on}" for evidence in self.docket.evidence),
            flaw=self.flaw,
        )
        return Request(
            model=rater.model,
            effort=rater.effort or None,
            system=system_of(rater),
            messages=self.turns.then(self.brief) if self.turns else ({"role": "user", "content": self.brief},),
            max_tokens=self.max_tokens,
            about=about,
            tools=self.turns.tools if self.turns else (),
            sample=sample,
            # The mark tells artifacts from what is said about them; it differs by attempt, and repeats must not differ by it.
            nonce=self.attempt_hash[-2 * NONCE_BYTES :],
        )


def freeze(run: Run, step: int, attempt: int, objects: Objects) -> Frozen:
    """The attempt as its last evaluation at the gate saw it. ``BadInput`` where there is none, or a part of it is gone."""
    report, contract, made = run.evaluation(step, attempt), run.contract(step), run.attempts(step).get(attempt)
    if report is None or contract is None or made is None:
        raise BadInput(f"Attempt {step}.{attempt} has no evaluation at the gate.", "%pge show evaluations lists those.")
    decided = [finding for finding in report.findings if finding.by not in (JUDGE, "harness")]
    claims = tuple(
        Claim(on=one.on, by=one.by, met=one.verdict == "pass", evidence=one.evidence)
        for one in {finding.on: finding for finding in decided}.values()
    )
    docket = _docket(run, contract, claims, _laid_out(report), objects)
    diff = difference(run.attempts(step).get(attempt - 1), made, objects)
    return _frozen(run, (step, attempt), made, (contract, claims, docket, diff))


def with_log(frozen: Frozen, run: Run, through: int, objects: Objects) -> Frozen:
    """The attempt as a judge sees it that is told what was made and found at its step, attempts 1 to ``through``."""
    if not through:
        return frozen
    told = [LOGGED]
    reports = run.evaluations(frozen.step)
    for number_, made in run.attempts(frozen.step).items():
        if number_ > through:
            break
        told.append(f"Attempt {number_}. Its author wrote: {_short(objects.whole(made.log))}")
        if report := reports.get(number_):
            found = "; ".join(filter(None, map(_found, report.findings)))
            told.append(f"You found: {report.verdict}. {found}")
    return replace(frozen, said="\n\n".join(filter(None, (frozen.said, "\n".join(told)))), after=through)


def _found(finding: Finding) -> str:
    score = "" if finding.score is None else f" {finding.score:g}"
    return f"{finding.on}: {finding.verdict}{score} {_short(finding.says)}".strip()


def _short(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= LOGGED_CHARS else f"{said[:LOGGED_CHARS]}..."


def freeze_copy(
    run: Run,
    at: tuple[int, int],
    files: tuple[FileRef, ...],
    seen: tuple[tuple[Claim, ...], tuple[Evidence, ...]],
    *,
    flaw: Flaw,
    objects: Objects,
) -> Frozen:
    """A copy of an attempt (``at`` is its step and number) that was changed, with what reviews claim of it and their evidence.

    It is laid before a judge as a first attempt is: what changed since another one would show what was planted.
    """
    step, attempt = at
    contract, made = run.contract(step), run.attempts(step)[attempt]
    if contract is None:
        raise BadInput(f"Step {step} has no contract.", f"%pge contract {step}")
    claims, evidence = seen
    copied = replace(made, files=files, hash=attempt_hash(files))
    docket = _docket(run, contract, claims, evidence, objects)
    return replace(_frozen(run, at, copied, (contract, claims, docket, "")), flaw=flaw)


def _docket(
    run: Run, contract: StepContract, claims: tuple[Claim, ...], evidence: tuple[Evidence, ...], objects: Objects
) -> Docket:
    decided = {claim.on for claim in claims}
    return Docket(
        checks=tuple(check for check in contract.checks if check.id not in decided),
        criteria=raised(run.plan.criteria if run.plan else (), margin_of(run.settings)),
        evidence=evidence,
        texts=shared_out({one.id: objects.whole(one.body) for one in evidence}),
    )


def _frozen(
    run: Run, at: tuple[int, int], made: Attempt, looked: tuple[StepContract, tuple[Claim, ...], Docket, str]
) -> Frozen:
    (step, attempt), (contract, claims, docket, diff) = at, looked
    said = listed("The person whose task it is says:", run.amendments(step, "evaluate"))
    return Frozen(
        run=run.task.run,
        step=step,
        attempt=attempt,
        attempt_hash=made.hash,
        practice=run.task.practice,
        checks=contract.checks,
        claims=claims,
        docket=docket,
        said="\n\n".join(filter(None, (said, inputs_told(run)))),
        diff=diff,
        missing=made.missing,
        max_tokens=int(number(run.settings, "max_tokens")),
        part=run.part(step),
    )


def grade_again(equipment: Equipment, frozen: Frozen, rater: Rater, sample: int) -> EvaluationReport:
    """Ask a judge about the attempt; reviews keep what they decided. ``sample`` tells repeats apart, from 0."""
    started = time.monotonic()
    docket, heard = frozen.docket, None
    if docket.ids:
        heard = hear(equipment, frozen.request(rater, sample), docket)
    claims = (*frozen.claims, *(heard.claims if heard else ()))
    findings = (*grade(frozen.checks, docket.criteria, claims, docket.texts), *undelivered(frozen.missing))
    return EvaluationReport(
        rater=rater.id,
        attempt_hash=frozen.attempt_hash,
        verdict=verdict_of(findings),
        overall=overall(findings, docket.criteria),
        findings=findings,
        unusable=None if heard is None or heard.unusable is None else equipment.objects.body(heard.unusable),
        notes=heard.notes if heard else (),
        calls=heard.calls if heard else (),
        seconds=time.monotonic() - started,
    )


def _laid_out(report: EvaluationReport) -> tuple[Evidence, ...]:
    """What lay before the judge at first: reviews and artifacts. What it looked up itself came behind them."""
    last = max(
        (n for n, one in enumerate(report.evidence, 1) if one.method == "artifact"), default=len(report.evidence)
    )
    return report.evidence[:last]
