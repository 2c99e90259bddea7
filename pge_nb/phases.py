"""Which phases are due: a pure function of the state file."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .abreast import apart, at_once, may_be_judged, may_settle
from .payloads import Json
from .records import Amendment, Answer, Decision, Plan, Purpose, Question, Role, Section, Step
from .run import Run
from .verdict import JUDGE

PhaseName = Literal[
    "plan", "propose", "respond", "settle", "withhold", "generate", "evaluate", "decide", "replan", "one_step"
]
ROLE_OF: Mapping[str, Role] = {
    "plan": "planner",
    "propose": "generator",
    "respond": "evaluator",
    "withhold": "evaluator",
    "generate": "generator",
    "evaluate": "evaluator",
    "replan": "planner",
}
PHASE_OF: Mapping[str, PhaseName] = {
    "plan": "plan",
    "proposal": "propose",
    "response": "respond",
    "withheld": "withhold",
    "attempt": "generate",
    "evaluation": "evaluate",
}
"""Kind of section -> the agent's phase that makes it; a plan may come of a replan too, as `phase_of` tells."""
GATE_EVALUATIONS = 3
"""An evaluation that measured nothing is made again, at most twice."""
TOO_LONG = "The plan does not fit into one reply"
"""Begins the receipt of a run that has ended before its plan: asking again would be answered the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One thing to be done next. ``round`` is that of the record that it will make.

    ``canary``: the judge is shown a known-bad artifact in the attempt's place. ``kept``: an attempt that was chosen is graded
    afresh.
    """

    name: PhaseName
    step: int | None = None
    attempt: int | None = None
    round: int = 1
    canary: bool = False
    kept: bool = False

    @property
    def role(self) -> Role | None:
        """Whose phase it is; None: the harness's own."""
        return ROLE_OF.get(self.name)

    @property
    def purpose(self) -> Purpose | None:
        """What an evaluation is for."""
        if self.name != "evaluate":
            return None
        return "canary" if self.canary else "kept" if self.kept else "gate"

    def __str__(self) -> str:
        where = "" if self.step is None else f" {self.step}" if self.attempt is None else f" {self.step}.{self.attempt}"
        return f"{self.name}{where}"


def phase_of(section: Section) -> Phase | None:
    """The phase that made a section; None for one that no agent made."""
    record, payload = section.record, section.payload
    if (name := PHASE_OF.get(record.kind)) is None:
        return None
    if isinstance(payload, Plan) and payload.replan is not None:
        return Phase(name="replan", step=payload.replan.step, round=record.round or 1)
    return Phase(
        name=name,
        step=record.step,
        attempt=record.attempt,
        round=record.round or 1,
        canary=record.purpose == "canary",
        kept=record.purpose == "kept",
    )


def due(run: Run) -> tuple[Phase, ...]:
    """The phases that can be carried out now; empty when the run has ended or waits for a person.

    One for each step that is not done, whose needs are met, and that asks nothing, in the order of the plan: the first alone,
    or as many as may be worked on at once.
    """
    if run.plan is None:
        if not run.of("task"):
            return ()
        return (
            Phase(name="plan" if takes_part(run.settings, "planner") else "one_step", round=len(run.of("plan")) + 1),
        )
    word = run.approval()
    if isinstance(word, Answer) and word.choice == "retry":
        return (Phase(name="plan", round=len(run.of("plan")) + 1),)
    if run.declined or isinstance(word, Question):
        return ()
    phases = (_next(run, step.number) for step in run.steps if _can_go_on(run, step))
    most = at_once(run)
    if not apart(run):
        return tuple(itertools.islice(phases, most))
    found = [phase for phase in phases if _may_come(run, phase)]
    # A new plan is made when all else rests: what it is told must not depend on how far the others are.
    return tuple([phase for phase in found if phase.role != "planner"][:most] or found[:1])


def _can_go_on(run: Run, step: Step) -> bool:
    if run.ungraded(step.number):
        return True
    met = all(run.accepted(needed) is not None for needed in step.depends_on)
    return met and run.state(step.number) in {"waiting", "negotiating", "working"}


def _may_come(run: Run, phase: Phase) -> bool:
    """Whether a phase needs to wait for no other step, where steps are worked on side by side."""
    if phase.step is None:
        return True
    if phase.name == "settle":
        return may_settle(run, phase.step)
    return not (phase.purpose in {"gate", "canary"} and run.settings.get("canaries")) or may_be_judged(run, phase.step)


def _next(run: Run, step: int) -> Phase:
    if run.ungraded(step):
        accepted = run.accepted(step) or 0
        made = run.of("evaluation", step, accepted, "kept")
        return Phase(name="evaluate", step=step, attempt=accepted, round=len(made) + 1, kept=True)
    word = run.approval(step)
    if isinstance(word, Answer) and word.choice == "stop":
        return Phase(name="decide", step=step, attempt=max(run.attempts(step), default=None))
    if run.contract(step) is None or run.reopened(step):
        return negotiation(run, step)
    judged = takes_part(run.settings, "evaluator")
    if judged and run.settings.get("hidden_cases") and run.withheld(step) is None and takes_hidden(run, step):
        return Phase(name="withhold", step=step, round=len(run.of("withheld", step)) + 1)
    attempts = run.attempts(step)
    if not attempts:
        return Phase(name="generate", step=step, attempt=1)
    attempt = max(attempts)
    evaluations = run.of("evaluation", step, attempt, "gate")
    valid = [section for section in evaluations if section.seq > holds_since(run, step)]
    decision = standing(run, step, attempt)
    if decision in {"refine", "pivot"}:
        return Phase(name="generate", step=step, attempt=attempt + 1)
    if decision == "replan" and run.replan(step) is None:
        return Phase(name="replan", step=step, attempt=attempt, round=len(run.of("plan")) + 1)
    if judged and (not valid or (_unmeasured(valid) and len(valid) < _allowed(run, step, attempt))):
        if _canary_is_due(run, step):
            shown = run.of("evaluation", step, attempt, "canary")
            return Phase(name="evaluate", step=step, attempt=attempt, round=len(shown) + 1, canary=True)
        return Phase(name="evaluate", step=step, attempt=attempt, round=len(evaluations) + 1)
    return Phase(name="decide", step=step, attempt=attempt, round=len(run.of("decision", step, attempt)) + 1)


