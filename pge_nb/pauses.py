"""A service that does not answer now: how long the harness waits by itself, and when it leaves the run to be resumed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from .models import CallBroken, CallStopped, NotNow, Stop
from .records import Interruption
from .run import Run

WAITS = (15.0, 60.0, 240.0, 900.0, 900.0)
"""Seconds of the pauses in a row, where the service does not ask for longer ones. After the last the run is left."""
LONGEST_WAIT = 900.0
"""A pause that is longer, in seconds, is not waited for: the run is left, and a person goes on with it."""
LONGEST_PAUSE = 86_400.0
"""Who asks to wait for more seconds than a day is asked again after a day."""
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A pause that begins now. ``waited``: it is short enough for the harness to wait, and go on by itself."""

    seconds: float
    waited: bool

    def until(self) -> str:
        """When the service may be asked again, as the state file says it."""
        return f"{datetime.now(UTC) + timedelta(seconds=self.seconds):%Y-%m-%dT%H:%M:%SZ}"

    def wait(self, stop: Stop | None) -> None:
        """Wait for its end. ``CallStopped`` where ``stop`` says so; Ctrl-C ends it as it ends anything."""
        end = time.monotonic() + self.seconds
        while (left := end - time.monotonic()) > 0:
            if stop is not None and stop():
                raise CallStopped("The run was stopped while it waited.", "%pge resume goes on from here.")
            time.sleep(min(POLL_SECONDS, left))


def pause_after(error: BaseException, run: Run, *, answered: bool) -> Pause | None:
    """The pause that follows on what went wrong with a call; None where waiting does not help.

    ``answered``: whether any call of the run has come through. A service that was never reached may not be there at all.
    """
    after = None
    if isinstance(error, NotNow):
        if not (error.met or answered):
            return None
        after = error.after
    elif not (isinstance(error, CallBroken) and error.passing):
        return None
    before = pauses_in_a_row(run)
    least = WAITS[before] if before < len(WAITS) else LONGEST_WAIT
    # The first time its word is taken; who was wrong about it is given longer.
    seconds = min(after if after is not None and not before else max(after or 0.0, least), LONGEST_PAUSE)
    return Pause(seconds=seconds, waited=before < len(WAITS) and seconds <= LONGEST_WAIT)


def pauses_in_a_row(run: Run) -> int:
    """How many pauses came one after another and end the file; those that ended long ago are past."""
    count = 0
    for section in reversed(run.sections):
        payload = section.payload
        if isinstance(payload, Interruption) and payload.until:
            end = moment(payload.until)
            if end is None or datetime.now(UTC) - end > timedelta(seconds=LONGEST_WAIT):
                break
            count += 1
        elif section.record.kind != "note":
            break
    return count


def clock(until: str, since: str) -> str:
    """The time at which a pause ends, for people; with its date where that is another than that of ``since``."""
    end = moment(until)
    if end is None:
        return until
    begun = moment(since)
    return f"{end:%H:%M} UTC" if begun and begun.date() == end.date() else f"{end:%Y-%m-%d %H:%M} UTC"


def moment(text: str) -> datetime | None:
    """A time of the state file; None where it is none."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
