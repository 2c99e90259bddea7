"""Addresses: ``[NAME[@N]:]STEP[.ATTEMPT][/CHECK]``. ``NAME``, ``NAME@N`` and ``@N`` alone are a whole run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..errors import BadInput
from ..nearness import nearest
from ..run import Run
from ..verdict import meant
from ..workspace import composed
from .here import UNNAMED, Here

WHERE = re.compile(r"(\d{1,6})(?:\.(\d{1,6}))?(?:/(.+))?")
WHOSE = re.compile(r"(\.|[^\W\d_][^\s@:/]*)?(?:@(\d{1,6}))?")
HOW = "Write STEP, STEP.ATTEMPT or STEP.ATTEMPT/CHECK, as in 2.1; NAME@1:2.1 is in an earlier run, .:2.1 in the unnamed task's."


@dataclass(frozen=True, slots=True)
class Address:
    """A step, one attempt at it, or a check or criterion there. All None: the whole run."""

    step: int | None = None
    attempt: int | None = None
    check: str | None = None

    def __str__(self) -> str:
        attempt = "" if self.attempt is None else f".{self.attempt}"
        check = "" if self.check is None else f"/{self.check}"
        return "" if self.step is None else f"{self.step}{attempt}{check}"


def located(text: str, here: Here) -> tuple[Here, Run, Address]:
    """What ``text`` names: the place, its run, and where in it. An earlier run is only looked at: it stays where it is."""
    head, where = parted(text)
    place = run_named(head, here) if head else here
    run = place.needs_run()
    return place, run, address(where, run, f"{head}:" if head else "")


def parted(text: str) -> tuple[str, str]:
    """What names the run, and what names a place in it; each is empty where it is not told."""
    head, colon, where = text.partition(":")
    return (head, where) if colon or not WHERE.fullmatch(text) else ("", text)


def run_named(text: str, here: Here) -> Here:
    """The place of the run ``NAME``, ``NAME@N`` or ``@N``: the unnamed task's, or of the file that was given by --state."""
    match = WHOSE.fullmatch(text)
    if not match or not text:
        raise BadInput(f"{text!r} is no address.", HOW)
    name, number = composed(match[1] or ""), match[2]
    if name == UNNAMED:
        other = here.elsewhere()
    elif name and name not in here.names():
        raise BadInput(
            f"There is no task {name} here.", _nearest(name, here.names()) or "%pge runs lists what there is."
        )
    else:
        other = replace(here) if here.state and not name else here.elsewhere(name)
    if number:
        other.state = other.place.at(int(number))
    return other


def address(text: str, run: Run, before: str = "") -> Address:
    """The place in ``run`` that ``text`` names; ``BadInput`` names the nearest where it does not exist, with ``before`` it."""
    if not text:
        return Address()
    match = WHERE.fullmatch(text)
    if not match:
        raise BadInput(f"{text!r} is no address.", HOW)
    step = _step(run, int(match[1]), before)
    attempt = _attempt(run, step, int(match[2]), before) if match[2] else None
    return Address(step, attempt, _check(run, step, match[3]) if match[3] else None)


def _step(run: Run, step: int, before: str) -> int:
    there = [one.number for one in run.every_step]
    if step in there or not there:
        return run.step(step).number
    raise BadInput(f"There is no step {step}.", f"The nearest is {before}{_closest(step, there)}.")


def _attempt(run: Run, step: int, attempt: int, before: str) -> int:
    there = sorted(run.attempts(step))
    if attempt in there:
        return attempt
    nearest_one = f"The nearest is {before}{step}.{_closest(attempt, there)}." if there else ""
    raise BadInput(f"There is no attempt {step}.{attempt}.", nearest_one or f"Step {step} was not attempted yet.")


def _check(run: Run, step: int, check: str) -> str:
    contract = run.contract(step)
    there = [one.id for one in contract.checks] if contract else []
    there += [criterion.name for criterion in run.plan.criteria] if run.plan else []
    if (name := meant(check, there)) in there:
        return name
    move = _nearest(check, there) or f"There are {', '.join(there) or 'none'}."
    raise BadInput(f"Step {step} has no check or criterion {check}.", move)


def _closest(number: int, there: Iterable[int]) -> int:
    return min(there, key=lambda one: abs(one - number))


def _nearest(word: str, there: Iterable[str]) -> str:
    near = nearest(word, there, cutoff=0.3)
    return f"The nearest is {near}." if near else ""
