"""`Run`: the read-only view over the sections of one state file. Everything in it is computed from them."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar, get_args

from .errors import BadInput
from .payloads import Json, encode
from .records import (
    Amended,
    Amendment,
    Answer,
    Attempt,
    Call,
    Decision,
    EvaluationReport,
    FileRef,
    Interruption,
    Payload,
    Plan,
    Proposal,
    Purpose,
    Question,
    Record,
    Replan,
    Response,
    Section,
    Step,
    StepContract,
    Task,
    Withheld,
)

Open = Literal["waiting", "negotiating", "working", "asking"]
Ended = Literal["accepted", "kept", "advanced", "failed", "infeasible", "blocked", "replanned"]
StepState = Open | Ended
Outcome = Literal["empty", "running", "passed", "degraded", "infeasible", "blocked", "paused", "stopped"]
P = TypeVar("P", bound=Payload)

PASSING = frozenset({"seconds", "source", "replayed"})
"""Fields that tell only where or when something came from."""
DONE: Mapping[str, StepState] = {"accept": "accepted", "keep": "kept", "advance": "advanced", "stop": "failed"}
ENDED: frozenset[StepState] = frozenset(get_args(Ended))
"""The states in which nothing more is tried at a step."""
CHOSEN = frozenset({"keep", "advance"})
"""The decisions by which an attempt stands that did not pass: the best of those there are."""


class Run:
    """One task carried out, as its state file tells it.

    Only the state file adds sections (they are read or appended in order); everybody else reads. ``root`` is the directory
    of the state file; None for a run that was not opened from a file.
    """

    def __init__(self, sections: Iterable[Section] = (), *, root: Path | None = None) -> None:
        self.root = root
        self._sections: list[Section] = []
        self._index: dict[tuple[str, int | None], list[Section]] = defaultdict(list)
        for section in sections:
            self.add(section)

    def __repr__(self) -> str:
        name = self.task.run if self.of("task") else "without a task"
        return f"<Run {name}: {self.outcome}, {len(self.sections)} sections>"

    def add(self, section: Section) -> None:
        """Take in the next section; for the state file alone."""
        self._sections.append(section)
        self._index[section.record.kind, section.record.step].append(section)

    @property
    def sections(self) -> Sequence[Section]:
        """All sections in file order."""
        return self._sections

    @property
    def head(self) -> str:
        """Hash of the last section; 64 zeros for an empty file."""
        return self._sections[-1].sha256 if self._sections else "0" * 64

    @property
    def last(self) -> Section | None:
        """The last section that is no note: a note decides nothing. None for an empty file."""
        return next((section for section in reversed(self._sections) if section.record.kind != "note"), None)

    def of(
        self, kind: str, step: int | None = None, attempt: int | None = None, purpose: Purpose | None = None
    ) -> list[Section]:
        """The sections of one kind and step (None: those that belong to no step), narrowed where asked, in file order."""
        found = self._index.get((kind, step), [])
        if attempt is None and purpose is None:
            return list(found)
        return [
            section
            for section in found
            if (attempt is None or section.record.attempt == attempt)
            and (purpose is None or section.record.purpose == purpose)
        ]

    def _last(self, kind: str, cls: type[P], step: int | None = None) -> P | None:
        found = self._index.get((kind, step))
        if not found:
            return None
        payload = found[-1].payload
        assert isinstance(payload, cls)  # noqa: S101 - the reader decoded it by its kind
        return payload

    # The task and its plan

    @property
    def task(self) -> Task:
        """The person's task; ``BadInput`` for a file without one."""
        task = self._last("task", Task)
        if task is None:
            raise BadInput("This state file holds no task yet.", "Start one with %%pge run.")
        return task

    @property
    def plan(self) -> Plan | None:
        """The plan in force: the last one."""
        return self._last("plan", Plan)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the plan in force."""
        return self.plan.steps if self.plan else ()

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plan that the steps in force come from, and its replans in order; the last is the plan in force."""
        plans = [section.payload for section in self.of("plan") if isinstance(section.payload, Plan)]
        first = max((place for place, plan in enumerate(plans) if plan.replan is None), default=0)
        return tuple(plans[first:])

    @property
    def replans(self) -> tuple[Replan, ...]:
        """The steps that were cut into smaller ones, in the order in which that was done."""
        return tuple(plan.replan for plan in self.plans if plan.replan is not None and plan.replan.by)

    @property
    def every_step(self) -> tuple[Step, ...]:
        """The steps in the order of the plan, with those that were replanned, each before the ones in its place."""
        if not self.replans:
            return self.steps
        found = {step.number: step for plan in self.plans for step in plan.steps}
        order = [step.number for step in self.plans[0].steps]
        for replan in self.replans:
            place = order.index(replan.step) + 1
            order[place:place] = replan.by
        return tuple(found[number] for number in order)

    def before(self, step: int) -> tuple[Step, ...]:
        """The steps that stand before a step in the order of the plan; where it is in none, all of them."""
        numbers = [one.number for one in self.every_step]
        return self.every_step[: numbers.index(step)] if step in numbers else self.every_step

    def line(self, step: int) -> tuple[int, ...]:
        """A step and what it was cut out of: the first that was planned, what took its place, and so on to the step itself."""
        parent = next((replan.step for replan in self.replans if step in replan.by), None)
        return (step,) if parent is None else (*self.line(parent), step)

    def part(self, step: int) -> str:
        """Which part of a planned step it is: "2.1" for the first in place of step 2; empty for one that was planned so."""
        line = self.line(step)
        places = [next(one.by.index(number) + 1 for one in self.replans if number in one.by) for number in line[1:]]
        return ".".join(map(str, (line[0], *places))) if places else ""

    def replan(self, step: int) -> Replan | None:
        """What came of having a step cut: that happens once. None where the planner was not asked, or has not answered yet."""
        plans = [section.payload for section in self.of("plan")]
        found = (plan.replan for plan in plans if isinstance(plan, Plan) and plan.replan is not None)
        return next((replan for replan in found if replan.step == step), None)

    @property
    def highest(self) -> int:
        """The highest number that a step of any plan ever had; 0 before there is a plan."""
        plans = (section.payload for section in self.of("plan"))
        return max((step.number for plan in plans if isinstance(plan, Plan) for step in plan.steps), default=0)

    def step(self, number: int) -> Step:
        """The step with this number, be it replanned; ``BadInput`` names those there are."""
        for step in self.every_step:
            if step.number == number:
                return step
        there = ", ".join(str(step.number) for step in self.steps) or "none"
        raise BadInput(f"There is no step {number}; the plan's steps are {there}.", "%pge show plan lists them.")

    @property
    def settings(self) -> Mapping[str, Json]:
        """The task's frozen settings with the amendments applied, the last one winning."""
        settings = dict(self.task.settings)
        for section in self.of("amendment"):
            assert isinstance(section.payload, Amendment)  # noqa: S101
            settings.update(section.payload.limits)
        return settings

    @property
    def calls(self) -> list[Call]:
        """Every call that a record rests on, in file order."""
        made = (Plan, Proposal, Response, Withheld, Attempt, EvaluationReport)
        return [
            call for section in self._sections if isinstance(section.payload, made) for call in section.payload.calls
        ]

    # One step

    def contract(self, step: int) -> StepContract | None:
        """The contract in force for a step."""
        return self._last("contract", StepContract, step)

    def amendments(self, step: int, phase: Amended) -> tuple[str, ...]:
        """What a person said of a step to those who negotiate, make or judge it: each text once, in order."""
        said = [section.payload for section in self.of("amendment", step)]
        return tuple(dict.fromkeys(one.text for one in said if isinstance(one, Amendment) and one.phase == phase))

    def reopened(self, step: int) -> bool:
        """Whether the contract is to be negotiated again: a person amended it, or sent it back, since it was settled."""
        contracts, said = self.of("contract", step), self.of("amendment", step)
        newer = [one.payload for one in said if contracts and one.seq > contracts[-1].seq]
        word = self.approval(step)
        return (isinstance(word, Answer) and word.choice == "retry") or any(
            isinstance(one, Amendment) and one.phase == "contract" for one in newer
        )

    def withheld(self, step: int) -> Withheld | None:
        """The hidden inputs that were made for the contract in force; None where none were."""
        made, contracts = self.of("withheld", step), self.of("contract", step)
        payload = made[-1].payload if made and contracts and made[-1].seq > contracts[-1].seq else None
        return payload if isinstance(payload, Withheld) else None

    def talk(self, step: int) -> tuple[list[Section], list[Section]]:
        """The proposals and the responses since the contract was last settled."""
        since = max((section.seq for section in self.of("contract", step)), default=-1)
        proposals, responses = (
            [section for section in self.of(kind, step) if section.seq > since] for kind in ("proposal", "response")
        )
        return proposals, responses

    def attempts(self, step: int) -> dict[int, Attempt]:
        """Attempt number -> attempt, in order."""
        return {
            section.record.attempt: section.payload
            for section in self.of("attempt", step)
            if isinstance(section.payload, Attempt) and section.record.attempt is not None
        }

    def evaluation(self, step: int, attempt: int) -> EvaluationReport | None:
        """The last evaluation of an attempt at the gate."""
        found = self.of("evaluation", step, attempt, "gate")
        payload = found[-1].payload if found else None
        return payload if isinstance(payload, EvaluationReport) else None

    def evaluations(self, step: int) -> dict[int, EvaluationReport]:
        """Attempt number -> its last evaluation at the gate under the contract in force, in order of attempts."""
        since = max((section.seq for section in self.of("contract", step)), default=-1)
        reports: dict[int, EvaluationReport] = {}
        for section in self.of("evaluation", step, purpose="gate"):
            if (
                section.seq > since
                and isinstance(section.payload, EvaluationReport)
                and section.record.attempt is not None
            ):
                reports[section.record.attempt] = section.payload
        return reports

    def decision(self, step: int) -> Decision | None:
        """The last decision on a step."""
        return self._last("decision", Decision, step)

    def answer(self, step: int) -> Answer | None:
        """The answer to the step's last question; None while it is open, or where there was none."""
        questions, answers = self.of("question", step), self.of("answer", step)
        if not questions or not answers or answers[-1].seq < questions[-1].seq:
            return None
        payload = answers[-1].payload
        return payload if isinstance(payload, Answer) else None

    def approval(self, step: int | None = None) -> Question | Answer | None:
        """A person's word on the contract of a step, or on the plan (None), in force; the question while it is open.

        None where nobody was asked about it.
        """
        made = self.of("plan") if step is None else self.of("contract", step)
        asked = [one for one in self.of("question", step) if made and one.seq > made[-1].seq]
        question = asked[-1].payload if asked else None
        if not isinstance(question, Question) or "approve" not in question.choices:
            return None
        said = [one.payload for one in self.of("answer", step) if one.seq > asked[-1].seq]
        return said[-1] if said and isinstance(said[-1], Answer) else question

    def sent_back(self, step: int | None = None) -> tuple[str, ...]:
        """The words with which a person sent back the plan (None), or the contract of a step: each text once, in order."""
        words: list[str] = []
        about = None
        for section in sorted((*self.of("question", step), *self.of("answer", step)), key=lambda one: one.seq):
            payload = section.payload
            if isinstance(payload, Question):
                about = payload
            elif isinstance(payload, Answer) and about and "approve" in about.choices and payload.choice == "retry":
                words.append(payload.text)
        return tuple(dict.fromkeys(words))

    @property
    def declined(self) -> bool:
        """Whether a person stopped the run when asked about its plan."""
        word = self.approval()
        return isinstance(word, Answer) and word.choice == "stop"

    def accepted(self, step: int) -> int | None:
        """The attempt whose deliverables stand for the step: accepted, kept or advanced with."""
        decision = self.decision(step)
        return decision.attempt if decision and decision.action in {"accept", "keep", "advance"} else None

    def ungraded(self, step: int) -> bool:
        """Whether the attempt that stands was chosen as the best of several, and is still to be graded once more."""
        decision = self.decision(step)
        if decision is None or decision.action not in CHOSEN or self.settings.get("regrade_kept") is not True:
            return False
        return len(self.attempts(step)) > 1 and self.regrade(step) is None

    def regrade(self, step: int) -> EvaluationReport | None:
        """The grade that was given afresh to the attempt that stands; None where none was given."""
        made = self.of("evaluation", step, self.accepted(step) or 0, "kept")
        payload = made[-1].payload if made else None
        return payload if isinstance(payload, EvaluationReport) else None

    def reported(self, step: int) -> EvaluationReport | None:
        """The evaluation whose score is a step's: of an attempt that was chosen as the best of several its fresh grade.

        The best of several noisy scores is too high. None where no attempt stands, and until that grade is given.
        """
        if (accepted := self.accepted(step)) is None or self.ungraded(step):
            return None
        return self.regrade(step) or self.evaluation(step, accepted)

    def outputs(self, step: int) -> tuple[FileRef, ...]:
        """The deliverables that stand for a step; empty while none do."""
        accepted = self.accepted(step)
        tried = self.attempts(step).get(accepted) if accepted is not None else None
        return tried.files if tried is not None else ()

    def state(self, step: int) -> StepState:
        """Where a step stands; one that a later plan left out keeps its last decision."""
        return self._own_state(step) or self._state(self.step(step), {})

    def _state(self, step: Step, known: dict[int, StepState]) -> StepState:
        if step.number not in known:
            known[step.number] = "waiting"  # what a step that rests on itself would see
            known[step.number] = self._own_state(step.number) or self._state_by_needs(step, known)
        return known[step.number]

    def _own_state(self, step: int) -> StepState | None:
        decision = self.decision(step)
        if decision is None:
            return None
        if decision.action == "stop" and self.same_skill(step):
            return "infeasible"
        if decision.action == "replan" and any(replan.step == step for replan in self.replans):
            return "replanned"
        return DONE.get(decision.action)

    def same_skill(self, step: int) -> str:
        """The skill with which two replans in a row were tried on the way to this step; empty where they were not.

        Where the step fails too, both have failed: the task is infeasible with the skills at hand.
        """
        skills = [self.step(number).skill_type for number in self.line(step)[1:]]
        return skills[-1] if len(skills) > 1 and skills[-1] == skills[-2] else ""

    def _state_by_needs(self, step: Step, known: dict[int, StepState]) -> StepState:
        needs = [other for other in self.steps if other.number in step.depends_on]
        if any(self._state(other, known) in {"failed", "infeasible", "blocked"} for other in needs):
            return "blocked"
        if self.declined:
            return "blocked"
        if isinstance(self.approval(step.number), Question):
            return "asking"
        decision = self.decision(step.number)
        if decision and decision.action == "ask" and self.answer(step.number) is None:
            return "asking"
        if self.of("attempt", step.number):
            return "working"
        begun = self.of("proposal", step.number) or self.of("contract", step.number)
        return "negotiating" if begun else "waiting"

    # The whole

    @property
    def undelivered(self) -> tuple[str, ...]:
        """Files that the plan promises and that no step's standing deliverables hold."""
        promised = self.plan.deliverables if self.plan else ()
        held = {file.path for step in self.steps for file in self.outputs(step.number)}
        return tuple(path for path in promised if path not in held)

    @property
    def outcome(self) -> Outcome:
        """How the run ended, or ``running`` (``empty`` for a file without a task).

        ``passed``: every step was accepted, and every file that the plan promises is there.

        ``infeasible``: two replans in a row used the same skill, and failed. ``stopped``: by a limit, an interruption, a
        person who was asked about the plan, or a step that was given up with nothing depending on it.
        """
        if not self.of("task"):
            return "empty"
        if self.declined:
            return "stopped"
        if isinstance(self.approval(), Question):
            return "paused"
        known: dict[int, StepState] = {}
        states = [self._state(step, known) for step in self.steps]
        if states and ENDED.issuperset(states) and not any(self.ungraded(step.number) for step in self.steps):
            if "infeasible" in states:
                return "infeasible"
            if "blocked" in states:
                return "blocked"
            if "failed" in states:
                return "stopped"
            return "passed" if set(states) == {"accepted"} and not self.undelivered else "degraded"
        last = self.last.payload if self.last else None
        if "asking" in states or (isinstance(last, Interruption) and last.until):
            return "paused"
        return "stopped" if self.last and self.last.record.kind in {"interruption", "receipt"} else "running"


def same(left: Run | Iterable[Record], right: Run | Iterable[Record]) -> bool:
    """Whether two runs tell the same: equal payloads for every (step, kind, attempt, purpose, round).

    Left out: numbers and hashes of sections, times, where a reply came from, and interruptions, notes and receipts.
    """
    return compared(left) == compared(right)


def compared(run: Run | Iterable[Record]) -> dict[tuple[object, ...], list[Json]]:
    """What `same` compares: address -> payloads without what tells only where or when they came from."""
    records = [section.record for section in run.sections] if isinstance(run, Run) else run
    found: dict[tuple[object, ...], list[Json]] = defaultdict(list)
    for record in records:
        if record.kind not in {"interruption", "note", "receipt"}:
            address = (record.step, record.kind, record.attempt, record.purpose, record.round)
            found[address].append(_lasting(record.payload))
    return found


def _lasting(value: object) -> Json:
    """A value's JSON form without those fields; what a person named so in settings or arguments stays."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.name not in PASSING]
        return {name: _lasting(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [_lasting(item) for item in value]
    return encode(value)
