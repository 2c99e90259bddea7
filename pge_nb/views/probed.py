"""Probes as they are shown: what moves a judge that should not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from ..display import Cell, Table, View, Words
from ..prose import counted

if TYPE_CHECKING:
    from pandas import DataFrame

HEADS = ("Changed", "Rate", "Without", "With", "Points", "q", "Up, down", "Items", "Tasks")


def probed_view(
    effects: DataFrame,
    sentence: str,
    *,
    left_out: Mapping[str, int],
    rater: str,
    level: float,
    notes: Sequence[str] = (),
    next_: str = "",
) -> View:
    """A row an effect on a rate. ``left_out``: condition -> attempts that cannot be shown so."""
    left = [f"{counted(count, 'attempt')} could not be shown with {name!r}." for name, count in left_out.items()]
    how = Words(
        "Each row compares the same items with the change and without it. TPR: good work that it passes; TNR: bad work that it "
        "fails; a judge that is only kinder gains in one what it loses in the other. q is p with all rows allowed for "
        "(Benjamini and Yekutieli): under 0.05 an effect is found."
    )
    rows = tuple(effect_row(row) for row in effects.to_dict("records"))
    return View(
        title=sentence,
        blocks=(Table(caption="What a change does to a judge", heads=HEADS, rows=rows), how),
        notes=(*left, *notes),
        next=next_,
        df=effects,
        foot=f"rater {rater} · intervals of {100 * level:g} %, each by itself, grouped by task; truth is the oracle's",
    )


def effect_row(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
    """An effect on a rate: shares, points with their interval, q, and the items that it moved."""
    known: dict[str, Any] = {
        name: None if isinstance(value, float) and isnan(value) else value for name, value in row.items()
    }
    shares = [None if known[name] is None else f"{100 * known[name]:.0f} %" for name in ("without", "with")]
    gap = None if known["difference"] is None else f"{100 * known['difference']:+.0f}"
    if gap is not None and known["low"] is not None:
        gap = f"{gap} [{100 * known['low']:+.0f}, {100 * known['high']:+.0f}]"
    moved = None if known["up"] is None else f"{int(known['up'])}, {int(known['down'])}"
    counts = [int(known[name]) for name in ("items", "tasks")]
    q = None if known["q"] is None else f"{known['q']:.3f}"
    return (known["effect"], known["rate"].upper(), *shares, gap, q, moved, *counts)
