"""Items: what raters give verdicts on. One check or criterion of one attempt, or the whole attempt."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from .. import bank
from ..records import Criterion, EvaluationReport, Finding, Verdict
from ..run import Run

About = Literal["check", "criterion", "attempt"]
ORACLE = "oracle"
"""The rater that knows what is so of the practice tasks, and the review method that finds it out."""
WHOLE = "*"
"""How the whole attempt is written where the id of a check stands in an item's key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to be judged. ``on`` is empty for the whole attempt; ``by`` tells who decided it at the gate.

    ``attempt`` is the first attempt of the step with these files; ``kind`` the review method that the contract names for a check.
    """

    run: str
    task: str
    step: int
    step_kind: str
    attempt: int
    attempt_hash: str
    on: str
    about: About
    kind: str
    says: str
    by: str
    threshold: float | None

    @property
    def key(self) -> str:
        """How it is called across runs, kernels and files."""
        return item_key(self.run, self.step, self.attempt_hash, self.on)


def item_key(run: str, step: int, attempt_hash: str, on: str) -> str:
    """How an item is called: run, step, the first twelve hex of the attempt's hash, and what of it is judged."""
    return f"{run}:{step}:{attempt_hash[:12]}/{on or WHOLE}"


def task_of(run: Run) -> str:
    """The task that runs have in common: its practice name, else a hash of prompt and inputs. What figures are grouped by."""
    task = run.task
    if task.practice is not None:
        return task.practice
    made_of = "\n".join((task.prompt, *(one.content for one in task.inputs)))
    return f"task-{hashlib.sha256(made_of.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def items(runs: Run | Iterable[Run]) -> tuple[Item, ...]:
    """Every item of the runs, in order: attempts that were evaluated under the contract in force, each content once a step."""
    several = [runs] if isinstance(runs, Run) else runs
    return tuple(item for run in several for item in _of_run(run))


def _of_run(run: Run) -> Iterator[Item]:
    task = task_of(run)
    criteria = {criterion.name: criterion for criterion in (run.plan.criteria if run.plan else ())}
    for step in run.every_step:
        contract, seen = run.contract(step.number), set()
        checks = {check.id: check for check in contract.checks} if contract else {}
        for attempt, report in run.evaluations(step.number).items():
            if report.attempt_hash in seen:
                continue
            seen.add(report.attempt_hash)
            for finding in judged(report):
                check, criterion = checks.get(finding.on), criteria.get(finding.on)
                yield Item(
                    run=run.task.run,
                    task=task,
                    step=step.number,
                    step_kind=step.task_type,
                    attempt=attempt,
                    attempt_hash=report.attempt_hash,
                    on=finding.on,
                    about=finding.about,
                    kind=check.method if check else "criterion",
                    says=check.says if check else criterion.description if criterion else "",
                    by=finding.by,
                    threshold=criterion.threshold if criterion and not check else None,
                )
            yield Item(
                run=run.task.run,
                task=task,
                step=step.number,
                step_kind=step.task_type,
                attempt=attempt,
                attempt_hash=report.attempt_hash,
                on="",
                about="attempt",
                kind="attempt",
                says=step.description,
                by="gate",
                threshold=None,
            )


def judged(report: EvaluationReport) -> tuple[Finding, ...]:
    """The findings of a report on checks and criteria; a deliverable that is missing is no question to a rater."""
    return tuple(finding for finding in report.findings if finding.by != "harness")


@dataclass(frozen=True, slots=True)
class Known:
    """What is so of one item: its verdict, and of a criterion its true quality."""

    verdict: Verdict
    score: float | None = None


def truth_of(run: Run, step: int, report: EvaluationReport, threshold_of: dict[str, Criterion]) -> dict[str, Known]:
    """What the bank knows of an attempt: on -> verdict ("" for the whole attempt).

    Of one that it does not know, such as a model's own, what its hidden inputs found when they were run; the whole attempt is
    then known only where it is bad. Empty where neither tells anything.
    """
    task = run.task.practice
    known = bank.truth(task, report.attempt_hash, run.part(step)) if task is not None else None
    if known is None or known.step != run.line(step)[0]:
        return _found(run, step, report)
    told: dict[str, Known] = {}
    for finding in judged(report):
        criterion = threshold_of.get(finding.on)
        if finding.about == "check":
            # What a person added, and what an earlier step left, the bank vouches for only where nothing is wrong.
            met = known.met.get(finding.on)
            if met is not None or not known.defects:
                told[finding.on] = Known("pass" if met is not False else "fail")
        elif criterion is not None and finding.on in known.quality:
            quality = known.quality[finding.on]
            told[finding.on] = Known("pass" if quality >= criterion.threshold else "fail", quality)
    if len(told) == len(judged(report)):
        whole = all(one.verdict == "pass" for one in told.values())
        told[""] = Known("pass" if whole else "fail")
    return told


def _found(run: Run, step: int, report: EvaluationReport) -> dict[str, Known]:
    """What the bank's hidden inputs found, as they were run for the evaluation. Inputs of a contract's own may be wrong."""
    contract = run.contract(step)
    by_bank = {check.id for check in (contract.checks if contract else ()) if check.args.get("oracle")}
    found = {one.on: Known(one.verdict) for one in report.findings if one.on in by_bank and one.by == ORACLE}
    if any(one.verdict == "fail" for one in found.values()):
        found[""] = Known("fail")
    return found
