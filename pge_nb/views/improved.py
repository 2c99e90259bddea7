"""What a judge may be taught, and what it gained by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..display import Block, Cell, Code, Fold, Mark, Table, Verbatim, View, Words

if TYPE_CHECKING:
    from pandas import DataFrame

COMPARED = (
    "Of",
    "Right on",
    "Before",
    "Now",
    "Difference",
    "From",
    "To",
    "p",
    "Only before",
    "Only now",
    "Items",
    "Tasks",
)
CALLED = {"accuracy": "all", "tpr": "good work (TPR)", "tnr": "bad work (TNR)"}
OF = {"judge": "what the judge decides", "gate": "the whole gate"}
GLANCE = 12
"""Candidates, beyond which they are folded."""


def candidates_view(
    rows: Sequence[tuple[str, str, str, str, float | None, str, str]], title: str, *, next_: str = ""
) -> View:
    """Where a judge was wrong in train: id, task, sentence, what it said, true score, why, and what lay before it."""
    table = Table(
        caption="Where it was wrong in train",
        heads=("Id", "Task", "Asked", "It said", "Score", "Why"),
        rows=tuple(
            (Code(name), task, says, Mark(said), score, why or None) for name, task, says, said, score, why, _ in rows
        ),
    )
    shown = [Fold(summary=f"{row[0]}: {row[2]}", blocks=(Verbatim(text=row[6]),)) for row in rows[:GLANCE]]
    how = Words("In a cell: %%pge improve NAME --as YOU, below it a line an example: ID, and why in your own words.")
    return View(
        title=title,
        blocks=(table, how, *shown) if rows else (Words("Nothing to learn from: it was wrong nowhere in train."),),
        next=next_,
    )


def improved_view(frame: DataFrame, sentence: str, *, level: float, notes: Sequence[str] = (), next_: str = "") -> View:
    """Two judges compared: the comparison that is tested first, then where it comes from. ``.df`` has a row a comparison."""
    rows: list[tuple[Cell, ...]] = [
        (
            *(OF[row["of"]], CALLED[row["metric"]]),
            *(f"{100 * row[name]:.0f} %" for name in ("old", "new")),
            *(f"{100 * row[name]:+.0f}" for name in ("difference", "low", "high")),
            *(f"{row['p']:.3f}", int(row["only_old"]), int(row["only_new"]), int(row["n"]), int(row["tasks"])),
        )
        for row in frame.to_dict("records")
    ]
    blocks: list[Block] = []
    if rows:
        blocks.append(Table(caption="The comparison that is tested", heads=COMPARED, rows=tuple(rows[:1])))
        blocks.append(Table(caption="Where it comes from (not tested)", heads=COMPARED, rows=tuple(rows[1:])))
    return View(
        title=sentence,
        blocks=tuple(blocks),
        notes=tuple(notes),
        next=next_,
        df=frame,
        foot=f"intervals of {100 * level:g} %, grouped by task; both judges were asked about each attempt in turn",
    )
