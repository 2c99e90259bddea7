"""The trajectory as a picture: scores over attempts, what was decided after each, and what each cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..readings import Bills, graded_again, noise_of
from ..run import DONE
from .style import (
    GROUND,
    INK,
    NARROW,
    NARROW_SCALE,
    PALE,
    PLAIN,
    WIDTH,
    Style,
    Width,
    inches_of,
    scale,
    series_styles,
    write,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from pandas import DataFrame

MANY_ATTEMPTS = 10
MANY_IN_A_COLUMN = 5
MANY_STEPS = 9
"""Steps beyond which panels are small: what is not said there, the table beside it says."""
TOP, BETWEEN, AFTER = 12.4, 10.9, 11.8
"""Heights, in scores, of a panel's edge, of what is written between two attempts, and of what ends a step."""
BESIDE = 0.2
"""How far right of its attempt, in attempts, a second grade stands."""
BAND: Mapping[str, Any] = {"color": PALE, "alpha": 0.25, "linewidth": 0}
"""How changes that are no trend are shaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """How the panels stand: so many a row, each so high, with a strip of cost below, in inches; small ones say less."""

    columns: int
    rows: int
    height: float
    strip: float
    many: int
    small: bool
    narrow: bool

    @classmethod
    def of(cls, steps: int, inches: float, *, cost: bool) -> _Grid:
        narrow, small = inches < NARROW, steps > MANY_STEPS
        columns = 1 if steps <= 1 or narrow else 2 if steps <= 4 else 3 if not small else 4
        height = 2.1 if narrow else 3.4 if columns == 1 else 2.7 if not small else 1.7
        strip = 0.0 if not cost else 0.6 if columns == 1 else 0.5 if not small else 0.3
        many = MANY_IN_A_COLUMN if narrow or small else MANY_ATTEMPTS
        rows = max(1, -(-steps // columns))
        return cls(columns=columns, rows=rows, height=height, strip=strip, many=many, small=small, narrow=narrow)

    def figure(self, inches: float, above: float) -> tuple[Figure, list[Axes], list[Axes | None]]:
        """The figure, the panels, and the strip below each."""
        high = above + self.rows * (self.height + self.strip)
        figure = Figure(figsize=(inches, high), dpi=100, facecolor=GROUND, layout="constrained")
        if not self.strip:
            panels = list(figure.subplots(self.rows, self.columns, squeeze=False).flat)
            return figure, panels, [None] * len(panels)
        ratios = [self.height, self.strip] * self.rows
        axes = figure.subplots(2 * self.rows, self.columns, squeeze=False, height_ratios=ratios)
        return figure, list(axes[::2].flat), list(axes[1::2].flat)


def trajectory_chart(
    trajectory: DataFrame,
    decisions: DataFrame | None = None,
    cost: DataFrame | None = None,
    plan: DataFrame | None = None,
    *,
    width: Width = WIDTH,
) -> Figure:
    """Score by attempt for each criterion, all checks, and overall; a panel a step.

    A pass is a filled mark, a fail a hollow cross, an unmeasured score a question mark at the foot; a threshold is a thin
    line in its criterion's colour and dash. ``decisions`` (its frame) are written above the attempts they follow, and the
    noise that they went by shades what was no trend. ``cost`` (its frame) stands below, by attempt. Attempts under different
    contracts are not joined. ``plan`` (its frame): the score of a kept attempt that was graded again is a hollow diamond. In
    ``width`` of less than 5 inches the panels stand one below the other.
    """
    inches = inches_of(width)
    steps = sorted(int(step) for step in trajectory["step"].dropna().unique())
    bills = Bills.of(cost) if cost is not None and steps else None
    grid = _Grid.of(len(steps), inches, cost=bills is not None)
    with mpl.rc_context(PLAIN):
        roomy = grid.columns == 1 and trajectory["attempt"].nunique() <= 20
        styles = series_styles(trajectory, size=6.0 if roomy else 4.5 if not grid.small else 3.5)
        again = graded_again(plan)
        handles = [*_handles(styles, trajectory, decisions), *([_diamond(label="kept, graded again")] if again else [])]
        legend_columns = 2 if grid.narrow else 4
        above = 0.3 + (0.16 if grid.narrow else 0.17) * -(-len(handles) // legend_columns)
        figure, panels, strips = grid.figure(inches, above)
        for axes, strip, step in zip(panels, strips, steps, strict=False):
            made = None if decisions is None else decisions[decisions["step"] == step]
            _panel(axes, trajectory[trajectory["step"] == step], made, styles, grid)
            if step in again:
                attempt, score = again[step]
                axes.add_line(_diamond([attempt + BESIDE], [score]))
            if strip is not None and bills is not None:
                _strip(strip, axes, bills, step, grid)
        for unused in [*panels[len(steps) :], *strips[len(steps) :]]:
            if unused is not None:
                unused.set_axis_off()
        if not steps:
            middle: Any = {"ha": "center", "transform": panels[0].transAxes}
            write(panels[0], 0.5, 0.5, "no attempt was evaluated yet", **middle)
        _legend(figure, handles, columns=legend_columns)
        if grid.narrow:
            scale(figure, NARROW_SCALE)
    return figure


def _diamond(x: list[float] | None = None, y: list[float] | None = None, label: str = "") -> Line2D:
    look: Any = {"marker": "D", "markersize": 8, "markerfacecolor": "none", "markeredgecolor": INK, "linestyle": "none"}
    return Line2D(x or [], y or [], label=label, zorder=4, **look)


# One panel


def _panel(axes: Axes, rows: DataFrame, made: DataFrame | None, styles: Mapping[str, Style], grid: _Grid) -> None:
    attempts = sorted({int(attempt) for attempt in rows["attempt"]})
    if made is not None and (noise := noise_of(made)) is not None:
        _band(axes, rows, noise)
    for place, (name, style) in enumerate(styles.items()):
        series = rows[(rows["on"] == name)].sort_values("attempt")
        if len(series):
            _series(axes, series, style, (place - (len(styles) - 1) / 2) * 0.035)
            if not grid.small:
                _numbered(axes, series)
    title = f"Step {rows['step'].iloc[0]}"
    if grid.small:
        title += "".join(f": {word}" for word in _ended(made))
    write(axes, 0.0, 1.02, title, transform=axes.transAxes, fontweight="bold", va="bottom", fontsize=_size(grid))
    axes.set_ylim(-0.6, TOP if not grid.small else 10.8)
    axes.set_xlim(attempts[0] - 0.5, attempts[-1] + 0.5)
    axes.set_yticks(range(0, 11, 5 if grid.small else 2))
    axes.tick_params(length=2, labelsize=_size(grid))
    shown = attempts[:: max(1, -(-len(attempts) // grid.many))]
    axes.set_xticks(shown, [f"{attempt}\n{_verdict(rows, attempt)}" for attempt in shown])
    if not grid.small:
        axes.set_xlabel("attempt and its verdict")
        axes.set_ylabel("score")
    axes.spines[["top", "right"]].set_visible(False)
    _contracts(axes, rows, grid)
    if made is not None:
        _decisions(axes, made, grid)


def _size(grid: _Grid) -> float:
    return 7.0 if grid.small else 9.0


def _verdict(rows: DataFrame, attempt: int) -> str:
    found = rows[(rows["attempt"] == attempt) & (rows["about"] == "overall")]["verdict"]
    return str(found.iloc[0]) if len(found) else ""


def _series(axes: Axes, series: DataFrame, style: Style, aside: float) -> None:
    for _, part in _by_contract(series):
        x = part["attempt"].astype("float64").to_numpy() + aside
        y = part["score"].to_numpy(dtype="float64", na_value=float("nan"))
        axes.plot(x, y, color=style.colour, linestyle=style.dash, linewidth=style.width, zorder=2)
        for left, score, verdict in zip(x, y, part["verdict"], strict=True):
            if math.isnan(score):  # not measured
                write(axes, left, -0.2, "?", ha="center", va="center", color=INK, fontweight="bold")
            else:
                axes.plot([left], [score], zorder=3, **_mark(style, str(verdict)))
    threshold = series["threshold"].dropna()
    if len(threshold) and (series["about"] == "criterion").any():
        at = float(threshold.iloc[-1])
        axes.axhline(at, color=style.colour, linestyle=style.dash, linewidth=0.7, alpha=0.6, zorder=1)


def _numbered(axes: Axes, series: DataFrame) -> None:
    """Write a criterion's threshold at the right."""
    for at in series.loc[series["about"] == "criterion", "threshold"].dropna().iloc[-1:]:
        axes.annotate(f"{at:g}", (1.01, at), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=INK)


