"""Units of work side by side: what each came to, as it comes; a limit ends all, an error only its own unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

from ..errors import LimitReached, PgeError
from ..models import CallStopped

U = TypeVar("U")
T = TypeVar("T")


def carried_out(
    units: Sequence[U], make: Callable[[U], T], *, parallel: int, ended: Event
) -> Iterator[tuple[U, T | PgeError]]:
    """Each unit and what it came to, or the error that it ended in, in the order in which they end.

    ``ended`` is set where a limit is reached, a call was stopped, or the caller breaks off: what is under way then ends at its
    next call, and no further unit begins.
    """
    queue = iter(units)
    running: dict[Future[T], U] = {}
    with ThreadPoolExecutor(max_workers=max(1, parallel)) as pool:
        try:
            while True:
                while not ended.is_set() and len(running) < max(1, parallel):
                    unit = next(queue, None)
                    if unit is None:
                        break
                    running[pool.submit(make, unit)] = unit
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    unit = running.pop(future)
                    try:
                        yield unit, future.result()
                    except PgeError as error:
                        if isinstance(error, LimitReached | CallStopped):
                            ended.set()
                        yield unit, error
        finally:
            ended.set()
