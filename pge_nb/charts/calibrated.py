"""What a rater is worth, as pictures: rates by kind with intervals, reliability of scores, and what each threshold lets pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from .style import COLOURS, GROUND, INK, PALE, PLAIN, WIDTH, Width, drawable, inches_of, short, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

HEIGHT = 3.6
ROW = 0.3
"""Inches of a kind in the chart of rates."""


def rates_chart(frame: DataFrame, *, width: Width = WIDTH) -> Figure:
    """How often bad work is passed, a line a kind: the rate (filled), what pooling makes of it (hollow), and its interval.

    ``frame``: figures, of which those that were measured are drawn.
    """
    rows = frame[(frame["figure"] == "false_pass") & frame["value"].notna()].to_dict("records")
    with mpl.rc_context(PLAIN):
        figure, axes = _axes(inches_of(width), 1.2 + ROW * max(len(rows), 2))
        for place, row in enumerate(reversed(rows)):
            axes.plot([row["low"], row["high"]], [place, place], color=INK, linewidth=1.2)
            axes.plot([row["value"]], [place], marker="o", color=COLOURS[0], markersize=6)
            if row["pooled"] == row["pooled"]:  # not missing
                axes.plot([row["pooled"]], [place], marker="D", color=COLOURS[1], markersize=6, fillstyle="none")
        axes.set_yticks(range(len(rows)))
        axes.set_yticklabels([_label(row, place) for place, row in enumerate(reversed(rows))], parse_math=False)
        axes.set_ylim(-0.6, max(len(rows), 1) - 0.4)
        _share_axis(axes, "x")
        axes.set_xlabel("bad work passed: rate (disc), pooled (diamond), interval (line)")
        _nothing(axes, not rows)
    return figure


def reliability_chart(bins: DataFrame, *, width: Width = WIDTH) -> Figure:
    """The share of good attempts by overall score, with intervals; on the dashed line a score of 8 means 80 % good."""
    rows = bins.to_dict("records")
    with mpl.rc_context(PLAIN):
        figure, axes = _axes(inches_of(width), HEIGHT)
        axes.plot([0, 10], [0, 1], color=PALE, linestyle="--", linewidth=1)
        for row in rows:
            axes.plot([10 * row["score"]] * 2, [row["low"], row["high"]], color=INK, linewidth=1.2)
            axes.plot([10 * row["score"]], [row["good"]], marker="o", color=COLOURS[0], markersize=6)
            write(axes, 10 * row["score"] + 0.1, row["good"], f"n {row['n']}", fontsize=8, va="bottom")
        axes.set_xlim(0, 10.6)
        axes.set_xlabel("mean overall score")
        axes.set_ylabel("good attempts")
        _share_axis(axes, "y")
        _nothing(axes, not rows)
    return figure


def threshold_chart(curve: DataFrame, *, max_false_pass: float, width: Width = WIDTH) -> Figure:
    """Bad and good work passed, by threshold on the overall score; the guaranteed threshold is an upright line."""
    with mpl.rc_context(PLAIN):
        figure, axes = _axes(inches_of(width), HEIGHT)
        if len(curve):
            at = curve["threshold"]
            axes.fill_between(at, curve["low"], curve["high"], step="pre", color=PALE, alpha=0.25, linewidth=0)
            steps: Any = {"drawstyle": "steps-pre", "markersize": 5}
            axes.plot(at, curve["false_pass"], color=COLOURS[1], marker="s", label="bad work passed", **steps)
            axes.plot(at, curve["tpr"], color=COLOURS[0], marker="o", linestyle="--", label="good work passed", **steps)
            for value in curve[curve["guaranteed"]]["threshold"]:
                axes.axvline(value, color=INK, linewidth=1.6, label=f"guaranteed: {value:.1f}")
            axes.axhline(
                max_false_pass, color=PALE, linestyle=":", linewidth=1.2, label=f"{100 * max_false_pass:.0f} %"
            )
            axes.legend(loc="lower left", frameon=False, fontsize=8, handlelength=3.5)
        axes.set_xlabel("accept from this overall score up")
        _share_axis(axes, "y")
        _nothing(axes, not len(curve))
    return figure


def _axes(inches: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(inches, height), dpi=100, facecolor=GROUND, layout="constrained")
    return figure, figure.subplots()


def _label(row: dict[str, Any], place: int) -> str:
    name = f"{row['by']} {short(str(row['of']))}" if row["of"] != "all" else str(row["by"])
    name = name if drawable(name) else f"{row['by']} {place + 1}"
    return f"{name}  ({row['n']} bad)"


def _share_axis(axes: Axes, which: str) -> None:
    ticks = [0, 0.25, 0.5, 0.75, 1]
    words = [f"{100 * tick:.0f} %" for tick in ticks]
    if which == "x":
        axes.set_xlim(-0.02, 1.02)
        axes.set_xticks(ticks, words)
    else:
        axes.set_ylim(-0.03, 1.05)
        axes.set_yticks(ticks, words)


def _nothing(axes: Axes, empty: bool) -> None:
    if empty:
        where: Any = {"ha": "center", "transform": axes.transAxes}
        write(axes, 0.5, 0.5, "not measurable", **where)


def coverage_chart(escalation: DataFrame, *, width: Width = WIDTH) -> Figure:
    """Risk against coverage: the share of attempts left to the judge, and how much of it is decided wrongly."""
    rows = escalation.sort_values("coverage").to_dict("records")
    with mpl.rc_context(PLAIN):
        figure, axes = _axes(inches_of(width), HEIGHT)
        axes.plot(
            [row["coverage"] for row in rows], [row["risk"] for row in rows], color=COLOURS[0], marker="o", markersize=4
        )
        axes.set_xlabel("left to the judge; the rest, nearest to 7, goes to a person")
        axes.set_ylabel("wrong of these")
        _share_axis(axes, "x")
        _share_axis(axes, "y")
        _nothing(axes, not rows)
    return figure
