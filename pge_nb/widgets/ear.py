"""Hearing a widget while a cell runs.

What a person does with a widget is a message on the kernel's shell channel, and the kernel takes the next message from there
only when the cell has ended: a stop button that waits for it is none. So the channel is looked at on its way in. What is for
our own widgets is taken from it; every other message goes on to the kernel as it came, in the order in which it came, and
nothing is run before its turn.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol

Message = tuple[str, Mapping[str, Any]]
"""The id of a comm, and the ``data`` of a message to it."""

LONGEST = 5.0
ONE = threading.Lock()
"""There is one channel, and one who looks at it."""


class Ear(Protocol):
    """Hears what is sent to the comms in ``own``, until it is closed. Nobody else gets that."""

    own: set[str]

    def wait(self, seconds: float) -> list[Message]:
        """What came by the end of that time, or as soon as something did; from one thread alone."""

    def close(self) -> None:
        """Stop listening. For the thread that opened it, when nobody waits."""


def listening(kernel: Any) -> Ear | None:
    """An ear; None where this kernel has no place for one, or another is open."""
    usual = getattr(getattr(kernel, "shell_stream", None), "_recv_callback", None)
    if usual is None or threading.current_thread() is not threading.main_thread() or not ONE.acquire(blocking=False):
        return None
    return AtTheDoor(kernel) if getattr(kernel, "shell_channel_thread", None) is None else OnTheWay(kernel)


class OnTheWay:
    """ipykernel 7 and later: a thread of the kernel's reads the channel while a cell runs; what it reads is looked at."""

    def __init__(self, kernel: Any) -> None:
        self.own: set[str] = set()
        self._kernel = kernel
        self._usual = kernel.shell_stream._recv_callback
        self._heard: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._set(self._look)

    def wait(self, seconds: float) -> list[Message]:
        """The first that comes in that time."""
        try:
            return [self._heard.get(timeout=seconds)]
        except queue.Empty:
            return []

    def close(self) -> None:
        """Let the kernel read alone again."""
        self._set(self._usual)
        ONE.release()

    def _look(self, frames: list[Any]) -> Any:
        message = to_comm(self._kernel.session, frames)
        if message is None or message[0] not in self.own:
            return self._usual(frames)
        self._heard.put(message)
        return None

    def _set(self, callback: Any) -> None:
        stream, done = self._kernel.shell_stream, threading.Event()

        def put() -> None:
            stream.on_recv(callback, copy=False)
            done.set()

        stream.io_loop.add_callback(put)  # in the thread that reads there
        done.wait(LONGEST)  # else the next ear would take this one for the kernel's own


class AtTheDoor:
    """ipykernel 6: the thread that runs the cell reads the channel, so nobody does meanwhile. We do, and hand on what came."""

    def __init__(self, kernel: Any) -> None:
        self.own: set[str] = set()
        self._kernel = kernel
        self._came: list[list[Any]] = []
        self._lock = threading.Lock()

    def wait(self, seconds: float) -> list[Message]:
        """All that came by when the first did."""
        ends = time.monotonic() + seconds
        with self._lock:
            while (left := ends - time.monotonic()) > 0:
                if self._kernel.shell_stream.socket.poll(max(1, int(left * 1000))) and (heard := self._take_all()):
                    return heard
        return []

    def close(self) -> None:
        """Hand all that came to the kernel, in its order: it stands before whatever comes from now on."""
        with self._lock:
            self._take_all()
            stream = self._kernel.shell_stream
            for frames in self._came:
                stream._run_callback(stream._recv_callback, frames)
            self._came.clear()
        ONE.release()

    def _take_all(self) -> list[Message]:
        # All of it: the socket tells of new messages once, and it may be us who were told instead of the kernel's loop.
        heard: list[Message] = []
        socket = self._kernel.shell_stream.socket
        while socket.poll(0):
            frames = socket.recv_multipart(copy=False)
            message = to_comm(self._kernel.session, frames)
            if message is None or message[0] not in self.own:
                self._came.append(frames)
            else:
                heard.append(message)
        return heard


def to_comm(session: Any, frames: list[Any]) -> Message | None:
    """The message where it is one to a comm. It is only looked at, and can still be read by the kernel."""
    try:
        _, parts = session.feed_identities(frames, copy=False)
        message = session.deserialize(parts, content=False, copy=False)
        if message["header"]["msg_type"] != "comm_msg":
            return None
        content = session.unpack(message["content"])
        return str(content["comm_id"]), content.get("data") or {}
    except Exception:  # one that cannot be read is the kernel's to complain of
        return None
