"""How a run is told of while it goes on: not at all, line by line, or in one display that is updated in place."""

from __future__ import annotations

import contextlib
import html
import threading
import time
from collections.abc import Iterator
from typing import Protocol

from ..markdown import visible
from ..models import Listen, Stop
from ..pauses import clock
from ..phases import attempts_allowed, due
from ..prose import counted, heading
from ..records import Attempt, Decision, Interruption, Receipt, Section, StepContract
from ..run import Run

SHOWN = 12
AT_LEAST_SECONDS = 0.25


class Progress(Protocol):
    """Is told of a run while it goes on, and may ask it to stop."""

    @property
    def listen(self) -> Listen | None:
        """Is given text as it streams in; None where none is wanted."""

    @property
    def stop(self) -> Stop | None:
        """Tells whether a person asked the run to stop; None where nobody can."""

    def begin(self, run: Run) -> None:
        """The run goes on from here."""

    def tell(self, section: Section, run: Run) -> None:
        """A section is on disk; ``run`` holds it."""

    def close(self) -> None:
        """Nothing more will be told."""


class Quiet:
    """Tells nothing."""

    listen: Listen | None = None
    stop: Stop | None = None

    def begin(self, run: Run) -> None:
        """The run goes on from here."""

    def tell(self, section: Section, run: Run) -> None:
        """A section is on disk."""

    def close(self) -> None:
        """Nothing more will be told."""


class Lines(Quiet):
    """One line a section, as they land: for a terminal, where nothing can be updated in place."""

    def tell(self, section: Section, run: Run) -> None:
        """Print the section's line."""
        print(line(section, run))  # noqa: T201 - this is the progress


class Ticker(Quiet):
    """The last lines in one display of the running cell; folded when the run has ended.

    What went wrong in telling is told with the lines: the run itself goes on.
    """

    def __init__(self) -> None:
        from IPython.display import display

        self.lines: list[str] = []
        self.now: list[str] = []
        self.errors: list[str] = []
        self.ended = False
        self.began = self.drawn = time.monotonic()
        self.lock = threading.RLock()
        self.handle = display(self, display_id=True)  # type: ignore[no-untyped-call]

    def begin(self, run: Run) -> None:
        """Tell what is done first."""
        with self.kept():
            self.take_in(run)

    def tell(self, section: Section, run: Run) -> None:
        """Add the section's line, and what is being done now."""
        with self.kept():
            self.take_in(run, section)
            if time.monotonic() - self.drawn >= AT_LEAST_SECONDS:
                self.draw()

    def take_in(self, run: Run, section: Section | None = None) -> None:
        """What is shown from now on."""
        self.lines += [] if section is None else [line(section, run)]
        self.now = [str(phase) for phase in due(run)]

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what goes wrong in telling, to be told in its turn: the run goes on."""
        try:
            yield
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            if told not in self.errors:
                self.errors.append(told)

    def close(self) -> None:
        """Fold the lines away."""
        self.ended, self.now = True, []
        self.draw()

    def draw(self) -> None:
        """Put the display up to date."""
        self.drawn = time.monotonic()
        self.handle.update(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        if self.ended:
            return {"text/plain": self._summary(), "text/html": self._folded()}
        now = [f"now: {phase}" for phase in self.now]
        shown = [*self.lines[-SHOWN:], *now] or ["now: beginning"]
        return {"text/plain": "\n".join([*shown, *self.errors])}

    def _summary(self) -> str:
        told = f"{counted(len(self.lines), 'section was', 'sections were')} written in {self.drawn - self.began:.1f} s"
        return "\n".join([told, *self.errors])

    def _folded(self) -> str:
        summary, told = html.escape(self._summary()), html.escape("\n".join([*self.lines, *self.errors]))
        return f'<details><summary>{summary}</summary><pre style="white-space:pre-wrap">{told}</pre></details>'


def line(section: Section, run: Run) -> str:
    """A section in a line: its heading, and the one thing that a reader waits for."""
    payload, more = section.payload, ""
    if isinstance(payload, StepContract):
        more = f", {counted(len(payload.checks), 'check')}, {payload.origin}"
    elif isinstance(payload, Decision):
        more = f" ({payload.reason})"
    elif isinstance(payload, Attempt):
        most = "until all is met" if run.settings.get("until_met") else f"of {attempts_allowed(run.settings)}"
        more = f" ({section.record.attempt} {most})"
    elif isinstance(payload, Interruption):
        until = f", paused until {clock(payload.until, section.at)}" if payload.until else ""
        more = f"{until}: {payload.reason}"
    elif isinstance(payload, Receipt):
        more = f": {payload.outcome}, {counted(payload.calls, 'call')}, {counted(payload.tokens, 'token')}"
    return visible(heading(section.record) + more)
