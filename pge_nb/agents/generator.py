"""The generator: proposes a step's contract, and carries the step out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from .. import dag
from ..abreast import apart, builds_on
from ..decisions import best_attempt, leading, standing_scores
from ..errors import BadInput
from ..markdown import ticks_around
from ..models import About, Reply, Request
from ..phases import Phase, due, number, standing, takes_part, tells_findings
from ..prompts import fill
from ..records import (
    Approach,
    Attempt,
    Call,
    EvaluationReport,
    FileRef,
    Proposal,
    Record,
    Response,
    Step,
    StepContract,
    attempt_hash,
)
from ..run import Run
from ..vague_parts import earlier_checks, left_vague, vague_checks
from ..verdict import JUDGE
from ..workspace import layered
from .bench import Bench
from .equipment import Agent, Asked, ask, effort_of, model_of, turn_limits, whole_of
from .inputs_told import inputs_told
from .loop import Tool, Turns, turns
from .replies import Files, Unusable, files_in, json_somewhere
from .skilled import by_function, skill_of, skill_told, tools_of, tools_told
from .terms import Terms, changeable, method_lines, promised, proposal_shape, read_terms, shown
from .withholding import how_many, missed_on

FILES_BUDGET = 24_000
"""Characters of dependencies' files that a brief shows; what is cut is marked."""
OWN_BUDGET = 60_000
FILES_NAMED = 24
"""So many of the files that a plan names are shown with each step; what is cut is marked."""
HOUSE_RULES = ("CLAUDE.md", "AGENTS.md")
RULES_BUDGET = 12_000
LANGUAGES = {".py": "python", ".md": "markdown", ".json": "json", ".html": "html", ".js": "javascript", ".css": "css"}
SCORES_SHOWN = 5
ATTEMPTS_SHOWN = 20
LIMITS_TOLD = {"turns": "turns", "context": "the tokens of a phase with tools", "cut": "the length of one reply"}
CUT_OFF = "the reply reached the limit on its length: what it lacks may have been meant to follow"


