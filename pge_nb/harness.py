"""The harness: carries a task from prompt to checked work, one phase after another, each appended before the next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from .agents.equipment import Equipment
from .agents.evaluator import Evaluator
from .agents.generator import Generator
from .agents.opening import begin, equip, open_state
from .agents.planner import Planner
from .config import LIMITS, HarnessConfig, limits_in
from .contracts import settled
from .decisions import decide, standing_scores
from .errors import BadInput, LimitReached, PgeError
from .models import CallStopped, Listen, Model, Request, Stop
from .models.limits import Prices
from .payloads import Json
from .phases import Phase, due, negotiation
from .records import (
    Amendment,
    Answer,
    Choice,
    Decision,
    Interruption,
    Note,
    Plan,
    Receipt,
    Record,
    Role,
    Section,
    StepContract,
    Verdict,
)
from .run import Outcome, Run, StepState
from .workspace import place

AGENTS: dict[Role, type[Planner | Generator | Evaluator]] = {
    "planner": Planner,
    "generator": Generator,
    "evaluator": Evaluator,
}


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One attempt of a step: its verdict, its overall score and the score of each criterion (None: not measured)."""

    attempt: int
    verdict: Verdict | None
    overall: float | None
    scores: dict[str, float | None]


@dataclass(frozen=True, kw_only=True)
class StepLog:
    """What became of one step."""

    step: int
    description: str
    state: StepState
    contract: StepContract | None
    tried: tuple[Tried, ...]
    decision: Decision | None

    @property
    def retries(self) -> int:
        """Attempts after the first."""
        return max(0, len(self.tried) - 1)

    @property
    def scores(self) -> tuple[float | None, ...]:
        """The overall score of each attempt."""
        return tuple(tried.overall for tried in self.tried)


@dataclass(frozen=True, kw_only=True)
class HarnessResult:
    """What a run came to, over all its resumes.

    ``output_path`` is the deliverable (the plan's first that is there, else the last step's, else the working directory).
    ``total_duration`` is in seconds of work, waiting left out; ``total_cost`` in dollars, None where a model has no price.
    """

    output_path: Path
    plan: Plan | None
    step_logs: tuple[StepLog, ...]
    total_duration: float
    total_cost: float | None
    summary: str
    outcome: Outcome
    run: Run


