"""The plan as a picture: where its steps stand, and what the lines between them pass."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text
from PIL import Image, ImageColor
from sample_runs import hostile_run, long_run, replanned_run, sample_run
from test_charts import contrast

from pge_nb import charts, frames
from pge_nb.charts import layers, plan
from pge_nb.charts.layers import IN_A_ROW, WIDE, Layout, layout
from pge_nb.run import Ended, Open, Run
from pge_nb.step_looks import CARD, STEP_LOOKS

Needs = Mapping[int, list[int]]
CHAIN = {step: [step - 1] if step > 1 else [] for step in range(1, 41)}
FAN = {1: [], **{step: [1] for step in range(2, 30)}, 30: list(range(2, 30))}
DIAMOND = {1: [], 2: [1], 3: [1], 4: [2, 3]}


@st.composite
def graphs(draw: st.DrawFn) -> dict[int, list[int]]:
    """Plans of 1 to 40 steps, each of which needs some of those before it."""
    count = draw(st.integers(1, 40))
    most = draw(st.integers(0, 4))
    return {
        step: draw(st.lists(st.integers(1, step - 1), max_size=most, unique=True)) if step > 1 else []
        for step in range(1, count + 1)
    }


def covered(laid: Layout) -> set[tuple[int, int]]:
    """Which step needs which, as the lines tell it: one at a frame is of every step in it."""
    framed = {frame.steps[0]: frame.steps for frame in laid.frames}
    return {
        pair
        for line in laid.lines
        for pair in itertools.product(framed.get(line.start, (line.start,)), framed.get(line.end, (line.end,)))
    }


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_each_step_has_a_place_of_its_own_behind_what_it_needs(needs: Needs) -> None:
    laid = layout(needs)
    assert set(laid.places) == set(needs)
    assert len(set(laid.places.values())) == len(needs)
    for step, mine in needs.items():
        for other in mine:
            before, behind = laid.places[other], laid.places[step]
            assert (
                (before.row, before.across) < (behind.row, behind.across)
                if before.row == behind.row
                else before.row < behind.row
            )
    rows = [sorted(place.across for place in laid.places.values() if place.row == row) for row in range(laid.rows)]
    assert all(0 < len(row) <= IN_A_ROW for row in rows)
    assert all(right - left >= 1 for row in rows for left, right in itertools.pairwise(row))


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_the_lines_are_the_needs_that_do_not_follow_from_others(needs: Needs) -> None:
    told = layers.without_implied(needs)
    assert covered(layout(needs)) == {(other, step) for step, mine in told.items() for other in mine}
    for step in needs:  # nothing that is needed is lost
        assert layers.ancestors(told, step) == layers.ancestors(needs, step)


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_no_line_passes_through_a_box(needs: Needs) -> None:
    laid = layout(needs)
    for line in laid.lines:
        if line.beside:
            assert abs(laid.places[line.start].across - laid.places[line.end].across) == 1
        for row, across in enumerate(line.passes, line.leaves.row + 1):
            boxes = [place.across for place in laid.places.values() if place.row == row]
            assert all(abs(across - box) > WIDE / 2 for box in boxes)
        ways = set(enumerate(line.passes, line.leaves.row + 1))
        others = [one for one in laid.lines if one != line]
        assert not ways & {way for one in others for way in enumerate(one.passes, one.leaves.row + 1)}


@settings(max_examples=20, deadline=None)
@given(graphs())
def test_lines_that_pass_a_row_in_one_gap_can_be_told_apart(needs: Needs) -> None:
    laid = layout(needs)
    for row in range(laid.rows):
        passing = sorted(
            line.passes[row - line.leaves.row - 1] for line in laid.lines if line.leaves.row < row < line.arrives.row
        )
        least = 0.12 / max(1, len(passing) - 1)
        assert all(right - left >= min(0.04, least) - 1e-9 for left, right in itertools.pairwise(passing))


def test_a_chain_runs_from_left_to_right_and_goes_on_below() -> None:
    laid = layout(CHAIN)
    assert laid.rows == 10
    assert [laid.places[step].across for step in (1, 2, 3, 4, 5)] == [-1.5, -0.5, 0.5, 1.5, -1.5]
    assert sum(line.beside for line in laid.lines) == 30


def test_many_steps_with_the_same_needs_and_dependents_share_a_frame_and_its_lines() -> None:
    laid = layout(FAN)
    [frame] = laid.frames
    assert frame.steps == tuple(range(2, 30))
    assert (frame.first, frame.last, frame.columns) == (1, 7, 4)
    assert len(laid.lines) == 2
    assert layout(DIAMOND).frames == ()


def test_an_order_in_which_fewer_lines_cross_is_taken_and_else_that_of_the_numbers() -> None:
    crossed = layout({1: [], 2: [], 3: [2], 4: [1]})
    assert crossed.places[4].across < crossed.places[3].across
    straight = layout(DIAMOND)
    assert straight.places[2].across < straight.places[3].across


def test_a_circle_and_a_need_of_a_step_that_is_not_there_are_drawn_as_far_as_they_can_be() -> None:
    laid = layout({1: [3, 9], 2: [1], 3: [2, 3]})
    assert len(laid.places) == 3
    assert covered(laid) < {(3, 1), (1, 2), (2, 3)}


def test_no_step_is_no_row() -> None:
    assert layout({}) == Layout(places={}, frames=(), lines=(), rows=0, columns=0)


# Drawn


def frame(
    needs: Needs, state: str = "accepted", description: str = "Read the table, and write a line a month"
) -> pd.DataFrame:
    rows = [(step, ", ".join(map(str, mine)), state, description, None) for step, mine in needs.items()]
    return pd.DataFrame(rows, columns=["step", "depends_on", "state", "description", "replaced_by"])


@pytest.mark.parametrize("plan_of", [Run(), sample_run(), hostile_run(), long_run(40, 1), replanned_run()])
def test_every_plan_can_be_drawn_with_an_opaque_ground_800_pixels_wide_or_more(plan_of: Run) -> None:
    drawn = charts.png(charts.plan_chart(frames.plan(plan_of)))
    assert drawn == charts.png(charts.plan_chart(frames.plan(plan_of)))
    picture = Image.open(io.BytesIO(drawn))
    assert picture.width >= 800
    assert "transparency" not in picture.info
    assert picture.convert("RGB").getpixel((0, 0)) == ImageColor.getrgb(CARD)
    assert len(drawn) < 120_000


def test_every_state_of_a_step_has_a_look_of_its_own_in_word_and_shape() -> None:
    states = {*Open.__args__, *Ended.__args__}
    assert set(plan.LOOKS) == states
    looks = [(str(look.dash), look.marker, state in plan.FILLED) for state, look in plan.LOOKS.items()]
    assert len(set(looks)) == len(looks)
    assert len({look.sign for look in STEP_LOOKS.values()}) == len({look.ground for look in STEP_LOOKS.values()}) == 11
    for state in states:
        figure = charts.plan_chart(frame({1: []}, state))
        assert f"1  {state}" in [text.get_text() for text in figure.findobj(Text)]


@pytest.mark.parametrize("needs", [CHAIN, FAN, DIAMOND, {1: []}], ids=["chain", "fan", "diamond", "one"])
def test_words_stay_in_their_boxes_and_can_be_read(needs: Needs) -> None:
    figure = charts.plan_chart(frame(needs, description="Wide words: WWWWWW MMMMMM, and then some more of them " * 3))
    figure.draw_without_rendering()
    boxes = [patch.get_window_extent() for patch in figure.axes[0].patches if patch.get_zorder() == 3]
    for text in figure.findobj(Text):
        if text.get_text():
            extent = text.get_window_extent()
            assert any(
                box.x0 <= extent.x0 and extent.x1 <= box.x1 and box.y0 <= extent.y0 and extent.y1 <= box.y1
                for box in boxes
            )
            assert text.get_fontsize() >= 8
    assert len(boxes) == len(needs)


def test_words_are_cut_between_two_and_their_end_is_told() -> None:
    said = plan.fitting("Read the table of sales, and write one line of its summary by region and by month", 1.5)
    assert len(said) == 2
    assert said[0] == "Read the table of sales,"
    assert said[-1].endswith("…")
    assert plan.fitting("short", 1.5) == ["short"]
    assert plan.fitting("الوضوح", 1.5) == []
    assert len(plan.fitting("x" * 500, 1.5)) == 2


def test_what_no_font_can_draw_is_left_to_the_table_beside() -> None:
    figure = charts.plan_chart(frame({1: []}, description="الوضوح"))
    assert "(see the table)" in [text.get_text() for text in figure.findobj(Text)]


def test_a_broken_line_leads_to_what_took_a_steps_place() -> None:
    figure = charts.plan_chart(frames.plan(replanned_run()))
    dashes = [line.get_linestyle() for line in figure.axes[0].lines if line.get_linestyle() not in {"None", ""}]
    assert dashes.count("--") == 1


def test_words_stand_out_from_the_tint_of_every_state() -> None:
    for look in plan.LOOKS.values():
        tint = "#" + "".join(f"{round(255 * part):02x}" for part in plan._blend(look.colour, plan.TINT))
        assert contrast(charts.INK, tint) > 10
