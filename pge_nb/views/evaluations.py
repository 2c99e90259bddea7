"""Evaluations as tables: checks and criteria by attempt, whose cells open to finding, evidence and quote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import frames
from ..display import Block, Cell, Fold, Mark, Opening, Table, View, Words
from ..display import number as told
from ..display.looks import one_line, shortened
from ..errors import BadInput
from ..prose import counted
from ..records import EvaluationReport, Finding, Section, StepContract, Verdict
from ..run import Run
from .ends import caveats, foot, next_move, title
from .findings import DECIDING, contract_at, evidence_of, findings_tables, reason_of
from .whole import view_of
from .work import Side

if TYPE_CHECKING:
    from pandas import DataFrame

IN_A_TABLE = 6
"""Evaluations that stand side by side: more columns are no longer read at a glance, nor fit 800 pixels."""
MANY_STEPS = 6
"""Steps beyond which their tables are folded, below one of the verdicts alone."""
NAME, SAID = 90, 400
"""Characters of a step's description in a caption, and of what is said in a cell that was opened."""


def evaluations_view(
    run: Run,
    step: int | None = None,
    attempt: int | None = None,
    check: str | None = None,
    *,
    verdict: Verdict | None = None,
) -> View:
    """Verdicts and scores, a row a check and criterion (or one of them), a column an evaluation; below them the findings.

    Of one attempt: its findings whole, with all that the harness saw. With ``verdict`` only what has it somewhere.
    """
    if attempt is not None:
        blocks = list(findings_tables(run, step, attempt, check, verdict=verdict, standing=False))
    else:
        blocks = list(_by_attempt(run, step, check, verdict))
    frame = _only(frames.evaluations(run), step, attempt, check, verdict)
    said = [Words(_found(frame, verdict))] if verdict else []
    return view_of(run, "evaluations", [*said, *blocks], frame)


def _only(frame: DataFrame, step: int | None, attempt: int | None, check: str | None, verdict: str | None) -> DataFrame:
    for column, wanted in (("step", step), ("attempt", attempt), ("on", check), ("verdict", verdict)):
        if wanted is not None:
            frame = frame[frame[column] == wanted]
    return frame


def _found(frame: DataFrame, verdict: Verdict) -> str:
    where = dict.fromkeys(zip(frame["step"], frame["attempt"], strict=True))
    return f"Only what is {verdict}: {counted(len(frame), 'finding')} in {counted(len(where), 'attempt')}."


def _by_attempt(run: Run, step: int | None, check: str | None, verdict: Verdict | None) -> Iterator[Block]:
    steps = [run.step(step).number] if step is not None else [one.number for one in run.every_step]
    judged = [(one, columns) for one in steps if (columns := columns_of(run, one))]
    if not judged:
        yield Words("Nothing was evaluated there yet.")
        return
    if len(judged) > MANY_STEPS:
        yield _overview(judged)
    for one, columns in judged:
        tables = tuple(_tables(_caption(run, one), columns, check, verdict))
        if len(judged) <= MANY_STEPS:
            yield from tables
        elif tables:
            yield Fold(
                summary=f"{_caption(run, one)}: {_ended(columns)}", blocks=tables, see=f"%pge show evaluations {one}"
            )
    if step is None and len(judged) <= MANY_STEPS:
        whole = tuple(findings_tables(run, None, None, check, verdict=verdict, standing=True))
        yield Fold(summary="The findings that stand, with their evidence", blocks=whole)
    elif step is not None:
        yield from _folded(run, step, columns, check, verdict)


def _folded(
    run: Run, step: int, columns: Sequence[Column], check: str | None, verdict: Verdict | None
) -> Iterator[Block]:
    for attempt in dict.fromkeys(column.attempt for column in columns):
        whole = tuple(findings_tables(run, step, attempt, check, verdict=verdict, standing=False))
        last = [column for column in columns if column.attempt == attempt][-1].report
        said = f"{last.verdict}, overall {told(last.overall)}"
        yield Fold(summary=f"The findings of attempt {step}.{attempt}: {said}", blocks=whole)


def _caption(run: Run, step: int) -> str:
    words = one_line(run.step(step).description)
    return f"Step {step}: {words if len(words) <= NAME else shortened(words, NAME) + ' ...'}"


def _ended(columns: Sequence[Column]) -> str:
    last = columns[-1].report
    return f"{last.verdict} after {counted(len({column.attempt for column in columns}), 'attempt')}"


