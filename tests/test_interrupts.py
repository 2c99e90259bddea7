from __future__ import annotations

import os
import signal
import threading

import pytest

from pge_nb.errors import Stopped
from pge_nb.interrupts import held_back


def test_a_ctrl_c_is_raised_when_the_block_is_done_and_not_before() -> None:
    done = []
    with pytest.raises(Stopped), held_back():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("all of it")
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_the_block_comes_first() -> None:
    with pytest.raises(ValueError, match="mine"), held_back():
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError("mine")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_in_another_thread_it_does_nothing() -> None:
    done = []

    def work() -> None:
        with held_back():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def test_a_stop_says_in_words_what_it_is() -> None:
    """A front end that shows no traceback of its own shows the error's text."""
    words = str(Stopped())
    assert words.split("\n") == Stopped()._render_traceback_()
    assert "%pge resume" in words
