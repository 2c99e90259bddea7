"""Ctrl-C at a moment when it would leave something half made, and work in a thread that Ctrl-C does not reach."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from .errors import Stopped

ASKED: ContextVar[Callable[[], bool] | None] = ContextVar("asked", default=None)
"""Whether what is carried out in this context is to end; None: nobody can ask for that."""


class Cut(BaseException):
    """What was under way is ended. No `Exception`: what failed by itself is a fact about the work, and this is none."""


@contextlib.contextmanager
def may_be_cut(asked: Callable[[], bool]) -> Iterator[None]:
    """Inside the block, in this context alone, whoever waits for something asks `asked` whether to go on."""
    token = ASKED.set(asked)
    try:
        yield
    finally:
        ASKED.reset(token)


def look_up() -> None:
    """``Cut`` where what is carried out in this context is to end; for loops that wait."""
    asked = ASKED.get()
    if asked is not None and asked():
        raise Cut


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Hold a Ctrl-C back until the block is done, then raise it as `Stopped`.

    For imports: a package whose import was cut short stays half made for as long as the kernel lives. Only the main thread
    is interrupted, so in any other this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if pressed:
        raise Stopped