def _overview(judged: Sequence[tuple[int, Sequence[Column]]]) -> Table:
    """The verdict of each attempt, a row a step, and the fresh grade of what was kept."""
    most = max(column.attempt for _, columns in judged for column in columns)
    shown = range(max(1, most - IN_A_TABLE + 1), most + 1)
    regraded = any(column.again for _, columns in judged for column in columns)
    rows = []
    for step, columns in judged:
        marks = [
            {c.attempt: Mark(c.report.verdict, c.report.overall) for c in columns if c.again is again}
            for again in (False, True)
        ]
        fresh = [next(iter(marks[1].values()), None)] if regraded else []
        rows.append((step, *map(marks[0].get, shown), *fresh))
    heads = ("Step", *(f"Attempt {attempt}" for attempt in shown), *(["Graded again"] if regraded else []))
    told = f", of the last {IN_A_TABLE}" if most > IN_A_TABLE else ""
    return Table(caption=f"Verdict and overall score of each attempt{told}", heads=heads, rows=tuple(rows))


# Columns: evaluations


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """An evaluation as a column: of which attempt, by which contract, and how its head names it.

    ``again``: the fresh grade of an attempt that was kept.
    """

    head: str
    attempt: int
    again: bool
    report: EvaluationReport
    contract: StepContract | None
    thresholds: dict[str, float]

    def row_of(self, finding: Finding) -> tuple[str, str]:
        """What tells a row from others: a check is its words, since another contract may give its id to another check."""
        return finding.on, self.says(finding)

    def says(self, finding: Finding) -> str:
        """The words of the check that was looked at."""
        checks = self.contract.checks if self.contract and finding.about == "check" else ()
        return next((check.says for check in checks if check.id == finding.on), "")

    def cell(self, finding: Finding) -> Opening:
        """The verdict and score, which open to why, evidence and quote."""
        said = [reason_of(finding), f"Decided by {finding.by}."]
        evidence = evidence_of(self.report, finding)
        said += [f"Evidence: {evidence}"] if evidence else ["No evidence."]
        words = tuple(
            Words(one if len(one) <= SAID else f"{shortened(one, SAID)} ... ({len(one):,} characters)") for one in said
        )
        return Opening(Mark(finding.verdict, finding.score), words)


def columns_of(run: Run, step: int, attempt: int | None = None, *, whose: str = "") -> list[Column]:
    """The evaluations that decided on attempts at a step, and the fresh grade of what was kept, in file order."""
    thresholds = {c.name: c.threshold for c in run.plan.criteria} if run.plan else {}
    found = []
    for section in run.of("evaluation", step, attempt):
        report = section.payload
        if isinstance(report, EvaluationReport) and section.record.purpose in DECIDING:
            number, contract = section.record.attempt or 0, contract_at(run, section)
            head = f"{whose}{step}.{number}{_which(section)}"
            again = section.record.purpose == "kept"
            found.append(
                Column(head=head, attempt=number, again=again, report=report, contract=contract, thresholds=thresholds)
            )
    return found


def _which(section: Section) -> str:
    if section.record.purpose == "kept":
        return ", graded again"
    again = section.record.round or 1
    return f", round {again}" if again > 1 else ""


# The table


def _tables(
    caption: str, columns: Sequence[Column], check: str | None = None, verdict: Verdict | None = None
) -> Iterator[Table]:
    """Tables of a few columns each; with ``verdict`` only the rows that have it in one of all columns."""
    rows = _rows(columns, check, verdict)
    for begin in range(0, len(columns) if rows else 0, IN_A_TABLE):
        shown = columns[begin : begin + IN_A_TABLE]
        part = (
            f", evaluations {begin + 1} to {begin + len(shown)} of {len(columns)}" if len(columns) > IN_A_TABLE else ""
        )
        yield _table(f"{caption}{part}", shown, rows, whole=check is None and verdict is None)


Row = tuple[str, str]


def _rows(columns: Sequence[Column], check: str | None, verdict: Verdict | None) -> list[Row]:
    """Checks and criteria in the order in which the last evaluation has them; those it no longer has come last."""
    found: dict[Row, set[str]] = {}
    for column in reversed(columns):
        for finding in column.report.findings:
            if check in (None, finding.on):
                found.setdefault(column.row_of(finding), set()).add(finding.verdict)
    return [row for row, verdicts in found.items() if verdict is None or verdict in verdicts]


