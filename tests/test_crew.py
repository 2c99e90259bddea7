from __future__ import annotations

import contextvars
import threading
import time

import pytest

from pge_nb.crew import Crew
from pge_nb.errors import Stopped
from pge_nb.interrupts import Cut, look_up, may_be_cut

CELL: contextvars.ContextVar[str] = contextvars.ContextVar("cell", default="none")


def test_what_is_done_comes_back_as_it_ends_and_an_error_as_what_it_was() -> None:
    crew: Crew[str, int] = Crew()

    def fail() -> int:
        raise Stopped

    crew.send("slow", lambda: time.sleep(0.2) or 1)
    crew.send("bad", fail)
    first, second = crew.next(5), crew.next(5)
    assert first is not None
    assert second is not None
    assert (first.of, first.value, type(first.error)) == ("bad", None, Stopped)
    assert (second.of, second.value, second.error) == ("slow", 1, None)
    assert crew.under_way == {}
    assert crew.next(0) is None


def test_work_is_carried_out_in_a_copy_of_the_context_that_sent_it() -> None:
    """What is printed there goes to the cell that sent it, whichever cell runs by then."""
    crew: Crew[str, str] = Crew()
    go = threading.Event()

    def work() -> str:
        assert go.wait(5)
        return CELL.get()

    CELL.set("first")
    crew.send("one", work)
    CELL.set("second")
    go.set()
    came = crew.next(5)
    assert came is not None
    assert came.value == "first"


def test_who_does_not_end_in_time_is_left_and_what_it_brings_is_never_taken() -> None:
    crew: Crew[str, str] = Crew()
    stay = threading.Event()
    crew.send("stays", lambda: str(stay.wait(10)))
    crew.send("ends", lambda: "done")
    began = time.monotonic()
    assert [came.of for came in crew.rest(0.3)] == ["ends"]
    assert time.monotonic() - began < 2
    assert list(crew.under_way) == ["stays"]
    stay.set()


def test_only_what_runs_in_the_context_is_cut() -> None:
    look_up()
    with may_be_cut(lambda: True):
        with pytest.raises(Cut):
            look_up()
        threading.Thread(target=look_up).start()
    look_up()
    with may_be_cut(lambda: False):
        look_up()
