"""The harness: carries a task from prompt to checked work, one phase after another, each appended before the next."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

from .abreast import apart, at_once, may_settle, standing_outputs
from .agents.equipment import Equipment
from .agents.evaluator import Evaluator
from .agents.generator import Generator
from .agents.one_step import of_prompt
from .agents.opening import begin, equip, open_state
from .agents.planner import Planner
from .agents.withholding import confirmation
from .approval import asked
from .clock import Clock
from .config import LIMITS, HarnessConfig, check_end, limits_in
from .contracts import settled
from .decisions import decide
from .driving import Driver
from .errors import BadInput, LimitReached, PgeError
from .interrupts import Cut
from .models import CallStopped, Listen, Model, Request, Stop
from .models.choose import models_in
from .models.limits import Prices
from .pauses import Pause, clock, pause_after
from .payloads import Json
from .phases import Phase, due, negotiation, phase_of
from .records import (
    Amended,
    Amendment,
    Answer,
    Attempt,
    Choice,
    Decision,
    FileRef,
    Interruption,
    Note,
    Plan,
    Question,
    Receipt,
    Record,
    Role,
    Section,
    StepContract,
)
from .results import HarnessResult, result_of, working_directory
from .run import Run
from .skills.keeping import Keeper
from .state import StateFile
from .traced_run import carried_out, traced
from .tracing import Span
from .workspace import Objects, bring, layered, place

STOPPED = "What was under way was stopped."
AGENTS: dict[Role, type[Planner | Generator | Evaluator]] = {
    "planner": Planner,
    "generator": Generator,
    "evaluator": Evaluator,
}


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
        self._keeper = Keeper(self.config.registry)

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

    def records(self, step: int | None = None) -> Iterator[Section]:
        """Yield each section once it is on disk. Stop anywhere; the same call goes on from there.

        ``step``: what is due of this step alone. A limit that is reached ends the run whole, with a receipt. An interruption
        and a model that cannot be asked are recorded and raised; where the model may answer after a while, that pause is
        recorded and, if it is short, waited for.
        """
        with self.state.running():
            run = self.state.read()
            if run.of("redaction") and due(run):
                raise BadInput(
                    "This is a redacted export: what its agents were sent was taken out, so it cannot be gone on with.",
                    "%pge show looks at it; go on with the run that it was made of.",
                )
            with traced(self.state, run, self.config.trace_path) as top:
                yield from self._carry_on(run, top, step)

    def _carry_on(self, run: Run, top: Span, step: int | None) -> Iterator[Section]:
        time = Clock.of(run)
        driver = Driver(state=self.state, clock=time, stop=self.stop)
        equipment = replace(self._equip(run), trace=top)
        if at_once(run) > 1 or time.most is not None:
            equipment = replace(equipment, stop=driver.asked)
        self._make_again(equipment, run)
        try:
            yield from self._drive(driver, equipment, run, step)
        except (LimitReached, CallStopped, Cut) as error:
            why = time.reached().fact if time.over else STOPPED if isinstance(error, Cut) else error.fact
            yield from self._receipt(equipment, f"stopped: {why}")
            return
        if due(run):
            return  # of other steps
        if run.last is None or run.last.record.kind != "receipt":
            yield from self._receipt(equipment, run.outcome)

    def _drive(self, driver: Driver, equipment: Equipment, run: Run, step: int | None) -> Iterator[Section]:
        """What is due, and the pauses in between. What stops the run otherwise than a limit is recorded, and raised."""
        carry_out = functools.partial(self._carry_out, equipment, run)
        while True:
            try:
                yield from driver.sections(run, carry_out, step=step)
            except (LimitReached, CallStopped):
                raise
            except (KeyboardInterrupt, PgeError) as error:
                pause = pause_after(error, run, answered=bool(equipment.model.calls()))
                yield from self._interrupted(error, driver.now, pause)
                if pause is None or not pause.waited:
                    raise
            else:
                return
            pause.wait(driver.over)

    def amend(self, text: str = "", **limits: Json) -> Run:
        """Raise limits of the run (retries, rounds, calls, tokens, dollars); they stand from the next phase on."""
        if unknown := set(limits) - set(LIMITS):
            raise BadInput(f"{min(unknown)!r} is no limit.", f"There are {', '.join(LIMITS)}.")
        run = self.state.read()
        if limits.get("max_parallel", 1) != 1 and not apart(run):
            raise BadInput(
                "This run was begun with one step after another: each step's tree holds what the steps before it made.",
                "Begin it anew with --parallel N: it is a run of its own, and this one is kept.",
            )
        settings = {**run.settings, **limits}
        HarnessConfig(**{name: settings[name] for name in LIMITS if name in settings})  # type: ignore[arg-type]  # says what is wrong
        check_end(settings)
        limits_in(settings).check_models(models_in(settings), Prices.load())
        self.state.append(Record(payload=Amendment(limits=limits, text=text), by="person"))
        return self.state.read()

    def say(self, phase: Amended, step: int, text: str) -> Run:
        """Tell those who negotiate, make or judge a step something; it stands from the next phase on.

        To the contract each line is a check, and one that was settled is negotiated again; the attempt that stands is then
        evaluated by it. ``BadInput`` for a step that is done.
        """
        if phase not in get_args(Amended):
            raise BadInput(f"{phase!r} takes no amendment.", f"Amend one of {', '.join(get_args(Amended))}.")
        if not text.strip():
            raise BadInput("The amendment is empty.", "Say in words what is asked for.")
        run = self.state.read()
        state = run.state(run.step(step).number)
        if isinstance(run.approval(), Question):
            raise BadInput("The plan waits for your word.", "%pge answer approve, or retry and your words behind it.")
        if state == "asking":
            raise BadInput(f"Step {step} asks a question.", "Answer it: %pge answer retry, and your words behind it.")
        if state not in {"waiting", "negotiating", "working"}:
            raise BadInput(
                f"Step {step} is {state}: nothing can be amended there any more.",
                "Amend a later step, or the prompt: an edited prompt is a run of its own, and this one is kept.",
            )
        self.state.append(Record(payload=Amendment(limits={}, text=text.strip(), phase=phase), by="person", step=step))
        return self.state.read()

    def confirm(self, step: int, strike: tuple[int, ...] = ()) -> Run:
        """Take a step's hidden inputs as a person's own, but those that are struck out, by the numbers that they are shown with.

        From the next evaluation on what they find is strong evidence. ``BadInput`` where there are none, or none of that number.
        """
        run = self.state.read()
        payload = confirmation(self.state.path.parent, run, run.step(step).number, strike)
        if payload != run.withheld(step):
            self.state.append(Record(payload=payload, by="person", step=step))
        return self.state.read()

    def answer(self, choice: Choice, text: str = "", step: int | None = None) -> Run:
        """Answer the question about the plan or of a step (None: the one that is open); `resume` goes on from there.

        What sends a plan or a contract back needs words: they are told to whoever makes it again.
        """
        run = self.state.read()
        if isinstance(question := run.approval(), Question):
            if step is not None:
                raise BadInput(f"Step {step} asks nothing.", "Open: the question about the plan.")
            return self._answered(question, choice, text, None)
        asking = [one.number for one in run.steps if run.state(one.number) == "asking"]
        if not asking:
            raise BadInput(
                f"No question is open in {self.state.path}.", "%pge runs lists the tasks that ask something."
            )
        if step is None and len(asking) > 1:
            raise BadInput(
                f"Questions are open for steps {', '.join(map(str, asking))}.",
                f"Say which one with --step {asking[0]}, or answer all of them with --all.",
            )
        if step is not None and step not in asking:
            raise BadInput(f"Step {step} asks nothing.", f"Open: step {', '.join(map(str, asking))}.")
        step = asking[0] if step is None else step
        last = run.of("question", step)[-1].payload
        if not isinstance(last, Question):
            raise TypeError("a question section holds a question")
        return self._answered(last, choice, text, step)

    def _answered(self, question: Question, choice: Choice, text: str, step: int | None) -> Run:
        if choice not in question.choices:
            raise BadInput(f"{choice!r} is no answer to this.", f"Answer one of {', '.join(question.choices)}.")
        if choice == "approve" and step is None and text.strip():
            raise BadInput(
                "A plan that is approved stands as it is: nobody would be told these words.",
                "%pge answer retry, and your words behind it, has it made again; %pge answer approve takes it.",
            )
        if choice == "retry" and "approve" in question.choices and not text.strip():
            raise BadInput("Nothing says what is to be otherwise.", "%pge answer retry, and your words behind it.")
        self.state.append(Record(payload=Answer(choice=choice, text=text.strip()), by="person", step=step))
        return self.state.read()

    def restore(self, step: int, attempt: int, *, out_of: StateFile | None = None) -> tuple[FileRef, ...]:
        """Put an attempt's deliverables into the working directory, whichever attempt stands; a note tells it.

        ``out_of`` is the state file of another run whose attempt it is; that run stays as it is. The files of a person's own
        that had to give way, each kept as an object first.
        """
        with self.state.running():
            run = self.state.read()
            other = run if out_of is None else out_of.read()
            attempts = other.attempts(other.step(step).number)
            if attempt not in attempts:
                raise BadInput(f"There is no attempt {step}.{attempt}.", f"%pge files {step} lists those there are.")
            objects, files = Objects(self.state.root), attempts[attempt].files
            if out_of is not None:
                bring(files, Objects(out_of.root), objects)
            displaced = place(files, self._work(run), objects, _known_contents(run))
            which = f"{step}.{attempt}" if out_of is None else f"{step}.{attempt} of run {other.task.run}"
            text = f"The files of attempt {which} were put into the working directory by hand."
            notes = (*_notes_on(displaced), Note(text=text))
            self.state.append(
                *(Record(payload=note, by="person", step=step if out_of is None else None) for note in notes)
            )
        return displaced

    def result(self) -> HarnessResult:
        """What the run has come to so far."""
        run = self.state.read()
        return result_of(run, self.state.root)

    def request(
        self, role: Role, step: int | None = None, attempt: int | None = None, *, of: Run | None = None
    ) -> Request:
        """What an agent was sent, rebuilt from the file: its last phase of this role, step and attempt; else the one due.

        ``of``: this run as it stood earlier. ``BadInput`` where there is none.
        """
        run = self.state.read() if of is None else of
        for section in reversed(run.sections):
            phase = phase_of(section)
            here = phase and phase.role == role and step in (None, phase.step) and attempt in (None, phase.attempt)
            if phase and here and (attempt is not None or not _by_function(section)):
                before = Run(run.sections[: section.seq], root=run.root)
                return self._request(before, phase)
        for phase in due(run):
            if phase.role == role and step in (None, phase.step):
                return self._request(run, phase)
        where = "" if step is None else f" for {step}" if attempt is None else f" for {step}.{attempt}"
        raise BadInput(f"The {role} has been sent nothing{where}.", "%pge show decisions lists what has been done.")

    def upcoming(self) -> Request | None:
        """What an agent would be sent first if the run went on; None where nobody would be. Nothing is appended.

        What the harness does by itself before that is done in memory. For an evaluation the reviews are looked at first.
        """
        now = self.state.read()
        run = Run(now.sections, root=now.root)
        while phases := due(run):
            phase = phases[0]
            if phase.role is not None:
                return self._request(run, phase)
            record = Record(
                payload=_own(run, phase), by="harness", step=phase.step, attempt=phase.attempt, round=phase.round
            )
            run.add(Section(record=record, seq=len(run.sections), prev=run.head, sha256="", at="", offset=0))
        return None

    # Phases

    def _equip(self, run: Run) -> Equipment:
        return equip(run, self.state.root, model=self.model, config=self.config, listen=self.listen, stop=self.stop)

    def _request(self, run: Run, phase: Phase) -> Request:
        agent: Planner | Generator | Evaluator = AGENTS[phase.role or "planner"](self._equip(run))
        return agent.request(run, phase)

    def _carry_out(self, equipment: Equipment, run: Run, phase: Phase) -> tuple[Record, ...]:
        """The records of one phase, not appended."""
        return carried_out(equipment.trace, phase, lambda: self._made(equipment, run, phase))

    def _made(self, equipment: Equipment, run: Run, phase: Phase) -> tuple[Record, ...]:
        if phase.role is not None:
            return AGENTS[phase.role](equipment).records(run, phase)
        if phase.name == "decide":
            return self._decide(equipment, run, phase.step or 0, phase.attempt or 0)
        return asked(run, Record(payload=_own(run, phase), by="harness", step=phase.step))

    def _decide(self, equipment: Equipment, run: Run, step: int, attempt: int) -> tuple[Record, ...]:
        """The decision; what it accepts is in the working directory before the decision is in the file."""
        decision, question = decide(run, step, attempt)
        records = [Record(payload=note, by="harness") for note in self._keeper.keep(run)]
        records += [Record(payload=decision, by="harness", step=step, attempt=attempt or None)]
        if question is not None:
            records.append(Record(payload=question, by="harness", step=step))
        if decision.attempt is not None:
            files = run.attempts(step)[decision.attempt].files
            displaced = place(files, self._work(run), equipment.objects, _known_contents(run))
            records[:0] = [Record(payload=note, by="harness", step=step) for note in _notes_on(displaced)]
        return tuple(records)

    def _make_again(self, equipment: Equipment, run: Run) -> None:
        """Put inputs, and what stands for a step, where they are not in the working directory; what is there is left as it is."""
        standing = layered(*standing_outputs(run), run.task.input_files)
        if standing:
            work = self._work(run)
            place([file for file in standing if not (work / file.path).exists()], work, equipment.objects, ())

    def _work(self, run: Run) -> Path:
        return working_directory(run, self.state.root)

    def _negotiate_contract(self, step_number: int) -> StepContract:
        """Negotiate the contract of a step, appending each proposal and response; the contract that stands.

        ``BadInput`` where steps are worked on side by side and others are to have theirs first.
        """
        with self.state.running():
            run = self.state.read()
            run.step(step_number)
            equipment = self._equip(run)
            while (contract := run.contract(step_number)) is None:
                phase = negotiation(run, step_number)
                if phase.name == "settle" and apart(run) and not may_settle(run, step_number):
                    raise BadInput(
                        f"The contract of step {step_number} waits for other steps: theirs come first, or they share its files.",
                        "%pge resume carries them out, and goes on with this one.",
                    )
                self.state.append(*self._carry_out(equipment, run, phase))
        return contract

    def _interrupted(self, error: BaseException, phases: Iterable[Phase], pause: Pause | None) -> tuple[Section, ...]:
        """Record what stopped the run; an error that leaves it paused says until when."""
        reason = error.fact if isinstance(error, PgeError) else "interrupted by a person"
        until = pause.until() if pause else ""
        payload = Interruption(reason=reason, phase=", ".join(map(str, phases)), until=until)
        sections = self.state.append(Record(payload=payload, by="harness"))
        if pause and isinstance(error, PgeError):
            error.next_move = f"Paused until {clock(until, sections[0].at)}: %pge resume goes on then, or now."
        return sections

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


def _own(run: Run, phase: Phase) -> Plan | StepContract | Decision:
    """What the harness makes by itself in a phase of no role."""
    if phase.name == "one_step":
        return of_prompt(run)
    if phase.step is None:
        raise ValueError(f"the phase {phase} needs a step")
    return settled(run, phase.step) if phase.name == "settle" else decide(run, phase.step, phase.attempt or 0)[0]


def _by_function(section: Section) -> bool:
    """Whether a section is an attempt for which no model was asked."""
    return isinstance(section.payload, Attempt) and not section.payload.calls


def _notes_on(displaced: Iterable[FileRef]) -> list[Note]:
    said = "{0.path} held something else; that is kept as the object {0.sha256} under .pge/objects/"
    return [Note(text=said.format(file)) for file in displaced]


def _known_contents(run: Run) -> set[str]:
    known = {file.sha256 for file in run.task.files}
    for step in run.every_step:
        known |= {file.sha256 for attempt in run.attempts(step.number).values() for file in attempt.files}
    return known