def _table(caption: str, columns: Sequence[Column], rows: Sequence[Row], *, whole: bool) -> Table:
    cells = [{column.row_of(finding): finding for finding in column.report.findings} for column in columns]
    shown: list[tuple[Cell, ...]] = []
    for row in rows:
        on, says = row
        opening = [column.cell(held[row]) if row in held else None for column, held in zip(columns, cells, strict=True)]
        shown.append((f"{on}: {says}" if says else on, _threshold(columns, cells, row), *opening))
    if whole:
        overall = [Mark(column.report.verdict, column.report.overall) for column in columns]
        shown.append(("All of it", None, *overall))
    heads = ("Check or criterion", "Threshold", *(column.head for column in columns))
    return Table(caption=caption, heads=heads, rows=tuple(shown))


def _threshold(columns: Sequence[Column], cells: Sequence[dict[Row, Finding]], row: Row) -> float | None:
    for column, held in zip(columns, cells, strict=True):
        if row in held and held[row].about == "criterion":
            return column.thresholds.get(row[0])
    return None


# Side by side


def _judged(side: Side) -> Column:
    """The last evaluation of an attempt; ``BadInput`` where there is none."""
    found = columns_of(side.run, side.step, side.attempt, whose=f"{side.whose}:" if side.whose else "")
    if not found:
        raise BadInput(f"Attempt {side} was not evaluated yet.", "%pge show evaluations lists what was.")
    return found[-1]


def beside_view(sides: Sequence[Side], verdict: Verdict | None = None) -> View:
    """The findings of several attempts side by side, and in words what changed from the first to the last."""
    columns = [_judged(side) for side in sides]
    rows = _rows(columns, None, verdict)
    names = " and ".join(map(str, sides))
    table = _with_changes(_table(f"Attempts {names}", columns, rows, whole=verdict is None), columns)
    last = sides[-1]
    return View(
        title=f"{title(last.run)}: evaluations of {names}",
        blocks=(*map(Words, _changed(columns, rows)), table, *_whole(sides, verdict)),
        notes=tuple(dict.fromkeys(note for side in sides for note in caveats(side.run))),
        next=f"%pge diff {sides[0]} {last}" if len(sides) == 2 else next_move(last.run, "evaluations"),
        foot=foot(last.run),
        df=_frame(sides, verdict),
    )


def _with_changes(table: Table, columns: Sequence[Column]) -> Table:
    rows = tuple((*row, _change(row[2], row[1 + len(columns)])) for row in table.rows)
    return Table(caption=table.caption, heads=(*table.heads, "Change"), rows=rows)


def _change(old: Cell, new: Cell) -> str:
    before, after = (cell.mark if isinstance(cell, Opening) else cell for cell in (old, new))
    if not isinstance(before, Mark) or not isinstance(after, Mark):
        return "the same" if before == after else "only here" if before is None else "no longer"
    words = [] if before.word == after.word else [f"{before.word} to {after.word}"]
    if before.score != after.score:
        words.append(f"{told(before.score)} to {told(after.score)}")
    return ", ".join(words) or "the same"


def _changed(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[str]:
    """What is to be known before the table is read."""
    ends = [{column.row_of(f): f.verdict for f in column.report.findings} for column in (columns[0], columns[-1])]
    other = [row for row in rows if ends[0].get(row) != ends[1].get(row)]
    yield f"{len(other)} of {counted(len(rows), 'check and criterion', 'checks and criteria')} changed their verdict."
    raters = list(dict.fromkeys(column.report.rater for column in columns))
    if len(raters) > 1:
        yield f"They were judged by different raters ({', '.join(raters)}): a change may be the rater's."
    if any((row in ends[0]) != (row in ends[1]) for row in rows):
        yield "They were judged by different contracts: what only one of them asks for stands in its column alone."


def _whole(sides: Iterable[Side], verdict: Verdict | None) -> Iterator[Block]:
    for side in sides:
        tables = findings_tables(side.run, side.step, side.attempt, verdict=verdict, standing=True)
        yield Fold(summary=f"The findings of attempt {side}", blocks=tuple(tables))


def _frame(sides: Sequence[Side], verdict: Verdict | None) -> DataFrame:
    from pandas import concat

    each = [_only(frames.evaluations(side.run), side.step, side.attempt, None, verdict) for side in sides]
    return concat(each, ignore_index=True)
