"""The evaluator: answers a proposal, and judges an attempt by evidence that the harness itself produced."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import BadInput
from ..models import About, Reply, Request
from ..payloads import Json, decode, encode
from ..phases import Phase, due, margin_of, number
from ..prompts import fill
from ..records import (
    Attempt,
    Body,
    Call,
    Check,
    EvaluationReport,
    FileRef,
    Proposal,
    Record,
    Response,
    StepContract,
    attempt_hash,
)
from ..reviews import Outcome, looked
from ..run import Run
from ..vague_parts import earlier_checks, left_vague, vague_checks
from ..verdict import JUDGE, Claim, grade, overall, raised, undelivered, verdict_of
from ..workspace import EvidenceBook, laid, layered
from . import canaries, withholding
from .continuing import goes_on
from .equipment import Agent, ask, effort_of, isolation_of, model_of, turn_limits, whole_of, with_tools
from .generator import asked_for, base_tree, listed
from .hearing import hear
from .inputs_told import inputs_told
from .inspecting import TOOLS, Inspection
from .judging import Docket, difference, laid_before
from .loop import turns
from .raters import of_attempt, system_of
from .replies import Unusable, json_alone
from .reviewing import Seen, laid_out
from .terms import Terms, answer_shape, method_lines, promised, read_terms, shown

LOOKED_AT_ONLY = frozenset({"artifact", "file", "rule", "reference", "read", "list", "search"})
"""Methods whose evidence comes of no generated code that was run."""


class Evaluator(Agent):
    """Responds to proposals and evaluates attempts."""

    def brief(self, run: Run, phase: Phase) -> str:
        """All that the evaluator is told beside its system prompt. For an attempt: contract, criteria, evidence, diff."""
        return str(self.request(run, phase).messages[-1]["content"])

    def request(self, run: Run, phase: Phase) -> Request:
        """The call that this phase begins with; for an evaluation the reviews are looked at first, from the log if known."""
        if phase.name == "withhold":
            return withholding.request(run, phase)
        return self._response_request(run, phase) if phase.name == "respond" else self._judge_request(run, phase)

    def records(self, run: Run, phase: Phase) -> tuple[Record, ...]:
        """Carry out the phase; its record, not appended."""
        if phase.name == "withhold":
            return (withholding.withhold(self.equipment, run, phase),)
        return (self._respond(run, phase) if phase.name == "respond" else self._evaluate(run, phase),)

    # The contract

    def _response_request(self, run: Run, phase: Phase) -> Request:
        settings = run.settings
        step = run.step(phase.step or 0)
        proposal = _proposal(run, step.number)
        parts = [
            f"Step {step.number}: {step.description}",
            *(f"- {sentence}" for sentence in step.success),
            f"Proposed deliverables: {', '.join(proposal.deliverables)}",
            f"Proposed checks:\n{shown(proposal.checks)}",
            inputs_told(run),
            asked_for(run, step.number),
            answer_shape(proposal.deliverables, proposal.checks),
        ]
        return Request(
            model=model_of(settings, "evaluator"),
            effort=effort_of(settings, "evaluator"),
            system=fill(
                "respond", methods=method_lines(self.equipment.reviews, (*promised(run), *proposal.deliverables))
            ),
            messages=({"role": "user", "content": "\n".join(filter(None, parts))},),
            max_tokens=int(number(settings, "max_tokens")),
            about=About(
                role="evaluator",
                phase="respond",
                step=step.number,
                round=phase.round,
                task=run.task.practice,
                part=run.part(step.number),
                whole=whole_of(settings),
            ),
        )

    def _respond(self, run: Run, phase: Phase) -> Record:
        """An answer that cannot be read, even after its repair, is no agreement."""
        started = time.monotonic()
        asked = ask(
            self.equipment,
            self._response_request(run, phase),
            lambda reply: self._answer(run, phase, reply),
            lambda reply: self._answer(run, phase, reply, strict=False),
        )
        agreed, reason, terms = asked.value or (False, "the answer could not be read, so it is no agreement", None)
        kept = [check.says for check in terms.checks if check.method == JUDGE] if terms else []
        vague = left_vague(kept, run.settings)
        response = Response(
            agreed=agreed,
            reason=reason,
            deliverables=terms.deliverables if terms else None,
            checks=terms.checks if terms else None,
            notes=(*(f"sent back: {why}" for why in asked.reasons), *(terms.notes if terms else ()), *vague),
            calls=asked.calls,
            seconds=time.monotonic() - started,
        )
        return Record(payload=response, by="evaluator", step=phase.step, round=phase.round)

    def _answer(self, run: Run, phase: Phase, reply: Reply, *, strict: bool = True) -> tuple[bool, str, Terms | None]:
        value = json_alone(reply.text)
        reason = value.get("reason")
        reason = reason if isinstance(reason, str) else ""
        if value.get("agreed") is True:
            return True, reason, None
        if value.get("agreed") is not False:
            raise Unusable('"agreed" is neither true nor false')
        terms = read_terms(value, self.equipment.reviews, strict=strict)
        known = earlier_checks(run, phase.step or 0)
        if strict and (why := vague_checks(terms.checks, run.settings, known)):
            raise Unusable(why)
        return False, reason, terms

    # The attempt

    def _look(self, run: Run, phase: Phase) -> Looked:
        """Carry out the reviews of the contract's checks, each in a throwaway tree of its own; issue the evidence."""
        step, attempt = phase.step or 0, phase.attempt or 0
        contract = run.contract(step)
        made = run.attempts(step)[attempt]
        if contract is None:
            raise BadInput(f"Step {step} has no contract.", f"%pge contract {step}")
        if phase.canary:
            contract, made = canaries.for_the_judge(contract), self._made(run, phase)
        files = layered(base_tree(run, step), made.files)
        book = EvidenceBook(self.equipment.objects)

        def look(check: Check) -> Seen:
            outcome, replayed = self._review(run, phase, check, files)
            hidden = withholding.hidden_check(self.equipment, run, step, check) if outcome.met else None
            if hidden is None:
                return Seen(met=outcome.met, outcomes=((outcome, replayed),))
            further, again = self._review(run, phase, hidden, files)
            further = withholding.weighed(run, step, further)
            return Seen(met=further.met, outcomes=((outcome, replayed), (further, again)))

        criteria = raised(run.plan.criteria if run.plan else (), margin_of(run.settings))
        claims, docket = laid_out(
            contract.checks, criteria, made.files, book, reviews=self.equipment.reviews, look=look
        )
        return Looked(contract=contract, made=made, claims=claims, docket=docket, files=files, book=book)

    def _review(self, run: Run, phase: Phase, check: Check, files: tuple[FileRef, ...]) -> tuple[Outcome, bool]:
        review = self.equipment.reviews[check.method]

        def look() -> Json:
            with laid(files, self.equipment.objects) as tree:
                return encode(looked(review, check, tree))

        about = self._about(run, phase)
        args: Mapping[str, Json] = {"check": check.id, "says": check.says, "args": dict(check.args)}
        saw, replayed = self.equipment.model.observe(about, check.method, args, attempt_hash(files), look)
        return decode(Outcome, saw), replayed

    def _made(self, run: Run, phase: Phase) -> Attempt:
        """What is judged: the attempt, or a canary in its place."""
        made, contract = run.attempts(phase.step or 0)[phase.attempt or 0], run.contract(phase.step or 0)
        if not phase.canary or contract is None:
            return made
        canary = canaries.CANARIES[canaries.turn_of(run, phase)]
        paths = contract.deliverables or tuple(file.path for file in made.files)
        return canaries.shown_as(canary, made, paths, self.equipment.objects)

    def _about(self, run: Run, phase: Phase, docket: Docket | None = None) -> About:
        made = self._made(run, phase)
        return About(
            role="evaluator",
            phase="evaluate",
            step=phase.step,
            attempt=phase.attempt,
            purpose=phase.purpose,
            round=phase.round,
            task=run.task.practice,
            part=run.part(phase.step or 0),
            attempt_hash=made.hash,
            checks=tuple(check.id for check in docket.checks) if docket else (),
            criteria=tuple(criterion.name for criterion in docket.criteria) if docket else (),
            evidence=tuple(f"{evidence.id}:{evidence.on}" for evidence in docket.evidence) if docket else (),
            whole=whole_of(run.settings),
            files=made.files,
        )

    def _judge_request(self, run: Run, phase: Phase, looked: Looked | None = None) -> Request:
        settings, attempt = run.settings, run.attempts(phase.step or 0)[phase.attempt or 0]
        rater = of_attempt(settings, attempt)
        looked = looked or self._look(run, phase)
        earlier = None if phase.canary else run.attempts(phase.step or 0).get((phase.attempt or 0) - 1)
        laid = laid_before(
            looked.docket, looked.contract.checks, difference(earlier, looked.made, self.equipment.objects)
        )
        said = listed("The person whose task it is says:", run.amendments(phase.step or 0, "evaluate"))
        request = Request(
            model=rater.model,
            effort=rater.effort or None,
            system=system_of(rater),
            messages=({"role": "user", "content": "\n\n".join(filter(None, (said, inputs_told(run), laid)))},),
            max_tokens=int(number(settings, "max_tokens")),
            about=self._about(run, phase, looked.docket),
            tools=tuple(tool.spec() for tool in TOOLS) if with_tools(settings, "evaluator") else (),
            nonce=secrets.token_hex(8),
        )
        return goes_on(self.equipment, attempt, request) if rater.mode.startswith("self") else request

    def _evaluate(self, run: Run, phase: Phase) -> Record:
        started = time.monotonic()
        looked = self._look(run, phase)
        judged = self._judge(run, phase, looked) if looked.docket.ids else Judged(docket=looked.docket)
        criteria = looked.docket.criteria
        findings = grade(looked.contract.checks, criteria, (*looked.claims, *judged.claims), judged.docket.texts)
        findings = (*findings, *undelivered(looked.made.missing))
        report = EvaluationReport(
            rater=of_attempt(run.settings, run.attempts(phase.step or 0)[phase.attempt or 0]).id,
            attempt_hash=looked.made.hash,
            verdict=verdict_of(findings),
            overall=overall(findings, criteria),
            findings=findings,
            evidence=judged.docket.evidence,
            isolation=self._isolation(run) if judged.ran else "",
            unusable=judged.unusable,
            notes=judged.notes,
            calls=judged.calls,
            seconds=time.monotonic() - started,
        )
        return Record(
            payload=report,
            by="evaluator",
            step=phase.step,
            attempt=phase.attempt,
            purpose=phase.purpose,
            round=phase.round,
        )

    def _isolation(self, run: Run) -> str:
        return isolation_of(run.settings, allow_unsafe=self.equipment.allow_unsafe)

    def _judge(self, run: Run, phase: Phase, looked: Looked) -> Judged:
        """One judge call over the criteria and the checks that the reviews left undecided; one repair of what is faulty.

        What is void since it passed a canary there, it is asked about as ever and not listened to; where all is, not asked.
        """
        fallen = {} if phase.canary else canaries.void(run, looked.docket.checks, looked.docket.criteria)
        if not looked.docket.without(fallen).ids:
            return Judged(docket=looked.docket, claims=canaries.unheard(fallen))
        request = self._judge_request(run, phase, looked)
        docket, took = looked.docket, None
        if with_tools(run.settings, "evaluator"):
            seconds = number(run.settings, "review_seconds")
            desk = Inspection(self.equipment, request.about, looked.files, looked.book, seconds=seconds)
            took = turns(self.equipment, request, TOOLS, desk.use, **turn_limits(run.settings))
            docket = desk.seen(docket)
        last = took.request if took else request
        heard = hear(self.equipment, last, docket.without(fallen), reply=took.reply if took else None)
        return Judged(
            docket=docket,
            claims=(*heard.claims, *canaries.unheard(fallen)),
            unusable=None if heard.unusable is None else self.equipment.objects.body(heard.unusable),
            notes=heard.notes,
            calls=(*(took.calls if took else ()), *heard.calls),
        )

    def run(self, shared_state_path: Path | str, step: int | None = None) -> EvaluationReport:
        """Carry out the evaluation that is due and append it. ``BadInput`` when another phase is due first."""
        from .opening import opened

        with opened(shared_state_path, config=self.config, model=self.model) as (state, equipment):
            run = state.read()
            phases = [p for p in due(run) if p.name == "evaluate" and step in (None, p.step)]
            if not phases:
                raise BadInput(
                    "No attempt waits for an evaluation.", f"Due now: {', '.join(map(str, due(run))) or 'nothing'}."
                )
            (record,) = Evaluator(equipment).records(run, phases[0])
            state.append(record)
            while record.purpose == "canary":
                run = state.read()
                (phase,) = [one for one in due(run) if one.step == record.step]
                (record,) = Evaluator(equipment).records(run, phase)
                state.append(record)
            if not isinstance(record.payload, EvaluationReport):
                raise TypeError("an evaluation makes an evaluation report")
            return record.payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What the reviews of one evaluation gave: claims on the checks they decided, and the docket for the judge."""

    contract: StepContract
    made: Attempt
    claims: tuple[Claim, ...]
    docket: Docket
    files: tuple[FileRef, ...]
    book: EvidenceBook


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the judge gave, and the docket with all that it was shown."""

    docket: Docket
    claims: tuple[Claim, ...] = ()
    unusable: Body | None = None
    notes: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()

    @property
    def ran(self) -> bool:
        """Whether generated code was run."""
        return any(evidence.method not in LOOKED_AT_ONLY for evidence in self.docket.evidence)


def _proposal(run: Run, step: int) -> Proposal:
    payload = run.of("proposal", step)[-1].payload
    if not isinstance(payload, Proposal):
        raise TypeError("a proposal section holds a proposal")
    return payload
