"""The trajectory as a picture."""

from __future__ import annotations

import gc
import io
import itertools
import math
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image, ImageColor
from sample_runs import attempt, hostile_run, long_run, opening, plan, report, sample_run, sections, tried

from pge_nb import charts, frames
from pge_nb.charts import style
from pge_nb.errors import BadInput
from pge_nb.records import Criterion
from pge_nb.run import Run
from pge_nb.step_looks import CARD
from pge_nb.views.alt import alt_text


def drawn(run: Run) -> Figure:
    return charts.trajectory_chart(frames.trajectory(run), frames.decisions(run))


def words(figure: Figure) -> list[str]:
    texts = [text.get_text() for axes in figure.axes for text in (*axes.texts, *axes.get_xticklabels())]
    return [*texts, *(text.get_text() for legend in figure.legends for text in legend.get_texts())]


@pytest.mark.parametrize(
    "run", [Run(), sample_run(), hostile_run(), long_run(7, 12)], ids=["empty", "sample", "hostile", "long"]
)
def test_every_run_can_be_drawn_with_an_opaque_ground_800_pixels_wide_or_more(run: Run) -> None:
    picture = Image.open(io.BytesIO(charts.png(drawn(run))))
    assert picture.width >= 800
    assert "transparency" not in picture.info
    assert picture.convert("RGB").getpixel((0, 0)) == ImageColor.getrgb(CARD)


def test_the_same_run_gives_the_same_bytes() -> None:
    assert charts.png(drawn(sample_run())) == charts.png(drawn(sample_run()))


def test_every_colour_of_a_series_is_in_the_picture_as_it_is() -> None:
    many = tuple(Criterion(name=f"criterion {i}", description="") for i in range(len(charts.COLOURS)))
    findings = report(1, (9.0, 8.0, 7.5, 7.0, 6.0, 5.0), criteria=many)
    run = Run(sections([*opening(the_plan=plan(criteria=many)), *tried(1, 1, attempt(1, "first"), findings)]))
    picture = Image.open(io.BytesIO(charts.png(drawn(run)))).convert("RGB")
    counts = {colour: count for count, colour in picture.getcolors(100_000)}
    for colour in (*charts.COLOURS, charts.INK, charts.PALE):
        assert counts[ImageColor.getrgb(colour)] > 20, colour


def test_a_fail_is_a_hollow_cross_a_pass_a_filled_mark_and_both_are_words_too() -> None:
    first = drawn(sample_run()).axes[0]
    points = [line for line in first.lines if len(line.get_xdata()) == 1 and line.get_marker() != "None"]
    crosses = [line for line in points if line.get_marker() == "X"]
    frame = frames.trajectory(sample_run())
    assert len(crosses) == int(((frame["step"] == 1) & (frame["verdict"] == "fail")).sum())
    assert {line.get_markerfacecolor() for line in crosses} == {charts.GROUND}
    assert all(line.get_markerfacecolor() == line.get_markeredgecolor() for line in points if line not in crosses)
    assert [label.get_text() for label in first.get_xticklabels()] == ["1\nfail", "2\nfail", "3\nfail", "4\npass"]


def test_decisions_and_thresholds_stand_in_words_and_numbers() -> None:
    said = words(drawn(sample_run()))
    assert {"refine", "pivot", "accepted", "7", "6"} <= set(said)
    assert "kept" in words(drawn(long_run(3, 3)))


def series_run(count: int) -> Run:
    """A run whose attempts have so many criteria, all of the same scores."""
    many = tuple(Criterion(name=f"criterion {number}", description="") for number in range(count))
    judged = [report(number, (5.0 + number,) * count, criteria=many) for number in (1, 2)]
    made = [tried(1, number, attempt(number, "first"), one) for number, one in enumerate(judged, 1)]
    return Run(sections([*opening(the_plan=plan(criteria=many)), *made[0], *made[1]]))


