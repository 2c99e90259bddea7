"""An exam as it is shown: what was caught by kind and size, false alarms, what a text does, and what slipped through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..display import Block, Cell, Diff, Mark, Opening, Table, View, Words
from ..prose import counted
from ..records import EvaluationReport
from ..verdict import JUDGE

if TYPE_CHECKING:
    from pandas import DataFrame

HEADS = ("Rater", "By", "Of", "Share", "From", "To", "Copies", "Sources")
SLIPPED = ("Judge", "Rater", "Attempt", "Where", "Defect", "Size", "Violates", "Reviews", "Text for the judge")
CAPTIONS = {
    "catch": "Planted defects that were caught, intervals of 95 % by attempt",
    "false alarm": "Clean copies that were failed",
    "passes that a text adds": "How much more often a copy passes with a text in it that addresses the judge",
    "natural TNR": "Beside it, and another thing: bad attempts of the runs themselves that the judge failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Slipped:
    """A defect that a judge did not fail: where it is, what it changed, and what the judge said."""

    rater: str
    attempt: str
    where: str
    kind: str
    size: str
    violates: tuple[str, ...]
    reviews: str
    text: str
    diff: str
    path: str
    word: str
    report: EvaluationReport


def examined_view(
    figures: DataFrame,
    frame: DataFrame,
    *,
    sentences: Sequence[str],
    slipped: Sequence[Slipped],
    names: Mapping[str, str],
    mark: str = "",
    notes: Sequence[str] = (),
) -> View:
    """The figures as tables, then each defect that a judge did not fail: its cell opens to the diff and the judge's words.

    ``names`` tells how raters are called, by id; ``sentences`` say in words how each did. ``.df`` has a row a grading.
    """
    blocks: list[Block] = [Words(sentence) for sentence in sentences]
    blocks += [table for figure, caption in CAPTIONS.items() if (table := _table(figures, figure, caption, names))]
    if slipped:
        caption = "What slipped through: the judge's word opens to the defect"
        blocks.append(Table(caption=caption, heads=SLIPPED, rows=tuple(_slipped(one, names) for one in slipped)))
    planted = frame.loc[frame["defect"] & frame["text"].isna(), "copy"].nunique()
    return View(
        title=f"Exam: {counted(int(planted), 'planted defect')} among clean copies",
        mark=mark,
        blocks=tuple(blocks),
        notes=tuple(notes),
        next="%pge rater",
        df=frame,
    )


def _table(figures: DataFrame, figure: str, caption: str, names: Mapping[str, str]) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for row in figures[figures["figure"] == figure].to_dict("records"):
        if not int(row["copies"]):
            continue
        rater = str(row["rater"])
        ends = tuple(f"{float(row[name]):.2f}" for name in ("value", "low", "high"))
        counts = (int(row["copies"]), int(row["sources"]))
        rows.append((names.get(rater, rater), str(row["by"]), str(row["of"]), *ends, *counts))
    return Table(caption=caption, heads=HEADS, rows=tuple(rows)) if rows else None


def _slipped(one: Slipped, names: Mapping[str, str]) -> tuple[Cell, ...]:
    return (
        Opening(Mark(one.word), tuple(_told(one))),
        names.get(one.rater, one.rater),
        one.attempt,
        f"{one.path} {one.where}",
        one.kind,
        one.size or None,
        ", ".join(one.violates) or "no check covers it",
        Mark(one.reviews) if one.reviews else None,
        one.text or None,
    )


def _told(one: Slipped) -> Iterator[Block]:
    yield Diff(text=one.diff, label=one.path)
    said: list[tuple[Cell, ...]] = [
        (said.on, Mark(said.verdict, said.score), said.says or said.why)
        for said in one.report.findings
        if said.by == JUDGE
    ]
    yield Table(caption="What the judge said", heads=("On", "Verdict", "Says"), rows=tuple(said))
