"""How charts look: colours, fonts, widths, and the style of each series.

Series differ by colour (Okabe and Ito), dash and marker; the ground is opaque, so that a dark theme does not swallow the text.
What the fonts cannot draw is named by its place and spelled out in the text beside the picture.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from matplotlib.font_manager import FontProperties, findfont, get_font, get_font_names
from matplotlib.lines import Line2D
from matplotlib.text import Text

from ..errors import BadInput
from ..step_looks import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

INK, PALE, GROUND = "#1a1a1a", GREY, "#ffffff"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, "#56B4E9")
DASHES = ("--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("s", "^", "D", "v", "P", "p")
FONT = "DejaVu Sans"
OTHERS = (
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Microsoft YaHei", "SimHei", "Heiti SC"),
    *("Yu Gothic", "MS Gothic", "Malgun Gothic", "Arial Unicode MS"),
)
"""Fonts for Chinese, Japanese and Korean, of which the first two that are installed are used: all can stand in a PDF."""
FAMILIES = [FONT, *[name for name in OTHERS if name in get_font_names()][:2]]
PLAIN: Any = {  # a person's own style must not make a chart unreadable
    "font.family": FAMILIES,
    "font.size": 9,
    "text.usetex": False,
    "text.color": INK,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "axes.facecolor": GROUND,
    "axes.grid": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "savefig.bbox": None,
    "savefig.transparent": False,
}
WIDTH = 8.0
WIDTHS: Mapping[str, float] = {"column": 3.35, "page": 7.0}
"""Inches of one column of a paper with two, and of a page with one."""
NARROW = 5.0
"""Inches below which a chart has one panel a row, and smaller letters."""
NARROW_SCALE = 0.8
NAME_LENGTH = 28
MANY_ATTEMPTS = 10
MANY_IN_A_COLUMN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one series is drawn, and under which name."""

    label: str
    colour: str
    dash: Any
    marker: str
    width: float = 1.4
    size: float = 6.0


Width = Literal["column", "page"] | float
"""Of a figure in a paper: one of ``WIDTHS``, or inches."""


def inches_of(width: Width) -> float:
    """The width in inches; ``BadInput`` where it is none."""
    inches = WIDTHS.get(width, math.nan) if isinstance(width, str) else float(width)
    if not 1 <= inches <= 100:
        raise BadInput(f"The width {width!r} is no width of a figure.", "Give column, page, or inches from 1 to 100.")
    return inches


def scale(figure: Figure, factor: float) -> None:
    """Make letters, lines and marks smaller or larger."""
    text: Any
    line: Any
    for text in figure.findobj(Text):
        text.set_fontsize(text.get_fontsize() * factor)
    for line in figure.findobj(Line2D):
        line.set_linewidth(line.get_linewidth() * factor)
        line.set_markersize(line.get_markersize() * factor)


def series_styles(trajectory: DataFrame, *, size: float = 6.0) -> dict[str, Style]:
    """Series -> style, in the order in which they are drawn; a name that the font cannot draw becomes its place."""
    criteria = list(dict.fromkeys(trajectory[trajectory["about"] == "criterion"]["on"]))
    styles = {"overall": Style(label="overall", colour=INK, dash="-", marker="o", width=2.2, size=size)}
    for i, name in enumerate(criteria):
        place, turn = i % len(COLOURS), i // len(COLOURS)
        dash = DASHES[(place + turn) % len(DASHES)]  # with the colours used up, another dash tells the next ones apart
        label = short(name) if drawable(short(name)) else f"criterion {i + 1}"
        styles[name] = Style(label=label, colour=COLOURS[place], dash=dash, marker=MARKERS[place], size=size)
    if (trajectory["about"] == "checks").any():
        styles["checks"] = Style(label="checks met", colour=PALE, dash=(0, (2, 2)), marker="*", size=size + 1.5)
    return styles


def drawable(text: str) -> bool:
    """Whether the chart's fonts have every glyph, and the text runs left to right (not every matplotlib shapes the rest)."""
    known = _glyphs()
    return all(ord(char) in known and unicodedata.bidirectional(char) not in {"R", "AL", "AN"} for char in text)


@functools.cache
def _glyphs() -> frozenset[int]:
    return frozenset(code for path in _paths() for code in get_font(path).get_charmap())


@functools.cache
def _paths() -> list[str]:
    return [findfont(FontProperties(family=[name])) for name in FAMILIES]


def wide(text: str, size: float) -> float:
    """Inches that a text of that size takes, in points."""
    font = get_font(_paths())
    font.set_size(size, 72)  # the font is shared with whoever draws
    font.set_text(text, 0.0)
    return float(font.get_width_height()[0]) / 64 / 72


def short(text: str) -> str:
    """A name as a legend has room for it."""
    line = " ".join(text.split())
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1] + "…"


def write(axes: Axes, x: float, y: float, text: str, **how: Any) -> None:
    """Write a text in which nothing is mathematics. Only our own words are bold or slanted: not every font can be."""
    if "fontweight" in how or "fontstyle" in how:
        how["fontfamily"] = FONT
    axes.text(x, y, text, parse_math=False, **how)
