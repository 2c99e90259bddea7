"""A plan as a picture: its steps as boxes, each below all that it needs, with its state in a word, a mark and a colour."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

from ..step_looks import STEP_LOOKS
from .layers import WIDE, Frame, Layout, Line, Place, layout
from .style import GROUND, INK, PALE, PLAIN, WIDTH, Style, Width, drawable, inches_of, scale, wide, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

LOOKS: Mapping[str, Style] = {
    state: Style(label=state, colour=look.colour, dash=look.dash, marker=look.marker)
    for state, look in STEP_LOOKS.items()
}
"""State of a step -> how its box is drawn."""
FILLED = frozenset(state for state, look in STEP_LOOKS.items() if look.filled)
"""States whose mark is filled; the others' are hollow."""
BOX, BETWEEN, CLOSE = 0.7, 0.42, 0.14
"""Inches: the height of a box, from one to the row below, and the same in a frame."""
MOST_LINES, LONGEST = 2, 150
"""Lines of words in a box, below its state, and characters beyond which no line can fit."""
MARGIN, AROUND = 0.14, 0.1
"""Inches around the drawing, and from a box to the frame around it."""
CORNERS = "round,pad=0,rounding_size=0.08"
SIZE, SIZE_OF_STATE = 8.5, 9.0
TINT = 2 / 15
"""How much of its colour a box has; a step of the palette's."""


def plan_chart(plan: DataFrame, *, width: Width = WIDTH) -> Figure:
    """The steps of a plan (its frame) as a graph from top to bottom; broken lines lead to steps in the place of another.

    A need that follows from others has no line of its own. What the fonts cannot draw is in the table
    beside alone.
    """
    inches = inches_of(width)
    rows: list[Any] = list(plan.itertuples())
    instead = {int(row.step): _numbers(row.replaced_by) for row in rows}
    laid = layout({int(row.step): [*_numbers(row.depends_on), *_replaced(instead, int(row.step))] for row in rows})
    with mpl.rc_context(PLAIN):
        tops = _tops(laid)
        high = tops[-1] + BOX + MARGIN
        figure = Figure(figsize=(inches, high), dpi=100, facecolor=GROUND)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, inches)
        axes.set_ylim(high, 0)  # rows are counted from above
        if not rows:
            write(axes, inches / 2, high / 2, "there is no step yet", ha="center", va="center")
        drawing = _Drawing(axes, laid, tops, inches)
        for frame in laid.frames:
            drawing.frame(frame)
        for line in laid.lines:
            drawing.line(line, replaces=line.end in instead[line.start])
        for row in rows:
            drawing.box(laid.places[int(row.step)], int(row.step), str(row.state), str(row.description))
        if inches < WIDTH:
            scale(figure, max(0.7, inches / WIDTH))
    return figure


def _numbers(needs: object) -> list[int]:
    return [int(one) for one in str(needs).split(", ") if one.isdigit()]


def _replaced(instead: Mapping[int, Sequence[int]], step: int) -> list[int]:
    """The step in whose place it stands, if it does: it is drawn below it."""
    return [other for other, by in instead.items() if step in by]


