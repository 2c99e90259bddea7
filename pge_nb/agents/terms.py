"""The terms of a contract as models write them: deliverables and checks, mended where the meaning is plain, told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..payloads import Json, compact
from ..prose import counted
from ..records import Check
from ..reviews import Review
from ..run import Run
from ..sentences import module_of, said_case
from ..verdict import JUDGE, folded
from ..workspace import clash, composed, refused
from .replies import Unusable

MAX_CHECKS = 40
MAX_DELIVERABLES = 40
OWN_WORDS = frozenset({"id", "says", "description", "check", "method", "args"})


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
    deliverables = _deliverables(value.get("deliverables"), notes, strict=strict)
    listed = value.get("checks")
    if not isinstance(listed, list) or not listed:
        raise Unusable("there are no checks")
    checks: list[Check] = []
    said: set[str] = set()
    for item in listed[:MAX_CHECKS]:
        says = _sentence(item)
        if not says:
            continue
        if folded(says).casefold() in said:
            notes.append(f"the check {says!r:.80} stood twice and is kept once")
            continue
        said.add(folded(says).casefold())
        made = _check(item, says, f"c{len(checks) + 1}", reviews, notes, module=module_of(deliverables), strict=strict)
        checks.append(made)
    if len(listed) > MAX_CHECKS:
        notes.append(f"{counted(len(listed) - MAX_CHECKS, 'check')} above {MAX_CHECKS} left out")
    if not checks:
        raise Unusable("no check says anything")
    return Terms(deliverables=deliverables, checks=tuple(checks), notes=tuple(notes))


def _deliverables(value: Json, notes: list[str], *, strict: bool) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not value:
        raise Unusable("there are no deliverables")
    paths: list[str] = []
    for item in value[:MAX_DELIVERABLES]:
        path = item.get("path") if isinstance(item, dict) else item
        if not isinstance(path, str):
            raise Unusable("a deliverable is no path")
        path = composed(path.strip().removeprefix("./"))
        if why := refused(path):
            raise Unusable(f"the deliverable {path!r:.80} cannot be written: {why}")
        if other := clash(path, paths):
            if strict:
                raise Unusable(f"{other!r:.80} and {path!r:.80} cannot both be written: one would lie inside the other")
            notes.append(f"the deliverable {path!r:.80} was left out: it and {other!r:.80} cannot both be written")
        elif path not in paths:
            paths.append(path)
    if len(value) > MAX_DELIVERABLES:
        notes.append(f"{counted(len(value) - MAX_DELIVERABLES, 'deliverable')} above {MAX_DELIVERABLES} left out")
    return tuple(paths)


def _sentence(item: Json) -> str:
    """What a check says; empty where it says nothing."""
    if isinstance(item, str):
        return item.strip()
    if not isinstance(item, dict):
        raise Unusable("a check is neither an object nor a sentence")
    says = item.get("says", item.get("description", item.get("check")))
    return says.strip() if isinstance(says, str) else ""


def _check(
    item: Json,
    says: str,
    name: str,
    reviews: Mapping[str, Review],
    notes: list[str],
    *,
    module: str | None,
    strict: bool,
) -> Check:
    """The check as it is meant: with args that fit, or those that its sentence says, else sent back or left to the judge."""
    item = item if isinstance(item, dict) else {}
    method = str(item.get("method") or JUDGE).strip().casefold()
    method = next((known for known in reviews if known.casefold() == method), method)
    if method == JUDGE:
        return Check(id=name, says=says)
    faults: list[str] = []
    for args in _readings(item):
        check = Check(id=name, says=says, method=method, args=args)
        fault = _fault(check, reviews)
        if fault is None:
            return check
        faults.append(fault)
    said = said_case(says, module) if module else None
    if said is not None and "oracle" in reviews:
        check = Check(id=name, says=says, method="oracle", args=said)
        if _fault(check, reviews) is None:
            notes.append(f"the args of the check {says!r:.80} were made from its sentence: {faults[-1]}")
            return check
    if strict:
        raise Unusable(f"in the check {says!r:.80}, {faults[-1]}")
    notes.append(f"the check {says!r:.80} goes to the judge: {faults[-1]}")
    return Check(id=name, says=says)


def _readings(item: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The args as a check may mean them: in their place, or, as weak models write them, beside it or both."""
    args = item.get("args")
    beside = {key: value for key, value in item.items() if key not in OWN_WORDS}
    if not isinstance(args, dict):
        # A list is itself one of the args of an oracle.
        return [{"args": args, **beside}, beside] if args is not None else [beside]
    return [args | beside, args] if beside else [args]


