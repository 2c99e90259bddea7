"""Hidden inputs that the evaluator makes for the oracle checks of a contract. The generator never sees them.

They stand in ``.pge/withheld/``, outside every tree; the section tells their hash and how many there are. An evaluator errs
as others do, so they are weak until a person has looked at them: a miss does not decide a check, but lays it before the judge.
Of those that a person confirmed a miss decides. The generator is told how many it missed, of either.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..bank import Case
from ..errors import BadInput
from ..models import About, Reply, Request
from ..payloads import Json, Misfit, compact, decode, encode
from ..phases import Phase, number
from ..prompts import fill
from ..records import Check, EvaluationReport, Record, StepContract, Withheld
from ..reviews import Outcome
from ..reviews.oracle import MISS, NOT_HIDDEN, OPEN_CASES, OracleArgs
from ..run import Run
from ..workspace import Objects
from .equipment import Equipment, ask, effort_of, model_of
from .replies import Unusable, json_somewhere

STRENGTH = "weak: the evaluator made these inputs, and no person has looked at them"
HOUSE = "withheld"
HIDDEN = ", hidden ones"
"""Ends what the evidence of hidden inputs says that it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One hidden input: the id of its check, and the case."""

    on: str
    case: Case


def withhold(equipment: Equipment, run: Run, phase: Phase) -> Record:
    """Have the evaluator make hidden inputs for a step's oracle checks, and keep them; the record tells how many."""
    started = time.monotonic()
    contract = run.contract(phase.step or 0)
    checks = callable_checks(contract)
    most = int(number(run.settings, "hidden_cases"))
    asked = ask(equipment, request(run, phase), lambda reply: _read(reply, checks, most))
    kept = asked.value or []
    made = Withheld(
        count=len(kept),
        sha256=_put(equipment.objects.root, kept),
        notes=tuple(f"sent back: {reason}" for reason in asked.reasons),
        calls=asked.calls,
        seconds=time.monotonic() - started,
    )
    return Record(payload=made, by="evaluator", step=phase.step, round=phase.round)


def request(run: Run, phase: Phase) -> Request:
    """The call for them: the contract's deliverables and oracle checks, nothing of what the generator will be told."""
    contract = run.contract(phase.step or 0)
    checks = callable_checks(contract)
    settings = run.settings
    lines = [
        f"Deliverables: {', '.join(contract.deliverables if contract else ())}",
        "Checks:",
        *(f"- {check.id}: {check.says}: {compact(dict(check.args))}" for check in checks),
        f"Give at most {number(settings, 'hidden_cases'):g} inputs for each of {', '.join(c.id for c in checks)}.",
        "Reply with one JSON object of exactly this shape, no text around it:",
        '{"cases": [{"on": "<id>", "args": [<the arguments>], "returns": <the value>},',
        ' {"on": "<id>", "args": [<the arguments>], "raises": "<the error>"}]}',
    ]
    return Request(
        model=model_of(settings, "evaluator"),
        effort=effort_of(settings, "evaluator"),
        system=fill("withhold"),
        messages=({"role": "user", "content": "\n".join(lines)},),
        max_tokens=int(number(settings, "max_tokens")),
        about=About(
            role="evaluator",
            phase="withhold",
            step=phase.step,
            round=phase.round,
            task=run.task.practice,
            part=run.part(phase.step or 0),
        ),
    )


def callable_checks(contract: StepContract | None) -> tuple[Check, ...]:
    """The oracle checks whose function the contract itself names; those of the bank have hidden inputs already."""
    checks = contract.checks if contract else ()
    return tuple(check for check in checks if check.method == "oracle" and isinstance(check.args.get("call"), str))


def hidden_check(equipment: Equipment, run: Run, step: int, check: Check) -> Check | None:
    """The check with the hidden inputs in place of those it shows; None where none were made for it."""
    found = run.withheld(step)
    if found is None:
        return None
    cases: list[Json] = [encode(one.case) for one in listed(equipment.objects.root, found) if one.on == check.id]
    return replace(check, args={"call": check.args["call"], "cases": cases}) if cases else None