def grey_swatches(figure: Figure) -> list[np.ndarray]:
    """The line of each series in the legend as it is drawn, in the greys of its pixels: 0 the ground, 1 black."""
    figure.canvas.draw()
    drawn = Image.open(io.BytesIO(charts.png(figure, dpi=figure.dpi))).convert("L")
    greys = 1 - np.asarray(drawn, dtype=float) / drawn.getpixel((0, 0))
    swatches = []
    for handle in figure.legends[0].legend_handles:
        box = handle.get_window_extent()  # type: ignore[union-attr]
        middle, left = drawn.height - (box.y0 + box.y1) / 2, round(box.x0)
        swatches.append(greys[round(middle) - 8 : round(middle) + 8, left - 4 : left + 40])
    return swatches


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """How much of the ink of two drawings is not where the other has it: 0 for the same, 1 for nothing in common."""
    return float(np.abs(one - other).sum() / np.maximum(one, other).sum())


def test_every_series_can_be_told_apart_in_grey() -> None:
    run = series_run(6)
    swatches = grey_swatches(drawn(run))[:8]  # overall, six criteria, checks
    assert all(swatch.sum() > 20 for swatch in swatches)
    closest = min(apart(one, other) for one, other in itertools.combinations(swatches, 2))
    assert closest > 0.25


def test_drawings_that_differ_in_hue_alone_are_not_told_apart_in_grey(monkeypatch: pytest.MonkeyPatch) -> None:
    # That the measure above can fail: blue and green of one dash and marker have nearly the same grey.
    monkeypatch.setattr(style, "COLOURS", ("#0072B2", "#4B6B4B"))
    monkeypatch.setattr(style, "DASHES", ("--", "--"))
    monkeypatch.setattr(style, "MARKERS", ("s", "s"))
    blue, green = grey_swatches(drawn(series_run(2)))[1:3]
    assert apart(blue, green) < 0.25


def test_more_series_than_colours_differ_in_dash() -> None:
    styles = charts.series_styles(frames.trajectory(series_run(14)))
    looks = [(style.colour, str(style.dash), style.marker) for style in styles.values()]
    assert len(set(looks)) == len(looks) == 16


def test_every_word_in_a_chart_has_a_contrast_that_reading_takes() -> None:
    run = sample_run()
    for figure in (drawn(run), charts.plan_chart(frames.plan(run)), drawn(long_run(12, 3))):
        colours = {to_hex(text.get_color()) for text in figure.findobj(Text) if text.get_text()}
        assert colours
        assert all(contrast(colour, ground) >= 4.5 for colour in colours for ground in (charts.GROUND, CARD))


def test_every_colour_stands_out_from_the_ground() -> None:
    # 2.2 to 1 is the least of the Okabe-Ito colours that are used; dash and marker carry what colour does not.
    for colour in (*charts.COLOURS, charts.PALE):
        assert contrast(colour, charts.GROUND) > 2.1
    assert contrast(charts.INK, charts.GROUND) > 15


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


