"""The hidden inputs of a run, for the person alone: they stand in no section and in no tree."""

from __future__ import annotations

from collections.abc import Iterator

from ..agents.withholding import Kept, as_made, listed
from ..display import Block, Cell, Table, View, Words
from ..errors import BadInput
from ..payloads import encode
from ..run import Run
from .ends import caveats, foot, next_move, title

HEADS = ("Number", "Check", "Input", "What must come of it", "Standing")


def hidden_view(run: Run, step: int | None = None) -> View:
    """A table a step: each hidden input by its number, and whether a person has confirmed it or struck it out."""
    if run.root is None:
        raise BadInput("Hidden inputs stand beside a state file, and this run is of none.", "Open it from its file.")
    steps = [run.step(step).number] if step is not None else [one.number for one in run.steps]
    blocks = [block for one in steps for block in _hidden(run, one)]
    waits = [one for one in steps if (found := run.withheld(one)) and found.count and not found.confirmed]
    return View(
        title=f"{title(run)}: hidden inputs",
        blocks=tuple(blocks)
        or (Words("No hidden inputs of the evaluator's stand here; the setting hidden_cases makes some."),),
        notes=tuple(caveats(run)),
        next=f"%pge confirm {waits[0]}" if waits else next_move(run, "hidden"),
        foot=foot(run),
    )


def _hidden(run: Run, step: int) -> Iterator[Block]:
    made, found = as_made(run, step), run.withheld(step)
    if made is None or found is None or not made.count or run.root is None:
        return
    left = listed(run.root, found)
    rows = [_row(number, one, left, confirmed=found.confirmed) for number, one in enumerate(listed(run.root, made), 1)]
    weak = "" if found.confirmed else ", weak evidence until you confirm them"
    yield Table(caption=f"Step {step}: inputs that the evaluator made{weak}", heads=HEADS, rows=tuple(rows))


def _row(number: int, one: Kept, left: list[Kept], *, confirmed: bool) -> tuple[Cell, ...]:
    case = one.case
    given = [repr(encode(value)) for value in case.args] + [
        f"{name}={encode(value)!r}" for name, value in case.kwargs.items()
    ]
    wanted = f"raises {case.raises}" if case.raises is not None else repr(encode(case.returns))
    standing = "struck out" if one not in left else "confirmed" if confirmed else "nobody has looked at it"
    return number, one.on, ", ".join(given), wanted, standing
