"""What is told of a run while it goes on: short plain lines, one display updated in place."""

from __future__ import annotations

import html
import time
from typing import Protocol

from ..markdown import visible
from ..phases import due
from ..prose import counted, heading
from ..records import Attempt, Decision, Receipt, Section, StepContract
from ..run import Run

SHOWN = 12
AT_LEAST_SECONDS = 0.1


class Progress(Protocol):
    """Is told each section as it lands, and that the run has ended."""

    def tell(self, section: Section, run: Run) -> None:
        """A section is on disk; ``run`` holds it."""

    def close(self) -> None:
        """Nothing more will be told."""


class Quiet:
    """Tells nothing."""

    def tell(self, section: Section, run: Run) -> None:
        """A section is on disk."""

    def close(self) -> None:
        """Nothing more will be told."""


class Lines:
    """One line a section, as they land: for a terminal, where nothing can be updated in place."""

    def tell(self, section: Section, run: Run) -> None:
        """Print the section's line."""
        print(line(section, run))  # noqa: T201 - this is the progress

    def close(self) -> None:
        """Nothing more will be told."""


class Ticker:
    """The last lines in one display of the running cell; folded when the run has ended."""

    def __init__(self) -> None:
        from IPython.display import display

        self.lines: list[str] = []
        self.now = ""
        self.ended = False
        self.began = self.drawn = time.monotonic()
        self._handle = display(self, display_id=True)  # type: ignore[no-untyped-call]

    def tell(self, section: Section, run: Run) -> None:
        """Add the section's line, and what is being done now."""
        self.lines.append(line(section, run))
        self.now = f"now: {phases[0]}" if (phases := due(run)) else ""
        if time.monotonic() - self.drawn >= AT_LEAST_SECONDS:
            self._draw()

    def close(self) -> None:
        """Fold the lines away."""
        self.ended, self.now = True, ""
        self._draw()

    def _draw(self) -> None:
        self.drawn = time.monotonic()
        self._handle.update(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        if self.ended:
            return {"text/plain": self._summary(), "text/html": self._folded()}
        shown = [*self.lines[-SHOWN:], *([self.now] if self.now else [])] or ["now: beginning"]
        return {"text/plain": "\n".join(shown)}

    def _summary(self) -> str:
        return f"{counted(len(self.lines), 'section was', 'sections were')} written in {self.drawn - self.began:.1f} s"

    def _folded(self) -> str:
        told = html.escape("\n".join(self.lines))
        return f'<details><summary>{self._summary()}</summary><pre style="white-space:pre-wrap">{told}</pre></details>'


def line(section: Section, run: Run) -> str:
    """A section in a line: its heading, and the one thing that a reader waits for."""
    payload, more = section.payload, ""
    if isinstance(payload, StepContract):
        more = f", {counted(len(payload.checks), 'check')}, {payload.origin}"
    elif isinstance(payload, Decision):
        more = f" ({payload.reason})"
    elif isinstance(payload, Attempt):
        more = f" ({section.record.attempt} of {1 + int(str(run.settings.get('max_retries_per_step', 0)))})"
    elif isinstance(payload, Receipt):
        more = f": {payload.outcome}, {counted(payload.calls, 'call')}, {counted(payload.tokens, 'token')}"
    return visible(heading(section.record) + more)
