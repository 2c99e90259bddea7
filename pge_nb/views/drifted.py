"""Drift as it is shown: how a judge's grading of the same work changes from retry to retry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..display import Cell, Table, View, Words

if TYPE_CHECKING:
    from pandas import DataFrame

HEADS = ("Judge", "What changes", "For each retry", "From", "To", "Gradings", "Steps", "Tasks", "Note")


def drifted_view(
    slopes: DataFrame, frame: DataFrame, called: str, *, level: float, notes: Sequence[str] = (), next_: str = ""
) -> View:
    """A row a judge and what changes: score in points, share that passes. ``.df`` has a row a grading."""
    rows = tuple(_row(row) for row in slopes.to_dict("records"))
    table = Table(caption="The first attempt of each step, graded again after each retry", heads=HEADS, rows=rows)
    how = Words(
        "A judge that is fresh sees after each retry what it saw before: its slope is the control. One with the log is told "
        "what was made and found until then."
    )
    return View(
        title=f"Drift of {called}: {_sentence(slopes)}",
        blocks=(table, how),
        notes=tuple(notes),
        next=next_,
        df=frame,
        foot=f"intervals of {100 * level:g} %, over tasks; slopes within steps; the gate's own verdict is not among the gradings",
    )


def _row(row: dict[Any, Any]) -> tuple[Cell, ...]:
    points = row["of"] == "score"
    ends = [None if row[name] != row[name] else _said(row[name], points=points) for name in ("slope", "low", "high")]
    counts = [int(row[name]) for name in ("gradings", "steps", "tasks")]
    return (row["mode"], "score" if points else "passes", *ends, *counts, row["note"] or None)


def _said(value: float, *, points: bool) -> str:
    return f"{value:+.2f}" if points else f"{100 * value:+.1f} %"


def _sentence(slopes: DataFrame) -> str:
    """What the log does to the judge's scores and passes, told by whether the intervals hold 0."""
    mine = slopes[slopes["mode"].str.contains("log")].to_dict("records")
    told = [_moved(row) for of in ("score", "passes") for row in mine if row["of"] == of and row["low"] == row["low"]]
    return f"with the log {', '.join(told)}" if told else "not measurable"


def _moved(row: dict[Any, Any]) -> str:
    points = row["of"] == "score"
    low, high = (_said(row[name], points=points) for name in ("low", "high"))
    by = f"{_said(row['slope'], points=points)} [{low}, {high}]{' points' if points else ''} a retry"
    up, down = ("scores rise", "scores fall") if points else ("passes get more", "passes get fewer")
    none = f"{'scores' if points else 'passes'} show no drift"
    return f"{up if row['low'] > 0 else down if row['high'] < 0 else none} ({by})"
