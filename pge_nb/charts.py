"""Frames as pictures: matplotlib figures made through the object API, so that nothing global is touched and nothing is left open.

Series differ by colour (Okabe and Ito), dash and marker; words stand beside every mark; the ground is opaque, so that a dark
theme does not swallow the text. What the font cannot draw is named by its place and spelled out in the text beside the picture.
"""

from __future__ import annotations

import functools
import io
import math
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.text import Text
from PIL import Image, ImageColor

from .errors import BadInput
from .run import DONE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

INK, PALE, GROUND = "#1a1a1a", "#8a8a8a", "#ffffff"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("s", "^", "D", "v", "P", "p")
PLAIN: Any = {  # a person's own style must not make a chart unreadable
    "font.family": ["DejaVu Sans"],
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
TOP, BETWEEN, AFTER = 12.4, 10.9, 11.8
"""Heights, in scores, of a panel's edge, of what is written between two attempts, and of what ends a step."""


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


def trajectory_chart(trajectory: DataFrame, decisions: DataFrame | None = None, *, width: Width = WIDTH) -> Figure:
    """Score by attempt for each criterion, all checks, and overall; a panel a step.

    A pass is a filled mark, a fail a hollow cross, an unmeasured score a question mark at the foot; a threshold is a thin
    line in its criterion's colour and dash. ``decisions`` (its frame) are written above the attempts they follow. In
    ``width`` of less than 5 inches the panels stand one below the other.
    """
    inches = _inches(width)
    narrow = inches < NARROW
    steps = [int(step) for step in trajectory["step"].dropna().unique()]
    columns = 1 if len(steps) <= 1 or narrow else 2 if len(steps) <= 4 else 3
    rows = max(1, -(-len(steps) // columns))
    many = MANY_IN_A_COLUMN if narrow else MANY_ATTEMPTS
    with mpl.rc_context(PLAIN):
        styles = series_styles(trajectory, size=6.0 if columns == 1 and trajectory["attempt"].nunique() <= 20 else 4.5)
        above, height = (0.6 + 0.08 * len(styles), 2.1) if narrow else (0.75, 3.4 if columns == 1 else 2.7)
        figure = Figure(figsize=(inches, above + rows * height), dpi=100, facecolor=GROUND, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharey=True).flat
        for axes, step in zip(panels, steps, strict=False):
            _panel(axes, trajectory[trajectory["step"] == step], styles, step, many)
            if decisions is not None:
                made = decisions[decisions["step"] == step]
                _decisions(axes, made, crowded=columns > 2 or len(made) > many)
        for axes in list(figure.axes)[len(steps) :]:
            axes.set_axis_off()
        if not steps:
            _text(
                figure.axes[0],
                0.5,
                0.5,
                "no attempt was evaluated yet",
                ha="center",
                transform=figure.axes[0].transAxes,
            )
        _legend(figure, styles, columns=2 if narrow else 4)
        if narrow:
            _scale(figure, NARROW_SCALE)
    return figure


def png(figure: Figure, *, dpi: int = 150) -> bytes:
    """The picture's bytes, in the chart's own colours and their blends with the ground: a third of the size.

    The same figure always gives the same bytes.
    """
    drawn, held = io.BytesIO(), io.BytesIO()
    with mpl.rc_context(PLAIN):
        figure.savefig(drawn, format="png", dpi=dpi)
    with Image.open(drawn) as picture:
        picture.convert("RGB").quantize(palette=_palette(), dither=Image.Dither.NONE).save(held, format="png")
    return held.getvalue()


def save(figure: Figure, path: Path | str, width: Width = "column") -> Path:
    """Write the figure as a PDF of that width, its fonts in it as TrueType; the path.

    A figure that was drawn wider is made smaller as a whole, its letters as well, so draw one for its width:
    ``trajectory_chart(frame, width="column")``.
    """
    path = Path(path)
    path.write_bytes(pdf(figure, width))
    return path


def pdf(figure: Figure, width: Width = "column") -> bytes:
    """The bytes that `save` writes; the same figure always gives the same."""
    held, (wide, high) = io.BytesIO(), map(float, figure.get_size_inches())
    factor = _inches(width) / wide
    figure.set_size_inches(wide * factor, high * factor)
    _scale(figure, factor)
    try:
        with mpl.rc_context({**PLAIN, "pdf.fonttype": 42}):
            figure.savefig(held, format="pdf", metadata={"CreationDate": None})
    finally:
        _scale(figure, 1 / factor)
        figure.set_size_inches(wide, high)
    return held.getvalue()


def _inches(width: Width) -> float:
    """The width in inches; ``BadInput`` where it is none."""
    inches = WIDTHS.get(width, math.nan) if isinstance(width, str) else float(width)
    if not 1 <= inches <= 100:
        raise BadInput(f"The width {width!r} is no width of a figure.", "Give column, page, or inches from 1 to 100.")
    return inches


def _scale(figure: Figure, factor: float) -> None:
    """Make letters, lines and marks smaller or larger."""
    text: Any
    line: Any
    for text in figure.findobj(Text):
        text.set_fontsize(text.get_fontsize() * factor)
    for line in figure.findobj(Line2D):
        line.set_linewidth(line.get_linewidth() * factor)
        line.set_markersize(line.get_markersize() * factor)


@functools.cache
def _palette() -> Image.Image:
    """Each colour in 16 steps to the ground. A palette found by counting would merge the colours of thin lines."""
    ground, steps = ImageColor.getrgb(GROUND), 15
    blends = [
        round(part + (white - part) * step / steps)
        for colour in (INK, PALE, *COLOURS)
        for step in range(steps + 1)
        for part, white in zip(ImageColor.getrgb(colour), ground, strict=True)
    ]
    held = Image.new("P", (1, 1))
    held.putpalette(blends)
    return held


def series_styles(trajectory: DataFrame, *, size: float = 6.0) -> dict[str, Style]:
    """Series -> style, in the order in which they are drawn; a name that the font cannot draw becomes its place."""
    criteria = list(dict.fromkeys(trajectory[trajectory["about"] == "criterion"]["on"]))
    styles = {"overall": Style(label="overall", colour=INK, dash="-", marker="o", width=2.2, size=size)}
    for i, name in enumerate(criteria):
        place = i % len(COLOURS)
        label = _short(name) if drawable(_short(name)) else f"criterion {i + 1}"
        styles[name] = Style(label=label, colour=COLOURS[place], dash=DASHES[place], marker=MARKERS[place], size=size)
    if (trajectory["about"] == "checks").any():
        styles["checks"] = Style(label="checks met", colour=PALE, dash=(0, (2, 2)), marker="h", size=size)
    return styles


def drawable(text: str) -> bool:
    """Whether the chart's font has every glyph, and the text runs left to right (not every matplotlib shapes the rest)."""
    known = _glyphs()
    return all(ord(char) in known and unicodedata.bidirectional(char) not in {"R", "AL", "AN"} for char in text)


@functools.cache
def _glyphs() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=list(PLAIN["font.family"])))).get_charmap())


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1] + "…"


