"""Replanning: a step whose retries are used up is cut into smaller ones; every other step, and the work on it, stays."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from ..decisions import MOST_PIECES, best_attempt, standing_scores
from ..models import About, Reply, Request
from ..payloads import Json
from ..phases import Phase, number
from ..prompts import fill
from ..prose import few
from ..records import Attempt, EvaluationReport, Plan, Record, Replan, Step
from ..run import Run
from ..skills import frozen_in
from ..vague_parts import vague_steps
from .equipment import Equipment, ask, effort_of, model_of
from .planned import read_steps, text
from .replies import Unusable, json_somewhere
from .skilled import skills_told, unknown_skill, with_known_skills
from .terms import shown

ATTEMPTS_SHOWN = 20
UNUSABLE = "the planner's reply could not be used"


def brief(run: Run, step: int) -> str:
    """All that the planner is told beside its system prompt: the plan and what is done, the step, and what was tried at it."""
    parts = (
        f"The prompt:\n{run.task.prompt}",
        "\n".join(_plan(run, step)),
        "\n".join(_step(run, run.step(step))),
        "\n".join(_tried(run, step)),
        skills_told(run.settings),
    )
    return "\n\n".join(filter(None, parts))


def request(run: Run, phase: Phase) -> Request:
    """The call that this phase begins with."""
    settings, step = run.settings, phase.step or 0
    return Request(
        model=model_of(settings, "planner"),
        effort=effort_of(settings, "planner"),
        system=fill("replan", most_pieces=str(MOST_PIECES)),
        messages=({"role": "user", "content": brief(run, step)},),
        max_tokens=int(number(settings, "max_tokens")),
        about=About(
            role="planner",
            phase="replan",
            step=step,
            round=phase.round,
            task=run.task.practice,
            part=run.part(step),
            skills=tuple(frozen_in(settings)),
        ),
    )


def replan(equipment: Equipment, run: Run, phase: Phase) -> Record:
    """Carry out the phase; the plan with the step cut, not appended.

    A reply that cannot be used is sent back once. Where the step cannot be cut, or that reply cannot be used either, the plan
    is the one before, and says why.
    """
    started, step, plan = time.monotonic(), phase.step or 0, run.plan
    if plan is None:
        raise ValueError("there is no plan to change")
    notes: list[str] = []

    def strict(reply: Reply) -> tuple[tuple[Step, ...], str]:
        pieces, why = read_cut(json_somewhere(reply.text), [], strict=True)
        if unknown := unknown_skill(pieces, run.settings):
            raise Unusable(unknown)
        if vague := vague_steps(pieces, run.settings):
            raise Unusable(vague)
        return pieces, why

    def mild(reply: Reply) -> tuple[tuple[Step, ...], str]:
        return read_cut(json_somewhere(reply.text), notes)

    asked = ask(equipment, request(run, phase), strict, mild)
    pieces, why = asked.value or ((), UNUSABLE)
    changed = replace(in_place(plan, step, pieces, run.highest), notes=few(notes))
    changed = with_known_skills(changed, run.settings)
    taken = tuple(one.number for one in changed.steps if one.number > run.highest)
    payload = replace(
        changed,
        hints=plan.hints,
        notes=(*(f"sent back: {reason}" for reason in asked.reasons), *changed.notes),
        calls=asked.calls,
        seconds=time.monotonic() - started,
        replan=Replan(step=step, by=taken, why=why),
    )
    return Record(payload=payload, by="planner")


# What the planner is told


def _plan(run: Run, step: int) -> Iterator[str]:
    plan = run.plan
    if plan is None:
        return
    yield f"The plan: {plan.title}\nScope: {plan.scope}"
    if plan.deliverables:
        yield f"Files of the whole plan: {', '.join(plan.deliverables)}"
    yield "Its steps:"
    for one in run.every_step:
        stands = "to be cut" if one.number == step else run.state(one.number)
        needs = f", needs {', '.join(map(str, one.depends_on))}" if one.depends_on else ""
        made = ", ".join(file.path for file in run.outputs(one.number))
        yield f"- {one.number} ({stands}{needs}): {one.description}{f' -> {made}' if made else ''}"


def _step(run: Run, step: Step) -> Iterator[str]:
    yield f"Step {step.number}, to be cut (skill_type {step.skill_type!r}): {step.description}"
    yield from (f"- {sentence}" for sentence in step.success)
    if contract := run.contract(step.number):
        yield f"Its contract. Deliverables: {', '.join(contract.deliverables)}\nChecks:\n{shown(contract.checks)}"


def _tried(run: Run, step: int) -> Iterator[str]:
    attempts, scores = run.attempts(step), dict(standing_scores(run, step))
    best = best_attempt(run, step)
    yield f"What was tried: {len(attempts)} attempts; the best is attempt {best}."
    for tried, attempt in list(attempts.items())[-ATTEMPTS_SHOWN:]:
        yield f"- attempt {tried} ({attempt.approach}): overall {_score(scores[tried])}; {_first_line(attempt)}"
    if best is not None and (report := run.evaluation(step, best)):
        yield f"What was found in attempt {best}:"
        yield from _found(report)
    last = max(attempts, default=None)
    if last not in (None, best) and (report := run.evaluation(step, last or 0)):
        yield f"What was found in the last one, attempt {last}:"
        yield from _found(report)


def _found(report: EvaluationReport) -> Iterator[str]:
    for finding in report.findings:
        score = "" if finding.score is None else f" ({finding.score:g} of 10)"
        yield f"- {finding.on}: {finding.verdict}{score}: {finding.why}. {finding.says}".rstrip()


def _first_line(attempt: Attempt) -> str:
    return attempt.log.text.strip().split("\n", 1)[0][:160]


def _score(score: float | None) -> str:
    return "not measured" if score is None else f"{score:.1f}"


# What it replies


def read_cut(value: dict[str, Json], notes: list[str], *, strict: bool = False) -> tuple[tuple[Step, ...], str]:
    """The steps in a reply, numbered from 1, and the planner's reason; no steps where it says that the step cannot be cut.

    ``strict``: a cut that is none, and one into too many steps, is ``Unusable``; else neither is taken.
    """
    listed, why = value.get("steps"), text(value.get("reason"))
    if listed == [] or listed is None:
        if strict and not why:
            raise Unusable("it gives neither steps nor a reason why there are none")
        return (), why or "the planner gave no steps, and no reason"
    if not isinstance(listed, list):
        raise Unusable("the steps are no list")
    steps = read_steps(listed, notes, strict=strict)
    if len(steps) == 1:
        if strict:
            raise Unusable("one step in place of one is no cut; give two or more smaller ones, or none and the reason")
        return (), "the planner gave one step in place of one"
    if len(steps) > MOST_PIECES:
        many = f"the step was cut into {len(steps)}, and at most {MOST_PIECES} were asked for"
        if strict:
            raise Unusable(f"{many}; join steps, and leave nothing out")
        return (), many
    return steps, why or "the planner gave no reason"


def in_place(plan: Plan, step: int, pieces: tuple[Step, ...], above: int) -> Plan:
    """The plan with ``pieces`` in place of a step; without any it is the same.

    They are numbered on from ``above``, in their order. Each also builds on what the step built on; what built on the step
    builds on those pieces on which no other one rests.
    """
    if not pieces:
        return plan
    cut = next(one for one in plan.steps if one.number == step)
    numbers = {piece.number: above + place for place, piece in enumerate(pieces, 1)}
    needed = {need for piece in pieces for need in piece.depends_on}
    ends = [numbers[piece.number] for piece in pieces if piece.number not in needed]
    taken = tuple(
        replace(
            piece,
            number=numbers[piece.number],
            depends_on=tuple(sorted({*cut.depends_on, *(numbers[need] for need in piece.depends_on)})),
        )
        for piece in pieces
    )
    steps: list[Step] = []
    for one in plan.steps:
        if one.number == step:
            steps += taken
        elif step in one.depends_on:
            steps.append(replace(one, depends_on=tuple(sorted({*one.depends_on, *ends} - {step}))))
        else:
            steps.append(one)
    return replace(plan, steps=tuple(steps))
