"""What every view of a run begins and ends with: title, caveats, the one next action, and of what it was drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..abreast import blocked_by
from ..agents.canaries import tried
from ..config import uses_practice
from ..models.choose import models_in
from ..models.limits import DEFAULT_DOLLARS, DEFAULT_UNPRICED_TOKENS, dollars_up
from ..phases import TOO_LONG, takes_part
from ..prose import counted, removed_in_words
from ..records import EvaluationReport, Question, Receipt, Redaction
from ..run import ENDED, Run
from .said import hinted

TOUR = {
    "run": "%pge show trajectory",
    "plan": "%pge show contract",
    "contract": "%pge show evaluations",
    "evaluations": "%pge show trajectory",
    "trajectory": "%pge show decisions",
    "decisions": "%pge show cost",
    "cost": "%pge verify",
    "prompt": "%pge show evaluations",
    "hidden": "%pge show evaluations",
    "skills": "%pge show plan",
}
"""After each view of a finished run, the one to look at next."""
NEXT_CALL = re.compile(r"The next call could (?:use|cost) ([\d,.]*\d)")
"""What the call could take that a limit kept from being made, in a receipt."""


def title(run: Run) -> str:
    """The plan's title; before there is one, the first line of the prompt."""
    return run.plan.title if run.plan else run.task.prompt.strip().split("\n", 1)[0]


def next_move(run: Run, what: str = "run") -> str:
    """The one next action."""
    if questions := open_questions(run):
        step, question = questions[0]
        which = f" --step {step}" if len(questions) > 1 else ""
        return f"%pge answer {question.choices[0]}" + which
    if run.outcome in {"running", "stopped", "paused"} and not ended(run):
        return "%pge new" if TOO_LONG in _receipt(run) else "%pge resume" + _more(run)
    return TOUR[what]


def _more(run: Run) -> str:
    """The flag that raises the limit at which a run stopped: to twice of what it was, and so that the next call fits."""
    told = _receipt(run)
    asked = float(found[1].replace(",", "")) if (found := NEXT_CALL.search(told)) else 0.0
    if "at work" in told:
        return f" --max-seconds {2 * _limit(run, 'max_seconds', 60.0):g}"
    if "dollars" in told:
        limit = _limit(run, "max_dollars", DEFAULT_DOLLARS)
        return f" --budget {dollars_up(limit + max(limit, asked))}"
    if "tokens" in told:
        limit = _limit(run, "max_tokens_total", DEFAULT_UNPRICED_TOKENS)
        return f" --max-tokens-total {limit + max(limit, asked):.0f}"
    return ""


def _receipt(run: Run) -> str:
    """How the run ended, as its last section tells it."""
    last = run.last.payload if run.last else None
    return last.outcome if isinstance(last, Receipt) else ""


def _limit(run: Run, name: str, default: float) -> float:
    value = run.settings.get(name)
    return float(value) if isinstance(value, int | float) and value else default


def ended(run: Run) -> bool:
    """Whether no step can be gone on with."""
    return run.plan is not None and not any(
        run.state(step.number) not in ENDED or run.ungraded(step.number) for step in run.steps
    )


def caveats(run: Run) -> Iterator[str]:
    """What a reader must not miss, a line each."""
    yield from redacted(run)
    if uses_practice(run.task.settings):
        names = sorted(set(models_in(run.task.settings)))
        yield f"Practice model ({', '.join(names)}): simulated, no language model wrote or judged anything here."
        if hinted(run):
            yield "It plays its task whatever it is told: hints are kept, and change nothing of what it makes."
    yield from _off(run)
    isolation = {run.task.isolation, *(report.isolation for report in _reports(run))} - {""}
    for said in sorted(isolation):
        yield f"{said[0].upper()}{said[1:]}."
    yield from _fallen(run)
    if any(evidence.replayed for report in _reports(run) for evidence in report.evidence):
        yield "Evidence marked as replayed was met again from the call log, not run here."
    for plan in run.plans:
        yield from plan.notes
    for step in run.steps:
        contract = run.contract(step.number)
        if contract is not None and not contract.agreed and takes_part(run.settings, "contract"):
            yield f"The contract of step {step.number} was {contract.origin}."
        if run.state(step.number) == "infeasible":
            yield (
                f"Step {step.number} is infeasible with the skills at hand: two replans in a row used "
                f"{run.same_skill(step.number)!r}, and failed."
            )
        if failed := blocked_by(run, step.number):
            yield f"Step {step.number} is blocked: it builds on step {' and '.join(map(str, failed))}, which failed."
    if ended(run) and run.undelivered:
        yield f"The plan promises {', '.join(run.undelivered)}, which no step has delivered."


def _fallen(run: Run) -> Iterator[str]:
    """On what the judge passed known-bad artifacts: a line for its checks, one for its criteria."""
    for about, several in (("check", "checks"), ("criterion", "criteria")):
        passed = [f"“{said}” ({canary})" for (kind, said), canary in tried(run).items() if canary and kind == about]
        if passed:
            which, those = (about, "that") if len(passed) == 1 else (several, "them")
            yield (
                f"The judge passed a known-bad artifact on the {which} {', '.join(passed)}: "
                f"what it says of {those}, and of any {about} that it was not tried on, counts for nothing in this run."
            )


def _off(run: Run) -> Iterator[str]:
    """Who takes no part in the run, or another than usual; of the planner the plan itself tells."""
    if run.plan is None and not takes_part(run.settings, "planner"):
        yield "The planner is off: the prompt is the only step."
    if not takes_part(run.settings, "contract"):
        yield "Contracts are off: the plan's success criteria are checks for the judge."
    if not takes_part(run.settings, "evaluator"):
        yield "The evaluator is off: nothing is measured, so the run cannot pass."
    elif run.settings.get("evaluator") == "self":
        yield "The generator judges its own work, in its own turns."


def redacted(run: Run) -> Iterator[str]:
    """What this run is an export of, and what was taken out of it, where something was."""
    for section in run.of("redaction"):
        if isinstance(section.payload, Redaction):
            yield f"Redacted export of head {section.payload.of[:12]}. Taken out: {removed_in_words(section.payload)}."


def foot(run: Run) -> str:
    """Run, section, head, time and rater: of what a view was drawn."""
    if not run.sections:
        return ""
    raters = list(dict.fromkeys(report.rater for report in _reports(run)))
    when = run.sections[-1].at.replace("T", " ")[:16]
    said = [f"run {run.task.run}", counted(len(run.sections), "section"), f"head {run.head[:12]}", f"{when} UTC"]
    return " · ".join([*said, *(f"rater {rater}" for rater in raters[-1:])])


def _reports(run: Run) -> Iterator[EvaluationReport]:
    for section in run.sections:
        if isinstance(section.payload, EvaluationReport):
            yield section.payload


def open_questions(run: Run) -> list[tuple[int | None, Question]]:
    """The questions that wait for a person's answer, each with its step; None for that about the plan."""
    if isinstance(about_plan := run.approval(), Question):
        return [(None, about_plan)]
    asking = [step.number for step in run.steps if run.state(step.number) == "asking"]
    last = [(step, run.of("question", step)[-1].payload) for step in asking]
    return [(step, payload) for step, payload in last if isinstance(payload, Question)]