class _Drawing:
    """Boxes and lines on axes whose unit is an inch, from the upper left corner."""

    def __init__(self, axes: Axes, laid: Layout, tops: Sequence[float], inches: float) -> None:
        self.axes, self.inches, self.tops = axes, inches, tops
        self.column = (inches - 2 * MARGIN) / max(laid.columns, 3)  # a lone box must not be as wide as the page
        self.wide = self.column * WIDE
        self.framed = {row for frame in laid.frames for row in (frame.first, frame.last)}

    def box(self, place: Place, step: int, state: str, description: str) -> None:
        """A step: number, mark and state, and what is to be done, as far as there is room."""
        look = LOOKS.get(state, LOOKS["waiting"])
        left, top = self._across(place.across) - self.wide / 2, self.tops[place.row]
        edge: Any = {"edgecolor": look.colour, "linestyle": look.dash, "linewidth": 1.6, "zorder": 3}
        tint = _blend(look.colour, TINT)
        self.axes.add_patch(FancyBboxPatch((left, top), self.wide, BOX, boxstyle=CORNERS, facecolor=tint, **edge))
        fill = look.colour if state in FILLED else GROUND
        mark: Any = {"markerfacecolor": fill, "markeredgecolor": look.colour, "markersize": 7, "markeredgewidth": 1.3}
        self.axes.plot([left + 0.14], [top + 0.15], marker=look.marker, linestyle="none", zorder=4, **mark)
        first: Any = {"fontsize": SIZE_OF_STATE, "fontweight": "bold", "va": "center", "zorder": 4}
        write(self.axes, left + 0.27, top + 0.155, f"{step}  {state}", **first)
        for number, words in enumerate(fitting(description, self.wide - 0.18) or ["(see the table)"]):
            write(self.axes, left + 0.09, top + 0.37 + 0.18 * number, words, fontsize=SIZE, va="center", zorder=4)

    def frame(self, frame: Frame) -> None:
        """Around steps that share their lines."""
        wide = self.column * (frame.columns - 1 + WIDE) + 2 * AROUND
        high = self.tops[frame.last] - self.tops[frame.first] + BOX + 2 * AROUND
        corner = (self.inches / 2 - wide / 2, self.tops[frame.first] - AROUND)
        look: Any = {"facecolor": GROUND, "edgecolor": PALE, "linewidth": 1.0, "zorder": 1}
        self.axes.add_patch(FancyBboxPatch(corner, wide, high, boxstyle=CORNERS, **look))

    def line(self, line: Line, *, replaces: bool) -> None:
        """A line with an arrow at the step that needs the other; a broken one at a step that takes the other's place."""
        look: Any = {"linewidth": 1.0, "linestyle": (0, (4, 3)) if replaces else "-", "zorder": 2}
        if line.beside:
            y = self.tops[line.leaves.row] + BOX / 2
            half = self.wide / 2
            ends = [(self._across(line.leaves.across) + half, y), (self._across(line.arrives.across) - half, y)]
            self.axes.plot(*zip(*ends, strict=True), color=INK, **look)
            self._arrow(*ends[-1], ">")
            return
        points = [(self._across(line.leaves.across), self._edge(line.leaves.row, BOX, 1))]
        for row, across in enumerate(line.passes, line.leaves.row + 1):
            x = min(max(self._across(across), 0.03), self.inches - 0.03)
            points += [(x, self.tops[row] - AROUND), (x, self.tops[row] + BOX + AROUND)]
        points.append((self._across(line.arrives.across), self._edge(line.arrives.row, 0.0, -1)))
        self.axes.add_patch(PathPatch(_way(points), facecolor="none", edgecolor=INK, **look))
        self._arrow(*points[-1], "v")

    def _edge(self, row: int, below: float, sign: int) -> float:
        """Where a line begins or ends: at the box, or at the frame around it."""
        return self.tops[row] + below + (sign * AROUND if row in self.framed else 0.0)

    def _arrow(self, x: float, y: float, marker: str) -> None:
        aside = (0.0, -0.045) if marker == "v" else (-0.045, 0.0)
        look: Any = {"marker": marker, "markersize": 6, "color": INK, "linestyle": "none", "zorder": 2}
        self.axes.plot([x + aside[0]], [y + aside[1]], **look)

    def _across(self, place: float) -> float:
        return self.inches / 2 + place * self.column


def _tops(laid: Layout) -> list[float]:
    """Where the rows begin, in inches from above; those in one frame stand close."""
    inner = {row for frame in laid.frames for row in range(frame.first + 1, frame.last + 1)}
    tops = [MARGIN + (AROUND if any(frame.first == 0 for frame in laid.frames) else 0.0)]
    for row in range(1, laid.rows):
        tops.append(tops[-1] + BOX + (CLOSE if row in inner else BETWEEN))
    return tops


def _way(points: list[tuple[float, float]]) -> Path:
    """A smooth line down through the points, upright at each; straight where it passes a row."""
    ways, codes = [points[0]], [int(Path.MOVETO)]
    for number, ((x, y), (to_x, to_y)) in enumerate(itertools.pairwise(points)):
        if number % 2:
            ways.append((to_x, to_y))
            codes.append(int(Path.LINETO))
        else:
            middle = (y + to_y) / 2
            ways += [(x, middle), (to_x, middle), (to_x, to_y)]
            codes += [int(Path.CURVE4)] * 3
    return Path(ways, codes)


def _blend(colour: str, part: float) -> tuple[float, float, float]:
    """So much of the colour on the ground."""
    red, green, blue = mpl.colors.to_rgb(colour)
    return tuple(1 - part * (1 - one) for one in (red, green, blue))  # type: ignore[return-value]


def fitting(text: str, inches: float, most: int = MOST_LINES) -> list[str]:
    """The text in lines that fit, ended with … where it is longer; none for what the fonts cannot draw."""
    words = " ".join(text.split())
    if not drawable(words):
        return []
    lines: list[str] = []
    rest = words
    while rest and len(lines) < most:
        last = len(lines) == most - 1
        line = _head(rest, inches)
        if last and line != rest:
            line = _head(rest[: len(line)] + "…", inches, ended=True)
            return [*lines, line]
        lines.append(line.rstrip())
        rest = rest[len(line) :].lstrip()
    return lines


def _head(text: str, inches: float, *, ended: bool = False) -> str:
    """As much of the beginning as fits, whole words where there are some; ``ended``: with … behind it."""
    if len(text) <= LONGEST and wide(text, SIZE) <= inches:
        return text
    tail = "…" if ended else ""
    sizes = range(2, min(len(text), LONGEST) + 1)
    size = 1 + bisect.bisect_right(sizes, inches, key=lambda size: wide(text[:size].rstrip() + tail, SIZE))
    between = text.rfind(" ", 0, size + 1)
    return text[: between if between > size // 2 else size].rstrip() + tail
