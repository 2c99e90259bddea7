"""Ctrl-C at a moment when it would leave something half made."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from .errors import Stopped


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
