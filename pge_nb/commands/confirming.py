"""A person's word on the hidden inputs that the evaluator made."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated

from ..display import View
from ..errors import BadInput
from ..views.hidden import hidden_view
from .addresses import located
from .beginning import harness_over
from .here import Here


def confirm(
    here: Here,
    at: Annotated[str, "STEP, after NAME: in a place of its own"],
    /,
    *,
    strike: Annotated[str, "numbers of those that are wrong, as 2,3: they are struck out"] = "",
) -> View:
    """Confirm a step's hidden inputs (%pge show hidden); from the next evaluation on they are strong evidence."""
    there, run, place = located(at, here)
    if place.step is None or place.attempt is not None or place.check is not None:
        raise BadInput("Hidden inputs belong to a step.", "Name one, as in %pge confirm 1.")
    if there.place.is_earlier:
        raise BadInput("An earlier run is only looked at.", "Confirm those of a run that stands at its place.")
    before = len(run.sections)
    run = harness_over(there, run).confirm(place.step, _numbers(strike))
    view = hidden_view(run, place.step)
    said = () if len(run.sections) > before else ("This was confirmed before: nothing changed.",)
    return replace(view, notes=(*view.notes, *said, *there.news(run)))


def _numbers(text: str) -> tuple[int, ...]:
    words = [word for word in re.split(r"[\s,]+", text) if word]
    if wrong := next((word for word in words if not (word.isascii() and word.isdigit() and len(word) < 7)), None):
        raise BadInput(f"{wrong!r} is no number of a hidden input.", "Write --strike 2,3.")
    return tuple(map(int, words))