def _by_contract(series: DataFrame) -> Iterator[tuple[object, DataFrame]]:
    """The attempts that were judged by the same terms, and so can be joined."""
    yield from series.groupby("contract", sort=False, dropna=False)


def _contracts(axes: Axes, rows: DataFrame, grid: _Grid) -> None:
    """Where other terms begin to hold, a line and a word."""
    begun = rows.groupby("contract", sort=True, dropna=False)["attempt"].min().sort_values().iloc[1:]
    for attempt in begun:
        axes.axvline(float(attempt) - 0.5, color=INK, linewidth=1.0, zorder=1)
        if not grid.small:
            words: Any = {"ha": "left", "va": "bottom", "fontsize": 8, "rotation": 90}
            write(axes, float(attempt) - 0.48, 0.0, "new contract", **words)


def _band(axes: Axes, rows: DataFrame, noise: float) -> None:
    """Shade, at each attempt, the scores that are neither rising nor falling: those within the noise of the best before."""
    best: float | None = None
    contract: object = None
    row: Any
    for row in rows[rows["about"] == "overall"].sort_values("attempt").itertuples():
        if row.approach == "pivot" or row.contract != contract:
            best, contract = None, row.contract
        if best is not None:
            axes.fill_between([row.attempt - 0.4, row.attempt + 0.4], best - noise, best + noise, zorder=0, **BAND)
        if not pd.isna(row.score):
            best = float(row.score) if best is None else max(best, float(row.score))


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


