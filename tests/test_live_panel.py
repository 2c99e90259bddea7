"""The panel of a run: one, live, with a button that is heard while its cell runs; gone whole when the run has ended."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_end import VIEW, FrontEnd, front_end
from hand_runs import Hand
from sanitizer import read

from pge_nb import open_run
from pge_nb.widgets.board import LINES_SHOWN, STEPS_SHOWN, TAIL, Board, log, trouble

RUN = "%pge run {} --practice intervals --skill 1"
SLOW = """
import time
from pge_nb.models.practice import Practice
usual = Practice.reply

def reply(self, request, *, listen=None, stop=None):
    if listen: listen("Let me think. ")
    time.sleep({})
    return usual(self, request, listen=listen)

Practice.reply = reply
"""
COUNTED = """
import comm, threading
from ipywidgets.widgets import widget
kernel = get_ipython().kernel
print(len(widget._instances), len(comm.get_comm_manager().comms), threading.active_count(), kernel.shell_stream._recv_callback)
"""
BROKEN = """
from pge_nb.widgets import live
log = live.log
def broken(_): raise ValueError("no lines today")
live.log = broken
"""


@pytest.fixture(scope="module", params=["two threads"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """A kernel that reads in a thread of its own, and where a test is of `either`, one that does not too."""
    with front_end(tmp_path_factory.mktemp("kernel"), one_thread=request.param == "one thread") as opened:
        yield opened


either = pytest.mark.parametrize("page", ["two threads", "one thread"], indirect=True)


def directory_of(page: FrontEnd) -> Path:
    return Path(page.run("import os; print(os.getcwd())").text.strip())


@either
def test_one_panel_a_run_and_then_what_stands_by_itself(page: FrontEnd) -> None:
    ran = page.run(RUN.format("one"))
    [shown] = ran.of("display_data")
    assert VIEW in shown["data"]
    assert shown["data"]["text/html"] == f"<i>{shown['data']['text/plain']}</i>"
    [ended] = ran.of("update_display_data")
    assert ended["transient"] == shown["transient"], "in its place"
    assert set(ended["data"]) == {"text/plain", "text/html"}
    assert read(ended["data"]["text/html"]).stripped == []
    assert "sections were written" in ended["data"]["text/plain"]
    [view] = ran.of("execute_result")
    assert "passed" in view["data"]["text/plain"]
    assert len(ran.of("comm_open")) == len(ran.of("comm_close")) > 8
    last = [m["msg_type"] for m in ran.messages if m["msg_type"] in {"update_display_data", "comm_close"}]
    assert last[0] == "update_display_data", "a widget that goes before its view leaves an error on the page"


def test_a_run_that_is_done_is_shown_without_a_panel(page: FrontEnd) -> None:
    page.run(RUN.format("twice"))
    again = page.run(RUN.format("twice"))
    assert again.of("comm_open") == again.of("display_data") == []
    assert "nobody was asked" in again.of("execute_result")[0]["data"]["text/plain"]


def test_who_is_no_page_is_sent_no_widget(page: FrontEnd) -> None:
    ran = page.run(RUN.format("client"), cell=None)
    assert ran.of("comm_open") == []
    assert len(ran.of("display_data")) == 1


def test_no_widgets_is_told_in_text(page: FrontEnd) -> None:
    ran = page.run(f"{RUN.format('text')} --no-widgets")
    assert ran.of("comm_open") == []
    assert "sections were written" in ran.of("update_display_data")[-1]["data"]["text/plain"]


@either
def test_the_button_stops_a_run_between_two_calls(page: FrontEnd) -> None:
    page.run(SLOW.format(0.3))
    ran = page.run(RUN.format("between"), press_after=0.5)
    page.run("Practice.reply = usual")
    assert ran.seconds is not None
    assert ran.seconds < 2
    [error] = ran.of("error")
    assert error["traceback"][0].startswith("Interrupted; ")
    assert error["traceback"][1:] == ["Go on with %pge resume."]
    stands = ran.of("display_data")[-1]["data"]["text/plain"]
    assert "Stands" in stands
    assert "topped" in stands, "it does not say why it goes no further"
    run = open_run(directory_of(page) / "between")
    assert run.outcome in {"running", "stopped"}
    assert run.sections[-1].record.kind == "receipt", "it ended by itself"
    assert "passed" in page.run("%pge resume").of("execute_result")[0]["data"]["text/plain"]


@either
def test_the_button_stops_what_hears_of_nothing_and_cells_below_do_not_run(page: FrontEnd) -> None:
    page.run(SLOW.format(60))
    sent, below = page.send(RUN.format("deaf")), [page.send("print('queued at once')")]
    ran = page.result(sent, press_after=0.5, meanwhile=lambda: below.append(page.send("print('queued later')")))
    assert ran.seconds is not None
    assert ran.seconds < 2
    assert ran.of("error")[0]["traceback"][1:] == ["Go on with %pge resume."]
    assert [page.result(one).text for one in below] == ["", ""]
    page.run("Practice.reply = usual")
    assert open_run(directory_of(page) / "deaf").sections[-1].record.kind == "interruption"
    assert page.run("print('later')").text == "later\n"


@either
def test_what_was_sent_while_the_cell_ran_is_done_after_it_in_its_order(page: FrontEnd) -> None:
    page.run("import ipywidgets; slider = ipywidgets.IntSlider(value=1)")
    [slider] = page.named("IntSliderModel")
    page.run(SLOW.format(0.2))
    sent, queued = page.send(RUN.format("order")), [page.send("seen = [slider.value]")]

    def meanwhile() -> None:
        queued.append(page.send("seen.append(slider.value)"))
        page.tell(slider, {"method": "update", "state": {"value": 7}, "buffer_paths": []})
        queued.append(page.send("seen.append(slider.value); print(seen)"))

    assert page.result(sent, meanwhile=meanwhile).of("execute_result")
    assert [page.result(one).text for one in queued] == ["", "", "[1, 1, 7]\n"]
    page.run("Practice.reply = usual; slider.layout.close(); slider.style.close(); slider.close()")


@either
def test_fifty_runs_leave_no_widget_no_comm_and_no_thread(page: FrontEnd) -> None:
    page.run(RUN.format("first"))
    before = page.run(COUNTED).text
    # A limit ends each of them at once.
    loop = (
        "for n in range(50): get_ipython().run_line_magic('pge', f'run r{n} --practice intervals --max-tokens-total 1')"
    )
    ran = page.run(loop, within=120)
    assert len(ran.of("display_data")) == 50
    assert len(ran.of("comm_open")) == len(ran.of("comm_close")) >= 50 * 8
    assert page.run(COUNTED).text == before
    assert before.startswith("0 0 ")
    assert page.models == {}


def test_where_nothing_draws_widgets_text_takes_the_place(page: FrontEnd) -> None:
    page.run(f"{SLOW.format(0.3)}\nfrom pge_nb.widgets import live; live.SHOWS_WITHIN = 0.2")
    page.shows = False
    try:
        ran = page.run(RUN.format("blind"))
    finally:
        page.shows = True
        page.run("live.SHOWS_WITHIN = 6; Practice.reply = usual")
    kinds = [message["msg_type"] for message in ran.messages]
    assert kinds.index("comm_close") < len(kinds) - 1 - kinds[::-1].index("update_display_data")
    told = [content["data"]["text/plain"] for content in ran.of("update_display_data")]
    assert "now: " in told[0]
    assert "sections were written" in told[-1]


def test_what_goes_wrong_in_the_panel_is_told_and_the_run_goes_on(page: FrontEnd) -> None:
    page.run(BROKEN)
    ran = page.run(RUN.format("broken"))
    page.run("live.log = log")
    assert "ValueError: no lines today" in ran.of("update_display_data")[-1]["data"]["text/html"]
    assert "passed" in ran.of("execute_result")[0]["data"]["text/plain"]


def test_without_live_displays_there_is_none(tmp_path: Path) -> None:
    with front_end(tmp_path, live=False) as page:
        ran = page.run(RUN.format("quiet"))
    assert ran.of("comm_open") == ran.of("display_data") == []
    assert ran.of("execute_result")


# What it shows


def taken_in(hand: Hand, began: float = 0.0) -> Board:
    board = Board(began=began)
    board.take_in(hand.run, None, at=began)
    return board


def test_steps_that_are_worked_on_at_once_are_all_told_with_their_time() -> None:
    hand = Hand((), (), (1,), max_parallel=2)
    board = taken_in(hand)
    hand.contract(1)
    board.take_in(hand.run, hand.run.sections[-1], at=65.0)
    head = board.head(at=70.0)
    assert "<b>Step 1, attempt 1: generating</b>, 0:05" in head
    assert "<b>Step 2: proposing the contract</b>, 1:10" in head
    assert "0 of 3 steps done · 0 calls · 0 tokens · $0 · 1:10" in head
    assert re.sub("<[^>]*>", "", board.progress()) == "1 ↔ 2 ○ 3 ○1 ↔ negotiating 2 ○ waiting"


def test_what_agents_wrote_is_text_and_nothing_else() -> None:
    board = taken_in(Hand(()))
    bad = "<img src=x onerror=alert(1)>\"'\u202e"
    board.hear(bad)
    board.steps = [(1, bad, "working")]
    for drawn in (board.writing(), board.progress(), log([bad]), trouble([bad])):
        assert "<img" not in drawn
        assert "\u202e" not in drawn


def test_every_part_is_bounded() -> None:
    board = taken_in(Hand(*[()] * 500))
    board.hear("x" * 1_000_000)
    assert board.writing().count("x") < TAIL + 100
    assert board.progress().count("<span title") == STEPS_SHOWN
    assert log(["a line"] * 1_000).count("a line") == LINES_SHOWN
    assert len(trouble(["e" * 10_000] * 100)) < 2_000
    assert len(board.head(0.0)) < 3_000


def test_an_update_of_200_attempts_is_small_and_does_not_grow() -> None:
    path = Path(__file__).parents[1] / "benchmarks" / "live_panel.py"
    spec = importlib.util.spec_from_file_location("live_panel", path)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = benchmark
    spec.loader.exec_module(benchmark)
    few, many = benchmark.update(10), benchmark.update(200)
    assert many < benchmark.MOST_BYTES
    assert many <= few * benchmark.MOST_GROWTH
