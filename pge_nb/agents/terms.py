"""The terms of a contract as models write them: deliverables and checks, mended where the meaning is plain, told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..payloads import Json
from ..records import Check
from ..reviews import Review
from ..verdict import JUDGE, folded
from ..workspace import refused
from .replies import Unusable

MAX_CHECKS = 40
MAX_DELIVERABLES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Deliverables and checks (ids c1, c2, ... in order), and notes on what was mended."""

    deliverables: tuple[str, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()


def read_terms(value: Mapping[str, Json], reviews: Mapping[str, Review], *, strict: bool) -> Terms:
    """The terms in a reply's JSON.

    ``strict``: an unknown method or args that do not fit make the reply unusable, so that it is sent back once. Otherwise
    such a check goes to the judge, and a note says so. A sentence that stands twice is kept once.
    """
    notes: list[str] = []
    deliverables = _deliverables(value.get("deliverables"), notes)
    listed = value.get("checks")
    if not isinstance(listed, list) or not listed:
        raise Unusable("there are no checks")
    checks: list[Check] = []
    said: set[str] = set()
    for item in listed[:MAX_CHECKS]:
        check = _check(item, f"c{len(checks) + 1}", reviews, notes, strict=strict)
        if check is None:
            continue
        if folded(check.says).casefold() in said:
            notes.append(f"the check {check.says!r:.80} stood twice and is kept once")
            continue
        said.add(folded(check.says).casefold())
        checks.append(check)
    if len(listed) > MAX_CHECKS:
        notes.append(f"{len(listed) - MAX_CHECKS} checks above {MAX_CHECKS} were left out")
    if not checks:
        raise Unusable("no check says anything")
    return Terms(deliverables=deliverables, checks=tuple(checks), notes=tuple(notes))


def _deliverables(value: Json, notes: list[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not value:
        raise Unusable("there are no deliverables")
    paths: list[str] = []
    for item in value[:MAX_DELIVERABLES]:
        path = item.get("path") if isinstance(item, dict) else item
        if not isinstance(path, str):
            raise Unusable("a deliverable is no path")
        path = path.strip().removeprefix("./")
        if why := refused(path):
            raise Unusable(f"the deliverable {path!r:.80} cannot be written: {why}")
        if path not in paths:
            paths.append(path)
    if len(value) > MAX_DELIVERABLES:
        notes.append(f"{len(value) - MAX_DELIVERABLES} deliverables above {MAX_DELIVERABLES} were left out")
    return tuple(paths)


def _check(item: Json, name: str, reviews: Mapping[str, Review], notes: list[str], *, strict: bool) -> Check | None:
    if isinstance(item, str):
        item = {"says": item}
    if not isinstance(item, dict):
        raise Unusable("a check is neither an object nor a sentence")
    says = item.get("says", item.get("description", item.get("check")))
    if not isinstance(says, str) or not says.strip():
        return None
    method = item.get("method", JUDGE)
    args = item.get("args", {})
    # Weak models put the args of a method beside it; what is no word of ours is theirs.
    beside = {key: value for key, value in item.items() if key not in {"id", "says", "description", "check", "method"}}
    if not isinstance(args, dict):
        args = beside
    elif len(beside) > 1 or "args" not in beside:
        args = args | {key: value for key, value in beside.items() if key != "args"}
    check = Check(id=name, says=says.strip(), method=str(method).strip().lower(), args=args)
    fault = _fault(check, reviews)
    if fault is None:
        return check if check.method != JUDGE else Check(id=name, says=check.says)
    if strict:
        raise Unusable(f"in the check {check.says!r:.80}, {fault}")
    notes.append(f"the check {check.says!r:.80} goes to the judge: {fault}")
    return Check(id=name, says=check.says)


def _fault(check: Check, reviews: Mapping[str, Review]) -> str | None:
    if check.method == JUDGE:
        return None
    if check.method not in reviews:
        return f"{check.method!r:.40} is no review method; there are {', '.join([*reviews, JUDGE])}"
    why = reviews[check.method].vet(check)
    return f"the args do not fit: {why}" if why else None


def method_lines(reviews: Mapping[str, Review]) -> str:
    """The review methods as the prompts list them."""
    return "\n".join(f"  - {name}: {review.help}" for name, review in reviews.items())


def shown(checks: tuple[Check, ...]) -> str:
    """Checks as a brief shows them, one a line with how each is looked at."""
    return "\n".join(f"- {check.id}: {check.says} [{check.method}]" for check in checks)
