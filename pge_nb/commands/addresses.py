"""Addresses: ``STEP[.ATTEMPT]``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import BadInput
from ..run import Run

ADDRESS = re.compile(r"(\d{1,6})(?:\.(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Address:
    """A step, or one attempt at it. Both None: the whole run."""

    step: int | None = None
    attempt: int | None = None


def address(text: str, run: Run) -> Address:
    """The place in ``run`` that ``text`` names; ``BadInput`` names the nearest where it does not exist."""
    if not text:
        return Address()
    match = ADDRESS.fullmatch(text)
    if not match:
        raise BadInput(f"{text!r} is no address.", "Write STEP or STEP.ATTEMPT, as in 2 or 2.1.")
    step = run.step(int(match[1])).number
    attempt = int(match[2]) if match[2] else None
    there = sorted(run.attempts(step))
    if attempt is not None and attempt not in there:
        nearest = min(there, key=lambda one: abs(one - attempt), default=None)
        move = f"The nearest is {step}.{nearest}." if nearest else f"Step {step} was not attempted yet."
        raise BadInput(f"There is no attempt {step}.{attempt}.", move)
    return Address(step, attempt)