def _ended(made: DataFrame | None) -> list[str]:
    """What became of a step, in a word; none while it goes on."""
    words = [DONE.get(action, action) for action in made["action"]] if made is not None else []
    return [word for word in words[-1:] if word not in {"refine", "pivot"}]


def _decisions(axes: Axes, made: DataFrame, grid: _Grid) -> None:
    """Write what followed each attempt; where there is no room, a refine goes unsaid, as the legend tells."""
    crowded = grid.columns > 2 or len(made) > grid.many
    ends: dict[float, list[str]] = {}
    for attempt, action in zip(made["attempt"], made["action"], strict=True):
        if pd.isna(attempt) or (crowded and action == "refine"):
            continue
        if action in {"refine", "pivot"}:
            _between(axes, float(attempt) + 0.5, action, grid)
        else:
            ends.setdefault(float(attempt), []).append(DONE.get(action, action))
    for place, words in ends.items() if not grid.small else ():
        write(axes, place, AFTER, ", ".join(words), ha="center", va="center", fontsize=8, fontweight="bold")


def _between(axes: Axes, place: float, action: str, grid: _Grid) -> None:
    if action == "pivot":
        axes.plot([place, place], [-0.6, BETWEEN - 0.5], color=PALE, linestyle=":", linewidth=1.2, zorder=1)
    if not grid.small:
        write(axes, place, BETWEEN, action, ha="center", va="center", fontsize=8, fontstyle="italic")


# What each attempt cost


def _strip(axes: Axes, panel: Axes, bills: Bills, step: int, grid: _Grid) -> None:
    mine = {attempt: amount for (of, attempt), amount in bills.amounts.items() if of == step}
    left, right = panel.get_xlim()
    axes.bar(list(mine), list(mine.values()), width=min(0.5, (right - left) / 6), color=PALE)
    axes.set_xlim(left, right)
    axes.set_ylim(0, bills.most * (1.7 if not grid.small else 2.2))  # every strip has the same scale
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[["top", "right", "left"]].set_visible(False)
    if not grid.small:
        axes.set_ylabel(bills.unit, fontsize=8)
    for attempt, amount in mine.items() if len(mine) <= grid.many and not grid.small else ():
        write(axes, attempt, amount, bills.told(amount), ha="center", va="bottom", fontsize=8)
    if grid.small:
        said = f"{bills.told(sum(mine.values()))} {bills.unit}"
        write(axes, 1.0, 1.0, said, transform=axes.transAxes, ha="right", va="top", fontsize=7)


# The legend


def _legend(figure: Figure, handles: list[Artist], *, columns: int) -> None:
    legend = figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=min(columns, len(handles)),
        frameon=False,
        fontsize=8.5,
        handlelength=3,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _handles(styles: Mapping[str, Style], rows: DataFrame, decisions: DataFrame | None) -> Iterator[Artist]:
    """A line for each series, and what else there is to be explained in this chart."""
    for style in styles.values():
        look: Any = {"color": style.colour, "linestyle": style.dash, "linewidth": style.width, "marker": style.marker}
        yield Line2D([], [], label=style.label, **look)
    if (rows["verdict"] == "fail").any():
        cross: Any = {"marker": "X", "markersize": 8, "markerfacecolor": GROUND, "markeredgecolor": INK}
        yield Line2D([], [], linestyle="none", label="fail", **cross)
    if rows["score"].isna().any():
        yield Line2D([], [], linestyle="none", marker="$?$", color=INK, label="not measured")
    if rows.loc[rows["about"] == "criterion", "threshold"].notna().any():
        yield Line2D([], [], color=PALE, linewidth=0.7, label="threshold")
    yield from _handles_of_decisions(decisions, rows)


def _handles_of_decisions(decisions: DataFrame | None, rows: DataFrame) -> Iterator[Artist]:
    if decisions is None:
        return
    if (decisions["action"] == "pivot").any():
        yield Line2D([], [], color=PALE, linewidth=1.2, linestyle=":", label="pivot (else refined)")
    tried_again = rows.loc[rows["about"] == "overall"].groupby("step")["attempt"].count().gt(1).any()
    if tried_again and (noise := noise_of(decisions)) is not None:
        yield Patch(label=f"no trend: noise {noise:g}", **BAND)
