"""Units of work side by side: what each came to, as it comes; a limit ends all, an error only its own unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from itertools import islice
from threading import Event
from typing import TypeVar

from ..errors import LimitReached, PgeError
from ..models import CallStopped

U = TypeVar("U")
T = TypeVar("T")


class ExecutorLost(PgeError):
    """An executor that takes no more work, or lost what it had: a worker died with its pool, or the scheduler is gone."""


def carried_out(
    units: Iterable[U],
    make: Callable[[U], T],
    *,
    parallel: int,
    ended: Event,
    executor: Executor | None = None,
    fits: Callable[[U], bool] = lambda _: True,
) -> Iterator[tuple[U, T | PgeError]]:
    """Each unit and what it came to, or the error that it ended in, in the order in which they end.

    At most ``parallel`` are under way. ``ended`` is set where a limit is reached, a call was stopped, the executor is lost, or
    the caller breaks off: what is under way then ends at its next call, and no further unit begins. ``executor`` (None: threads
    here) is left open; any but threads needs a ``make`` and units that can be pickled. A unit that does not fit waits until
    another one has ended; where none is under way, nothing more begins.
    """
    most = max(1, parallel)
    waiting = iter(units)
    held: list[U] = []
    running: dict[Future[T], U] = {}

    def next_unit() -> U | None:
        if not held:
            held.extend(islice(waiting, 1))
        return held.pop() if held and fits(held[0]) else None

    with nullcontext(executor) if executor is not None else ThreadPoolExecutor(max_workers=most) as pool:
        try:
            while True:
                while not ended.is_set() and len(running) < most and (unit := next_unit()) is not None:
                    try:
                        running[pool.submit(make, unit)] = unit
                    except Exception as error:  # It is broken, was shut down, or its scheduler is gone.
                        if executor is None:
                            raise
                        ended.set()
                        yield unit, lost(error)
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    unit = running.pop(future)
                    outcome = outcome_of(future, at_home=executor is None)
                    if isinstance(outcome, LimitReached | CallStopped | ExecutorLost):
                        ended.set()
                    yield unit, outcome
        finally:
            ended.set()
            for future in running:
                future.cancel()


def outcome_of(future: Future[T], *, at_home: bool) -> T | PgeError:
    """What a unit came to. Elsewhere anything may happen to it: a mistake in our own threads is raised."""
    try:
        return future.result()
    except PgeError as error:
        return error
    except BaseException as error:
        if at_home or isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        # A scheduler gives a unit up when several workers died over it: that is the unit's own failure.
        if hasattr(error, "last_worker"):
            return PgeError("Several workers died over it.", "Give workers more memory, and run this again.")
        return lost(error)


def lost(error: BaseException) -> ExecutorLost:
    """The executor's end, in words."""
    said = " ".join(str(error).split())
    return ExecutorLost(
        f"The executor is lost ({type(error).__name__}{f': {said}' if said else ''}).",
        "Run this again with a new one: finished units are not made again.",
    )