def weighed(run: Run, step: int, outcome: Outcome) -> Outcome:
    """What the hidden inputs found, as evidence.

    Where a person has confirmed them they decide, and nobody is told which one was missed: what a judge reads it may repeat.
    Else only to miss none decides; the judge must see the one that was missed, and may find that it is wrong itself.
    """
    found = run.withheld(step)
    says = outcome.says + HIDDEN
    if found is None or not found.confirmed:
        return replace(outcome, says=says, strength=STRENGTH, met=True if outcome.met else None)
    strength = "strong" if outcome.strength == OPEN_CASES else NOT_HIDDEN
    return replace(outcome, says=says, strength=strength, saw=how_many(outcome.saw))


def how_many(saw: str) -> str:
    """Of what the hidden inputs found, how many gave what is wanted; not which one did not."""
    return saw.split(MISS, 1)[0]


def missed_on(report: EvaluationReport) -> Mapping[str, str]:
    """Id of each check that hidden inputs were sent for -> the id of the evidence that tells of them."""
    return {one.on: one.id for one in report.evidence if one.method == "oracle" and one.says.endswith(HIDDEN)}


def listed(root: Path, found: Withheld) -> list[Kept]:
    """Hidden inputs, in the order in which they were made."""
    if not found.count:
        return []
    given = json.loads(Objects(root, HOUSE).get(found.sha256))
    return [decode(Kept, one, "hidden input") for one in given]


def confirmation(root: Path, run: Run, step: int, strike: Collection[int]) -> Withheld:
    """A person's word on a step's hidden inputs: all hold but the struck ones, counted from 1 as the evaluator made them."""
    made = as_made(run, step)
    kept = listed(root, made) if made else []
    if not kept:
        raise BadInput(
            f"Step {step} has no hidden inputs of the evaluator's.",
            "A run with the setting hidden_cases has it make some for each oracle check that shows its own.",
        )
    if wrong := [number for number in strike if not 1 <= number <= len(kept)]:
        raise BadInput(
            f"There is no hidden input {wrong[0]}.", f"%pge show hidden {step} numbers them, 1 to {len(kept)}."
        )
    left = [one for number, one in enumerate(kept, 1) if number not in strike]
    struck = ", ".join(str(number) for number in sorted(set(strike)))
    return Withheld(
        count=len(left),
        sha256=_put(root, left),
        notes=(f"struck out: {struck}",) if struck else (),
        confirmed=True,
    )


def as_made(run: Run, step: int) -> Withheld | None:
    """The hidden inputs as the evaluator made them for the contract in force, before a person struck out any."""
    settled = run.of("contract", step)
    made = [s.payload for s in run.of("withheld", step) if settled and s.seq > settled[-1].seq]
    return next((one for one in made if isinstance(one, Withheld)), None)


def _put(root: Path, kept: Sequence[Kept]) -> str:
    return Objects(root, HOUSE).put(compact([encode(one) for one in kept]).encode()) if kept else ""


def _read(reply: Reply, checks: Sequence[Check], most: int) -> list[Kept]:
    listed = json_somewhere(reply.text).get("cases")
    if not isinstance(listed, list):
        raise Unusable('there is no list "cases"')
    known = {check.id: check for check in checks}
    kept: list[Kept] = []
    for item in listed:
        if not isinstance(item, dict) or (on := str(item.get("on"))) not in known:
            continue
        case = _case(item)
        taken = [one.case for one in kept if one.on == on]
        if case and len(taken) < most and _call(case) not in map(_call, (*_open_cases(known[on]), *taken)):
            kept.append(Kept(on=on, case=case))
    return kept


def _case(item: Mapping[str, Json]) -> Case | None:
    """The case; None where it is none: without what must come of it, a wrong solution could not be told."""
    if ("returns" in item) == ("raises" in item):
        return None
    names = ("args", "kwargs", "returns", "raises")
    try:
        return decode(Case, {name: item[name] for name in names if name in item}, "case")
    except Misfit:
        return None


def _open_cases(check: Check) -> list[Case]:
    return list(decode(OracleArgs, dict(check.args), "args").resolve().cases)


def _call(case: Case) -> str:
    return compact([encode(case.args), encode(case.kwargs)])
