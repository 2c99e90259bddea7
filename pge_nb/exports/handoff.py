"""A run for whoever takes over from it, a person or an agent: what is done, what is not, and every attempt with its verdict.

The files are made of the state file alone, anew at each export, and nothing reads them back. Whether something is done is said
by evaluations under the contract in force, whatever stands in the texts of agents.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import StateDamaged
from ..markdown import fence, inline, said, table, visible
from ..phases import holds_since
from ..prose import counted, for_people, heading
from ..records import Attempt, Decision, EvaluationReport, FileRef, Finding, Interruption, Section
from ..results import graded_again
from ..run import Run
from ..views.ends import caveats, foot, next_move, open_questions, title
from ..views.said import HEADS, said_rows
from ..workspace import Objects

FORMAT = "pge-features/1"
ARTIFACTS = "artifacts"
Status = Literal["passing", "failing", "pending"]
STATUS: Mapping[str, Status] = {"pass": "passing", "fail": "failing", "unmeasured": "pending"}
MOST_SHOWN = 100_000
"""Characters of one file that an artifact page shows."""
TOLD = frozenset({"plan", "contract", "decision", "amendment", "question", "answer", "interruption", "receipt"})
"""The kinds of section that progress.md lists; attempts and evaluations have pages of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One thing that can be told done: a check or criterion of a step; a step that has no contract yet is one by itself.

    ``section`` is the number of the evaluation that says so, ``attempt`` what it looked at; None while none holds.
    """

    step: int
    on: str
    kind: Literal["check", "criterion", "step"]
    description: str
    method: str
    status: Status = "pending"
    attempt: int | None = None
    section: int | None = None
    evidence: tuple[str, ...] = ()
    why: str = ""

    @property
    def id(self) -> str:
        """Its address: STEP/CHECK, or STEP alone."""
        return f"{self.step}/{self.on}" if self.on else str(self.step)


def files(run: Run) -> dict[str, bytes]:
    """Name -> content of all handoff files."""
    told = list(features(run))
    pages = {
        "progress.md": _progress(run, told),
        "acceptance.md": _acceptance(run, told),
        f"{ARTIFACTS}/plan.md": _plan(run),
        **dict(_attempts(run)),
    }
    texts = {name: "\n".join(lines).rstrip("\n") + "\n" for name, lines in pages.items()}
    return {"feature_list.json": _feature_list(run, told), **{name: text.encode() for name, text in texts.items()}}


# What is done


def features(run: Run) -> Iterator[Feature]:
    """The features of the plan in force, step by step."""
    for step in run.steps:
        contract, judged = run.contract(step.number), judgement(run, step.number)
        if contract is None:
            yield Feature(step=step.number, on="", kind="step", description=step.description, method="")
            continue
        for check in contract.checks:
            asked = Feature(step=step.number, on=check.id, kind="check", description=check.says, method=check.method)
            yield _decided(asked, judged)
        for one in run.plan.criteria if run.plan else ():
            least = f"{one.description} (at least {one.threshold:g} of 10)"
            scored = Feature(step=step.number, on=one.name, kind="criterion", description=least, method="judge")
            yield _decided(scored, judged)


def judgement(run: Run, step: int) -> Section | None:
    """The evaluation that says what of a step is done: of the attempt that stands, else the last one.

    None where none was made under the contract in force, or a person has asked for another contract since.
    """
    if run.reopened(step):
        return None
    stands = run.accepted(step)
    made = [section for purpose in ("gate", "kept") for section in run.of("evaluation", step, stands, purpose)]
    holding = [section for section in made if section.seq > holds_since(run, step)]
    return max(holding, key=lambda section: section.seq, default=None)


def _decided(asked: Feature, judged: Section | None) -> Feature:
    """The feature as an evaluation found it."""
    report = judged.payload if judged else None
    if judged is None or not isinstance(report, EvaluationReport):
        return asked
    found = next((one for one in report.findings if (one.on, one.about) == (asked.on, asked.kind)), None)
    return Feature(
        step=asked.step,
        on=asked.on,
        kind=asked.kind,
        description=asked.description,
        method=asked.method,
        status=STATUS[found.verdict] if found else "pending",
        attempt=judged.record.attempt,
        section=judged.seq,
        evidence=found.evidence if found else (),
        why=_why(found) if found else "it was not looked at",
    )


def _why(found: Finding) -> str:
    return f"{found.why}. {found.says}" if found.says else found.why


# The files


def _feature_list(run: Run, told: Sequence[Feature]) -> bytes:
    listed = [
        {
            "id": one.id,
            "step": one.step,
            "kind": one.kind,
            "description": visible(one.description),
            "method": one.method or None,
            "status": one.status,
            "passes": one.status == "passing",
            "attempt": one.attempt,
            "section": one.section,
            "evidence": list(one.evidence),
            "why": visible(one.why),
        }
        for one in told
    ]
    whole = {"format": FORMAT, "run": run.task.run, "head": run.head, "outcome": run.outcome, "features": listed}
    return json.dumps(whole, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n"


def _top(run: Run, what: str) -> list[str]:
    """The title and of what a page was made; what a reader must not miss."""
    made = "Made of the state file, anew at each export; nothing reads it back."
    notes = [f"- {inline(note)}" for note in caveats(run)]
    return [f"# {what}: {inline(title(run))}", "", f"{made} {inline(foot(run))}", "", *notes, *([""] if notes else [])]


def _progress(run: Run, told: Sequence[Feature]) -> list[str]:
    counts = {status: sum(one.status == status for one in told) for status in STATUS.values()}
    stands = f"The run: **{run.outcome}**. {counted(len(told), 'feature')}: "
    stands += ", ".join(f"{number} {status}" for status, number in counts.items())
    return [
        *_top(run, "Progress"),
        f"{stands}.",
        "",
        "## Task",
        "",
        *said(run.task.prompt),
        "",
        "## Steps",
        "",
        *_steps(run, told),
        "",
        "## Next",
        "",
        *(
            f"- {'The plan' if step is None else f'Step {step}'} asks: {inline(question.text)}"
            for step, question in open_questions(run)
        ),
        f"- `{next_move(run)}`",
        "",
        *_said(run),
        "## What was decided",
        "",
        *(_line(section) for section in run.sections if section.record.kind in TOLD),
    ]


def _steps(run: Run, told: Sequence[Feature]) -> list[str]:
    if not run.steps:
        return ["There is no plan yet."]
    rows = []
    for step in run.every_step:
        own = [one for one in told if one.step == step.number]
        tried = [
            f"[{step.number}.{number}]({_page('code', step.number, number)})" for number in run.attempts(step.number)
        ]
        stands, again = run.accepted(step.number), graded_again(run, step.number)
        rows.append(
            (
                str(step.number),
                inline(step.description),
                ", ".join(map(str, step.depends_on)) or "-",
                ", ".join(filter(None, (run.state(step.number), f"attempt {stands}" if stands else "", again))),
                f"{sum(one.status == 'passing' for one in own)} of {len(own)}",
                ", ".join(tried) or "-",
            )
        )
    return table(("Step:", "Work", "Needs", "State", "Passing", "Attempts"), rows)


def _said(run: Run) -> list[str]:
    """The words of people, whole: an agent that takes over is to keep to them."""
    rows = [
        [str(cell) if isinstance(cell, int) else inline(cell, sys.maxsize) for cell in row] for row in said_rows(run)
    ]
    return ["## What people said", "", *table(HEADS, rows), ""] if rows else []


def _line(section: Section) -> str:
    payload = section.payload
    why = f": {inline(payload.reason)}" if isinstance(payload, Decision | Interruption) else ""
    return f"- {section.at.replace('T', ' ')[:16]} UTC, section {section.seq}: {heading(section.record)}{why}"


def _acceptance(run: Run, told: Sequence[Feature]) -> list[str]:
    lines = _top(run, "Acceptance")
    for step in run.steps:
        contract = run.contract(step.number)
        lines += [f"## Step {step.number}: {inline(step.description)}", ""]
        if contract is None:
            lines += ["No contract yet. It is to be done when:", ""]
            lines += [f"- [ ] {inline(one)}" for one in step.success or (step.description,)]
        else:
            lines += [f"{run.state(step.number).capitalize()}. The contract: {inline(contract.origin)}.", ""]
            lines += [_box(one) for one in told if one.step == step.number]
        lines.append("")
    return lines if run.steps else [*lines, "There is no plan yet."]


def _box(one: Feature) -> str:
    tick = "x" if one.status == "passing" else " "
    where = f"attempt {one.step}.{one.attempt}, section {one.section}"
    cited = f", evidence {inline(', '.join(one.evidence), 200)}" if one.evidence else ""
    by = f"{where}{cited}: {inline(one.why)}" if one.section is not None else "not evaluated"
    return f"- [{tick}] **{inline(one.on, 80)}** {inline(one.description)}: {one.status} ({by})"


# The artifact folder


def _page(what: str, step: int, attempt: int) -> str:
    return f"{ARTIFACTS}/{what}_{step}_{attempt}.md"


def _plan(run: Run) -> list[str]:
    lines = _top(run, "Plan")
    for section in run.of("plan")[-len(run.plans) :]:
        lines += for_people(section.record)
    for step in run.every_step:
        for section in run.of("contract", step.number)[-1:]:
            lines += for_people(section.record)
    return lines if run.plan else [*lines, "There is no plan yet."]


def _attempts(run: Run) -> Iterator[tuple[str, list[str]]]:
    """A page of code and one of feedback for each attempt, those at steps of earlier plans too."""
    objects = Objects(run.root) if run.root else None
    for section in run.sections:
        step, attempt, made = section.record.step, section.record.attempt, section.payload
        if isinstance(made, Attempt) and step is not None and attempt is not None:
            shown = (line for file in made.files for line in _file(file, objects))
            yield _page("code", step, attempt), [*for_people(section.record), *shown]
            yield _page("feedback", step, attempt), _feedback(run, step, attempt)


def _file(file: FileRef, objects: Objects | None) -> list[str]:
    title = f"### {inline(file.path)}"
    try:
        content = objects.get(file.sha256) if objects else None
    except StateDamaged as error:
        return [title, "", inline(error.fact), ""]
    if content is None:
        return [title, "", "Its content is not at hand.", ""]
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return [title, "", f"{counted(len(content), 'byte')} that are no text.", ""]
    more = len(text) - MOST_SHOWN
    cut = [f"Cut: {more:,} more characters; the whole is `.pge/objects/{file.sha256[:12]}`...", ""] if more > 0 else []
    return [title, "", *fence(text[:MOST_SHOWN]), "", *cut]


def _feedback(run: Run, step: int, attempt: int) -> list[str]:
    """What evaluations found in an attempt and what was decided on it, in order. Canaries were not of this attempt."""
    found = [section for purpose in ("gate", "kept") for section in run.of("evaluation", step, attempt, purpose)]
    told = sorted([*found, *run.of("decision", step, attempt)], key=lambda section: section.seq)
    lines = [line for section in told for line in for_people(section.record)]
    return lines or [f"# Attempt {step}.{attempt}", "", "It was not evaluated yet."]