@pytest.fixture
def latin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no font but for Latin."""
    monkeypatch.setattr(style, "_glyphs", lambda: frozenset(range(32, 127)))


@pytest.mark.usefixtures("latin")
def test_names_that_no_font_can_draw_become_their_places_and_the_alt_text_has_them() -> None:
    run = hostile_run()
    assert {"criterion 1", "criterion 2"} <= set(words(drawn(run)))
    assert "正确性 4 against 7 fail" in alt_text(frames.trajectory(run), frames.decisions(run))


def test_mathematics_in_a_name_is_only_letters() -> None:
    frame = frames.trajectory(sample_run())
    frame.loc[frame["on"] == "clarity", "on"] = r"$\frac{1$ _x^"
    assert charts.png(charts.trajectory_chart(frame))


def test_the_alt_text_is_the_numbers() -> None:
    run = sample_run()
    alt = alt_text(frames.trajectory(run), frames.decisions(run))
    assert "Step 1 attempt 1: fail, overall 4.9; correctness 4 against 7 fail, clarity 7.5 against 6 pass" in alt
    assert alt.endswith("then accepted.")


def test_nothing_global_is_touched_and_no_figure_is_left_open() -> None:
    before = dict(mpl.rcParams)
    for _ in range(5):
        charts.png(drawn(sample_run()))
    assert dict(mpl.rcParams) == before
    gc.collect()
    assert sum(isinstance(one, Figure) for one in gc.get_objects()) == 0


def test_pyplot_is_never_imported() -> None:
    code = "import sys, pge_nb.charts; print('matplotlib.pyplot' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(charts.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "False\n"


def test_a_persons_own_style_does_not_change_the_chart() -> None:
    plain = charts.png(drawn(sample_run()))
    with mpl.rc_context({"text.color": "white", "axes.facecolor": "black", "axes.grid": True, "font.size": 30}):
        assert charts.png(drawn(sample_run())) == plain


def test_steps_are_small_multiples_with_one_scale() -> None:
    figure = drawn(long_run(5, 3))
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == 5
    assert all(one.get_ylim() == other.get_ylim() for one, other in itertools.pairwise(panels))


def test_many_steps_are_small_panels_whose_end_stands_in_their_titles() -> None:
    run = long_run(30, 4)
    figure = charts.trajectory_chart(frames.trajectory(run), frames.decisions(run), frames.cost(run))
    said = words(figure)
    assert {"Step 1: accepted", "Step 30: kept", "12k tokens"} <= set(said)
    assert figure.get_figwidth() == charts.WIDTH
    assert figure.get_figheight() < 20
    assert len(charts.png(figure)) < 150_000


def test_panels_stand_in_the_order_of_their_steps() -> None:
    frame = frames.trajectory(long_run(5, 3)).sort_values("attempt", kind="stable").iloc[::-1]
    titles = [word for word in words(charts.trajectory_chart(frame)) if word.startswith("Step ")]
    assert titles == [f"Step {number}" for number in range(1, 6)]


def test_the_second_grade_of_a_kept_attempt_is_marked_and_told() -> None:
    run = long_run(2, 3)
    plan = frames.plan(run).assign(accepted=[2, None], score=[6.5, None], gate_score=[7.0, None])
    figure = charts.trajectory_chart(frames.trajectory(run), plan=plan)
    diamonds = [
        line for axes in figure.axes for line in axes.lines if line.get_marker() == "D" and line.get_zorder() == 4
    ]
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in diamonds] == [([2.2], [6.5])]
    assert diamonds[0].axes is figure.axes[0]
    assert "kept, graded again" in words(figure)
    assert alt_text(frames.trajectory(run), plan=plan).endswith("Step 1 attempt 2 was kept, and graded again: 6.5.")
    same = charts.trajectory_chart(frames.trajectory(run), plan=plan.assign(score=[7.0, None]))
    assert "kept, graded again" not in words(same)


# Noise, cost and terms


def test_the_noise_shades_what_is_no_trend_and_begins_anew_with_a_pivot() -> None:
    first = drawn(sample_run()).axes[0]
    bands = [band.get_paths()[0].get_extents() for band in first.collections]
    # Attempt 2 against attempt 1 (4.875), then after the pivot attempt 4 against attempt 3 (7.75).
    assert [(round(band.y0, 3), round(band.y1, 3)) for band in bands] == [(4.375, 5.375), (7.25, 8.25)]
    assert [round((band.x0 + band.x1) / 2) for band in bands] == [2, 4]
    assert "no trend: noise 0.5" in words(drawn(sample_run()))
    assert not charts.trajectory_chart(frames.trajectory(sample_run())).axes[0].collections


def test_decisions_after_one_attempt_stand_in_one_line() -> None:
    made = frames.decisions(sample_run())
    asked = made[made["action"] == "accept"].assign(action="ask")
    made = pd.concat([made.replace({"action": {"accept": "replan"}}), asked])
    assert "replan, ask" in words(charts.trajectory_chart(frames.trajectory(sample_run()), made))


def test_the_cost_of_each_attempt_stands_below_it_on_one_scale() -> None:
    run = sample_run()
    figure = charts.trajectory_chart(frames.trajectory(run), frames.decisions(run), frames.cost(run))
    strips = figure.axes[2:]
    heights = [[bar.get_height() for bar in strip.patches] for strip in strips]
    assert heights == [[3102, 4656, 3106, 3108], [3102]]
    assert strips[0].get_ylim() == strips[1].get_ylim()
    assert {"3,102", "4,656"} <= set(words(figure))
    assert [strip.get_ylabel() for strip in strips] == ["tokens", "tokens"]


def test_cost_is_in_dollars_where_every_price_is_known() -> None:
    cost = frames.cost(sample_run())
    cost["dollars"] = 0.25
    figure = charts.trajectory_chart(frames.trajectory(sample_run()), cost=cost)
    assert "$0.50" in words(figure)
    assert figure.axes[-1].get_ylabel() == "dollars"


def test_attempts_under_different_contracts_are_not_joined() -> None:
    frame = frames.trajectory(sample_run())
    frame.loc[(frame["step"] == 1) & (frame["attempt"] > 2), "contract"] = 2
    first = charts.trajectory_chart(frame).axes[0]
    lines = [list(map(round, line.get_xdata())) for line in first.lines if len(line.get_xdata()) > 1]
    assert [1, 2] in lines
    assert [3, 4] in lines
    assert [1, 2, 3, 4] not in lines
    assert "new contract" in words(charts.trajectory_chart(frame))


# In a paper


@pytest.mark.parametrize(
    "run", [Run(), sample_run(), hostile_run(), long_run(3, 8)], ids=["none", "two", "one", "three"]
)
@pytest.mark.parametrize(("width", "points"), [("column", 241.2), ("page", 504), (5.5, 396)])
def test_a_figure_is_saved_as_wide_as_it_is_asked_for_with_its_fonts_in_it(
    run: Run, width: charts.Width, points: float, tmp_path: Path
) -> None:
    figure = charts.trajectory_chart(frames.trajectory(run), frames.decisions(run), width=width)
    content = charts.save(figure, tmp_path / "a.pdf", width).read_bytes()
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ", content)
    assert box is not None
    assert float(box[1]) == pytest.approx(points)
    assert b"/FontFile2" in content  # TrueType, that is type 42
    assert b"/Type3" not in content


def test_the_same_run_gives_the_same_pdf_and_a_figure_is_left_as_it_was() -> None:
    figure = drawn(sample_run())
    size = tuple(figure.get_size_inches())
    sizes = [text.get_fontsize() for text in figure.findobj(Text)]
    assert charts.pdf(figure) == charts.pdf(drawn(sample_run()))
    assert [text.get_fontsize() for text in figure.findobj(Text)] == pytest.approx(sizes)
    assert tuple(figure.get_size_inches()) == size


@pytest.mark.parametrize("width", ["column", "page"])
def test_letters_in_a_paper_can_be_read_and_nothing_is_outside_of_the_figure(width: charts.Width) -> None:
    figure = charts.trajectory_chart(frames.trajectory(sample_run()), frames.decisions(sample_run()), width=width)
    figure.draw_without_rendering()
    shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert min(text.get_fontsize() for text in shown) >= 6
    for text in shown:
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0, text
        assert box.x1 <= figure.bbox.x1 + 1, text


def test_a_figure_that_was_drawn_wider_is_made_smaller_as_a_whole() -> None:
    wide = drawn(sample_run())
    assert wide.get_figwidth() == charts.WIDTH
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) ", charts.pdf(wide, "column"))
    assert box is not None
    assert float(box[1]) / float(box[2]) == pytest.approx(wide.get_figwidth() / wide.get_figheight(), abs=0.01)


def test_in_a_column_the_panels_stand_one_below_the_other() -> None:
    figure = charts.trajectory_chart(frames.trajectory(long_run(3, 8)), width="column")
    assert len({round(axes.get_subplotspec().colspan.start) for axes in figure.axes}) == 1
    assert len(figure.axes[0].get_xticklabels()) <= charts.MANY_IN_A_COLUMN


@pytest.mark.parametrize("width", ["wide", 0, math.nan, 1e9, -3.35])
def test_what_is_no_width_is_told(width: charts.Width) -> None:
    with pytest.raises(BadInput, match="no width of a figure"):
        charts.pdf(drawn(Run()), width)


@pytest.mark.parametrize(
    "name", ["正确性", "الوضوح", "🚀 speed", "a\u0301\u20dd\U0001f9ff", "tab\tand\nline", "\x1b[31m", "\ud800"]
)
def test_no_glyph_is_ever_missing_in_a_picture_or_a_pdf(name: str, caplog: pytest.LogCaptureFixture) -> None:
    frame = frames.trajectory(sample_run())
    frame["on"] = frame["on"].astype("object").replace({"clarity": name})
    figure = charts.trajectory_chart(frame)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        charts.png(figure)
        charts.pdf(figure)
    assert [str(one.message) for one in told] == []
    assert caplog.messages == []
    label = "tab and line" if name.startswith("tab") else name if charts.drawable(name) else "criterion 2"
    assert label in words(figure)
