"""Phase by phase: plan, contract, generate, evaluate, a cell each, along the same way as ``run``.

A cell shows the oldest piece of its phase with its step and body that this kernel has not shown yet. Where there is none,
the phase is carried out if it is due, else the newest piece is shown. So a notebook of such cells, run from top to bottom,
draws the same after a restart, and calls nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from .. import views
from ..display import View, Words
from ..errors import BadInput
from ..harness import PGEHarness
from ..phases import Phase, PhaseName, due, takes_part
from ..prose import replanned_in_words
from ..records import Amendment, Decision, Plan, Replan, Section
from ..run import Run
from ..views.attempts import attempt_view
from ..views.ends import next_move, open_questions
from .addresses import Address, address, located, parted
from .beginning import TaskFlags, begun, harness_over
from .every_day import carried
from .here import Here, NoWidgets

Cell = Literal["plan", "contract", "generate", "evaluate"]
PHASES: Mapping[Cell, frozenset[PhaseName]] = {
    "plan": frozenset({"plan", "one_step"}),
    "contract": frozenset({"propose", "respond", "settle", "withhold"}),
    "generate": frozenset({"generate"}),
    "evaluate": frozenset({"evaluate", "decide", "replan"}),
}
ENDS_IN: Mapping[Cell, str] = {
    "plan": "plan",
    "contract": "contract",
    "generate": "attempt",
    "evaluate": "decision",
}
"""The kind of section that a cell's work ends in."""
FOLLOWS = frozenset({"question", "receipt", "withheld"})
"""What the harness appends along with the end of a phase."""
ATTEMPT = re.compile(r"(.*?\d)\.(\d{1,6})")

Where = Annotated[str, "STEP or STEP.ATTEMPT, after NAME: in a place of its own; none: what comes next"]


def plan(
    here: Here,
    name: Annotated[str, "a place of its own for this task, below the notebook"] = "",
    /,
    flags: TaskFlags = TaskFlags(),
    *,
    body: str = "",
    no_widgets: NoWidgets = False,
) -> View:
    """Begin a task, and carry out its planning alone; the body of the cell is its prompt."""
    harness, said = begun(here, name, body, flags)
    pieces = _told_so_far(harness.state.read(), "plan").pieces
    if pieces and pieces[-1].hash in here.shown:
        # The notebook is run again from its top, in the same kernel: the cells below begin with the oldest again.
        here.shown.difference_update(section.sha256 for section in harness.state.read().sections)
    view = _shown(here, harness, "plan", Address(), widgets=not no_widgets)
    return replace(view, notes=(*view.notes, said)) if said else view


def contract(here: Here, at: Where = "", /, *, body: str = "", no_widgets: NoWidgets = False) -> View:
    """Negotiate the contract of the step that is due; each line of the body is one more check that it must hold."""
    return _step_cell(here, "contract", at, body, widgets=not no_widgets)


def generate(here: Here, at: Where = "", /, *, body: str = "", no_widgets: NoWidgets = False) -> View:
    """Make the attempt that is due; the body is a hint for it and those after it."""
    return _step_cell(here, "generate", at, body, widgets=not no_widgets)


def evaluate(here: Here, at: Where = "", /, *, body: str = "", no_widgets: NoWidgets = False) -> View:
    """Evaluate the attempt that was made, and decide what follows; the body is told to the evaluator."""
    return _step_cell(here, "evaluate", at, body, widgets=not no_widgets)


def _step_cell(here: Here, cell: Cell, at: str, body: str, *, widgets: bool) -> View:
    there, where = _meant(at, here)
    harness = harness_over(there, there.needs_run())
    if there.place.is_earlier:
        return _looked_at(here, harness.state.read(), cell, where, body.strip())
    if there is not here:
        here.turn_to(there.name)
    return _shown(here, harness, cell, where, body.strip(), widgets=widgets)


