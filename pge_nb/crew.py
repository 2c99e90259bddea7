"""Threads that each carry out one thing for the thread that sent them, and hand back what came of it."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Came(Generic[K, T]):
    """What came of one thing: its value, or the error that ended it."""

    of: K
    value: T | None = None
    error: BaseException | None = None


class Crew(Generic[K, T]):
    """Who is under way, and what has come back. Everything but the work itself happens in the thread that owns it."""

    def __init__(self) -> None:
        self.under_way: dict[K, threading.Thread] = {}
        self._cut = threading.Event()
        self._came: queue.SimpleQueue[Came[K, T]] = queue.SimpleQueue()

    def cut(self) -> None:
        """Ask all who are under way to end."""
        self._cut.set()

    def is_cut(self) -> bool:
        """Whether they were asked to."""
        return self._cut.is_set()

    def send(self, of: K, work: Callable[[], T]) -> None:
        """Carry this out in a thread, in a copy of the context of this one: what it prints goes where this one's does."""
        context = contextvars.copy_context()

        def carry_out() -> None:
            try:
                came: Came[K, T] = Came(of=of, value=context.run(work))
            except BaseException as error:
                came = Came(of=of, error=error)
            self._came.put(came)

        self.under_way[of] = threading.Thread(target=carry_out, name=f"pge_nb {of}", daemon=True)
        self.under_way[of].start()

    def next(self, seconds: float) -> Came[K, T] | None:
        """What comes back next, waited for at most so long; None where nothing does."""
        try:
            came = self._came.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None
        self.under_way.pop(came.of).join()
        return came

    def rest(self, seconds: float) -> list[Came[K, T]]:
        """All that still comes back within that time; who is later is left, and nobody takes what they bring."""
        until = time.monotonic() + seconds
        found: list[Came[K, T]] = []
        while self.under_way and (came := self.next(until - time.monotonic())) is not None:
            found.append(came)
        return found