def _fault(check: Check, reviews: Mapping[str, Review]) -> str | None:
    if check.method not in reviews:
        return f"{check.method!r:.40} is no review method; there are {', '.join([*reviews, JUDGE])}"
    why = reviews[check.method].vet(check)
    return f"the args do not fit: {why}" if why else None


SUITED_TO: Mapping[str, tuple[str, ...]] = {
    "notebook": (".ipynb",),
    "browser": (".html", ".htm"),
    "rule": (".md", ".txt", ".rst", ".json", ".html", ".htm", ".csv"),
    "reference": (".csv", ".json", ".md", ".txt"),
}
"""Review methods that are offered only where a file of such a name is to be made; every other one is offered always."""


def method_lines(reviews: Mapping[str, Review], paths: Iterable[str]) -> str:
    """The review methods that suit the files to be made, as the prompts list them: a small model reads every line."""
    names = tuple(path.lower() for path in paths)
    offered = {
        name: review
        for name, review in reviews.items()
        if name not in SUITED_TO or any(path.endswith(SUITED_TO[name]) for path in names)
    }
    return "\n".join(f"  - {name}: {review.help}" for name, review in offered.items())


def promised(run: Run) -> tuple[str, ...]:
    """The files that the plan names."""
    return run.plan.deliverables if run.plan else ()


def shown(checks: tuple[Check, ...]) -> str:
    """Checks as a brief shows them, one a line with how each is looked at."""
    return "\n".join(f"- {check.id}: {check.says} [{check.method}]" for check in checks)


def changeable(deliverables: tuple[str, ...], checks: tuple[Check, ...]) -> str:
    """A version of the terms in the shape of a reply, to be changed.

    An example of another task would do harm: a small model copies its paths and checks into the contract.
    """
    listed = ",\n".join(compact({"says": c.says, "method": c.method, "args": dict(c.args)}) for c in checks)
    return (
        "Reply with JSON alone, no text around it; this is the last version in the shape of your reply, for you to change:\n"
        f'{{"deliverables": {compact(list(deliverables))}, "checks": [\n{listed}\n]}}'
    )


def answer_shape(deliverables: tuple[str, ...], checks: tuple[Check, ...]) -> str:
    """The two shapes of an answer to a proposal; the second holds the proposal itself, to be changed."""
    listed = changeable(deliverables, checks).partition("\n{")[2]
    return (
        'Reply with JSON alone, no text around it. If you agree:\n{"agreed": true, "reason": "<why>"}\n'
        "Otherwise your own version, whole; this is the proposal in that shape, for you to change:\n"
        f'{{"agreed": false, "reason": "<why>", {listed}'
    )


def proposal_shape(deliverables: tuple[str, ...], sentences: tuple[str, ...]) -> str:
    """The shape of a proposal, with the plan's own files and the step's own sentences in it; no value that could pass."""
    module = module_of(deliverables) or "<module>"
    oracle = f'"method": "oracle", "args": {{"call": "{module}.<function>", "args": [<arguments>], "returns": <value>}}'
    says = sentences or ("<one testable sentence>",)
    listed = ",\n".join(f'{{"says": {compact(sentence)}, {oracle}}}' for sentence in says)
    return (
        "Reply with JSON of this shape, no text around it, each check with the method and args that fit it:\n"
        f'{{"deliverables": {compact(list(deliverables) or ["<path of a file>"])}, "checks": [\n{listed}\n]}}'
    )
