"""Carrying out what is due: one phase after another, or those of several steps side by side in threads.

Threads make records; the thread that drives appends them, and nobody else. docs/decisions/0010 tells why time decides nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from .abreast import at_once
from .clock import Clock
from .crew import Came, Crew
from .errors import PgeError
from .interrupts import Cut, may_be_cut
from .models import Stop
from .phases import Phase, due
from .records import Record, Section
from .run import Run
from .state import StateFile

POLL_SECONDS = 0.2
"""How long what drives waits for a phase before it looks at the clock, and at whoever may stop it."""
GRACE_SECONDS = 1.5
"""How long phases that were asked to end are waited for: Ctrl-C is answered within two seconds."""
CarryOut = Callable[[Phase], tuple[Record, ...]]


@dataclass(slots=True, kw_only=True)
class Driver:
    """Carries the phases of one run out and appends what comes of them, until nothing is due.

    ``stop`` is who else may end it; ``now`` what was under way last.
    """

    state: StateFile
    clock: Clock
    stop: Stop | None = None
    now: tuple[Phase, ...] = ()
    _crew: Crew[Phase, tuple[Record, ...]] = field(default_factory=Crew)

    def asked(self) -> bool:
        """Whether what is under way is to end; phases ask it."""
        return self._crew.is_cut() or self.over()

    def over(self) -> bool:
        """Whether the run is to end: its time is used up, or whoever may stop it does."""
        return self.clock.over or (self.stop is not None and self.stop())

    def sections(self, run: Run, carry_out: CarryOut, *, step: int | None = None) -> Iterator[Section]:
        """Yield each section once it is on disk, until nothing is due; of one step alone, where one is given.

        What fails in a phase is raised here, once the others under way have ended theirs and are appended. Where this itself
        is interrupted or closed, they are asked to end, and what is whole by then is appended.
        """
        self._crew = Crew()
        try:
            yield from self._drive(run, carry_out, step)
        except (PgeError, Cut):
            yield from self._wind_up()
            raise
        finally:
            self._break_off()

    def _drive(self, run: Run, carry_out: CarryOut, step: int | None) -> Iterator[Section]:
        while (phases := [one for one in due(run) if step in (None, one.step)]) or self._crew.under_way:
            if self.clock.over:
                raise self.clock.reached()
            own = [phase for phase in phases if phase.role is None]
            alone = at_once(run) == 1 and not self._crew.under_way
            if own or alone:
                # What the harness does by itself takes no time, and touches the working directory.
                yield from self._carry_out((own or phases)[0], carry_out)
            else:
                self._send(phases, at_once(run), carry_out)
                if (came := self._crew.next(POLL_SECONDS)) is not None:
                    yield from self._append(came)

    def _carry_out(self, phase: Phase, carry_out: CarryOut) -> tuple[Section, ...]:
        """One phase, here."""
        self.now = (phase,)
        return self.state.append(*self._cuttable(phase, carry_out))

    def _cuttable(self, phase: Phase, carry_out: CarryOut) -> tuple[Record, ...]:
        with may_be_cut(self.asked):
            return carry_out(phase)

    def _send(self, phases: Iterable[Phase], most: int, carry_out: CarryOut) -> None:
        """Send for as many as may be under way at once, one a step."""
        for phase in phases:
            busy = {one.step for one in self._crew.under_way}
            if len(busy) < most and phase.step not in busy:
                self._crew.send(phase, functools.partial(self._cuttable, phase, carry_out))
        self.now = tuple(self._crew.under_way)

    def _append(self, came: Came[Phase, tuple[Record, ...]]) -> tuple[Section, ...]:
        if came.error is not None:
            self.now = (came.of,)
            raise came.error
        return self.state.append(*came.value or ())

    def _wind_up(self) -> Iterator[Section]:
        """Let those under way end their phases, and append them; nobody new is sent. What fails there too is not raised."""
        while self._crew.under_way and not self.asked():
            came = self._crew.next(POLL_SECONDS)
            if came is not None and came.value is not None:
                yield from self.state.append(*came.value)

    def _break_off(self) -> None:
        """Ask those under way to end, and append what is whole by then. Who does not end in time is left to end alone."""
        self._crew.cut()
        for came in self._crew.rest(GRACE_SECONDS):
            if came.value is not None:
                self.state.append(*came.value)
