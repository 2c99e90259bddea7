"""A replay as it is shown: what other raters would have done at the gate, and which verdicts they turn over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from ..display import Block, Cell, Fold, Mark, Table, View, Words
from ..prose import counted

if TYPE_CHECKING:
    from pandas import DataFrame

EFFECTS = (
    *("Rater", "Repeat", "Attempts", "Flipped", "Pass to fail", "Fail to pass", "Unmeasured"),
    *("Retries saved", "Retries added", "Tokens", "Dollars"),
)
GLANCE = 12
"""Verdicts that were turned over, beyond which they are folded."""


def regraded_view(
    effects: DataFrame, frame: DataFrame, names: Mapping[str, str], *, notes: Sequence[str] = (), next_: str = ""
) -> View:
    """A row a rater and repeat; then each verdict that differs from the gate's; then what could not be graded.

    ``names`` tells how raters are called, by id. ``.df`` has a row a grading.
    """
    counts = [name for name in effects.columns if name not in ("rater", "dollars")]
    rows = tuple(
        (names.get(one["rater"], one["rater"]), *(int(one[name]) for name in counts), _dollars(one["dollars"]))
        for one in effects.to_dict("records")
    )
    blocks: list[Block] = [Table(caption="Against the verdicts of the gate", heads=EFFECTS, rows=rows)]
    blocks += _flipped(frame[frame["flipped"].notna()], names)
    if len(failed := frame[frame["error"].notna()]):
        told: tuple[tuple[Cell, ...], ...] = tuple(
            (_at(row), names.get(row["rater"], row["rater"]), int(row["repeat"]), row["error"])
            for row in failed.to_dict("records")
        )
        blocks.append(Table(caption="Could not be graded", heads=("Attempt", "Rater", "Repeat", "Why"), rows=told))
    graded = int(frame["verdict"].notna().sum())
    runs = counted(frame["run"].nunique(), "run")
    return View(
        title=f"Graded again: {counted(graded, 'grading')} of attempts of {runs}",
        blocks=tuple(blocks),
        notes=tuple(notes),
        next=next_,
        df=frame,
    )


def _flipped(frame: DataFrame, names: Mapping[str, str]) -> list[Block]:
    if not len(frame):
        return [Words("Every verdict is that of the gate.")]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (_at(row), names.get(row["rater"], row["rater"]), int(row["repeat"]), Mark(row["gate"]), Mark(row["verdict"]))
        for row in frame.to_dict("records")
    )
    table = Table(caption="Turned over", heads=("Attempt", "Rater", "Repeat", "Gate", "This rater"), rows=rows)
    if len(rows) <= GLANCE:
        return [table]
    return [Fold(summary=f"{counted(len(rows), 'verdict')} turned over", blocks=(table,))]


def _dollars(amount: float) -> float | None:
    return None if isnan(amount) else float(amount)


def _at(row: Mapping[Any, Any]) -> str:
    return f"{row['run']}:{row['step']}.{row['attempt']}"