def _panel(axes: Axes, rows: DataFrame, styles: Mapping[str, Style], step: int, many: int) -> None:
    attempts = sorted({int(attempt) for attempt in rows["attempt"]})
    for place, (name, style) in enumerate(styles.items()):
        series = rows[(rows["on"] == name)].sort_values("attempt")
        if len(series):
            _series(axes, series, style, (place - (len(styles) - 1) / 2) * 0.035)
    _text(axes, 0.0, 1.02, f"Step {step}", transform=axes.transAxes, fontweight="bold", va="bottom")
    axes.set_ylim(-0.6, TOP)
    axes.set_xlim(attempts[0] - 0.5, attempts[-1] + 0.5)
    axes.set_yticks(range(0, 11, 2))
    axes.tick_params(labelleft=True, length=2)
    shown = attempts[:: max(1, -(-len(attempts) // many))]
    axes.set_xticks(shown, [f"{attempt}\n{_verdict(rows, attempt)}" for attempt in shown])
    axes.set_xlabel("attempt and its verdict")
    axes.set_ylabel("score")
    axes.spines[["top", "right"]].set_visible(False)


def _verdict(rows: DataFrame, attempt: int) -> str:
    found = rows[(rows["attempt"] == attempt) & (rows["about"] == "overall")]["verdict"]
    return str(found.iloc[0]) if len(found) else ""


def _series(axes: Axes, series: DataFrame, style: Style, aside: float) -> None:
    x = series["attempt"].astype("float64").to_numpy() + aside
    y = series["score"].to_numpy(dtype="float64", na_value=float("nan"))
    axes.plot(x, y, color=style.colour, linestyle=style.dash, linewidth=style.width, zorder=2)
    for left, score, verdict in zip(x, y, series["verdict"], strict=True):
        if math.isnan(score):  # not measured
            _text(axes, left, -0.2, "?", ha="center", va="center", color=INK, fontweight="bold")
        else:
            axes.plot([left], [score], zorder=3, **_mark(style, str(verdict)))
    threshold = series["threshold"].dropna()
    if len(threshold) and (series["about"] == "criterion").any():
        at = float(threshold.iloc[-1])
        axes.axhline(at, color=style.colour, linestyle=style.dash, linewidth=0.7, alpha=0.6, zorder=1)
        axes.annotate(f"{at:g}", (1.01, at), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=INK)


def _mark(style: Style, verdict: str) -> dict[str, Any]:
    passed = verdict == "pass"
    return {
        "marker": style.marker if passed else "X",
        "markersize": style.size if passed else style.size + 2,
        "markerfacecolor": style.colour if passed else GROUND,
        "markeredgecolor": style.colour,
        "markeredgewidth": 1.2,
        "linestyle": "none",
    }


def _decisions(axes: Axes, made: DataFrame, *, crowded: bool) -> None:
    """Write what followed each attempt; where there is no room, a refine goes unsaid, as the legend tells."""
    for attempt, action in zip(made["attempt"], made["action"], strict=True):
        if pd.isna(attempt) or (crowded and action == "refine"):
            continue
        if action in {"refine", "pivot"}:
            _between(axes, float(attempt) + 0.5, action)
        else:
            word = DONE.get(action, action)
            _text(axes, float(attempt), AFTER, word, ha="center", va="center", fontsize=8, fontweight="bold")


def _between(axes: Axes, place: float, action: str) -> None:
    if action == "pivot":
        axes.plot([place, place], [-0.6, BETWEEN - 0.5], color=PALE, linestyle=":", linewidth=1.2, zorder=1)
    _text(axes, place, BETWEEN, action, ha="center", va="center", fontsize=8, fontstyle="italic")


def _legend(figure: Figure, styles: Mapping[str, Style], *, columns: int) -> None:
    handles = list(_handles(styles))
    legend = figure.legend(
        handles=handles, loc="outside upper center", ncols=min(columns, len(handles)), frameon=False, fontsize=8.5
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _handles(styles: Mapping[str, Style]) -> Iterator[Line2D]:
    for style in styles.values():
        yield Line2D(
            [],
            [],
            color=style.colour,
            linestyle=style.dash,
            linewidth=style.width,
            marker=style.marker,
            label=style.label,
        )
    yield Line2D(
        [], [], linestyle="none", marker="X", markersize=8, markerfacecolor=GROUND, markeredgecolor=INK, label="fail"
    )
    yield Line2D([], [], linestyle="none", marker="$?$", color=INK, label="not measured")
    yield Line2D([], [], color=PALE, linewidth=0.7, label="threshold (score at the right)")
    yield Line2D([], [], color=PALE, linewidth=1.2, linestyle=":", label="pivot (otherwise refined)")


def _text(axes: Axes, x: float, y: float, text: str, **how: Any) -> None:
    axes.text(x, y, text, parse_math=False, **how)
