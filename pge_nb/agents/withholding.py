"""Hidden inputs that the evaluator makes for the oracle checks of a contract. The generator never sees them.

They stand in ``.pge/withheld/``, outside every tree; the section tells their hash and how many there are. An evaluator errs
as others do, so they are weak until a person has looked at them: a miss does not decide a check, but lays it before the judge.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..bank import Case
from ..models import About, Reply, Request
from ..payloads import Json, Misfit, compact, decode, encode
from ..phases import Phase, number
from ..prompts import fill
from ..records import Check, Record, StepContract, Withheld
from ..reviews.oracle import OracleArgs
from ..run import Run
from ..workspace import Objects
from .equipment import Equipment, ask, effort_of, model_of
from .replies import Unusable, json_somewhere

STRENGTH = "weak: the evaluator made these inputs, and no person has looked at them"
HOUSE = "withheld"


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
    content = compact([encode(one) for one in kept]).encode()
    made = Withheld(
        count=len(kept),
        sha256=Objects(equipment.objects.root, HOUSE).put(content) if kept else "",
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
    if found is None or not found.count:
        return None
    text = Objects(equipment.objects.root, HOUSE).get(found.sha256).decode()
    cases = [item["case"] for item in json.loads(text) if item["on"] == check.id]
    return replace(check, args={"call": check.args["call"], "cases": cases}) if cases else None


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