def takes_hidden(run: Run, step: int) -> bool:
    """Whether a check of the step's contract is decided by calls that the contract itself shows."""
    contract = run.contract(step)
    return contract is not None and any(check.method == "oracle" and "call" in check.args for check in contract.checks)


def _canary_is_due(run: Run, step: int) -> bool:
    """Whether the judge has something to decide, and was not shown so many canaries in this run as were asked for."""
    wanted = run.settings.get("canaries")
    if not wanted or not isinstance(wanted, int) or len(canaries_shown(run)) >= wanted:
        return False
    contract, plan = run.contract(step), run.plan
    return bool(plan and plan.criteria) or any(check.method == JUDGE for check in (contract.checks if contract else ()))


def canaries_shown(run: Run) -> list[Section]:
    """The evaluations of canaries, in file order; those of steps that a later plan left out count as well."""
    return [section for section in run.sections if section.record.purpose == "canary"]


def negotiation(run: Run, step: int) -> Phase:
    """What comes next between generator and evaluator on a step that has no contract yet; without contracts it is settled."""
    if not takes_part(run.settings, "contract"):
        return Phase(name="settle", step=step)
    proposals, responses = run.talk(step)
    rounds = len(run.of("proposal", step))
    if len(proposals) > len(responses):
        return Phase(name="respond", step=step, round=rounds)
    if responses:
        agreed = getattr(responses[-1].payload, "agreed", False)
        if agreed or len(responses) >= number(run.settings, "max_contract_rounds"):
            return Phase(name="settle", step=step)
    return Phase(name="propose", step=step, round=rounds + 1)


def holds_since(run: Run, step: int) -> int:
    """The number of the section since which an evaluation of the step holds: its contract, or a word to the evaluator."""
    words = [s for s in run.of("amendment", step) if isinstance(s.payload, Amendment) and s.payload.phase == "evaluate"]
    return max((section.seq for section in (*run.of("contract", step), *words)), default=-1)


def standing(run: Run, step: int, attempt: int) -> str | None:
    """The action of the last decision on an attempt, while nothing newer (an evaluation, an answer) overtakes it."""
    decisions = run.of("decision", step, attempt)
    if not decisions:
        return None
    newer = [*run.of("evaluation", step, attempt, "gate"), *run.of("answer", step)]
    if holds_since(run, step) > decisions[-1].seq or any(section.seq > decisions[-1].seq for section in newer):
        return None
    payload = decisions[-1].payload
    return payload.action if isinstance(payload, Decision) else None


def fresh_answer(run: Run, step: int, attempt: int) -> Answer | None:
    """A person's answer to what was asked about this attempt, that nothing has followed yet."""
    answers, decisions = run.of("answer", step), run.of("decision", step, attempt)
    evaluations = run.of("evaluation", step, attempt, "gate")
    if not answers or not decisions or any(s.seq > answers[-1].seq for s in (*decisions, *evaluations)):
        return None
    payload = answers[-1].payload
    return payload if isinstance(payload, Answer) else None


def _allowed(run: Run, step: int, attempt: int) -> int:
    """How often an attempt may be evaluated at the gate: once more for each time a person said to try again."""
    first = run.of("attempt", step, attempt)[0].seq
    again = [s for s in run.of("answer", step) if s.seq > first and getattr(s.payload, "choice", "") == "retry"]
    return GATE_EVALUATIONS + len(again)


def _unmeasured(evaluations: list[Section]) -> bool:
    return getattr(evaluations[-1].payload, "verdict", "") == "unmeasured"


def takes_part(settings: Mapping[str, Json], who: Literal["planner", "contract", "evaluator"]) -> bool:
    """Whether there is a planner, a negotiation of contracts, an evaluation at all in a run."""
    return settings.get(who) not in (False, "off")


def goes_on_for(settings: Mapping[str, Json], step: int | None = None) -> int:
    """So many attempts at a step are made whatever the verdicts; 0: it ends with the first that passes.

    Where each step has a count of its own: that of the step, 1 beyond them; without ``step`` the largest.
    """
    value = settings.get("keep_going", 0)
    counts = [one for one in value if isinstance(one, int)] if isinstance(value, list) else []
    if counts:
        return max(counts) if step is None else counts[step - 1] if step <= len(counts) else 1
    return value if isinstance(value, int) else 0


def tells_findings(settings: Mapping[str, Json]) -> bool:
    """Whether a retry is told what was found; without, it begins anew."""
    return settings.get("feedback", True) is not False


def margin_of(settings: Mapping[str, Json]) -> float:
    """The points that a score must lie above its threshold to pass."""
    value = settings.get("pass_margin", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def attempts_allowed(settings: Mapping[str, Json], step: int | None = None) -> int:
    """So many attempts a step may have, where its retries are counted; without ``step`` that which may have most."""
    return max(1 + int(number(settings, "max_retries_per_step")), goes_on_for(settings, step))


def number(settings: Mapping[str, Json], name: str) -> float:
    """A numeric setting."""
    value = settings[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"the setting {name} is {value!r}, not a number")
    return value
