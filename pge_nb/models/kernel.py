"""What one process has spent over all of its runs, and the limit on that: a kernel, a script, a detached run.

The limit binds the runs for which nobody set one of their own. A call is reserved here as well before it is made, and a run
that was given to a process of its own at the most that it may still cost, until that process has ended.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..errors import LimitReached
from . import CallStopped, Stop
from .limits import DEFAULT_DOLLARS, Limits, Prices, dollars_up

KERNEL_DOLLARS = 20.0
CENT = 0.01
"""Less than this is as good as nothing left."""
POLL_SECONDS = 0.1


def go_on(stop: Stop | None) -> None:
    """``CallStopped`` where ``stop`` says so, before a call is made."""
    if stop is not None and stop():
        raise CallStopped("The run was stopped before the next call.", "%pge resume goes on from here.")


@dataclass(slots=True)
class Held:
    """What one call counts as once it is over, in dollars: what was reserved for it, unless that is corrected."""

    dollars: float = 0.0


class Spending:
    """Dollars on models with a price: settled calls as billed, all others at the most that they can have cost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._landed = threading.Condition(self._lock)
        self._under_way = 0
        self._own = 0.0
        self._away: list[tuple[float, Callable[[], float | None]]] = []

    @property
    def dollars(self) -> float:
        """Spent or reserved up to now."""
        with self._lock:
            return self._sum()

    @contextlib.contextmanager
    def reserving(self, dollars: float | None, limits: Limits, stop: Stop | None = None) -> Iterator[Held]:
        """Reserve for one call of a run with these limits; afterwards it counts as ``Held`` says.

        ``LimitReached`` where it could pass the limit, whatever the calls come to that are under way in other threads. None
        and 0 bind nothing: tokens limit a model without a price.
        """
        self._reserve(dollars or 0.0, limits, stop)
        held = Held()
        try:
            yield held
        finally:
            with self._landed:
                self._own += held.dollars - (dollars or 0.0)
                self._under_way -= 1
                self._landed.notify_all()

    def _reserve(self, dollars: float, limits: Limits, stop: Stop | None) -> None:
        while True:
            with self._landed:
                try:
                    self._check(dollars, limits)
                except LimitReached:
                    if not self._under_way:
                        raise
                    self._landed.wait(POLL_SECONDS)
                else:
                    self._own += dollars
                    self._under_way += 1
                    return
            go_on(stop)

    def lend(self, dollars: float, settled: Callable[[], float | None]) -> None:
        """Reserve for a run that another process carries on; ``settled`` tells what it came to, None while it is at work."""
        with self._lock:
            self._away.append((dollars, settled))

    def check_room(self, dollars: float, limits: Limits) -> None:
        """``LimitReached`` where so much more could pass the limit, and the run with these limits has none of its own."""
        with self._lock:
            self._check(dollars, limits)

    def check(self, models: Iterable[str], limits: Limits, prices: Prices) -> None:
        """``LimitReached`` where nothing is left for a run with these models that has no limit of its own."""
        spent = self.dollars
        if prices.bind(models) and limits.max_dollars is None and spent > KERNEL_DOLLARS - CENT:
            raise LimitReached(
                f"{spent:.2f} of the {KERNEL_DOLLARS:g} dollars that the runs of one kernel may cost are spent or reserved.",
                f"Give this run a limit of its own: --budget {DEFAULT_DOLLARS:g} (in Python: max_dollars={DEFAULT_DOLLARS:g}).",
            )

    def _check(self, dollars: float, limits: Limits) -> None:
        spent = self._sum()
        if dollars > 0 and limits.max_dollars is None and spent + dollars > KERNEL_DOLLARS:
            raise LimitReached(
                f"What comes next could cost {dollars:.4f} dollars; {spent:.4f} of the {KERNEL_DOLLARS:g} dollars that "
                "the runs of one kernel may cost are spent or reserved.",
                f"Give this run a limit of its own: %pge resume --budget {dollars_up(max(dollars, DEFAULT_DOLLARS))}",
            )

    def _sum(self) -> float:
        for entry in list(self._away):
            if (came := entry[1]()) is not None:
                self._away.remove(entry)
                self._own += came
        return self._own + sum(dollars for dollars, _ in self._away)


HERE = Spending()
"""That of this process."""