class PGEHarness:
    """Runs the planner, the generator and the evaluator over one state file.

    ``model`` stands in for every role's model (else the configuration names them). ``listen`` is given text as it streams
    in; ``stop`` is asked whether to end.
    """

    def __init__(
        self,
        config: HarnessConfig | None = None,
        *,
        model: Model | None = None,
        listen: Listen | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.config = config or HarnessConfig()
        self.model = model
        self.listen = listen
        self.stop = stop
        self.state = open_state(self.config.state_path)

    # From outside

    def run(self, prompt: str) -> HarnessResult:
        """Carry ``prompt`` to its end, going on where an earlier run of it stopped."""
        self.start(prompt)
        return self.resume()

    def start(self, prompt: str) -> Run:
        """Begin the task, or open it again; calls nobody. ``BadInput`` where the state file holds another task."""
        with self.state.running():
            return begin(self.state, prompt, self.config)

    def resume(self) -> HarnessResult:
        """Go on to the end, to a question, or to a limit."""
        for _ in self.records():
            pass
        return self.result()

    def records(self) -> Iterator[Section]:
        """Yield each section once it is on disk. Stop anywhere; the same call goes on from there.

        A limit that is reached ends the run whole, with a receipt. An interruption and a model that cannot be asked are
        recorded and raised.
        """
        with self.state.running():
            run = self.state.read()
            equipment = self._equip(run)
            phase: Phase | None = None
            try:
                while phases := due(run):
                    phase = phases[0]
                    yield from self.state.append(*self._carry_out(equipment, run, phase))
            except (LimitReached, CallStopped) as error:
                yield from self._receipt(equipment, f"stopped: {error.fact}")
                return
            except (KeyboardInterrupt, PgeError) as error:
                reason = error.fact if isinstance(error, PgeError) else "interrupted by a person"
                self.state.append(Record(payload=Interruption(reason=reason, phase=str(phase)), by="harness"))
                raise
            if not run.sections or run.sections[-1].record.kind != "receipt":
                yield from self._receipt(equipment, run.outcome)

    def amend(self, text: str = "", **limits: Json) -> Run:
        """Raise limits of the run (retries, rounds, calls, tokens, dollars); they stand from the next phase on."""
        if unknown := set(limits) - set(LIMITS):
            raise BadInput(f"{min(unknown)!r} is no limit.", f"There are {', '.join(LIMITS)}.")
        run = self.state.read()
        settings = {**run.settings, **limits}
        HarnessConfig(**{name: settings[name] for name in LIMITS})  # type: ignore[arg-type]  # says what is wrong
        models = settings["models"]
        names = [str(name) for name in models.values()] if isinstance(models, dict) else []
        limits_in(settings).check_models(names, Prices.load())
        self.state.append(Record(payload=Amendment(limits=limits, text=text), by="person"))
        return self.state.read()

    def answer(self, choice: Choice, text: str = "", step: int | None = None) -> Run:
        """Answer the question of a step (None: the one that is open); `resume` goes on from there."""
        run = self.state.read()
        asking = [one.number for one in run.steps if run.state(one.number) == "asking"]
        if not asking:
            raise BadInput("No question is open.", "%pge shows where the run stands.")
        if choice not in get_args(Choice):
            raise BadInput(f"{choice!r} is no answer.", f"Answer one of {', '.join(get_args(Choice))}.")
        if step is None and len(asking) > 1:
            raise BadInput(f"Questions are open for steps {', '.join(map(str, asking))}.", "Say which step you answer.")
        if step is not None and step not in asking:
            raise BadInput(f"Step {step} asks nothing.", f"Open: step {', '.join(map(str, asking))}.")
        step = asking[0] if step is None else step
        self.state.append(Record(payload=Answer(choice=choice, text=text), by="person", step=step))
        return self.state.read()

    def result(self) -> HarnessResult:
        """What the run has come to so far."""
        run = self.state.read()
        return result_of(run, self.state.root)

    def request(self, role: Role, step: int | None = None, attempt: int | None = None) -> Request:
        """What an agent was sent, rebuilt from the file: its last phase of this role, step and attempt; else the one due.

        ``BadInput`` where there is none.
        """
        run = self.state.read()
        for section in reversed(run.sections):
            phase = _phase_of(section)
            if phase and phase.role == role and step in (None, phase.step) and attempt in (None, phase.attempt):
                before = Run(run.sections[: section.seq], root=run.root)
                return self._request(before, phase)
        for phase in due(run):
            if phase.role == role and step in (None, phase.step):
                return self._request(run, phase)
        where = "" if step is None else f" for {step}" if attempt is None else f" for {step}.{attempt}"
        raise BadInput(f"The {role} has been sent nothing{where}.", "%pge show decisions lists what has been done.")

    # Phases

    def _equip(self, run: Run) -> Equipment:
        return equip(run, self.state.root, model=self.model, config=self.config, listen=self.listen, stop=self.stop)

    def _request(self, run: Run, phase: Phase) -> Request:
        agent: Planner | Generator | Evaluator = AGENTS[phase.role or "planner"](self._equip(run))
        return agent.request(run, phase)

    def _carry_out(self, equipment: Equipment, run: Run, phase: Phase) -> tuple[Record, ...]:
        """The records of one phase, not appended."""
        if phase.role is not None:
            return AGENTS[phase.role](equipment).records(run, phase)
        if phase.step is None:
            raise ValueError(f"the phase {phase} needs a step")
        if phase.name == "settle":
            return (Record(payload=settled(run, phase.step), by="harness", step=phase.step),)
        return self._decide(equipment, run, phase.step, phase.attempt or 0)

    def _decide(self, equipment: Equipment, run: Run, step: int, attempt: int) -> tuple[Record, ...]:
        """The decision; what it accepts is in the working directory before the decision is in the file."""
        decision, question = decide(run, step, attempt)
        records = [Record(payload=decision, by="harness", step=step, attempt=attempt)]
        if question is not None:
            records.append(Record(payload=question, by="harness", step=step))
        if decision.attempt is not None:
            files = run.attempts(step)[decision.attempt].files
            displaced = place(files, self._work(run), equipment.objects, _known_contents(run))
            for file in displaced:
                text = f"{file.path} held something else; that is kept as the object {file.sha256} under .pge/objects/"
                records.insert(0, Record(payload=Note(text=text), by="harness", step=step))
        return tuple(records)

    def _work(self, run: Run) -> Path:
        return working_directory(run, self.state.root)

    def _negotiate_contract(self, step_number: int) -> StepContract:
        """Negotiate the contract of a step, appending each proposal and response; the contract that stands."""
        with self.state.running():
            run = self.state.read()
            run.step(step_number)
            equipment = self._equip(run)
            while (contract := run.contract(step_number)) is None:
                self.state.append(*self._carry_out(equipment, run, negotiation(run, step_number)))
        return contract

    def _receipt(self, equipment: Equipment, outcome: str) -> tuple[Section, ...]:
        spent = equipment.model.spent()
        receipt = Receipt(
            outcome=outcome,
            calls=spent.calls,
            tokens=spent.tokens,
            dollars=None if spent.unpriced_tokens else round(spent.dollars, 6),
            unfinished=spent.unfinished,
        )
        return self.state.append(Record(payload=receipt, by="harness"))


PlannerGeneratorEvaluator = PGEHarness


def working_directory(run: Run, root: Path) -> Path:
    """Where a run's accepted deliverables are put."""
    return Path(os.path.normpath(root / str(run.task.settings["working_directory"])))


def result_of(run: Run, root: Path) -> HarnessResult:
    """What a run has come to, from its state file alone."""
    dollars = [call.dollars for call in run.calls]
    logs = tuple(_step_log(run, step.number) for step in run.steps)
    return HarnessResult(
        output_path=_output(run, root),
        plan=run.plan,
        step_logs=logs,
        total_duration=sum(float(getattr(section.payload, "seconds", 0.0)) for section in run.sections),
        total_cost=None if None in dollars else sum(cost for cost in dollars if cost is not None),
        summary=_summary(run, logs),
        outcome=run.outcome,
        run=run,
    )


def _step_log(run: Run, step: int) -> StepLog:
    reports = run.evaluations(step)
    tried = []
    for attempt, overall in standing_scores(run, step):
        report = reports.get(attempt)
        scores = {f.on: f.score for f in report.findings if f.about == "criterion"} if report else {}
        tried.append(Tried(attempt=attempt, verdict=report.verdict if report else None, overall=overall, scores=scores))
    return StepLog(
        step=step,
        description=run.step(step).description,
        state=run.state(step),
        contract=run.contract(step),
        tried=tuple(tried),
        decision=run.decision(step),
    )


def _output(run: Run, root: Path) -> Path:
    if not run.of("task"):
        return root
    work = working_directory(run, root)
    wanted = list(run.plan.deliverables) if run.plan else []
    for step in reversed(run.steps):
        accepted = run.accepted(step.number)
        wanted += [file.path for file in run.attempts(step.number)[accepted].files] if accepted is not None else []
    return next((work / path for path in wanted if (work / path).is_file()), work)


def _summary(run: Run, logs: tuple[StepLog, ...]) -> str:
    states = ", ".join(f"step {log.step} {log.state} after {len(log.tried)} attempt(s)" for log in logs)
    last = run.sections[-1].payload if run.sections else None
    why = last.outcome if isinstance(last, Receipt) and last.outcome.startswith("stopped: ") else run.outcome
    return f"{why}; {states}" if states else why


def _known_contents(run: Run) -> set[str]:
    known = {file.sha256 for file in run.task.files}
    for step in run.steps:
        known |= {file.sha256 for attempt in run.attempts(step.number).values() for file in attempt.files}
    return known


def _phase_of(section: Section) -> Phase | None:
    """The phase that made a section; None for one that no agent made."""
    record = section.record
    names = {
        "plan": "plan",
        "proposal": "propose",
        "response": "respond",
        "attempt": "generate",
        "evaluation": "evaluate",
    }
    name = names.get(record.kind)
    if name is None:
        return None
    return Phase(name=name, step=record.step, attempt=record.attempt, round=record.round or 1)  # type: ignore[arg-type]