def _meant(at: str, here: Here) -> tuple[Here, Address]:
    """The place and the address that are meant; the attempt may be the one that is due."""
    match = ATTEMPT.fullmatch(at)
    there, run, where = located(match[1] if match else at, here)
    if where.check:
        raise BadInput(f"{at!r} names a check, and a phase is carried out whole.", "Write STEP or STEP.ATTEMPT.")
    if match is None:
        return there, where
    attempt = int(match[2])
    if any((phase.step, phase.attempt) == (where.step, attempt) for phase in due(run)):
        return there, replace(where, attempt=attempt)
    whose = parted(at)[0]
    return there, address(f"{where.step}.{attempt}", run, f"{whose}:" if whose else "")


# What a cell shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One carrying out of a phase: the section that it ends in, what a person said to it, and how far the file went then."""

    section: Section
    body: str
    upto: int

    @property
    def hash(self) -> str:
        """What tells it apart."""
        return self.section.sha256

    def at(self, where: Address) -> bool:
        """Whether it is at the address."""
        record = self.section.record
        return where.step in (None, record.step) and where.attempt in (None, record.attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was carried out of a phase, in file order; and by step a person's words that nothing has followed yet."""

    pieces: tuple[Piece, ...]
    waiting: Mapping[int | None, str]


def _told_so_far(run: Run, cell: Cell) -> Told:
    pieces: list[Piece] = []
    said: dict[int | None, str] = {}
    judged: set[tuple[int | None, int | None]] = set()
    unjudged = bool(run.of("task")) and not takes_part(run.settings, "evaluator")
    for section in run.sections:
        record, payload = section.record, section.payload
        where = (record.step, record.attempt)
        if isinstance(payload, Amendment) and payload.phase == cell:
            said[record.step] = payload.text
        elif record.kind == "evaluation":
            judged.add(where)
        elif _ends(section, cell) and (cell != "evaluate" or unjudged or where in judged):
            judged.discard(where)  # a decision that follows an answer is no evaluation
            pieces.append(Piece(section=section, body=said.pop(record.step, ""), upto=_upto(run, section)))
    return Told(pieces=tuple(pieces), waiting=said)


def _ends(section: Section, cell: Cell) -> bool:
    """Whether the cell's work ends in this section. A replan is part of an evaluation's decision, not a plan of its own."""
    return section.record.kind == ENDS_IN[cell] and _replan(section) is None


def _replan(section: Section) -> Replan | None:
    return section.payload.replan if isinstance(section.payload, Plan) else None


def _upto(run: Run, section: Section) -> int:
    """How many sections stood when the phase had ended in this one, with all that its decision had done at once."""
    end = section.seq + 1
    while end < len(run.sections) and _follows(run.sections[end], run.sections[end - 1]):
        end += 1
    return end


def _follows(section: Section, before: Section) -> bool:
    """Whether a section belongs to the phase that ended before it: what was kept is graded, a step is cut, or cannot be."""
    record, cut = section.record, _replan(before)
    again = record.kind == "decision" and cut is not None and not cut.by
    return record.kind in FOLLOWS or record.purpose == "kept" or _replan(section) is not None or again


def _shown(
    here: Here, harness: PGEHarness, cell: Cell, where: Address, body: str = "", *, widgets: bool = True
) -> View:
    run = harness.state.read()
    mine = _of(run, cell, where, body)
    seen = all(one.hash in here.shown for one in mine)
    if seen and (ready := _ready(run, cell, where, anew=bool(body) and not mine)):
        _say(harness, cell, ready, body)

        def enough(now: Run) -> bool:
            return not _ready(now, cell, where) and bool(due(now))

        run = carried(here, harness, enough, step=ready.step, widgets=widgets)
        if not any(one.hash not in here.shown for one in _of(run, cell, where, body)):
            here.shows_verdicts(run)
            return views.run_view(run)  # a limit ended it before the phase was done
    return _looked_at(here, run, cell, where, body)


def _looked_at(here: Here, run: Run, cell: Cell, where: Address, body: str) -> View:
    """The oldest piece that this kernel has not shown, else the newest."""
    mine = _of(run, cell, where, body)
    piece = next((one for one in mine if one.hash not in here.shown), mine[-1] if mine else None)
    if piece is None:
        raise _not_due(run, cell, body)
    here.shown.add(piece.hash)
    then = Run(run.sections[: piece.upto], root=run.root)
    if cell == "evaluate":
        here.shows_verdicts(then)
    return _drawn(then, cell, piece)


def _of(run: Run, cell: Cell, where: Address, body: str) -> list[Piece]:
    return [piece for piece in _told_so_far(run, cell).pieces if piece.at(where) and piece.body == body]


def _ready(run: Run, cell: Cell, where: Address, *, anew: bool = False) -> Phase | None:
    """The phase of this cell that can be carried out at the address now.

    ``anew``: a person's new words to a step that is worked on have its contract negotiated, or its attempt evaluated, again.
    """
    for phase in due(run):
        if where.step not in (None, phase.step):
            continue
        if phase.name in PHASES[cell] and where.attempt in (None, phase.attempt):
            return phase
        attempts = run.attempts(phase.step) if phase.step is not None else {}
        if anew and cell == "contract" and phase.step is not None and run.contract(phase.step):
            return phase
        if anew and cell == "evaluate" and attempts and where.attempt in (None, max(attempts)):
            return phase
    return None


def _say(harness: PGEHarness, cell: Cell, ready: Phase, body: str) -> None:
    """Put a person's words into the file, unless they stand there already and nothing followed them yet."""
    if not body or cell == "plan" or ready.step is None:
        return
    if _told_so_far(harness.state.read(), cell).waiting.get(ready.step) != body:
        with harness.state.running():  # where another process is at it, this cell is refused, and so is what it says
            harness.say(cell, ready.step, body)


def _not_due(run: Run, cell: Cell, body: str) -> BadInput:
    words = "nobody was told these words, and " if body else ""
    phases = due(run)
    if not phases and (asking := open_questions(run)):
        _, question = asking[0]
        return BadInput(f"%pge {cell}: {words}a question is open: {question.text}", next_move(run))
    if not phases:
        return BadInput(
            f"%pge {cell}: {words}nothing is due: the run is {run.outcome}.", "%pge shows it, and what can be done."
        )
    return BadInput(f"%pge {cell}: {words}{_told(phases[0])} comes first.", f"{_line(phases[0])} does that.")


def _cell(phase: Phase) -> Cell:
    """The cell that carries out a phase."""
    return next(cell for cell, names in PHASES.items() if phase.name in names)


def _line(phase: Phase) -> str:
    cell = _cell(phase)
    return "%%pge plan" if cell == "plan" else f"%pge {cell}"


def _told(phase: Phase) -> str:
    at = (
        ""
        if phase.step is None
        else f" of {phase.step}"
        if phase.attempt is None
        else f" of {phase.step}.{phase.attempt}"
    )
    return f"{_cell(phase)}{at}"


def _decided(sections: Sequence[Section]) -> Iterator[Words]:
    """What was decided, and what came of a replan."""
    for section in sections:
        payload, replan = section.payload, _replan(section)
        if isinstance(payload, Decision):
            yield Words(f"Decision: {payload.action}: {payload.reason}.")
        elif replan is not None:
            said = replanned_in_words(replan)
            yield Words(f"{said[0].upper()}{said[1:]}: {replan.why}")


def _drawn(run: Run, cell: Cell, piece: Piece) -> View:
    step, attempt = piece.section.record.step or 0, piece.section.record.attempt or 0
    if cell == "plan":
        view = views.plan_view(run)
    elif cell == "contract":
        view = views.contract_view(run, step)
    elif cell == "generate":
        view = attempt_view(run, step, attempt)
    else:
        view = views.evaluations_view(run, step, attempt)
        view = replace(view, blocks=(*view.blocks, *_decided(run.sections[piece.section.seq :])))
    phases = due(run)
    return replace(view, next=_line(phases[0])) if phases else view
