"""How long a run has been carried out, over all resumes, and the limit on that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from .errors import LimitReached
from .run import Run


def worked(run: Run) -> float:
    """Seconds in which a phase of an agent was carried out: what several did at the same time counts once.

    A section tells when its phase ended and how long it took. A phase that was cut off is in no section and not counted. The
    time of day may have been set while they were carried out: it decides only how much was done at the same time, which is
    nothing where one step is worked on at once, and else at most so many phases.
    """
    spans = sorted(_spans(run))
    whole = sum(ended - began for began, ended in spans)
    most = run.settings.get("max_parallel")
    if not isinstance(most, int) or most <= 1:
        return whole
    total, reached = 0.0, float("-inf")
    for began, ended in spans:
        total += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return max(total, whole / most)


def _spans(run: Run) -> Iterator[tuple[float, float]]:
    for section in run.sections:
        seconds = getattr(section.payload, "seconds", None)
        if isinstance(seconds, float) and section.at:
            ended = datetime.fromisoformat(section.at).timestamp()
            yield ended - seconds, ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Runs from the moment it is made. ``most``: seconds in all, ``before`` among them; None: as long as it takes."""

    most: float | None = None
    before: float = 0.0
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, run: Run) -> Clock:
        """The clock of a run that is taken up now."""
        most = run.settings.get("max_seconds")
        return cls(most=float(most), before=worked(run)) if isinstance(most, int | float) else cls()

    @property
    def seconds(self) -> float:
        """Worked up to now."""
        return self.before + time.monotonic() - self.began

    @property
    def over(self) -> bool:
        """Whether the time is used up."""
        return self.most is not None and self.seconds >= self.most

    def reached(self) -> LimitReached:
        """The error that says so."""
        most = self.most or 0.0
        return LimitReached(
            f"This run may be at work for {most:g} seconds, and was for {self.seconds:.1f}.",
            f"Go on with more: %pge resume --max-seconds {2 * most or 60:g}",
        )