class Generator(Agent):
    """Proposes contracts and makes attempts."""

    def request(self, run: Run, phase: Phase) -> Request:
        """The call that this phase begins with."""
        settings, model = run.settings, model_of(run.settings, "generator")
        tools: tuple[Tool, ...] = ()
        if phase.name == "propose":
            system = fill("propose", methods=method_lines(self.equipment.reviews, promised(run)))
        else:
            step = run.step(_number(phase.step))
            skill, tools = skill_of(settings, step), tools_of(run, step)
            if skill and skill.code:
                raise BadInput(
                    f"Step {step.number} is done by the function of the skill {step.skill_type!r}: no model is sent anything.",
                    f"%pge show contract {step.number} shows what its work is judged by.",
                )
            model = (skill.model if skill else "") or model
            system = fill("bench" if tools else "generator")
        return Request(
            model=model,
            effort=effort_of(settings, "generator"),
            system=system,
            messages=({"role": "user", "content": self.brief(run, phase)},),
            max_tokens=int(number(settings, "max_tokens")),
            about=self._about(run, phase),
            tools=tuple(tool.spec() for tool in tools),
        )

    def _about(self, run: Run, phase: Phase) -> About:
        step, attempt = phase.step, phase.attempt
        where = About(
            role="generator",
            phase=phase.name,
            step=step,
            attempt=attempt,
            round=phase.round,
            task=run.task.practice,
            part=run.part(step or 0),
            whole=whole_of(run.settings),
        )
        if phase.name == "propose" or step is None or attempt is None:
            return where
        way = approach(run, step, attempt)
        report = run.evaluation(step, way.base) if way.base else None
        return replace(
            where,
            approach=way.name,
            base_hash=run.attempts(step)[way.base].hash if way.base else None,
            files=run.attempts(step)[way.base].files if way.base else (),
            failed=tuple(f.on for f in report.findings if f.verdict != "pass") if report else (),
        )

    # What it is told

    def brief(self, run: Run, phase: Phase) -> str:
        """All that the generator is told beside its system prompt; from the file and the artifacts alone."""
        step = run.step(_number(phase.step))
        first = _first_of_all(run, step.number) if phase.name == "generate" else ""
        parts = [first, _heading(run, step), self._house_rules(run), inputs_told(run), self._dependencies(run, step)]
        parts.append(skill_told(run.settings, step))
        if phase.name == "propose":
            parts += [_objections(run, step.number), asked_for(run, step.number), self._proposal_shape(run, step)]
        else:
            parts += [
                self._contract(run, step.number),
                self._course(run, step.number, _number(phase.attempt)),
                listed("A person says of this work:", run.amendments(step.number, "generate")),
                self._as_it_is(run, step.number, _number(phase.attempt)),
                self._how(run, step),
            ]
        return "\n\n".join(part for part in parts if part)

    def _how(self, run: Run, step: Step) -> str:
        """How the deliverables are to be handed over: in the reply, with tools, or as a function returns them."""
        skill = skill_of(run.settings, step)
        if tools_of(run, step):
            return tools_told(skill)
        return "" if skill and skill.code else file_shape(run.contract(step.number))

    def _proposal_shape(self, run: Run, step: Step) -> str:
        """A first proposal starts from the step's own sentences, a later one from the version before it."""
        proposals, responses = run.talk(step.number)
        versions = [section.payload for section in (*responses[-1:], *proposals[-1:])]
        for version in (*versions, run.contract(step.number)):
            if isinstance(version, Response | Proposal | StepContract) and version.deliverables and version.checks:
                return changeable(version.deliverables, version.checks)
        files = run.plan.deliverables if run.plan else ()
        return proposal_shape(_named_by(step, files) if _are_many(files) else files, step.success)

    def _contract(self, run: Run, step: int) -> str:
        contract = run.contract(step)
        if contract is None:
            return ""
        files = ", ".join(contract.deliverables) or "whatever files it takes, each under a path of your choice"
        if len(contract.deliverables) > 1 and not takes_part(run.settings, "contract"):
            files += " (those of them that this step is about)"
        criteria = "\n".join(f"- {c.name}: {c.description}" for c in (run.plan.criteria if run.plan else ()))
        told = f"The contract of step {step}. Deliverables: {files}\nChecks:\n{shown(contract.checks)}"
        return f"{told}\nThe work is also scored on:\n{criteria}" if criteria else told

    def _house_rules(self, run: Run) -> str:
        """What a person keeps in the working directory for whoever works there; empty where nothing is kept."""
        files = [file for file in run.task.files if file.path in HOUSE_RULES]
        return self._files("Notes of the person for work in this directory", files, RULES_BUDGET)

    def _dependencies(self, run: Run, step: Step) -> str:
        files = [file for needed in step.depends_on for file in run.outputs(needed)]
        return self._files("Files of the steps that this one builds on", files, FILES_BUDGET)

    def _course(self, run: Run, step: int, attempt: int) -> str:
        """How the attempts went: the last findings, the scores of the last five and the best, a line for each of the last 20."""
        if attempt == 1 or not tells_findings(run.settings):
            return "\n".join(_hint(run, step))
        way = approach(run, step, attempt)
        report = run.evaluation(step, attempt - 1)
        lines = [f"This is attempt {attempt}: {way.name}. {way.why}."]
        if report:
            lines += [f"What was found in attempt {attempt - 1}:", *self._findings(report)]
        scores = [f"attempt {n}: {_score(score)}" for n, score in standing_scores(run, step)]
        best = best_attempt(run, step)
        lines.append(f"Overall scores: {', '.join(scores[-SCORES_SHOWN:])}; the best is attempt {best}.")
        tried = list(run.attempts(step).items())[-ATTEMPTS_SHOWN:]
        lines += [
            f"- attempt {n} ({one.approach}): {one.log.text.strip().split(chr(10), 1)[0][:160]}" for n, one in tried
        ]
        return "\n".join(lines + _hint(run, step))

    def _findings(self, report: EvaluationReport) -> list[str]:
        texts = {evidence.id: self.equipment.objects.whole(evidence.body) for evidence in report.evidence}
        hidden = missed_on(report)
        lines: list[str] = []
        for finding in report.findings:
            score = "" if finding.score is None else f" ({finding.score:g} of 10)"
            # A judge who has read which input was missed may name it.
            says = "" if finding.on in hidden or {*hidden.values()} & {*finding.evidence} else finding.says
            lines.append(f"- {finding.on}: {finding.verdict}{score}: {finding.why}. {says}".rstrip())
            if finding.verdict == "fail" and finding.by != "judge":
                lines += [
                    f"  {texts.get(name, '')[:1_500]}" for name in finding.evidence if name != hidden.get(finding.on)
                ]
            if finding.verdict == "fail" and finding.on in hidden:
                lines.append(f"  of hidden inputs: {how_many(texts[hidden[finding.on]])}")
        return lines

    def _as_it_is(self, run: Run, step: int, attempt: int) -> str:
        """The best attempt's deliverables for a refinement; else what already stands at the deliverables' paths."""
        contract = run.contract(step)
        way = approach(run, step, attempt)
        wanted = set(contract.deliverables) if contract else set()
        if way.base is not None:
            files = run.attempts(step)[way.base].files
            return self._files(f"The files of attempt {way.base}, to be refined", files, OWN_BUDGET)
        if way.name == "pivot":
            return ""
        there = [file for file in base_tree(run, step) if file.path in wanted]
        return self._files("These files are there already; keep what they hold", there, OWN_BUDGET)

    def _files(self, title: str, files: Sequence[FileRef], budget: int) -> str:
        if not files:
            return ""
        parts = [f"{title}:"]
        for file in files:
            text = self.equipment.objects.get(file.sha256).decode("utf-8", "replace")
            if len(text) > budget:
                text = f"{text[:budget]}\n[cut: {len(text) - budget} more characters]"
            budget = max(0, budget - len(text))
            fence = ticks_around(text)
            parts.append(f"{fence} {file.path}\n{text.rstrip()}\n{fence}")
        return "\n".join(parts)

    # What it does

    def records(self, run: Run, phase: Phase) -> tuple[Record, ...]:
        """Carry out the phase; its record, not appended."""
        if phase.name == "propose":
            return (self._propose(run, phase),)
        return (self._generate(run, phase),)

    def _propose(self, run: Run, phase: Phase) -> Record:
        started = time.monotonic()
        asked = self._ask_terms(run, phase)
        terms = asked.value or _of_step(run, run.step(_number(phase.step)))
        vague = left_vague((check.says for check in terms.checks if check.method == JUDGE), run.settings)
        proposal = Proposal(
            deliverables=terms.deliverables,
            checks=terms.checks,
            notes=(*(f"sent back: {reason}" for reason in asked.reasons), *terms.notes, *vague),
            calls=asked.calls,
            seconds=time.monotonic() - started,
        )
        return Record(payload=proposal, by="generator", step=phase.step, round=phase.round)

    def _ask_terms(self, run: Run, phase: Phase) -> Asked[Terms]:
        """Ask for the terms of a contract; what cannot be used, or is vague, is sent back once, then mended where it can be."""
        known = earlier_checks(run, _number(phase.step))

        def strict(reply: Reply) -> Terms:
            terms = read_terms(json_somewhere(reply.text), self.equipment.reviews, strict=True)
            if why := vague_checks(terms.checks, run.settings, known):
                raise Unusable(why)
            return terms

        def mild(reply: Reply) -> Terms:
            return read_terms(json_somewhere(reply.text), self.equipment.reviews, strict=False)

        return ask(self.equipment, self.request(run, phase), strict, mild)

    def _generate(self, run: Run, phase: Phase) -> Record:
        started = time.monotonic()
        step, attempt = _number(phase.step), _number(phase.attempt)
        contract = run.contract(step)
        deliverables = contract.deliverables if contract else ()
        way = approach(run, step, attempt)
        base = run.attempts(step)[way.base].files if way.base is not None else ()
        about, start = self._about(run, phase), base_tree(run, step)
        bench = Bench(
            self.equipment,
            about,
            layered(start, base),
            deliverables=deliverables,
            there=[file.path for file in start],
            seconds=number(run.settings, "review_seconds"),
        )
        planned = run.step(step)
        skill, tools = skill_of(run.settings, planned), tools_of(run, planned)
        if skill and skill.code:
            log, faults = by_function(planned.skill_type, skill, self.brief(run, phase), bench)
            wrought = Wrought(log=log, notes=faults, calls=())
        elif tools:
            wrought = self._with_tools(run, phase, tools, bench)
        else:
            wrought = self._in_reply(self.request(run, phase), bench)
        files = layered(base, bench.written.values())
        made = Attempt(
            approach=way.name,
            why=way.why,
            base=way.base,
            files=files,
            hash=attempt_hash(files),
            log=self.equipment.objects.body(wrought.log),
            missing=_missing(run, deliverables, files),
            refused=tuple(bench.refusals),
            notes=(*([f"made with the skill {planned.skill_type!r}"] if skill else []), *wrought.notes),
            calls=wrought.calls,
            seconds=time.monotonic() - started,
        )
        return Record(payload=made, by="generator", step=step, attempt=attempt)

    def _in_reply(self, request: Request, bench: Bench, after: Turns | None = None) -> Wrought:
        """The files that a reply carries, written at the bench; one that carries none is asked for once more.

        ``after``: turns with tools in which nothing was written; their last reply is the one that is read first.
        """
        asked = ask(
            self.equipment,
            after.request if after else request,
            lambda reply: _some_files(reply, bench.deliverables),
            lambda reply: _files(reply, bench.deliverables),
            reply=after.reply if after else None,
        )
        given = asked.value or Files(files={}, prose=asked.text)
        for path, text in given.files.items():
            bench.write(path, text)
        notes = (
            *(f"sent back: {reason}" for reason in asked.reasons),
            *given.faults,
            *([CUT_OFF] if asked.cut else []),
        )
        return Wrought(log=given.prose, notes=notes, calls=(*(after.calls if after else ()), *asked.calls))

    def _with_tools(self, run: Run, phase: Phase, tools: tuple[Tool, ...], bench: Bench) -> Wrought:
        """Turns with tools at the bench; a model that only talks, or writes files as text, is taken at its text."""
        request = self.request(run, phase)
        took = turns(self.equipment, request, tools, bench.use, **turn_limits(run.settings))
        if took.ended in {"silent", "cut"} and not bench.written:
            return self._in_reply(request, bench, took)
        notes = () if took.ended in {"done", "silent"} else (f"ended by the limit on {LIMITS_TOLD[took.ended]}",)
        return Wrought(log="\n".join([took.said, *bench.log]).strip(), notes=notes, calls=took.calls)

    def run(self, shared_state_path: Path | str, step: int | None = None) -> Path:
        """Carry out the generator's phase that is due and append it; the state file's path.

        ``BadInput`` when another phase is due first.
        """
        from .opening import opened

        with opened(shared_state_path, config=self.config, model=self.model) as (state, equipment):
            run = state.read()
            phases = [p for p in due(run) if p.role == "generator" and step in (None, p.step)]
            if not phases:
                raise BadInput(
                    "Nothing is due for the generator.", f"Due now: {', '.join(map(str, due(run))) or 'nothing'}."
                )
            state.append(*Generator(equipment).records(run, phases[0]))
            return Path(shared_state_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrought:
    """How an attempt was made, beside the files: the work log, what a reader should know, and the calls."""

    log: str
    notes: tuple[str, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How an attempt is made: first, a refinement of the best attempt, or a pivot; and why."""

    name: Approach
    why: str
    base: int | None = None


def approach(run: Run, step: int, attempt: int) -> Way:
    """How this attempt is to be made, from the decision before it."""
    if attempt == 1:
        return Way(name="first", why="nothing has been tried yet")
    decision = run.decision(step)
    why = decision.reason if decision else ""
    if standing(run, step, attempt - 1) == "pivot":
        return Way(name="pivot", why=why)
    return Way(name="refine", why=why, base=best_attempt(run, step))


def base_tree(run: Run, step: int) -> tuple[FileRef, ...]:
    """What an attempt starts from: the working directory as the task found it, the outputs that it builds on, the inputs."""
    contract = run.contract(step)
    before = [run.outputs(number) for number in builds_on(run, step, contract.deliverables if contract else ())]
    return layered(run.task.files, *before, run.task.input_files)


def _of_step(run: Run, step: Step) -> Terms:
    """The terms where the generator gave none: the plan's deliverables, the step's success criteria for the judge."""
    plan = run.plan
    value = {
        "deliverables": list(plan.deliverables if plan and plan.deliverables else (f"step_{step.number}.md",)),
        "checks": list(step.success or (step.description,)),
    }
    terms = read_terms(value, {}, strict=False)
    note = "no usable proposal was given; the plan's deliverables and the step's success criteria stand in"
    return Terms(deliverables=terms.deliverables, checks=terms.checks, notes=(note, *terms.notes))


def _files(reply: Reply, deliverables: tuple[str, ...]) -> Files:
    given = files_in(reply.text, deliverables)
    copied = [path for path, text in given.files.items() if text.strip() == placeholder(path)]
    faults = (*given.faults, *(f"the block of {path} holds the placeholder and no file" for path in copied))
    return Files(
        files={path: text for path, text in given.files.items() if path not in copied}, prose=given.prose, faults=faults
    )


def _some_files(reply: Reply, deliverables: tuple[str, ...]) -> Files:
    given = _files(reply, deliverables)
    if given.faults:
        raise Unusable(f"{given.faults[0]}; write every file once, whole")
    if not deliverables and not given.files:
        raise Unusable("there is no fenced block that names the path of a file")
    if deliverables and not any(path in deliverables for path in given.files):
        raise Unusable(f"there is no fenced block that names one of the deliverables: {', '.join(deliverables)}")
    if reply.cut and not (deliverables and given.files.keys() >= set(deliverables)):
        raise Unusable("it was cut off, and more may have been meant to follow; say less beside the files")
    return given


def _missing(run: Run, deliverables: tuple[str, ...], files: tuple[FileRef, ...]) -> tuple[str, ...]:
    """The deliverables that an attempt lacks. Without contracts a step is about some of the plan's files: one is enough."""
    held = {file.path for file in files}
    lacking = tuple(path for path in deliverables if path not in held)
    return lacking if takes_part(run.settings, "contract") or len(lacking) == len(deliverables) else ()


def placeholder(path: str) -> str:
    """What stands for a file's text in the shape; a file that holds only this was not written."""
    return f"<all of {path}>"


def file_shape(contract: StepContract | None) -> str:
    """How the deliverables are to be written, with their own paths: a small model writes the paths that it sees."""
    if contract is None:
        return ""
    blocks = [
        f"```{LANGUAGES.get(PurePosixPath(path).suffix, '')} {path}\n{placeholder(path)}\n```"
        for path in contract.deliverables or ("<path>",)
    ]
    return "\n".join(["Write each file whole, in a block like this:", *blocks])


def _heading(run: Run, step: Step) -> str:
    plan = run.plan
    lines = [f"Plan: {plan.title}", f"Scope: {plan.scope}"] if plan else []
    if plan and plan.deliverables:
        shown_first = (*_named_by(step, plan.deliverables), *plan.deliverables)
        listed = tuple(dict.fromkeys(shown_first))[:FILES_NAMED] if _are_many(plan.deliverables) else plan.deliverables
        more = len(plan.deliverables) - len(listed)
        cut = f" [cut: {more} more]" if more else ""
        lines.append(f"Files of the whole plan: {', '.join(listed)}{cut}")
    # Apart, how far the others are must not show: it would be another brief each time.
    counted_in = dag.ancestors(run.steps, step.number) if apart(run) else {other.number for other in run.steps}
    done = sum(run.accepted(number) is not None for number in counted_in)
    lines.append(f"Step {step.number}{_place(run, step)} of {len(run.steps)} ({done} done): {step.description}")
    lines += [f"- {sentence}" for sentence in step.success]
    return "\n".join(lines)


def _are_many(paths: Sequence[str]) -> bool:
    """Whether a plan names too many files to show each step all of them: what is sent would grow with the square of the steps."""
    return len(paths) > FILES_NAMED


def _named_by(step: Step, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of a plan's files that the step's own words name."""
    words = " ".join((step.description, *step.success))
    return tuple(path for path in paths if path in words)


def _place(run: Run, step: Step) -> str:
    """Where a step stands in the plan, where its number does not say it: after a replan."""
    place = next((at for at, one in enumerate(run.steps, 1) if one.number == step.number), step.number)
    return "" if place == step.number else f", in place {place}"


def _first_of_all(run: Run, step: int) -> str:
    """What the attempt goes for first, where the run retries until all is met; empty where it does not."""
    on, contract = leading(run, step), run.contract(step)
    says = next((check.says for check in contract.checks if check.id == on), "") if contract else ""
    if not on:
        return ""
    return f"First of all make this hold: {on}{f': {says}' if says else ''}\nKeep what holds already."


def _objections(run: Run, step: int) -> str:
    _, responses = run.talk(step)
    payload = responses[-1].payload if responses else None
    if not isinstance(payload, Response):
        if contract := run.contract(step):
            return f"A person amends the contract of this step. It was:\n{shown(contract.checks)}\nPropose it again."
        return "Propose the contract of this step."
    lines = [f"The evaluator did not agree to your last proposal: {payload.reason}"]
    if payload.checks:
        lines.append(f"Its version:\n{shown(payload.checks)}")
    return "\n".join([*lines, "Propose the contract again."])


def asked_for(run: Run, step: int) -> str:
    """What a person asks of a step's contract, for those who negotiate it; empty where nobody asked."""
    asked = listed("A person asks that the contract also checks this:", run.amendments(step, "contract"))
    back = listed("A person sent the contract back:", run.sent_back(step))
    return "\n\n".join(filter(None, (asked, back)))


def listed(heading: str, texts: Sequence[str]) -> str:
    """The texts under a heading; empty where there are none."""
    return "\n".join([heading, *(f"- {text}" for text in texts)]) if texts else ""


def _hint(run: Run, step: int) -> list[str]:
    answer = run.answer(step)
    return [f"A hint from the person: {answer.text}"] if answer and answer.text else []


def _score(score: float | None) -> str:
    return "not measured" if score is None else f"{score:.1f}"


def _number(value: int | None) -> int:
    if value is None:
        raise ValueError("this phase needs a step and an attempt")
    return value
