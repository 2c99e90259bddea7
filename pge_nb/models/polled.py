"""Reading a stream that can be stopped at any moment."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

from . import Stop

POLL_SECONDS = 0.1
T = TypeVar("T")


class StopAsked(Exception):
    """``stop()`` said so."""


def polled(events: Generator[T, None, None], stop: Stop | None, hang_up: Callable[[], None]) -> Iterator[T]:
    """The events. With ``stop``, they are read in a thread, so that it is asked however long the next one takes.

    Whoever goes before the end hangs up, so that nothing more is written (and billed) for nobody.
    """
    if stop is None:
        yield from events
        return
    arrived: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()
    left = threading.Event()
    threading.Thread(target=pump, args=(events, arrived, left), daemon=True).start()
    try:
        while True:
            if stop():
                raise StopAsked
            try:
                event, error = arrived.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if error is not None:
                raise error
            if event is None:
                return
            yield event
    finally:
        left.set()
        hang_up()


def hang_up(opened: list[Any]) -> None:
    """End the connection of a stream that another thread may be reading, which then sees its end."""
    for stream in opened:
        network = stream.response.extensions.get("network_stream")
        connection = network.get_extra_info("socket") if network is not None else None
        if connection is not None:
            with contextlib.suppress(OSError):  # It is closed already.
                connection.shutdown(socket.SHUT_RDWR)


def pump(
    events: Generator[T, None, None],
    arrived: queue.SimpleQueue[tuple[T | None, Exception | None]],
    left: threading.Event,
) -> None:
    """Hand on the events until the end or until nobody wants them; then None, or the error."""
    try:
        for event in events:
            arrived.put((event, None))
            if left.is_set():
                break
        arrived.put((None, None))
    except Exception as error:
        arrived.put((None, error))
    finally:
        events.close()
